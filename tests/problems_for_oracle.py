"""Small wide problems, and what the textbook loops say of each of their columns."""

from functools import cache

import numpy as np
import scipy.sparse as sp

import naive
from pegasos.kernels import Kernel
from pegasos.problems import one_vs_one, one_vs_rest
from pegasos.rows import DenseRows, KernelRows, SparseRows
from pegasos.sampling import Stream

N, D, SEED = 40, 5, 3
KERNELS = {
    "linear": Kernel("linear"),
    "rbf": Kernel("rbf", gamma=0.3),
    "poly": Kernel("poly", gamma=0.5, coef0=1.0, degree=3),
}
# how the rows are held -> the kernel they amount to
KINDS = {
    "dense": "linear",
    "dense blocks": "linear",
    "csr": "linear",
    "linear kernel": "linear",
    "precomputed": "rbf",
    "rbf": "rbf",
    "rbf uncached": "rbf",
    "rbf csr": "rbf",
    "poly": "poly",
}
BIAS = 0.7
LAMS = (0.3, 0.004)


@cache
def data():
    """Features with zeros in them, three classes, weights of which one is 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X[rng.random(X.shape) < 0.3] = 0.0
    codes = rng.integers(0, 3, N)
    weights = rng.random(N) + 0.2
    weights[7] = 0.0
    return X, codes, weights


def rows_of(kind, bias=0.0, dtype=np.float64):
    """The data as rows of a kind."""
    X = data()[0].astype(dtype)
    if kind == "dense":
        return DenseRows(X, bias)
    if kind == "dense blocks":
        return DenseRows(np.asfortranarray(X), bias)
    if kind == "csr":
        return SparseRows(sp.csr_array(X), bias)
    kernel = KERNELS[KINDS[kind]]
    if kind == "precomputed":
        return KernelRows(kernel(X, X), Kernel("precomputed"), bias)
    X = sp.csr_array(X) if kind == "rbf csr" else X
    return KernelRows(X, kernel, bias, cache_bytes=0 if kind == "rbf uncached" else 1e9)


@cache
def problems_of(scheme, weighted):
    """Classes or pairs, twice over folds and twice over lams."""
    _, codes, weights = data()
    base = {"ovr": one_vs_rest, "ovo": one_vs_one}[scheme](codes, 3, weights if weighted else None)
    folds = [(np.arange(0, 30), None), (np.arange(5, 40), None)]
    return base.over_folds(folds).over_grid(LAMS)


@cache
def kernel_matrix(kernel, bias):
    """Kernel values of the data, the constant feature included."""
    X = data()[0]
    return KERNELS[kernel](X, X) + bias**2


@cache
def draws(weighted, sampling, count):
    """The shared stream; rows of weight 0 are not in it."""
    used = np.flatnonzero(data()[2]) if weighted else np.arange(N)
    stream = Stream(used, sampling, SEED)
    parts = [stream.take(N) for _ in range(count // len(used) + 1)]
    return np.concatenate(parts)


def column(problems, p, weighted, kernel, bias):
    """Rows, kernel matrix, targets and weights of one column."""
    labeling, row_set = problems.columns[p]
    rows = np.flatnonzero(problems.row_sets[:, row_set])
    weights = data()[2][rows] if weighted else np.ones(len(rows))
    K = kernel_matrix(kernel, bias)[np.ix_(rows, rows)]
    return rows, K, problems.labelings[rows, labeling].astype(float), weights / weights.mean()


@cache
def textbook(kernel, scheme, weighted, bias, sampling, rule, k, project, p, steps):
    """All iterates of one column, its pull counts, how close a margin came to its threshold, and its dual bound."""
    problems = problems_of(scheme, weighted)
    rows, K, y, s = column(problems, p, weighted, kernel, bias)
    place = np.full(N, -1)
    place[rows] = np.arange(len(rows))
    order = place[draws(weighted, sampling, 60 * N)]
    order = order[order >= 0]
    lam = problems.lam[p]
    if rule == "sdca":
        iterates, beta = naive.sdca(K, y, s, lam, order, steps)
        return iterates, None, np.inf, naive.dual(K, y, s, lam, beta)
    iterates, counts, closest = naive.pegasos(K, y, s, lam, order, steps, k, project)
    return iterates, counts, closest, naive.best_dual(K, y, s, lam, iterates, k, sampling)
