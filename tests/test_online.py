"""partial_fit: one run of Pegasos over the rows as they come, however they are cut into calls."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from conftest import classes_problem
from pegasos import PegasosClassifier, PegasosRegressor
from textbook import pegasos_classifier, pegasos_regressor

CONTAINERS = pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
UNEVEN = (1, 7, 8, 30, 31)  # calls of 1, 6, 1, 22, 1 and 29 rows
SETTINGS = dict(lam=0.05, sampling="cyclic", random_state=0)

CLASSIFIERS = {
    "binary": (2, dict()),
    "ovr": (4, dict()),
    "ovo": (4, dict(multi_class="ovo")),
    "crammer_singer": (4, dict(multi_class="crammer_singer")),
    "crammer_singer of two": (2, dict(multi_class="crammer_singer")),
    "log_loss": (4, dict(loss="log_loss")),
    "squared_hinge": (4, dict(loss="squared_hinge")),
    "ovo log_loss": (4, dict(multi_class="ovo", loss="log_loss")),
}


def problem(kind):
    """Rows, targets and an estimator without its average; sparse rows have zeros."""
    if kind.startswith("regression"):
        X, codes = classes_problem(4)
        Y = np.c_[X @ [1.0, -0.5, 0.2, 0.0] + 0.1 * codes, codes - X[:, 0]]
        return np.where(np.abs(X) > 0.3, X, 0.0), Y if kind.endswith("2-d") else Y[:, 0], pegasos_regressor(**SETTINGS)
    n_classes, params = CLASSIFIERS[kind]
    X, y = classes_problem(n_classes)
    # Steps of the squared hinge begin as small as the longest row asks, which each call has to know.
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if params.get("loss") == "squared_hinge" else X
    return X, y, pegasos_classifier(**SETTINGS, **params)


def taught(model, X, y, cuts, *, rounds=1, weights=None, **kwargs):
    """The model after partial_fit on the parts of the rows, several times over."""
    if isinstance(model, PegasosClassifier):
        kwargs["classes"] = np.unique(y)
    model = clone(model)
    for _ in range(rounds):
        for part in np.split(np.arange(X.shape[0]), cuts):
            model.partial_fit(X[part], y[part], sample_weight=None if weights is None else weights[part], **kwargs)
    return model


def assert_same_model(online, whole, tolerance=1e-12):
    for name in ("coef_", "intercept_"):
        expected = getattr(whole, name)
        allowed = tolerance * max(1, abs(expected).max())
        np.testing.assert_allclose(getattr(online, name), expected, rtol=0, atol=allowed)
    np.testing.assert_array_equal(online.t_, whole.t_)
    assert online.n_iter_ == whole.n_iter_


# --- calls in turn are one run --------------------------------------------------------------------


@CONTAINERS
@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
@pytest.mark.parametrize("kind", [*CLASSIFIERS, "regression 1-d", "regression 2-d"])
def test_calls_over_parts_of_the_rows_are_one_pass_of_fit(kind, average, container):
    X, y, model = problem(kind)
    model.set_params(average=average, max_iter=1)
    whole = clone(model).fit(container(X), y)
    assert_same_model(taught(model, container(X), y, UNEVEN), whole)
    assert_same_model(taught(model, container(X), y, ()), whole)


@pytest.mark.parametrize("kind", ["binary", "ovr", "ovo", "crammer_singer", "log_loss", "regression 2-d"])
@pytest.mark.parametrize("params", [dict(project=True, lam=1e-3), dict(average="weighted")], ids=str)
def test_several_rounds_are_several_passes_with_and_without_projection(kind, params):
    X, y, model = problem(kind)
    if kind.startswith("regression") and params.get("project"):
        pytest.skip("the ball's radius follows from the targets, which a call knows its own of only")
    model.set_params(max_iter=3, **params)
    assert_same_model(taught(model, X, y, UNEVEN, rounds=3), clone(model).fit(X, y), 1e-11)


def test_one_row_a_call_is_one_pass():
    for kind in ("ovr", "ovo", "crammer_singer", "regression 2-d"):
        X, y, model = problem(kind)
        model.set_params(max_iter=1)
        assert_same_model(taught(model, X, y, range(1, len(X))), clone(model).fit(X, y))


@CONTAINERS
@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("kind", ["binary", "ovr", "crammer_singer", "log_loss"])
def test_batches_that_divide_the_calls_are_those_of_fit(kind, project, average, container):
    X, y, model = problem(kind)
    model.set_params(batch_size=5, max_iter=2, project=project, average=average, lam=1e-2)
    online = taught(model, container(X), y, (5, 20, 50), rounds=2)
    assert_same_model(online, clone(model).fit(container(X), y), 1e-11)
    np.testing.assert_array_equal(online.t_, 2 * len(y) // 5)


def test_rows_that_a_last_batch_falls_short_of_are_a_step_of_their_own():
    X, y, model = problem("ovr")
    online = taught(model.set_params(batch_size=8), X, y, (20,))
    np.testing.assert_array_equal(online.t_, 3 + 5)
    assert np.isfinite(online.coef_).all()


def test_a_batch_of_all_rows_is_one_step_a_call():
    X, y, model = problem("ovr")
    online = taught(model.set_params(batch_size="all"), X, y, (20, 50))
    np.testing.assert_array_equal(online.t_, 3)
    once = clone(model).set_params(max_steps=1).fit(X, y)
    np.testing.assert_allclose(taught(model, X, y, ()).coef_, once.coef_, rtol=1e-12, atol=1e-12)


def test_the_suffix_average_is_finite_and_close_to_the_others():
    X, y, model = problem("ovr")
    online = taught(model.set_params(average="suffix", lam=0.2), X, y, UNEVEN, rounds=20)
    uniform = taught(model.set_params(average="uniform"), X, y, UNEVEN, rounds=20)
    np.testing.assert_allclose(online.coef_, uniform.coef_, atol=0.15)


@pytest.mark.parametrize("kind", ["ovr", "ovo", "crammer_singer", "log_loss"])
def test_calls_that_lack_classes_are_steps_like_any_other(kind):
    X, y, model = problem(kind)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    cuts = np.flatnonzero(np.diff(y)) + 1
    model.set_params(max_iter=1)
    assert_same_model(taught(model, X, y, cuts), clone(model).fit(X, y))


def test_a_pair_without_rows_in_a_call_stays_as_it_is():
    X, y, model = problem("ovo")
    model = taught(model, X, y, ())
    before, steps = model.coef_.copy(), model.t_.copy()
    of = y == 3
    model.partial_fit(X[of], y[of])
    without = np.array([True, True, False, True, False, False])  # (0,1) (0,2) (0,3) (1,2) (1,3) (2,3)
    np.testing.assert_array_equal(model.coef_[without], before[without])
    np.testing.assert_array_equal(model.t_ - steps, np.where(without, 0, of.sum()))


@pytest.mark.parametrize("average", ["uniform", "weighted"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_the_average_is_that_of_the_iterates_whatever_the_length_of_the_rows(loss, average):
    X, y, model = problem("binary")
    X = X * np.geomspace(0.3, 3.0, len(X))[:, None]  # each call has another longest row
    model.set_params(loss=loss)
    last, mean, iterates = clone(model).set_params(average=False), clone(model).set_params(average=average), []
    for row in range(len(X)):
        for learner in (last, mean):
            learner.partial_fit(X[row : row + 1], y[row : row + 1], classes=[0, 1])
        iterates.append(last.coef_[0].copy())
    if average == "uniform":
        expected = np.vstack([np.zeros((1, 4)), iterates[:-1]]).mean(axis=0)
    else:
        expected = np.average(iterates, axis=0, weights=np.arange(1, len(X) + 1))
    np.testing.assert_allclose(mean.coef_[0], expected, rtol=1e-9, atol=1e-11)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("batch_size", [1, 4, "all"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_a_first_call_with_rows_of_one_class_only(loss, batch_size):
    X, y, model = problem("ovo")
    of = y == 3
    model.set_params(loss=loss, batch_size=batch_size).partial_fit(X[of], y[of], classes=np.unique(y))
    without = np.array([True, True, False, True, False, False])
    np.testing.assert_array_equal(model.coef_[without], 0.0)
    np.testing.assert_array_equal(model.t_ == 0, without)
    model.partial_fit(X, y)
    assert (model.t_ > 0).all()
    assert np.isfinite(model.coef_).all()


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "ovr", "crammer_singer", "log_loss", "squared_hinge", "regression 2-d"])
def test_weights_are_used_as_given(kind):
    X, y, model = problem(kind)
    weights = np.random.default_rng(0).uniform(0.2, 1.9, len(X))
    weights /= weights.mean()
    model.set_params(max_iter=1)
    assert_same_model(taught(model, X, y, UNEVEN, weights=weights), clone(model).fit(X, y, sample_weight=weights))


def test_twice_the_weight_is_not_the_same_and_zero_is_no_row():
    X, y, model = problem("ovr")
    plain, double = taught(model, X, y, UNEVEN), taught(model, X, y, UNEVEN, weights=np.full(len(y), 2.0))
    assert not np.allclose(plain.coef_, double.coef_, rtol=1e-3)
    weights = np.where(np.arange(len(y)) % 3 == 1, 0.0, 1.0)
    kept = weights > 0
    with_zeros = taught(model, X, y, (30,), weights=weights)
    assert_same_model(with_zeros, taught(model, X[kept], y[kept], (17,)))


@pytest.mark.parametrize("multi_class", ["ovr", "ovo", "crammer_singer"])
def test_a_dict_of_class_weights_multiplies_the_weights(multi_class):
    X, y, model = problem("ovr")
    model.set_params(multi_class=multi_class, max_iter=1)
    per_class = {0: 0.5, 1: 1.0, 2: 2.0, 3: 1.5}
    by_hand = taught(model, X, y, UNEVEN, weights=np.array([0.5, 1.0, 2.0, 1.5])[y])
    assert_same_model(taught(model.set_params(class_weight=per_class), X, y, UNEVEN), by_hand)


def test_a_call_with_rows_of_weight_zero_only_changes_nothing():
    X, y, model = problem("binary")
    model.set_params(class_weight={0: 0.0, 1: 1.0}).partial_fit(X, y, classes=[0, 1])
    before, steps = model.coef_.copy(), model.t_.copy()
    model.partial_fit(X[y == 0], y[y == 0])
    np.testing.assert_array_equal(model.coef_, before)
    np.testing.assert_array_equal(model.t_, steps)


def test_balanced_class_weights_are_refused():
    X, y, model = problem("binary")
    with pytest.raises(ValueError, match=r"class_weight='balanced'.*dict"):
        model.set_params(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(NotFittedError):
        model.predict(X)


# --- the order of the rows ------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["shuffle", "replacement"])
def test_the_order_within_a_call_follows_from_random_state(sampling):
    X, y, model = problem("ovr")
    model.set_params(sampling=sampling)
    one, same = (taught(model, X, y, UNEVEN, rounds=2) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, same.coef_)
    other = taught(model.set_params(random_state=1), X, y, UNEVEN, rounds=2)
    assert not np.allclose(one.coef_, other.coef_, rtol=1e-3)
    np.testing.assert_array_equal(other.t_, 2 * len(y))


def test_each_call_shuffles_anew():
    X, y, model = problem("ovr")
    model.set_params(sampling="shuffle", average=False)
    first = taught(model, X, y, ())
    order = clone(model).set_params(max_iter=1).fit(X, y)
    assert_same_model(first, order)
    second = taught(model, X, y, (), rounds=2)
    repeated = clone(model).set_params(sampling="cyclic")
    generator = np.random.default_rng(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    same_order = generator.permutation(len(y))
    twice = taught(repeated, X[same_order], y[same_order], (), rounds=2)
    assert_same_model(taught(repeated, X[same_order], y[same_order], ()), first)
    assert not np.allclose(second.coef_, twice.coef_, rtol=1e-3)


# --- classes and other errors ---------------------------------------------------------------------


def assert_refused(model, match, X, y, **kwargs):
    """A ValueError that says this, and a model as it was before."""
    before = pickle.dumps([vars(model).get(name) for name in ("coef_", "intercept_", "t_", "classes_", "_memory")])
    with pytest.raises(ValueError, match=match):
        model.partial_fit(X, y, **kwargs)
    after = pickle.dumps([vars(model).get(name) for name in ("coef_", "intercept_", "t_", "classes_", "_memory")])
    assert before == after


def test_the_first_call_needs_the_classes():
    X, y, model = problem("ovr")
    assert_refused(model, "first call of partial_fit needs classes", X, y)
    assert_refused(model, "at least 2 classes", X, np.ones(len(y)), classes=[1])
    assert_refused(model, r"label 3,? .*classes|label .*3.*among the classes", X, y, classes=[0, 1, 2])
    model.partial_fit(X, y, classes=[3, 1, 0, 2])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])


def test_later_calls_leave_the_model_whole_when_they_are_refused():
    X, y, model = problem("ovr")
    names = np.array(["ash", "elm", "oak", "yew"])[y]
    model = taught(model, X, names, (30,))
    reference = pickle.loads(pickle.dumps(model)).partial_fit(X, names)
    assert_refused(model, "(?s)classes=.*not the same as on the first call", X, names, classes=["ash", "elm"])
    assert_refused(model, "label .*fir", X, np.where(names == "oak", "fir", names))
    assert_refused(model, "features", X[:, :2], names)
    assert_refused(model, "NaN", np.full_like(X, np.nan), names)
    assert_refused(model, "(?i)sample.weight", X, names, sample_weight=-np.ones(len(y)))
    assert_refused(model, "(?i)sample.weight", X, names, sample_weight=np.zeros(len(y)))
    for name, value in dict(loss="log_loss", multi_class="ovo", fit_intercept=False).items():
        changed = pickle.loads(pickle.dumps(model)).set_params(**{name: value})
        assert_refused(changed, "constant feature" if name == "fit_intercept" else name, X, names)
    model.partial_fit(X, names, classes=["yew", "oak", "elm", "ash"])
    np.testing.assert_array_equal(model.coef_, reference.coef_)


def test_a_regressor_keeps_its_number_of_targets():
    X, Y, model = problem("regression 2-d")
    model.partial_fit(X, Y)
    assert_refused(model, "targets", X, Y[:, 0])
    assert_refused(model, "targets", X, np.c_[Y, Y])
    assert_refused(model.set_params(epsilon=0.5), "epsilon", X, Y)


@pytest.mark.parametrize("make", [PegasosClassifier, PegasosRegressor])
@pytest.mark.parametrize(
    ("params", "match"),
    [
        (dict(lam=0.1, solver="sdca"), "partial_fit.*solver='pegasos'.*sdca"),
        (dict(lam=0.1, kernel="rbf"), "partial_fit.*kernel='linear'.*rbf"),
        (dict(), "partial_fit.*needs lam"),
        (dict(C=1.0), "partial_fit.*needs lam"),
    ],
    ids=str,
)
def test_where_it_does_not_exist_the_error_says_what_is_missing(make, params, match):
    model = make(**params)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=match):
        model.partial_fit([[0.0], [1.0]], [0, 1])
    assert hasattr(make(lam=0.1), "partial_fit")
    assert hasattr(make, "partial_fit")


# --- with fit, storing, types ---------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, "uniform", "weighted"])
@pytest.mark.parametrize("kind", ["ovr", "ovo", "crammer_singer", "log_loss", "regression 2-d"])
def test_partial_fit_goes_on_from_fit_and_fit_begins_anew(kind, average):
    X, y, model = problem(kind)
    model.set_params(average=average, max_iter=2)
    once = clone(model).fit(X, y)
    both = clone(model).fit(X, y).partial_fit(X, y)
    assert_same_model(both, clone(model).set_params(max_iter=3).fit(X, y))
    assert not hasattr(both, "objective_"), "the earlier rows' certificate is gone"
    both.fit(X, y)
    np.testing.assert_array_equal(both.coef_, once.coef_)
    np.testing.assert_array_equal(both.dual_gap_, once.dual_gap_)


@pytest.mark.parametrize("kind", ["ovr", "ovo", "crammer_singer", "regression 1-d"])
def test_a_model_stored_between_calls_goes_on_the_same(kind):
    X, y, model = problem(kind)
    straight, stored = clone(model), clone(model)
    first = dict(classes=np.unique(y)) if isinstance(model, PegasosClassifier) else {}
    for part in np.split(np.arange(len(X)), UNEVEN):
        straight.partial_fit(X[part], y[part], **first)
        stored = pickle.loads(pickle.dumps(stored)).partial_fit(X[part], y[part], **first)
    np.testing.assert_array_equal(stored.coef_, straight.coef_)


@CONTAINERS
@pytest.mark.parametrize("kind", ["ovr", "log_loss", "crammer_singer", "regression 2-d"])
def test_float32_stays_float32(kind, container):
    X, y, model = problem(kind)
    X = container(X.astype(np.float32))
    online = taught(model, X, y, UNEVEN)
    assert online.coef_.dtype == online.intercept_.dtype == np.float32
    assert online.partial_fit(X, y).coef_.dtype == np.float32
    assert getattr(online, "decision_function", online.predict)(X).dtype == np.float32


def test_probabilities_of_an_online_log_loss():
    X, y, model = problem("log_loss")
    online = taught(model, X, y, UNEVEN, rounds=20)
    np.testing.assert_allclose(online.predict_proba(X).sum(axis=1), 1.0)
    assert online.score(X, y) > 0.6


def test_no_row_changes_and_the_data_is_untouched():
    X, y, model = problem("ovr")
    before = X.copy(), y.copy()
    taught(model, X, y, UNEVEN)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("make", [PegasosClassifier, PegasosRegressor])
def test_metadata_can_be_routed_to_it(make):
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(lam=0.1).set_partial_fit_request(sample_weight=True)
        assert model.get_metadata_routing().partial_fit.requests["sample_weight"] is True
        if make is PegasosClassifier:
            assert "classes" in model.get_metadata_routing().partial_fit.requests
        assert hasattr(make(lam=0.1), "set_fit_request")
