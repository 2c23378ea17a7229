"""Linear dual coordinate descent: the textbook's steps where nothing shrinks, the optimum where it does."""

import numpy as np
import pytest
from scipy import sparse

from pegasos.losses import Loss
from pegasos.problem.columns import Problems, one_vs_one, one_vs_rest
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, SparseRows
from pegasos.rules.column import Rule
from pegasos.solver.clock import Clock
from pegasos.solver.monitor import Hooks
from pegasos.solver.solve import solve
from reference import hinge_optimum
from reference_losses import objective, optimum_of

LOSSES = ["hinge", "squared_hinge", "log_loss", "epsilon_insensitive", "squared_epsilon_insensitive"]
EPSILON = 0.2
EXACT = dict(tol=1e-9, max_passes=100_000)

losses = pytest.mark.parametrize("loss", LOSSES)
containers = pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])


def problem(loss, n_rows=60, n_features=5, *, weighted=False, seed=0):
    """Rows, targets and weights of one column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * np.logspace(-1, 0.5, n_features)
    X[rng.random(X.shape) < 0.3] = 0.0
    score = X @ rng.normal(size=n_features) + 0.3 * rng.normal(size=n_rows) + 0.2
    y = score if loss.endswith("epsilon_insensitive") else np.where(score > 0, 1, -1).astype(np.int8)
    return X, y, rng.uniform(0.2, 3.0, n_rows) if weighted else None


def job_of(X, y, loss, lam, *, weights=None, bias=1.0, seed=0, **schedule):
    """One column as the estimators make it."""
    rows = (SparseRows if sparse.issparse(X) else DenseRows)(X, bias)
    problems = Problems(
        labelings=np.asarray(y)[:, None],
        row_sets=np.ones((len(y), 1), bool),
        columns=np.zeros((1, 2), np.intp),
        lam=np.array([lam]),
        weights=None if weights is None else weights[:, None],
        n_classes=2,
        scheme="regression" if loss.endswith("epsilon_insensitive") else "binary",
        epsilon=EPSILON,
    )
    schedule = Schedule(seed=seed, **schedule)
    return Job(rows, problems, schedule, Rule.SDCA, Loss[loss], method="dcd")


def optimum(X, y, loss, lam, *, weights=None, bias=1.0):
    """By a solver of the tests' own."""
    K = X @ X.T + bias**2
    if loss == "hinge":
        return hinge_optimum(K, y, lam, weights=weights)
    return optimum_of(loss, K, y, lam, weights=weights, epsilon=EPSILON)


class Random:
    """The numbers of the compiled loop, and the order they put rows into."""

    def __init__(self, seed):
        self.state = seed

    def shuffled(self, order):
        order = list(order)
        for last in range(len(order) - 1, 0, -1):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
            other = (self.state >> 32) * (last + 1) >> 32
            order[last], order[other] = order[other], order[last]
        return order


def textbook(X, y, loss, lam, n_passes, *, weights=None, bias=1.0, seed=0, begins_with_pegasos=False):
    """w and coefficients after some passes of plain coordinate ascent, each row in turn with nothing set aside."""
    X = np.hstack([X, np.full((len(X), 1), bias)])
    n, loss, random = len(X), Loss[loss], Random(seed)
    s = np.ones(n) if weights is None else weights / weights.mean()
    alpha, order = np.zeros(n), range(n)
    for turn in range(n_passes):
        order = random.shuffled(order)
        for t, i in enumerate(order):
            total = alpha @ X
            if turn == 0 and begins_with_pegasos:
                alpha[i] = s[i] * loss.pull(y[i], X[i] @ total / (lam * max(t, 1)), EPSILON)
            else:
                side, q = loss.side(y[i]), X[i] @ X[i] / (lam * n)
                f = X[i] @ total / (lam * n)
                alpha[i] = side * loss.coordinate(side * alpha[i], y[i], f, q, s[i], EPSILON)
    return alpha @ X / (lam * n), alpha


@losses
@containers
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_a_pass_is_the_textbook_s(loss, container, weighted):
    X, y, weights = problem(loss, weighted=weighted)
    lam = 0.003
    found = solve(job_of(container(X), y, loss, lam, weights=weights, seed=7, tol=None, max_passes=1))
    w, alpha = textbook(X, y, loss, lam, 1, weights=weights, seed=7)
    np.testing.assert_allclose(found.model[:, 0], w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.state.alpha[:, 0], alpha, rtol=1e-9, atol=1e-12)
    assert found.steps[0] == len(X)


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "epsilon_insensitive"])
@containers
def test_the_first_pass_is_pegasos_where_rows_pull_little(loss, container):
    X, y, weights = problem(loss, weighted=True)
    lam = 2.1 * (np.max((X**2).sum(axis=1)) + 1) / len(X)
    found = solve(job_of(container(X), y, loss, lam, weights=weights, seed=3, tol=None, max_passes=1))
    w, alpha = textbook(X, y, loss, lam, 1, weights=weights, seed=3, begins_with_pegasos=True)
    np.testing.assert_allclose(found.model[:, 0], w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.state.alpha[:, 0], alpha, rtol=1e-9, atol=1e-12)


def test_log_loss_never_shrinks():
    X, y, _ = problem("log_loss")
    found = solve(job_of(X, y, "log_loss", 0.003, seed=1, tol=None, max_passes=4))
    np.testing.assert_allclose(found.model[:, 0], textbook(X, y, "log_loss", 0.003, 4, seed=1)[0], rtol=1e-8)


