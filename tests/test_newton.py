"""Newton's method ends at the optimum that independent solvers find, whatever the rows, weights, schemes and lam."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from pegasos.losses import Loss
from pegasos.problem.columns import one_vs_one, one_vs_rest, regression
from pegasos.problem.job import Job
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, SparseRows
from pegasos.solver.solve import solve
from reference import hinge_optimum, normalised
from reference_losses import objective, optimum_of

N, EPSILON, BIAS = 48, 0.2, 1.3
CLASSES = ["hinge", "squared_hinge", "log_loss"]
TARGETS = ["epsilon_insensitive", "squared_epsilon_insensitive"]
LAMS = (1e-8, 1e-3, 0.1, 1e2)

losses = pytest.mark.parametrize("loss", [*CLASSES, *TARGETS])


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
