"""Newton's method ends at the optimum that independent solvers find, whatever the rows, weights, schemes and lam."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from pegasos.losses import Loss
from pegasos.problem.columns import one_vs_one, one_vs_rest, regression
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, SparseRows
from pegasos.solver import expansion, small_columns
from pegasos.solver.monitor import Hooks
from pegasos.solver.solve import solve
from reference import hinge_optimum, normalised
from reference_losses import objective, optimum_of

N, EPSILON, BIAS = 48, 0.2, 1.3
CLASSES = ["hinge", "squared_hinge", "log_loss"]
TARGETS = ["epsilon_insensitive", "squared_epsilon_insensitive"]
LAMS = (1e-8, 1e-3, 0.1, 1e2)

KINKS = ["hinge", "epsilon_insensitive"]

losses = pytest.mark.parametrize("loss", [*CLASSES, *TARGETS])


@pytest.fixture(autouse=True, params=["together", "each in one call"])
def way(request, monkeypatch):
    """Columns side by side by products of matrices, or, as small ones are, each in one call."""
    if request.param == "together":
        monkeypatch.setattr(small_columns, "MOST_FEATURES", 0)
    return request.param


def plain(rng):
    return rng.normal(size=(N, 4))


def constant(rng):
    X = rng.normal(size=(N, 5))
    X[:, 1], X[:, 3] = 3.0, 0.0
    return X


def repeated(rng):
    X = rng.normal(size=(N, 3))
    return np.hstack([X, X, X[:, :1] * 2])


def wide(rng):
    return rng.normal(size=(N, 2 * N))


def unscaled(rng):
    return rng.normal(size=(N, 4)) * [1e3, 1.0, 1e-2, 30.0] + [5e3, 0.0, 0.0, 10.0]


FEATURES = {make.__name__: make for make in (plain, constant, repeated, wide, unscaled)}


@cache
def data(name):
    """Features, three overlapping classes, and a target with a tail."""
    rng = np.random.default_rng(len(name))
    X = FEATURES[name](rng)
    scores = (X - X.mean(axis=0)) @ rng.normal(size=X.shape[1])
    scores = scores / scores.std() + rng.normal(size=N)
    weights = rng.uniform(0.2, 4.0, N)
    weights[5] = 0.0
    return X, np.digitize(scores, [-0.6, 0.5]), scores + 0.3 * rng.standard_t(2, N), weights


def job_of(loss, name, *, kind="dense", dtype=np.float64, scheme="ovr", weighted=False, bias=BIAS, lams=(0.1,), **how):
    X, codes, targets, weights = data(name)
    weights = weights if weighted else None
    X = X.astype(dtype)
    rows = SparseRows(sp.csr_array(X), bias) if kind == "csr" else DenseRows(X, bias)
    if loss in TARGETS:
        problems = regression(np.column_stack([targets, 3.0 - targets**2]), EPSILON, weights)
    else:
        problems = {"ovr": one_vs_rest, "ovo": one_vs_one}[scheme](codes, 3, weights)
    schedule = Schedule(**(dict(max_passes=200, tol=1e-6) | how))
    return Job(rows, problems.over_grid(lams), schedule, loss=Loss[loss], method="newton")


def column(job, p, dtype=np.float64):
    """Features with the constant one, targets and weights of a column's rows."""
    labeling, row_set = job.problems.columns[p]
    chosen = job.problems.row_sets[:, row_set]
    X = job.rows.X.toarray() if hasattr(job.rows.X, "indptr") else job.rows.X
    X = np.hstack([X[chosen].astype(dtype), np.full((chosen.sum(), 1), job.rows.bias)])
    weights = None if job.problems.weights is None else job.problems.weights[chosen, 0]
    return X, job.problems.labelings[chosen, labeling].astype(float), weights


def check(job, found, within=1e-6, rounding=1e-9):
    """Each column's objective is that of its model, its certificate holds, and it is at the optimum."""
    certificate = found.certificate
    for p in range(job.n_columns):
        X, y, weights = column(job, p)
        lam, w = job.problems.lam[p], found.model[:, p].astype(float)
        if job.rows.bias == 0:
            w = np.append(w, 0.0)
        reached = objective(job.loss.name, X @ w, y, lam, w @ w, weights, EPSILON)
        zero = certificate.zero[p]
        assert certificate.objective[p] == pytest.approx(reached, rel=1e3 * rounding, abs=rounding * zero)
        assert certificate.gap[p] <= within * zero + rounding
        optimum = optimum_by_another_method(job, p)
        scale = max(zero, 1e-3)
        assert reached - optimum.objective <= certificate.gap[p] + rounding * scale
        assert certificate.dual[p] <= optimum.objective + rounding * scale
        assert reached - optimum.objective <= within * scale + rounding * scale


