"""Going on with landmarks: partial_fit over the features that the first call has chosen, warm_start, and files."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import naive
import naive_crammer_singer
import pegasos
from nystroem import KERNELS, TARGETS, WEIGHTS, X, Y, rows_for, spanned
from pegasos import PegasosClassifier, PegasosRegressor
from textbook import pegasos_classifier, pegasos_regressor

N = len(X)
CUTS = (22, 23, 40)  # calls of 22, 1, 17 and 20 rows
SETTINGS = dict(lam=0.05, sampling="cyclic", random_state=0, n_landmarks=9)
RBF = dict(kernel="rbf", gamma=0.3)
KINDS = {
    "ovr": pegasos_classifier(),
    "ovo": pegasos_classifier(multi_class="ovo"),
    "crammer_singer": pegasos_classifier(multi_class="crammer_singer"),
    "log_loss": pegasos_classifier(loss="log_loss"),
    "squared_hinge": pegasos_classifier(loss="squared_hinge"),
    "regression": pegasos_regressor(epsilon=naive.EPSILON),
}


def learner(kind="ovr", **params):
    return clone(KINDS[kind]).set_params(**(SETTINGS | RBF | params))


def targets_of(model):
    return TARGETS if isinstance(model, PegasosRegressor) else Y


def taught(model, rows, cuts=CUTS, rounds=1, weights=None):
    """The model after partial_fit on the parts of the rows."""
    model, y = clone(model), targets_of(model)
    classes = dict(classes=[0, 1, 2]) if isinstance(model, PegasosClassifier) else {}
    for _ in range(rounds):
        for part in np.split(np.arange(N), cuts):
            given = {} if weights is None else dict(sample_weight=weights[part])
            model.partial_fit(rows[part], y[part], **given, **classes)
    return model


def columns_of(kind):
    """Rows and targets of each column."""
    if kind == "regression":
        return [(np.arange(N), target) for target in TARGETS.T]
    if kind == "ovo":
        pairs = [(np.flatnonzero(np.isin(Y, pair)), pair) for pair in ((0, 1), (0, 2), (1, 2))]
        return [(rows, np.where(Y[rows] == second, 1.0, -1.0)) for rows, (_, second) in pairs]
    return [(np.arange(N), np.where(label == Y, 1.0, -1.0)) for label in range(3)]


def assert_textbook(model, kind, function, *, rounds=1, k=1, weights=None, offset=0.0):
    """Scores of the model are those of the textbook loop on the features of its landmarks."""
    weights = np.ones(N) if weights is None else weights
    G, scores = spanned(function, X, model.support_vectors_), model._scores(X) - offset
    if model.fit_intercept is True:
        G = G + model.intercept_scaling**2
    order = np.tile(np.flatnonzero(weights), rounds)
    if kind == "crammer_singer":
        iterates, _, _ = naive_crammer_singer.pegasos(G, Y, 3, weights, model.lam, order, len(order) // k, k)
        expected = G @ naive.average_of(iterates, model.average)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
        return
    loss = getattr(model, "loss", "hinge")
    for column, (rows, y) in enumerate(columns_of(kind)):
        y = y - np.broadcast_to(offset, 3 if kind != "regression" else 2)[column]
        place = np.full(N, -1)
        place[rows] = np.arange(len(rows))
        own = place[order][place[order] >= 0]
        given = G[np.ix_(rows, rows)], y, weights[rows], model.lam, own, len(own) // k, k, model.project, loss
        iterates, _, _ = naive.pegasos(*given)
        expected = G[:, rows] @ naive.average_of(iterates, model.average)
        found = scores[:, column]
        found = -found if kind == "ovo" and found @ expected < 0 else found
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


# --- partial_fit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "regression"])
def test_calls_in_turn_are_the_textbook_loop_on_the_features_of_the_first(kind, average):
    model = taught(learner(kind, average=average), X)
    assert model.support_.max() < CUTS[0]
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert_textbook(model, kind, KERNELS["rbf"][1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_learns_online(kernel, container):
    params, _, function = rows_for(kernel)
    model = taught(learner(average="weighted", fit_intercept=True, **params), container(X), rounds=2)
    if container is not np.asarray:
        model.support_vectors_ = model.support_vectors_.toarray()
    assert_textbook(model, "ovr", function, rounds=2)


@pytest.mark.parametrize(("k", "cuts"), [(5, (20, 40)), (20, (20, 40)), (5, (30,))])
@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("kind", ["ovr", "log_loss"])
def test_batches_that_divide_the_calls_are_those_of_the_textbook(kind, project, k, cuts):
    model = taught(learner(kind, batch_size=k, project=project, average="uniform"), X, cuts)
    assert_textbook(model, kind, KERNELS["rbf"][1], k=k)


@pytest.mark.parametrize("kind", ["ovr", "crammer_singer", "log_loss"])
def test_weights_are_used_as_given_and_rows_of_weight_zero_are_no_landmarks(kind):
    model = taught(learner(kind, n_landmarks=19), X, weights=WEIGHTS)
    assert (WEIGHTS[model.support_] > 0).all()
    assert_textbook(model, kind, KERNELS["rbf"][1], weights=WEIGHTS)


def test_the_offset_of_a_regressor_stays_that_of_the_first_call():
    model = taught(learner("regression", average="weighted"), X)
    offset = TARGETS[: CUTS[0]].mean(axis=0)
    assert np.abs(offset - TARGETS.mean(axis=0)).max() > 0.05
    np.testing.assert_allclose(model.intercept_, offset)
    assert_textbook(model, "regression", KERNELS["rbf"][1], offset=offset)
    with_intercept = taught(learner("regression", fit_intercept=True, average=False), X)
    assert_textbook(with_intercept, "regression", KERNELS["rbf"][1])


def test_gamma_scale_stays_that_of_the_first_call():
    rows = X * np.linspace(0.5, 3.0, N)[:, None]
    model = taught(learner(gamma="scale"), rows)
    first = rows[: CUTS[0]]
    same = taught(learner(gamma=1 / (first.shape[1] * first.var())), rows)
    np.testing.assert_allclose(model.decision_function(rows), same.decision_function(rows), rtol=1e-9, atol=1e-9)
    fitted = learner(gamma="scale", max_iter=1).fit(first, Y[: CUTS[0]])
    for part in np.split(np.arange(CUTS[0], N), np.subtract(CUTS[1:], CUTS[0])):
        fitted.partial_fit(rows[part], Y[part])
    np.testing.assert_allclose(fitted.decision_function(rows), same.decision_function(rows), rtol=1e-9, atol=1e-9)


TYPES = [(np.float32, np.float64), (np.float64, np.float32)]


@pytest.mark.parametrize(("first", "then"), TYPES, ids=["float32 first", "float64 first"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_rows_of_another_type_go_on_with_the_landmarks_of_the_first(kernel, first, then):
    params = KERNELS[kernel][0]
    exact = taught(learner(average=False, **params), X, (30,))
    model = learner(average=False, **params).partial_fit(X[:30].astype(first), Y[:30], classes=[0, 1, 2])
    model.partial_fit(X[30:].astype(then), Y[30:])
    assert model.support_vectors_.dtype == first
    scores = exact.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-3 * np.abs(scores).max())


def test_rows_of_another_container_go_on_with_the_landmarks_of_the_first():
    whole = taught(learner(), X, (30,))
    for first, then in ((sparse.csr_matrix, np.asarray), (np.asarray, sparse.csr_array)):
        model = learner().partial_fit(first(X[:30]), Y[:30], classes=[0, 1, 2]).partial_fit(then(X[30:]), Y[30:])
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)


def test_a_first_call_of_few_rows_has_few_landmarks_and_says_so():
    with pytest.warns(UserWarning, match="n_landmarks=9 is more than the 1 rows: all of them are landmarks"):
        model = learner().partial_fit(X[:1], Y[:1], classes=[0, 1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[1:], Y[1:])
    assert model.dual_coef_.shape == (3, 1)
    assert model.n_support_.tolist() == np.bincount(Y[:1], minlength=3).tolist()


def test_one_row_a_call_is_one_pass():
    first = learner().partial_fit(X[:20], Y[:20], classes=[0, 1, 2])
    whole, by_row = (pickle.loads(pickle.dumps(first)) for _ in range(2))
    whole.partial_fit(X[20:], Y[20:])
    for row in range(20, N):
        by_row.partial_fit(X[row : row + 1], Y[row : row + 1])
    np.testing.assert_allclose(by_row.dual_coef_, whole.dual_coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(by_row.n_support_, first.n_support_)


@pytest.mark.parametrize("cache_size", [None, 0])
@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_partial_fit_goes_on_from_fit_and_fit_begins_anew(kind, average, cache_size):
    model = learner(kind, average=average, max_iter=2, cache_size=cache_size)
    y = targets_of(model)
    once = clone(model).fit(X, y)
    both = clone(model).fit(X, y).partial_fit(X, y)
    longer = clone(model).set_params(max_iter=3).fit(X, y)
    np.testing.assert_allclose(both._scores(X), longer._scores(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(both.t_, longer.t_)
    assert not hasattr(both, "dual_gap_"), "the earlier rows' certificate is gone"
    both.fit(X, y)
    np.testing.assert_array_equal(both.dual_coef_, once.dual_coef_)


def test_a_model_stored_between_calls_goes_on_the_same():
    straight, stored = learner(), learner()
    for part in np.split(np.arange(N), CUTS):
        straight.partial_fit(X[part], Y[part], classes=[0, 1, 2])
        stored = pickle.loads(pickle.dumps(stored)).partial_fit(X[part], Y[part], classes=[0, 1, 2])
    np.testing.assert_array_equal(stored.dual_coef_, straight.dual_coef_)


@pytest.mark.parametrize("kind", ["ovr", "regression"])
def test_a_model_from_a_file_says_that_it_cannot_go_on(tmp_path, kind):
    model = learner(kind)
    for fitted in (taught(model, X), clone(model).fit(X, targets_of(model))):
        fitted.save(tmp_path / "model")
        found = pegasos.load(tmp_path / "model")
        np.testing.assert_array_equal(found.predict(X), fitted.predict(X))
        with pytest.raises(ValueError, match="comes from a file.*begin anew"):
            found.partial_fit(X, targets_of(model))
        np.testing.assert_array_equal(found.predict(X), fitted.predict(X))
        found.fit(X, targets_of(model)).partial_fit(X, targets_of(model))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (dict(n_landmarks=8), "n_landmarks=9"),
        (dict(landmarks="k-means++"), "landmarks='uniform'"),
        (dict(gamma=0.4), "kernel"),
        (dict(fit_intercept=True), "constant feature"),
    ],
    ids=str,
)
def test_what_cannot_change_between_calls_is_named(change, named):
    model = taught(learner(), X)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=named):
        model.set_params(**change).partial_fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("params", [dict(solver="sdca"), dict(lam=None), dict(kernel="precomputed")], ids=str)
def test_partial_fit_is_missing_where_it_cannot_be(params):
    assert not hasattr(learner(**params), "partial_fit")
    assert not hasattr(learner(n_landmarks=None), "partial_fit")


# --- warm_start -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cache_size", [None, 0])
@pytest.mark.parametrize("params", [dict(), dict(solver="sdca"), dict(batch_size=20, average="uniform")], ids=str)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ovo"])  # pairs end their blocks at different draws
def test_a_fit_that_goes_on_is_one_long_fit(kind, params, cache_size):
    model = learner(kind, warm_start=True, cache_size=cache_size, sampling="shuffle", **params)
    y = targets_of(model)
    parts = clone(model).set_params(max_iter=2).fit(X, y).set_params(max_iter=4).fit(X, y)
    whole = clone(model).set_params(max_iter=6).fit(X, y)
    np.testing.assert_array_equal(parts.t_, whole.t_)
    np.testing.assert_array_equal(parts.support_, whole.support_)
    np.testing.assert_allclose(parts._scores(X), whole._scores(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(parts.objective_, whole.objective_, rtol=1e-8)
    np.testing.assert_allclose(parts.dual_gap_, whole.dual_gap_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_rows", [30, 60])
def test_a_fit_on_other_rows_keeps_the_landmarks_and_the_model(n_rows):
    model = learner(warm_start=True, max_iter=30).fit(X, Y)
    vectors, scores, counts = model.support_vectors_, model.decision_function(X), model.n_support_
    model.set_params(max_steps=1, max_iter=None).fit(X[::-1][:n_rows], Y[::-1][:n_rows])
    np.testing.assert_array_equal(model.support_vectors_, vectors)
    np.testing.assert_array_equal(model.n_support_, counts)
    assert np.abs(model.decision_function(X) - scores).max() < 0.2 * np.abs(scores).max()


def test_sdca_over_landmarks_needs_the_same_rows():
    model = learner(warm_start=True, solver="sdca").fit(X, Y)
    with pytest.raises(ValueError, match="same rows"):
        model.fit(X[::-1], Y[::-1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (dict(), dict(n_landmarks=8)),
        (dict(), dict(n_landmarks=None)),
        (dict(n_landmarks=None), dict(n_landmarks=9)),
        (dict(), dict(landmarks="k-means++")),
    ],
    ids=str,
)
def test_other_landmarks_are_another_model_that_warm_start_refuses(before, after):
    model = learner(warm_start=True, **before).fit(X, Y)
    with pytest.raises(ValueError, match="landmarks"):
        model.set_params(**after).fit(X, Y)
