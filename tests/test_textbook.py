"""The algorithms of `pegasos.textbook` equal the fast solver on the same draws; SMO reaches the optimum of SVC."""

import inspect
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from pegasos import PegasosClassifier, textbook

RNG = np.random.default_rng(3)
N = 60
X = RNG.normal(size=(N, 4))
X[:, 3] = 1.0  # the constant feature that the documents use as a bias
Y = np.where(X[:, 0] - 0.4 * X[:, 1] + 0.7 * RNG.normal(size=N) > 0.2, 1.0, -1.0)
LABELS = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [-0.7, 0.0, 0.7])
LAM, T = 0.02, 150


def fast(**parameters):
    """The library's Pegasos: last iterate of T steps with replacement, unless told otherwise."""
    fixed = {"solver": "pegasos", "lam": LAM, "max_steps": T, "sampling": "replacement", "average": False,
             "fit_intercept": False, "random_state": 7}  # fmt: skip
    return PegasosClassifier(**fixed | parameters)


def draws(sampling="replacement", k=1, n=N):
    return textbook.draws_of(n, T, sampling, 7, k)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("sampling, k", [("replacement", 1), ("shuffle", 5), ("cyclic", 3), ("subsets", 8)])
def test_the_two_steps_equal_the_solver(sampling, k, project):
    model = fast(sampling=sampling, batch_size=k, project=project).fit(X, Y)
    iterates = list(textbook.pegasos(X, Y, LAM, draws(sampling, k), project=project))
    assert len(iterates) == T + 1
    np.testing.assert_allclose(model.coef_[0], textbook.last_of(iterates), rtol=1e-9, atol=1e-12)
    mean = fast(sampling=sampling, batch_size=k, project=project, average="uniform").fit(X, Y)
    np.testing.assert_allclose(mean.coef_[0], textbook.average_of(iterates), rtol=1e-9, atol=1e-12)
    if project:
        assert max(map(np.linalg.norm, iterates)) <= (1 + 1e-12) / np.sqrt(LAM)


def test_the_full_sub_gradient_equals_the_solver():
    model = fast(batch_size="all").fit(X, Y)
    everything = np.tile(np.arange(N), (T, 1))
    np.testing.assert_allclose(model.coef_[0], textbook.last_of(textbook.pegasos(X, Y, LAM, everything)), rtol=1e-9)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("sampling, k", [("replacement", 1), ("shuffle", 5), ("cyclic", "all")])
@pytest.mark.parametrize("average", [False, "uniform"])
def test_a_start_vector_is_the_textbooks(sampling, k, project, average):
    """t = 1 is a step like any other: it tests its rows against w_1, and averages begin with w_1."""
    start = np.array([3.0, -2.0, 0.5, 1.0])
    rows = np.tile(np.arange(N), (T, 1)) if k == "all" else draws(sampling, k)
    model = fast(sampling=sampling, batch_size=k, project=project, average=average)
    model.fit(X, Y, coef_init=start)
    iterates = textbook.pegasos(X, Y, LAM, rows, start=start, project=project)
    expected = textbook.average_of(iterates) if average else textbook.last_of(iterates)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-9, atol=1e-12)
    plain = fast(sampling=sampling, batch_size=k, project=project, average=average).fit(X, Y)
    assert not np.allclose(plain.coef_, model.coef_) or not average, "the start matters"
    assert model.dual_gap_[0] >= -1e-12


def test_the_start_vectors_of_many_columns_are_their_own():
    """One column for each pair of classes, on its own rows, and one of them a vector of the other side."""
    start = RNG.normal(size=(6, 4)) * 2
    model = fast(multi_class="ovo", max_steps=40, average="uniform").fit(X, LABELS, coef_init=start)
    plain = fast(multi_class="ovo", max_steps=40, average="uniform").fit(X, LABELS)
    order = textbook.draws_of(N, 40 * 10, "replacement", 7).ravel()
    for column, (low, high) in enumerate([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]):
        own = [i for i in order if LABELS[i] in (low, high)][:40]
        y = np.where(high == LABELS, 1.0, -1.0)
        for fitted, w in ((model, start[column]), (plain, None)):
            expected = textbook.average_of(textbook.pegasos(X, y, LAM, own, start=w))
            np.testing.assert_allclose(fitted.coef_[column], expected, rtol=1e-9, atol=1e-12)


