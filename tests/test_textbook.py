"""The algorithms of `pegasos.textbook`: each equals the fast solver on the same draws, and SMO reaches SVC's optimum."""

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


def test_smo_says_when_it_has_not_converged():
    assert not textbook.smo(X @ X.T, Y, 1.0, max_steps=2).converged
