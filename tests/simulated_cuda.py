"""Solves small problems by simulated CUDA kernels and by the CPU's loops; run by test_cuda_simulated."""

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
import scipy.sparse as sp

from pegasos.backends import cpu, cuda
from pegasos.backends.cuda.sparse import Densified
from pegasos.kernels import Kernel, squared_norms
from pegasos.losses import Loss
from pegasos.problems import crammer_singer, one_vs_rest
from pegasos.rows import DenseRows, GatheredRows, KernelRows
from pegasos.solver import Schedule, solve
from pegasos.step import Rule

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3))
CODES = RNG.integers(0, 2, 8)
GROUPS = np.arange(8) % 3
RBF = Kernel("rbf", 0.3)


def rows(kind, verbs):
    """The same rows as the CPU or the GPU holds them."""
    if kind == "kernel":
        return KernelRows(RBF(X, X), Kernel("precomputed"), 0.5, verbs=verbs)
    if verbs is cpu:
        return DenseRows(X, 0.5)
    return GatheredRows(X if kind == "dense" else Densified(sp.csr_array(X)), 0.5, squared_norms(X), verbs)


def compare(kind, rule, loss=Loss.HINGE, **schedule):
    """Assert that both find the same model, gap and counts."""
    problems = crammer_singer(GROUPS, 3) if loss == Loss.CRAMMER_SINGER else one_vs_rest(CODES, 2)
    schedule = Schedule(seed=1, count_violations=True, **schedule)
    here, there = (solve(rows(kind, verbs), problems.with_lam(0.1), rule, schedule, loss=loss) for verbs in (cpu, cuda))
    np.testing.assert_allclose(there.model, here.model, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(there.certificate.gap, here.certificate.gap, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(there.state.violations, here.state.violations)
    print(kind, rule.name, loss.name, schedule.batch)


if __name__ == "__main__":
    compare("kernel", Rule.PEGASOS, max_passes=2, average="weighted", sampling="replacement")
    compare("kernel", Rule.SDCA, max_passes=2, average="suffix", sampling="replacement")
    compare("dense", Rule.PEGASOS, max_passes=3, batch=3, project=True)
    compare("csr", Rule.PEGASOS, Loss.LOG_LOSS, max_passes=1)
    compare("dense", Rule.PEGASOS, Loss.SQUARED_HINGE, max_steps=2, batch=None)
    compare("kernel", Rule.SDCA, Loss.CRAMMER_SINGER, max_passes=1)
