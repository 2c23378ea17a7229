"""Columns of kernel machines to their optimum: beside LIBSVM's, a general solver of quadratic programs, and bounds."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse import csr_array
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from pegasos.kernels import make_kernel
from pegasos.rows import row_cache
from pegasos.rows.row_cache import KernelRowCache
from pegasos.solver.dual_problem import DualProblem, Stop
from pegasos.solver.dual_run import DualRun, solve_duals

TIGHT = Stop(violation=1e-6)
KERNELS = [("rbf", {"gamma": 0.3}), ("rbf", {"gamma": 3.0}), ("poly", {"gamma": 0.2, "degree": 3, "coef0": 1.0})]
KERNELS += [("linear", {}), ("poly", {"gamma": 0.3, "degree": 2, "coef0": 0.5})]
CS = [1e-3, 0.1, 1.0, 30.0, 1e3, 1e4]


def clouds(seed, n=120, d=4):
    """Rows of two classes that overlap, their signs, a smooth target and weights."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], n)
    X = rng.normal(size=(n, d)) + 0.7 * signs[:, None] * (np.arange(d) < 2)
    return X, signs, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n), rng.choice([0.5, 1.0, 3.0], n)


def kernel_of(name, parameters):
    """Our kernel, and the arguments of scikit-learn's."""
    return make_kernel(name, **parameters), {"kernel": name, **parameters}


def classification(signs, C, **more):
    """The dual of the hinge loss with an intercept."""
    n = len(signs)
    more.setdefault("segments", (0, n))
    return DualProblem(np.arange(n), signs, np.minimum(0, signs * C), np.maximum(0, signs * C), **more)


def objective(problem, beta, K):
    """What a problem minimises, from the whole matrix in float64."""
    own = beta @ K[np.ix_(problem.rows, problem.rows)] @ beta
    ridge = 0.0 if problem.ridge is None else problem.ridge @ beta**2
    return 0.5 * (own + ridge) - problem.linear @ beta + problem.epsilon * np.abs(beta).sum()


def coefficients(model, n):
    """LIBSVM's signed dual variable of each row."""
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def assert_equal(found, problem, theirs, intercept, K):
    """The same objective, intercept and support as a fitted model of scikit-learn."""
    ours, reached = objective(problem, found.beta, K), objective(problem, theirs, K)
    size = max(abs(reached), 1e-3 * np.abs(problem.linear).sum(), 1e-9)
    assert ours <= reached + 1e-6 * size
    assert ours >= reached - 1e-6 * size - found.gap
    assert found.converged
    assert found.violation <= 1e-6
    assert abs(found.intercepts[0] - intercept) <= 1e-4 * max(1.0, abs(intercept))
    assert np.allclose(
        found.scores,
        K[np.ix_(problem.rows, problem.rows)] @ found.beta,
        atol=1e-5 * (1 + np.abs(K).max() * np.abs(found.beta).sum()),
    )
    differ = (found.beta != 0) != (theirs != 0)
    assert differ.mean() <= 0.02 or np.abs(np.where(differ, found.beta - theirs, 0)).max() <= 1e-3 * problem.high.max()


