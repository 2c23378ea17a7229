"""The solver of columns that stream by a small kernel matrix, beside optima by another method."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV

from pegasos import PegasosClassifier, PegasosRegressor, model_selection
from pegasos.backends.threads import threads_limited
from pegasos.kernels import make_kernel
from pegasos.losses import Loss
from pegasos.problem.columns import Problems
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, KernelRows, KernelStorage
from pegasos.rules.column import Rule
from pegasos.search import column_plan
from pegasos.solver import gram
from pegasos.solver.clock import Clock
from pegasos.solver.gram import takes_gram_solver
from pegasos.solver.monitor import Hooks
from pegasos.solver.solve import solve
from reference import hinge_optimum
from reference_losses import optimum_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
KERNEL = make_kernel("rbf", None, gamma=0.4, degree=3, coef0=0.0)
LOSSES = ["hinge", "squared_hinge", "log_loss", "epsilon_insensitive", "squared_epsilon_insensitive"]
LAMS = [0.3, 0.02, 0.001]


def job_of(loss="hinge", bias=0.0, dtype=np.float64, weights=None, **schedule):
    """Two labelings × two row sets × three values of lam."""
    regression = Loss[loss].task == "regression"
    noise = np.random.default_rng(1).normal(size=(40, 2)) * 0.3
    score = X @ [[1.0, 0.5], [-1.0, 1.0], [0.5, 0.2]] + noise
    labelings = score if regression else np.where(score > 0, 1, -1).astype(np.int8)
    row_sets = np.ones((40, 2), bool)
    row_sets[::4, 1] = False
    problems = Problems(
        labelings=labelings, row_sets=row_sets, columns=np.array([(0, 0), (0, 1), (1, 1)]), lam=np.full(3, np.nan),
        weights=weights, n_classes=2, scheme="regression" if regression else "binary", epsilon=0.1,
    ).over_grid(LAMS)  # fmt: skip
    rows = KernelRows(X.astype(dtype), KERNEL, bias, storage=KernelStorage())
    schedule = Schedule(**{"tol": 1e-7, "max_passes": 1e5} | schedule)
    return Job(rows, problems, schedule, Rule.SDCA, Loss[loss], method="gram")


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_columns_end_at_their_optimum(loss, bias):
    weights = RNG.integers(1, 4, (40, 1)).astype(float) if bias else None
    job = job_of(loss, bias, weights=weights)
    solution = solve(job)
    K, problems = KERNEL(X, X) + bias**2, job.problems
    assert (solution.certificate.relative_gap <= 1e-7).all()
    for column, (labeling, row_set) in enumerate(problems.columns):
        own = problems.row_sets[:, row_set]
        optimal = hinge_optimum if loss == "hinge" else partial(optimum_of, loss, epsilon=0.1)
        expected = optimal(
            K[np.ix_(own, own)], problems.labelings[own, labeling].astype(float), problems.lam[column],
            weights=None if weights is None else weights[own, 0],
        )  # fmt: skip
        objective, zero = solution.certificate.objective[column], solution.certificate.zero[column]
        assert expected.dual - 1e-9 <= objective <= expected.objective + 2e-7 * zero
        assert not solution.model[:40, column][~own].any()
    kept = job.rows.model_scores(np.arange(40), solution.state)
    assert_allclose(kept.T, K @ solution.model[:40], atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_rows_of_few_features(loss, bias):
    job = job_of(loss, tol=1e-9)
    linear = make_kernel("linear", None, gamma=1.0, degree=3, coef0=0.0)
    explicit = replace(job, rows=DenseRows(X, bias))
    by_products = replace(job, rows=KernelRows(X, linear, bias, storage=KernelStorage()))
    found, expected = solve(explicit), solve(by_products)
    assert (found.certificate.relative_gap <= 1e-9).all()
    assert_allclose(found.certificate.objective, expected.certificate.objective, atol=1e-8)
    assert_allclose(found.model[:3], X.T @ expected.model[:40], atol=1e-3)
    scores = X @ found.model[:3] + bias * found.model[3:].sum(axis=0)
    assert_allclose(explicit.rows.model_scores(np.arange(40), found.state).T, scores, atol=1e-12)


def test_columns_do_not_depend_on_each_other():
    job = job_of()
    together = solve(job)
    for column in (0, 4, 8):
        alone = solve(Job(job.rows, job.problems.select([column]), job.schedule, Rule.SDCA, Loss.HINGE, method="gram"))
        assert_array_equal(alone.model[:, 0], together.model[:, column])
    with threads_limited(2):
        assert_array_equal(solve(job).model, together.model)


def test_a_state_can_be_gone_on_from():
    short, whole = solve(job_of(max_passes=2)), solve(job_of())
    assert (short.certificate.relative_gap > 1e-7).any()
    assert (short.steps <= 2 * job_of().problems.n_rows).all()
    for method in ("gram", "stream"):
        job = job_of(tol=1e-5)
        job = Job(job.rows, job.problems, job.schedule, Rule.SDCA, Loss.HINGE, method=method)
        found = solve(job, start=short.state)
        assert (found.certificate.relative_gap <= 1e-5).all()
        assert_allclose(found.certificate.objective, whole.certificate.objective, atol=1e-5)
        assert (found.steps >= short.steps).all()


def test_time_and_callbacks_end_it(monkeypatch):
    monkeypatch.setattr(gram, "STEPS_AT_ONCE", 1)
    records = []
    solution = solve(job_of(), hooks=Hooks(record=records.append, after_pass=lambda passes, model: passes == 3))
    assert records[0]["step"] == 40
    assert solution.steps.max() <= 120
    stopped = solve(job_of(), clock=Clock(1e-9))
    assert stopped.timed_out


def test_single_precision_and_no_tol():
    found, exact = solve(job_of(dtype=np.float32, tol=1e-4)), solve(job_of())
    assert found.model.dtype == np.float32
    assert_allclose(found.certificate.objective, exact.certificate.objective, atol=1e-4)
    assert (solve(job_of(tol=None, max_passes=3)).steps >= 1).all()


def test_who_is_taken():
    kernel = job_of().rows
    assert takes_gram_solver(kernel, Loss.HINGE)
    assert not takes_gram_solver(kernel, Loss.CRAMMER_SINGER)
    assert not takes_gram_solver(DenseRows(X, 1.0), Loss.HINGE)
    assert not takes_gram_solver(KernelRows(X, KERNEL, storage=KernelStorage(keep=False)), Loss.HINGE)
    many = np.zeros((gram.MOST_ROWS + 1, 1))
    assert not takes_gram_solver(KernelRows(many, KERNEL, storage=KernelStorage()), Loss.HINGE)


def test_searches_over_few_rows_take_it(monkeypatch):
    seen = []
    chosen = column_plan.method_of
    monkeypatch.setattr(column_plan, "method_of", lambda *a, **k: seen.append(chosen(*a, **k)) or seen[-1])
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "far", "near")
    for estimator in (
        PegasosClassifier(kernel="rbf", gamma=0.4, tol=1e-9),
        PegasosClassifier(kernel="rbf", gamma=0.4, loss="log_loss", tol=1e-6),
        PegasosRegressor(kernel="poly", gamma=0.5, tol=1e-6),
    ):
        targets = X[:, 2] if isinstance(estimator, PegasosRegressor) else y
        grid, asked = {"C": [0.1, 10.0]}, dict(cv=3, refit=False)
        found = model_selection.GridSearchCV(estimator, grid, **asked).fit(X, targets).cv_results_
        expected = GridSearchCV(estimator, grid, **asked).fit(X, targets).cv_results_
        assert_allclose(found["mean_test_score"], expected["mean_test_score"], atol=1e-4)
    assert seen == ["gram"] * 3