def test_a_start_vector_has_an_intercept_and_is_refused_where_it_means_nothing():
    start = np.array([1.0, 0, 0])
    model = fast(fit_intercept=True, average="uniform").fit(X[:, :3], Y, coef_init=start, intercept_init=[0.5])
    expected = textbook.average_of(textbook.pegasos(X, Y, LAM, draws(), start=[1.0, 0, 0, 0.5]))
    np.testing.assert_allclose([*model.coef_[0], model.intercept_[0]], expected, rtol=1e-9, atol=1e-12)
    for parameters, given, sentence in [
        ({}, {"coef_init": np.full(4, 9.0)}, "outside the ball of radius 7.071"),
        ({}, {"coef_init": np.zeros(3)}, r"coef_init has shape \(3,\), not \(1, 4\)"),
        ({}, {"coef_init": np.full(4, np.nan)}, "nan or infinite"),
        ({}, {"intercept_init": [0.0]}, "needs coef_init"),
        ({}, {"coef_init": np.zeros(4), "intercept_init": [0.0]}, "no intercept"),
        ({"kernel": "rbf"}, {"coef_init": np.zeros(4)}, "kernel='linear'"),
        ({"solver": "sdca", "sampling": "shuffle"}, {"coef_init": np.zeros(4)}, "solver='pegasos'"),
        ({"warm_start": True}, {"coef_init": np.zeros(4)}, "does not go with warm_start"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            fast(**parameters).fit(X, Y, **given)


def test_a_start_vector_of_a_loss_with_unbounded_pulls_is_not_forgotten():
    start = np.array([0.3, 0.1, 0.0, 0.2])
    model = fast(loss="squared_hinge", max_steps=3, sampling="cyclic").fit(X, Y, coef_init=start)
    ahead = 2 * (X**2).sum(axis=1).max() / LAM
    w = start
    for t in range(1, 4):
        i, eta = t - 1, 1 / (LAM * (t + ahead))
        w = (1 - LAM * eta) * w + eta * 2 * Y[i] * max(0, 1 - Y[i] * (X[i] @ w)) * X[i]
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)


def test_subsets_of_pairs_are_subsets_of_their_own_rows():
    model = fast(multi_class="ovo", sampling="subsets", batch_size=6, max_steps=30).fit(X, LABELS)
    (row,) = [p for p in range(6) if [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)][p] == (1, 3)]
    own = np.isin(LABELS, [1, 3])
    alone = fast(sampling="subsets", batch_size=6, max_steps=30).fit(X[own], LABELS[own])
    np.testing.assert_allclose(model.coef_[row], alone.coef_[0], rtol=1e-9, atol=1e-12)
    for batch in draws("subsets", 8):
        assert len(np.unique(batch)) == 8


def test_subsets_go_on_where_they_ended():
    whole = fast(sampling="subsets", batch_size=8, max_steps=20).fit(X, Y)
    parts = fast(sampling="subsets", batch_size=8, max_steps=9, warm_start=True).fit(X, Y)
    parts.set_params(max_steps=11).fit(X, Y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_ties_of_votes_by_confidence_or_to_the_lowest_class():
    model = fast(multi_class="ovo", max_steps=15).fit(X, LABELS)
    scores = dict(zip(
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], (X @ model.coef_.T).T, strict=True))  # fmt: skip
    for ties, break_ties in (("confidence", True), ("lowest", False)):
        expected = textbook.votes(scores, 4, ties=ties).argmax(axis=1)
        assert (model.set_params(break_ties=break_ties).predict(X) == expected).all()


def test_a_start_vector_outside_the_ball_is_refused():
    with pytest.raises(ValueError, match="above 1/√λ = 7.071"):
        next(textbook.pegasos(X, Y, LAM, draws(), start=np.full(4, 9.0)))


def test_the_cyclic_form_equals_the_solver():
    model = fast(sampling="cyclic", max_steps=None, max_iter=20, lam=0.05).fit(X, Y)
    np.testing.assert_allclose(model.coef_[0], textbook.pegasos_cyclic(X, Y), rtol=1e-9, atol=1e-12)


def test_three_forms_of_the_kernel_algorithm_are_one():
    width = 0.75
    kernel = lambda a, b: textbook.gaussian(a, b, width)
    K = np.array([[kernel(a, b) for b in X] for a in X])
    model = fast(kernel="rbf", gamma=1 / (2 * width)).fit(X, Y)
    counts = np.zeros(N, int)
    counts[model.support_] = model.violations_[0]
    assert (textbook.violation_counts(X, Y, LAM, draws(), kernel) == counts).all()
    assert (textbook.kernel_pegasos(K, Y, LAM, draws()) == counts).all()
    pairs = textbook.support_list(X, Y, LAM, draws(), kernel)
    assert len(pairs) == counts.sum()
    scores = [textbook.kernel.score_of(pairs, x, kernel) / (LAM * T) for x in X]
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-9, atol=1e-12)


def test_counts_equal_weights():
    """Equations (1) and (2) of Stratos: the counts of the linear kernel add up to the plain form's weights."""
    alpha = textbook.violation_counts(X, Y, LAM, draws())
    plain = textbook.last_of(textbook.pegasos(X, Y, LAM, draws()))
    np.testing.assert_allclose((alpha * Y) @ X / (LAM * T), plain, rtol=1e-9, atol=1e-12)


