"""Shared by the tests of pegasos.distributed: fits with so many local solvers, and whether two fits solve the same."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from pegasos.distributed import workers as distributed_workers
from pegasos.distributed.base import plan_of, survey_of
from pegasos.distributed.partitions import partitions
from pegasos.distributed.workers import ThreadWorkers
from pegasos.estimators.targets import ClassifierRecipe, recipe_of


@contextmanager
def n_solvers(count: int):
    """Let fits without a client have so many local solvers, however few threads there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed_workers, "blas_threads", lambda: count)
        yield


def chunked(X, n_chunks: int):
    """A Dask array of chunks of X, dense or CSR."""
    edges = np.linspace(0, X.shape[0], n_chunks + 1).astype(int)
    if not sparse.issparse(X):
        return da.from_array(X, chunks=(tuple(np.diff(edges).tolist()), *X.shape[1:]))
    parts = [dask.delayed(X[first:last]) for first, last in pairwise(edges)]
    shapes = [(last - first, X.shape[1]) for first, last in pairwise(edges)]
    return da.concatenate(
        [
            da.from_delayed(part, shape, meta=sparse.csr_matrix((0, 0), dtype=X.dtype))
            for part, shape in zip(parts, shapes)
        ]
    )


def placed(svm, X, y, weights=None, *, solvers: int, chunks: int | None = None):
    """Thread workers with the local solvers of an estimator's problem in place, and the plan."""
    workers = ThreadWorkers(solvers)
    X = X if chunks is None else chunked(X, chunks)
    recipe = recipe_of(svm)
    classification = isinstance(recipe, ClassifierRecipe)
    workers.load(partitions(X, y, weights, classification=classification, n_blocks=solvers))
    survey = survey_of(workers, recipe)
    plan = plan_of(recipe, survey, weighted=weights is not None)
    workers.place(plan, survey.sizes)
    return workers, plan


def assert_same_problem(found, expected, slack: float = 1e-6) -> None:
    """Both certificates hold for one optimum: the ranges from dual bound to objective meet in every column."""
    assert found.objective_.shape == expected.objective_.shape
    assert (found.objective_ - found.dual_gap_ <= expected.objective_ + slack).all()
    assert (expected.objective_ - expected.dual_gap_ <= found.objective_ + slack).all()