@losses
@containers
@pytest.mark.parametrize("lam", [1e-4, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_the_optimum_of_an_independent_solver(loss, container, lam, weighted):
    X, y, weights = problem(loss, weighted=weighted)
    job = job_of(container(X), y, loss, lam, weights=weights, **EXACT)
    found, best = solve(job), optimum(X, y, loss, lam, weights=weights)
    zero = max(job.zero_objectives()[0], 1e-12)
    assert abs(found.certificate.objective[0] - best.objective) <= 2e-9 * zero + best.gap
    assert found.certificate.relative_gap[0] <= 1e-9


@losses
@pytest.mark.parametrize("tol", [0.3, 0.03, 1e-3])
def test_the_certificate_is_a_bound(loss, tol):
    X, y, weights = problem(loss, weighted=True, seed=4)
    found = solve(job_of(X, y, loss, 0.01, weights=weights, tol=tol, max_passes=1000))
    best = optimum(X, y, loss, 0.01, weights=weights)
    scores = X @ found.model[:-1, 0] + found.model[-1, 0]
    norm = found.model[:, 0] @ found.model[:, 0]
    truth = objective(loss, scores, y, 0.01, norm, weights, EPSILON)
    assert found.certificate.objective[0] == pytest.approx(truth, rel=1e-12)
    assert truth - best.dual <= found.certificate.gap[0] + best.gap
    assert found.certificate.relative_gap[0] <= tol


def test_a_column_does_not_depend_on_the_others():
    rng = np.random.default_rng(2)
    X, codes = rng.normal(size=(90, 6)), rng.integers(0, 3, 90)
    wide = one_vs_one(codes, 3).with_C(1.0)
    schedule = Schedule(seed=5, tol=1e-4, max_passes=1000)
    job = Job(DenseRows(X, 1.0), wide, schedule, Rule.SDCA, Loss.HINGE, method="dcd")
    together = solve(job)
    for column in range(3):
        alone = solve(Job(job.rows, wide.select([column]), schedule, Rule.SDCA, Loss.HINGE, method="dcd"))
        np.testing.assert_array_equal(alone.model[:, 0], together.model[:, column])


def test_many_lams_and_float32():
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(200, 8)).astype(np.float32), rng.integers(0, 4, 200)
    problems = one_vs_rest(codes, 4).over_grid([1e-3, 1e-2, 1e-1])
    found = solve(Job(DenseRows(X, 1.0), problems, Schedule(tol=1e-5, max_passes=10_000), Rule.SDCA, method="dcd"))
    assert found.model.dtype == np.float32
    assert (found.certificate.relative_gap <= 1e-5).all()
    for column in (0, 5, 11):
        y = problems.labelings[:, problems.columns[column, 0]]
        best = hinge_optimum(X.astype(float) @ X.T + 1.0, y, problems.lam[column])
        assert found.certificate.objective[column] == pytest.approx(best.objective, abs=2e-5)


def test_rows_that_no_column_has_and_rows_of_zeros():
    X, y, _ = problem("hinge")
    X[::7] = 0.0
    job = job_of(X, y, "hinge", 0.01, bias=0.0, **EXACT)
    found, K = solve(job), X @ X.T
    assert found.certificate.objective[0] == pytest.approx(hinge_optimum(K, y, 0.01).objective, abs=1e-8)
    weights = np.ones(len(y))
    weights[::2] = 0.0
    job = job_of(X, y, "hinge", 0.01, weights=weights, **EXACT)
    problems = Problems(**(vars(job.problems) | {"row_sets": weights[:, None] > 0}))
    found = solve(Job(job.rows, problems, job.schedule, Rule.SDCA, Loss.HINGE, method="dcd"))
    best = hinge_optimum(X[1::2] @ X[1::2].T + 1, y[1::2], 0.01)
    assert found.certificate.objective[0] == pytest.approx(best.objective, abs=1e-8)
    assert not found.state.alpha[::2].any()


@losses
def test_goes_on_from_a_state(loss):
    X, y, _ = problem(loss)
    first = solve(job_of(X, y, loss, 0.01, tol=1e-2))
    kept = first.state.sums.copy(), first.state.alpha.copy()
    again = solve(job_of(X, y, loss, 0.005, **EXACT), start=first.state)
    assert again.certificate.objective[0] == pytest.approx(optimum(X, y, loss, 0.005).objective, rel=1e-7)
    assert again.steps[0] > first.steps[0]
    np.testing.assert_array_equal(first.state.sums, kept[0])
    np.testing.assert_array_equal(first.state.alpha, kept[1])


def test_limits_callbacks_and_time():
    X, y, _ = problem("hinge", 400)
    job = job_of(X, y, "hinge", 1e-7, tol=1e-12, max_passes=20)
    seen, passes = [], []
    found = solve(job, hooks=Hooks(record=seen.append, after_pass=lambda n, model: passes.append((n, model().shape))))
    assert found.steps[0] <= 20 * len(X)
    assert [record["gap"] for record in found.history] == [record["gap"] for record in seen]
    assert passes[0] == (1, (6, 1))
    assert len(passes) >= 20
    assert len(seen) >= 4
    stopped = solve(job, hooks=Hooks(after_pass=lambda n, model: n == 3))
    assert stopped.steps[0] <= 3 * len(X)
    out_of_time = solve(job, clock=Clock(1e-9))
    assert out_of_time.timed_out
    clock = Clock(None)
    clock.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        solve(job, clock=clock)


def test_targets_within_the_tube_need_no_step():
    X, _, _ = problem("epsilon_insensitive")
    found = solve(job_of(X, np.full(len(X), 0.1), "epsilon_insensitive", 0.01, tol=1e-3))
    assert not found.model.any()
    assert found.certificate.gap[0] == 0.0