def test_the_test_as_written_divides_by_one_step_more():
    """With 1/(λt) on t − 1 steps every margin looks smaller: at least as many rows violate at the first steps."""
    for form in (textbook.violation_counts, textbook.kernel_pegasos):
        args = (X, Y) if form is textbook.violation_counts else (X @ X.T, Y)
        exact, written = form(*args, LAM, draws()), form(*args, LAM, draws(), exact=False)
        assert (exact != written).any()
    one = textbook.support_list(X, Y, LAM, draws()[:1], exact=False)
    assert len(one) == 1, "the first row violates either way"


def test_the_gaussian_as_coded_is_another_kernel():
    a, b = np.array([0.0, 0.0]), np.array([1.0, 1.0])
    assert textbook.gaussian(a, b, 0.25) == pytest.approx(np.exp(-2 / 0.5))
    assert textbook.gaussian_as_coded(a, b, 0.25) == pytest.approx(np.exp(-0.125 * 4))


def linear(labels_of):
    """A trainer that takes the library's draws: the last iterate on the rows it is given."""

    def train(rows, y):
        order = labels_of(len(rows))
        w = textbook.last_of(textbook.pegasos(rows, y, LAM, order))
        return lambda others: others @ w

    return train


def test_one_against_the_rest_equals_the_solver():
    model = fast().fit(X, LABELS)
    predict = textbook.one_vs_rest(linear(lambda n: draws(n=n)), X, LABELS)
    assert (predict(X) == model.predict(X)).all()


def test_all_pairs_equal_the_solver():
    model = fast(multi_class="ovo", sampling="cyclic").fit(X, LABELS)
    train = linear(lambda n: draws("cyclic", n=n))
    assert (textbook.one_vs_one(train, X, LABELS)(X) == model.predict(X)).all()


def test_votes_that_tie_go_to_the_lowest_class_or_to_the_surest():
    cycle = {(0, 1): np.array([1.0]), (1, 2): np.array([5.0]), (0, 2): np.array([-0.5])}  # 1, 2 and 0 win once each
    assert textbook.votes(cycle, 3, ties="lowest").argmax() == 0
    assert textbook.votes(cycle, 3).argmax() == 2


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_smo_reaches_the_optimum_of_svc(kernel, C):
    K = X @ X.T if kernel == "linear" else np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    found = textbook.smo(K, Y, C, tol=1e-6)
    assert found.converged
    theirs = SVC(kernel="precomputed", C=C, tol=1e-8).fit(K, Y)
    alpha = np.zeros(N)
    alpha[theirs.support_] = np.abs(theirs.dual_coef_[0])
    dual = lambda a: a.sum() - (a * Y) @ K @ (a * Y) / 2
    assert dual(found.alpha) == pytest.approx(dual(alpha), rel=1e-6)
    assert found.b == pytest.approx(theirs.intercept_[0], abs=1e-4)
    assert abs(found.alpha @ Y) < 1e-9 * C
    assert ((found.alpha >= 0) & (found.alpha <= C)).all()
    scores = K @ (found.alpha * Y) + found.b
    assert textbook.kkt_violations(found.alpha, Y, scores, C).max() <= 1e-5
    objectives = [step[3] for step in found.history]
    assert (np.diff(objectives) >= -1e-9 * abs(objectives[-1])).all(), "no step loses"
    assert found.history[-1][2] < found.history[0][2], "the violation falls"


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_smo_and_the_fast_solver_reach_the_same_optimum(C):
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    found = textbook.smo(K, Y, C, tol=1e-7)
    model = PegasosClassifier(kernel="rbf", gamma=0.5, C=C, solver="smo", tol=1e-9).fit(X, Y)
    ours = found.alpha * Y @ K @ (found.alpha * Y)
    primal = ours / 2 + C * np.maximum(0, 1 - Y * (K @ (found.alpha * Y) + found.b)).sum()
    assert model.objective_[0] * C * N == pytest.approx(primal, rel=1e-6)
    assert model.intercept_[0] == pytest.approx(found.b, abs=1e-4)
    np.testing.assert_allclose(model.decision_function(X), K @ (found.alpha * Y) + found.b, atol=1e-4)


def test_smo_says_when_it_has_not_converged():
    assert not textbook.smo(X @ X.T, Y, 1.0, max_steps=2).converged


def test_the_page_that_shows_the_code_is_that_of_the_source():
    spec = spec_from_file_location("textbook_page", Path(__file__).parents[1] / "script" / "textbook_page.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "script/textbook_page.py writes it anew"


def test_the_functions_are_short_and_listed():
    """Some 60 lines at most each, and every public name has its document in the package's overview."""
    for name in textbook.__all__:
        lines = inspect.getsource(getattr(textbook, name)).splitlines()
        assert len(lines) <= 60, f"{name} has {len(lines)} lines"
    overview = textbook.__doc__
    for name in ("pegasos", "pegasos_cyclic", "violation_counts", "support_list", "gaussian_as_coded", "kernel_pegasos",
                 "one_vs_rest", "one_vs_one", "online_gradient_descent", "smo"):  # fmt: skip
        assert f"`{name}`" in overview