@pytest.mark.parametrize("seed", range(60))
def test_equals_svc_on_random_problems(seed):
    X, signs, _, weights = clouds(seed)
    kernel, parameters = kernel_of(*KERNELS[seed % len(KERNELS)])
    weights = weights if seed % 3 else np.ones(len(X))
    C = CS[(seed // len(KERNELS)) % len(CS)]
    if parameters["kernel"] in ("linear", "poly"):
        C = min(C, 30.0)  # LIBSVM itself takes minutes beyond
    problem = classification(signs, C * weights)
    (found,) = solve_duals([problem], KernelRowCache(X, kernel), TIGHT)
    svc = SVC(C=C, tol=1e-6, **parameters).fit(X, signs, sample_weight=weights)
    assert_equal(found, problem, coefficients(svc, len(X)), svc.intercept_[0], kernel(X, X))


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_equals_nu_svc(nu):
    X, signs, _, _ = clouds(3)
    order = np.argsort(-signs, kind="stable")
    X, signs, n = X[order], signs[order], len(X)
    kernel, parameters = kernel_of(*KERNELS[0])
    start, each = np.zeros(n), nu * n / 2
    for sign in (1, -1):
        own = np.flatnonzero(signs == sign)
        start[own] = sign * np.clip(each - np.arange(len(own)), 0.0, 1.0)
    end = int((signs > 0).sum())
    problem = DualProblem(
        np.arange(n), np.zeros(n), np.minimum(signs, 0), np.maximum(signs, 0), segments=(0, end, n), start=start
    )
    (found,) = solve_duals([problem], KernelRowCache(X, kernel), Stop(violation=1e-7))
    model = NuSVC(nu=nu, tol=1e-7, **parameters).fit(X, signs)
    # Of f + b₊ = ρ on the margin of class +, f + b₋ = -ρ on that of class -.
    rho, bias = (found.intercepts[1] - found.intercepts[0]) / 2, found.intercepts.mean()
    assert np.allclose(found.beta / rho, coefficients(model, n), atol=1e-3 * np.abs(model.dual_coef_).max())
    assert np.isclose(bias / rho, model.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_equals_svr(C, epsilon):
    X, _, y, weights = clouds(4)
    kernel, parameters = kernel_of(*KERNELS[0])
    n = len(X)
    problem = DualProblem(np.arange(n), y, -C * weights, C * weights, epsilon=epsilon, segments=(0, n))
    (found,) = solve_duals([problem], KernelRowCache(X, kernel), TIGHT)
    model = SVR(C=C, epsilon=epsilon, tol=1e-6, **parameters).fit(X, y, sample_weight=weights)
    assert_equal(found, problem, coefficients(model, n), model.intercept_[0], kernel(X, X))


def test_equals_nu_svr():
    X, _, y, _ = clouds(5)
    kernel, parameters = kernel_of(*KERNELS[0])
    n, C, nu = len(X), 2.0, 0.3
    start = np.clip(C * nu * n / 2 - C * np.arange(n), 0.0, C)
    ones = np.ones(n)
    problem = DualProblem(
        np.tile(np.arange(n), 2), np.tile(y, 2), np.r_[0 * ones, -C * ones], np.r_[C * ones, 0 * ones],
        segments=(0, n, 2 * n), start=np.r_[start, -start],
    )  # fmt: skip
    (found,) = solve_duals([problem], KernelRowCache(X, kernel), TIGHT)
    model = NuSVR(nu=nu, C=C, tol=1e-6, **parameters).fit(X, y)
    beta = found.beta[:n] + found.beta[n:]
    assert np.allclose(beta, coefficients(model, n), atol=1e-3)
    assert np.isclose(found.intercepts.mean(), model.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_equals_one_class(nu):
    X, _, _, _ = clouds(6)
    kernel, parameters = kernel_of(*KERNELS[0])
    n = len(X)
    start = np.clip(nu * n - np.arange(n), 0.0, 1.0)
    problem = DualProblem(np.arange(n), np.zeros(n), np.zeros(n), np.ones(n), segments=(0, n), start=start)
    (found,) = solve_duals([problem], KernelRowCache(X, kernel), TIGHT)
    model = OneClassSVM(nu=nu, tol=1e-6, **parameters).fit(X)
    K = kernel(X, X)
    assert_equal(found, problem, coefficients(model, n), model.intercept_[0], K)
    assert np.isclose(found.beta.sum(), nu * n)


def small_problems(seed):
    """A problem of each kind on a few rows."""
    X, signs, y, weights = clouds(seed, n=14)
    n, C = len(X), weights * 10.0 ** (seed % 4 - 1)
    ridge = 0.5 / C
    rows, free = np.arange(n), np.full(n, np.inf)
    yield classification(signs, C)
    yield classification(signs, C, segments=None)
    yield DualProblem(rows, signs, np.where(signs < 0, -np.inf, 0), np.where(signs > 0, np.inf, 0), 0.0, ridge, (0, n))
    yield DualProblem(rows, y, -C, C, 0.05, None, (0, n))
    yield DualProblem(rows, y, -C, C, 0.05)
    yield DualProblem(rows, y, -free, free, 0.05, ridge, (0, n))
    yield DualProblem(rows, y, -free, free, 0.05, ridge)
    yield DualProblem(rows, 0 * y, 0 * y, np.ones(n), segments=(0, 5, n), start=np.full(n, 0.3))


def optimum_of(problem, K):
    """The least value that a general solver finds, with both signs of a variable apart: then there is no kink."""
    n = len(problem.rows)
    start = np.zeros(n) if problem.start is None else problem.start
    ridge = 0.0 if problem.ridge is None else problem.ridge

    def both(z):
        return z[:n] - z[n:]

    def value(z):
        return objective(problem, both(z), K) + 2 * problem.epsilon * np.minimum(z[:n], z[n:]).sum()

    def slopes(z):
        slope = K @ both(z) - problem.linear + ridge * both(z)
        return np.r_[slope + problem.epsilon, -slope + problem.epsilon]

    constraints = []
    if problem.segments is not None:
        edges = zip(problem.segments, problem.segments[1:], strict=False)
        sums = np.array([np.isin(np.arange(n), np.arange(a, b)) * 1.0 for a, b in edges])
        constraints = [LinearConstraint(np.hstack([sums, -sums]), sums @ start, sums @ start)]
    highest = np.r_[np.maximum(problem.high, 0), -np.minimum(problem.low, 0)]
    judge = minimize(
        value, np.r_[np.maximum(start, 0), np.maximum(-start, 0)], jac=slopes, bounds=[(0, each) for each in highest],
        constraints=constraints, method="SLSQP", options={"ftol": 1e-13, "maxiter": 2000},
    )  # fmt: skip
    return objective(problem, both(judge.x), K)


@pytest.mark.parametrize("seed", range(3))
def test_a_solver_of_quadratic_programs_finds_nothing_lower(seed):
    X = clouds(seed, n=14)[0]
    kernel = make_kernel("rbf", gamma=0.5)
    K = kernel(X, X)
    for problem in small_problems(seed):
        (found,) = solve_duals([problem], KernelRowCache(X, kernel), Stop(violation=1e-8))
        optimum, ours = optimum_of(problem, K), objective(problem, found.beta, K)
        assert ours <= optimum + 1e-5 * (abs(optimum) + 1e-6)
        assert np.isclose(ours, found.objective, rtol=1e-5, atol=1e-6)
        assert found.gap >= -1e-9
        assert np.all(found.beta >= problem.low)
        assert np.all(found.beta <= problem.high)


@pytest.mark.parametrize("keep_sum", [True, False])
def test_gap_is_never_below_the_distance_to_the_optimum(keep_sum):
    X, signs, y, weights = clouds(8, n=200)
    n, kernel = len(X), make_kernel("rbf", gamma=0.5)
    segments = (0, n) if keep_sum else None
    for problem in (
        classification(signs, 10 * weights, segments=segments),
        DualProblem(np.arange(n), y, -weights, weights, epsilon=0.1, segments=segments),
    ):
        (best,) = solve_duals([problem], KernelRowCache(X, kernel), Stop(violation=1e-9))
        for steps in (1, 5, 30, 200):
            (early,) = solve_duals([problem], KernelRowCache(X, kernel), Stop(violation=1e-9, most_steps=steps))
            assert early.steps <= steps
            assert early.gap >= early.objective - best.objective - 1e-9
            assert early.primal >= -best.objective - 1e-9
            loss = problem.linear - early.scores - early.intercepts[0]
            if problem.epsilon:
                losses = problem.high * np.maximum(0, np.abs(loss) - problem.epsilon)
            else:
                losses = np.abs(problem.linear * 10 * weights) * np.maximum(0, problem.linear * loss)
            own = 0.5 * early.beta @ early.scores
            assert np.isclose(own + losses.sum(), early.primal)


def test_a_gap_that_is_wanted_is_reached():
    X, signs, _, _ = clouds(9, n=900)
    problem = classification(signs, 10.0)
    for tol in (1e-2, 1e-5):
        wanted = lambda column, primal, tol=tol: tol * 10.0 * len(X)
        cache = KernelRowCache(X, make_kernel("rbf", gamma=1.0))
        (found,) = solve_duals([problem], cache, Stop(violation=None, wanted_gap=wanted))
        assert found.converged
        assert 0 <= found.gap <= tol * 10.0 * len(X)


@pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed", "laplacian", "callable"])
def test_a_cache_that_is_too_small_changes_no_bit(kind, monkeypatch):
    monkeypatch.setattr(row_cache, "LEAST_ROWS", 96)
    monkeypatch.setattr(row_cache, "WHOLE_UP_TO", 0)
    X, signs, _, _ = clouds(10, n=400)
    X[np.abs(X) < 0.8] = 0.0
    if kind == "precomputed":
        X, kernel = make_kernel("rbf", gamma=0.5)(X, X), make_kernel("precomputed")
    elif kind == "callable":
        kernel = make_kernel(lambda A, B: (A @ B.T + 1.0) ** 2)
    else:
        kernel = make_kernel("laplacian" if kind == "laplacian" else "rbf", gamma=0.5)
    rows = csr_array(X) if kind == "sparse" else X
    monkeypatch.setattr(row_cache, "DENSE_FROM", 2.0)
    problems = [classification(signs, C) for C in (1.0, 100.0)] + [classification(signs, 1.0, segments=None)]
    large, small = KernelRowCache(rows, kernel), KernelRowCache(rows, kernel, 1.0)
    assert small.capacity == 96 < large.capacity
    alone = [solve_duals([problem], large, TIGHT)[0] for problem in problems]
    together = solve_duals(problems, small, TIGHT)
    for one, other in zip(alone, together, strict=True):
        assert one.converged
        assert other.converged
        assert np.array_equal(one.beta, other.beta)
        assert one.steps == other.steps


def test_a_start_near_the_optimum_is_used():
    X, signs, _, _ = clouds(11, n=700)
    kernel = make_kernel("rbf", gamma=0.5)
    cache = KernelRowCache(X, kernel)
    (cold,) = solve_duals([classification(signs, 10.0)], cache, TIGHT)
    (again,) = solve_duals([classification(signs, 10.0, start=cold.beta)], cache, TIGHT)
    assert again.steps <= cold.steps / 20
    assert np.isclose(again.objective, cold.objective, rtol=1e-9)


def test_indefinite_kernels_end():
    X, signs, _, _ = clouds(12)
    kernel = make_kernel("sigmoid", gamma=1.0, coef0=-0.5)
    for segments in ((0, len(X)), None):
        problem = classification(signs, 10.0, segments=segments)
        (found,) = solve_duals([problem], KernelRowCache(X, kernel), Stop(violation=1e-3, most_steps=10**6))
        assert np.isfinite(found.beta).all()
        assert np.isfinite(found.intercepts).all()
        assert found.steps < 10**6


def test_one_class_only_and_no_variable_at_all():
    X, _, _, _ = clouds(13)
    (found,) = solve_duals([classification(np.ones(len(X)), 1.0)], KernelRowCache(X, make_kernel("rbf", gamma=1.0)))
    assert found.converged
    assert not found.beta.any()
    assert found.intercepts[0] == 1.0
    none = DualProblem(np.zeros(0, np.intp), np.zeros(0), np.zeros(0), np.zeros(0), segments=(0, 0))
    (found,) = solve_duals([none], KernelRowCache(X, make_kernel("rbf", gamma=1.0)))
    assert found.converged
    assert found.objective == 0.0


def test_threads_change_no_bit():
    X, signs, _, _ = clouds(14, n=800)
    problems = [classification(signs, C) for C in (0.1, 1.0, 10.0)]
    runs = []
    for n_jobs in (1, 3):
        from pegasos.backends.threads import threads_limited

        with threads_limited(n_jobs):
            run = DualRun(problems, KernelRowCache(X, make_kernel("rbf", gamma=1.0)), TIGHT)
            run.begin()
            while run.running:
                run.advance()
        runs.append([each.beta for each in run.solutions()])
    for one, other in zip(*runs, strict=True):
        assert np.array_equal(one, other)