def optimum_by_another_method(job, p):
    X, y, weights = column(job, p)
    K, lam, gap = X @ X.T, job.problems.lam[p], 1e-7 if job.problems.lam[p] < 1e-6 else 1e-9
    about = dict(weights=None if weights is None else normalised(weights, len(y)))
    if job.loss.name == "hinge":
        return hinge_optimum(K, y, lam, max_gap=gap, **about)
    return optimum_of(job.loss.name, K, y, lam, epsilon=EPSILON, **about)


@losses
@pytest.mark.parametrize("name", ["plain", "constant", "repeated"])
@pytest.mark.parametrize("kind, scheme, weighted", [("dense", "ovr", False), ("csr", "ovo", True)])
def test_every_column_ends_at_the_optimum(loss, name, kind, scheme, weighted):
    job = job_of(loss, name, kind=kind, scheme=scheme, weighted=weighted, lams=(1e-3, 0.1, 1e2))
    check(job, solve(job))


def dual_objective(job, found, p):
    """The dual objective at the coefficients of a column, which are those of a feasible point."""
    X, y, weights = column(job, p)
    chosen, s = job.problems.row_sets[:, job.problems.columns[p, 1]], normalised(weights, len(y))
    alpha, lam = found.state.alpha[:, p], job.problems.lam[p]
    assert not alpha[~chosen].any()
    beta = alpha[chosen] * (1.0 if job.loss.name in TARGETS else y)
    feasible = [job.loss.feasible(b, weight) for b, weight in zip(beta, s, strict=True)]
    np.testing.assert_allclose(feasible, beta, rtol=0, atol=1e-14 * s.max())
    w = X.T @ alpha[chosen] / (lam * len(y))
    terms = [job.loss.dual_term(b, t, weight, EPSILON) for b, t, weight in zip(beta, y, s, strict=True)]
    return np.mean(terms) - lam / 2 * (w @ w)


@losses
@pytest.mark.parametrize("kind, weighted", [("dense", False), ("csr", True)])
def test_the_coefficients_are_a_dual_point_as_good_as_the_certificate_says(loss, kind, weighted):
    job = job_of(loss, "plain", kind=kind, weighted=weighted, lams=(1e-3, 0.1), tol=1e-4)
    found = solve(job)
    for p in range(job.n_columns):
        scale = found.certificate.zero[p]
        assert dual_objective(job, found, p) == pytest.approx(found.certificate.dual[p], rel=1e-9, abs=1e-9 * scale)


def check_by_duality(job, found, within):
    """Where the other methods fail: objective and dual objective, both computed anew, prove each other."""
    for p in range(job.n_columns):
        X, y, weights = column(job, p)
        lam, w, zero = job.problems.lam[p], found.model[:, p], found.certificate.zero[p]
        reached = objective(job.loss.name, X @ w, y, lam, w @ w, weights, EPSILON)
        assert found.certificate.objective[p] == pytest.approx(reached, rel=1e-6, abs=1e-9 * zero)
        assert reached - dual_objective(job, found, p) <= within * zero
        assert found.certificate.gap[p] <= within * zero


@losses
@pytest.mark.parametrize("lam", [1e-8, 1e-6, 1e-4])
def test_little_regularisation(loss, lam):
    job = job_of(loss, "plain", lams=(lam,), tol=1e-5)
    check_by_duality(job, solve(job), within=1.1e-5)


@losses
@pytest.mark.parametrize("kind, bias", [("dense", 0.0), ("csr", BIAS)])
def test_more_features_than_rows(loss, kind, bias):
    job = job_of(loss, "wide", kind=kind, bias=bias, lams=(1e-3, 1.0))
    check(job, solve(job))


@losses
def test_features_of_very_different_sizes(loss):
    job = job_of(loss, "unscaled", lams=(1e-3, 1.0), tol=1e-4)
    check_by_duality(job, solve(job), within=1.1e-4)


@losses
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("name", ["plain", "repeated"])
def test_rows_in_float32(loss, kind, name):
    job = job_of(loss, name, kind=kind, dtype=np.float32, weighted=True, lams=(1e-3, 0.1), tol=1e-5)
    found = solve(job)
    assert found.model.dtype == np.float32
    check(job, found, within=1e-5, rounding=1e-7)


