"""The solver of columns that begin near their optimum, beside optima by another method."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasos.backends.threads import threads_limited
from pegasos.losses import Loss
from pegasos.problem.columns import one_vs_rest
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows
from pegasos.rules.column import Rule
from pegasos.rules.state import State
from pegasos.solver.near import takes_near_solver
from pegasos.solver.solve import solve
from reference import hinge_optimum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
CODES = np.digitize(X[:, 0] + 0.6 * RNG.normal(size=60), [-0.5, 0.5])
COUNTS = np.stack([RNG.multinomial(60, np.full(60, 1 / 60)) for _ in range(5)], axis=1)


def job_of(C=1.0, bias=1.0, n_classes=3, tol=1e-5, dtype=np.float64):
    """All classes on each of five resamples."""
    codes = np.minimum(CODES, n_classes - 1)
    base = one_vs_rest(codes, n_classes)
    n_labelings, n_resamples = base.labelings.shape[1], COUNTS.shape[1]
    columns = np.array([(labeling, each) for each in range(n_resamples) for labeling in range(n_labelings)])
    problems = replace(
        base, row_sets=COUNTS > 0, weights=COUNTS.astype(float), columns=columns, lam=np.full(len(columns), np.nan)
    ).with_C(C)
    rows = DenseRows(X.astype(dtype), bias)
    return Job(rows, problems, Schedule(tol=tol, max_passes=1e5), Rule.SDCA, Loss.HINGE, method="near")


def start_of(job, quality):
    """Models of other weights, and dual variables that do not make them."""
    problems = job.problems
    whole = replace(problems, row_sets=np.ones_like(problems.row_sets), weights=None).with_C(problems.C)
    found = solve(replace(job, problems=whole, method="stream", schedule=Schedule(tol=quality, max_passes=1e4)))
    alpha = found.state.alpha * job.weights[:, problems.columns[:, 1]]
    return State.from_duals(found.state.model() * (problems.lam * problems.n_rows), alpha, problems.lam)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_columns_end_at_their_optimum(C, bias):
    """But for those of which the certificate says that they do not."""
    job = job_of(C, bias)
    solution = solve(job, start=start_of(job, 1e-2))
    ended = solution.certificate.relative_gap <= 1e-5
    assert ended.mean() > 0.7
    K, problems = X @ X.T + bias**2, job.problems
    for column, (labeling, row_set) in enumerate(problems.columns):
        own = problems.row_sets[:, row_set]
        expected = hinge_optimum(
            K[np.ix_(own, own)], problems.labelings[own, labeling].astype(float), problems.lam[column],
            weights=COUNTS[own, row_set].astype(float),
        )  # fmt: skip
        objective = solution.certificate.objective[column]
        assert solution.certificate.dual[column] - 1e-9 <= expected.objective
        assert expected.dual - 1e-9 <= objective
        assert not ended[column] or objective <= expected.objective + 1e-5
    alpha, weights = solution.state.alpha, job.weights[:, problems.columns[:, 1]]
    assert (np.abs(alpha) <= weights + 1e-12).all()
    assert_allclose(solution.state.sums[:4], X.T @ alpha, atol=1e-9)


def test_from_far_away_too():
    job = job_of()
    n_columns, n_state = job.n_columns, 5
    zero = State.from_duals(np.zeros((n_state, n_columns)), np.zeros((60, n_columns)), job.problems.lam)
    near, far = solve(job, start=start_of(job, 1e-3)), solve(job, start=zero)
    ended = (far.certificate.relative_gap <= 1e-5) & (near.certificate.relative_gap <= 1e-5)
    assert ended.mean() > 0.6
    assert_allclose(far.certificate.objective[ended], near.certificate.objective[ended], atol=2e-5)
    with threads_limited(2):
        assert_allclose(solve(job, start=zero).model, far.model, atol=0)


def test_a_column_that_fails_says_so():
    job = job_of(C=30.0, tol=1e-9)
    steps = solve(job, start=start_of(job, 1e-1)).state.columns["steps"]
    assert (steps > 0).all()
    short = solve(replace(job, schedule=Schedule(tol=1e-15, max_passes=1e5)), start=start_of(job, 1e-1))
    assert not (short.certificate.relative_gap <= 1e-15).all()
    assert (short.certificate.dual <= short.certificate.objective + 1e-12).all()


def test_who_is_taken():
    assert takes_near_solver(DenseRows(X, 1.0), Loss.HINGE)
    assert not takes_near_solver(DenseRows(X, 1.0), Loss.SQUARED_HINGE)