@losses
def test_gram_matrices_in_float32_lead_to_the_same_optimum(loss, monkeypatch):
    monkeypatch.setattr(expansion, "DOUBLE_BELOW", 0)
    for name in FEATURES:
        job = job_of(loss, name, lams=(1e-3, 0.1), tol=1e-5)
        check_by_duality(job, solve(job), within=1.1e-5)


@losses
def test_csr_rows_are_multiplied_entry_by_entry_or_filled_up_to_the_same_optimum(loss, monkeypatch):
    found = []
    for dense_from in (0.0, np.inf):
        monkeypatch.setattr(expansion, "DENSE_FROM", dense_from)
        job = job_of(loss, "constant", kind="csr", weighted=True, tol=1e-9)
        found.append(solve(job).certificate.objective)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


@losses
def test_parts_and_batches_of_columns_do_not_matter(loss, monkeypatch):
    job = job_of(loss, "plain", scheme="ovo", weighted=True, lams=LAMS[1:], tol=1e-8)
    whole = solve(job)
    monkeypatch.setattr(expansion, "WORTH_A_THREAD", 8)
    monkeypatch.setattr(expansion.Expansion, "columns_at_once", staticmethod(lambda job: 2))
    cut = solve(job)
    np.testing.assert_allclose(cut.certificate.objective, whole.certificate.objective, rtol=1e-8)


@pytest.mark.parametrize("loss", CLASSES)
def test_weights_that_leave_one_class_only(loss):
    X, codes, _, _ = data("plain")
    problems = one_vs_rest(codes, 3, (codes == 1).astype(float)).with_lam(0.1)
    job = Job(DenseRows(X, BIAS), problems, Schedule(max_passes=200, tol=1e-6), loss=Loss[loss], method="newton")
    check(job, solve(job))


@losses
def test_a_warm_start_begins_where_the_earlier_fit_ended(loss):
    first = solve(job_of(loss, "plain"))
    job = job_of(loss, "plain", lams=(0.09,))
    again = solve(job, start=first.state)
    check(job, again)
    assert (again.steps - first.steps).sum() < solve(job).steps.sum()
    at_rest = solve(job_of(loss, "plain"), start=first.state)
    check(job_of(loss, "plain"), at_rest)
    if loss not in KINKS:
        assert (at_rest.steps == first.steps).all()


def test_records_progress_and_models_on_the_way():
    records, passes, shares = [], [], []
    hooks = Hooks(records.append, shares.append, lambda number, model: passes.append((number, model().shape)))
    job = job_of("hinge", "plain", tol=1e-6)
    found = solve(job, hooks=hooks)
    assert passes == [(number + 1, (5, 3)) for number in range(len(passes))]
    assert [record["step"] for record in records][:3] == [N, 2 * N, 4 * N]
    assert all(later["gap"] <= before["gap"] for before, later in pairwise(records))
    assert shares == sorted(shares)
    assert (found.steps == found.state.columns["limit"]).all()


def test_a_callback_ends_the_fit_with_a_certificate_that_holds():
    job = job_of("hinge", "plain", tol=1e-6)
    found = solve(job, hooks=Hooks(after_pass=lambda number, model: number == 2))
    assert (found.steps == 2 * N).all()
    check(job, found, within=1.0)


def test_max_time_and_max_passes_end_with_a_certificate_that_holds():
    job = job_of("squared_hinge", "plain", tol=1e-6, max_time=1e-9)
    found = solve(job)
    assert found.timed_out
    assert not found.steps.any()
    check(job, found, within=1.0)
    job = job_of("squared_hinge", "plain", tol=1e-12, max_passes=1)
    found = solve(job)
    assert (found.steps == N).all()
    check(job, found, within=1e6)


def test_without_tol_a_fit_goes_as_far_as_numbers_allow():
    job = job_of("log_loss", "plain", tol=None)
    assert (solve(job).certificate.relative_gap < 1e-12).all()


def test_a_column_that_is_at_the_optimum_takes_no_step():
    X, *_ = data("plain")
    problems = regression(np.zeros((N, 1)), EPSILON).with_lam(0.1)
    loss = Loss.SQUARED_EPSILON_INSENSITIVE
    found = solve(Job(DenseRows(X, BIAS), problems, Schedule(tol=1e-3), loss=loss, method="newton"))
    assert not found.steps.any()
    assert not found.model.any()
    assert found.certificate.gap == 0.0
