"""Small wide problems, and what the textbook loops say of each of their columns."""

from functools import cache

import numpy as np
import scipy.sparse as sp

import naive
import naive_crammer_singer
from pegasos.backends import cpu
from pegasos.kernels import make_kernel, squared_norms
from pegasos.losses import Loss
from pegasos.problem.columns import crammer_singer, one_vs_one, one_vs_rest, regression
from pegasos.problem.sampling import Stream
from pegasos.rows import DenseRows, GatheredRows, KernelRows, KernelStorage, SparseRows

N, D, SEED = 40, 5, 3
KERNELS = {
    "linear": make_kernel("linear"),
    "rbf": make_kernel("rbf", gamma=0.3),
    "poly": make_kernel("poly", gamma=0.5, coef0=1.0, degree=3),
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
LOSSES = {
    "hinge": Loss.HINGE,
    "squared_hinge": Loss.SQUARED_HINGE,
    "log_loss": Loss.LOG_LOSS,
    "epsilon_insensitive": Loss.EPSILON_INSENSITIVE,
    "squared_epsilon_insensitive": Loss.SQUARED_EPSILON_INSENSITIVE,
    "crammer_singer": Loss.CRAMMER_SINGER,
}


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


def rows_of(kind, bias=0.0, dtype=np.float64, backend=cpu):
    """The data as rows of a kind, on the device of `backend`."""
    X = backend.to_device(data()[0].astype(dtype))
    if kind == "dense":
        return DenseRows(X, bias) if backend is cpu else GatheredRows(X, bias, squared_norms(X), backend)
    if kind == "dense blocks":
        return DenseRows(np.asfortranarray(X), bias)
    if kind == "csr":
        return SparseRows(sp.csr_array(X), bias)
    if kind == "densified":
        from pegasos.backends.cuda.sparse import Densified

        return GatheredRows(Densified(sp.csr_array(data()[0].astype(dtype))), bias, squared_norms(X), backend)
    kernel = KERNELS[KINDS[kind]]
    if kind == "precomputed":
        return KernelRows(kernel(X, X), make_kernel("precomputed"), bias, backend=backend)
    X = sp.csr_array(X) if kind == "rbf csr" else X
    storage = KernelStorage(cache_bytes=0 if kind == "rbf uncached" else 1e9)
    return KernelRows(X, kernel, bias, storage=storage, backend=backend)


@cache
def targets():
    """Two targets of ordinary size, one of them away from zero."""
    X = data()[0]
    noise = np.random.default_rng(5).normal(size=(N, 2))
    return X[:, :2] * [1.0, -2.0] + 0.5 * noise + [0.0, 1.5]


@cache
def problems_of(scheme, weighted):
    """Classes, pairs or targets, twice over folds and twice over lams."""
    _, codes, weights = data()
    weights = weights if weighted else None
    if scheme == "regression":
        base = regression(targets(), naive.EPSILON, weights)
    else:
        base = {"ovr": one_vs_rest, "ovo": one_vs_one, "crammer_singer": crammer_singer}[scheme](codes, 3, weights)
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
def textbook(kernel, scheme, weighted, bias, sampling, rule, k, project, p, steps, loss="hinge"):
    """All iterates of one column, its pull counts, how close a margin came to its threshold, and its dual bound."""
    problems = problems_of(scheme, weighted)
    rows, K, y, s = column(problems, p, weighted, kernel, bias)
    order = own_order(rows, weighted, sampling)
    lam = problems.lam[p]
    if rule == "sdca":
        iterates, beta = naive.sdca(K, y, s, lam, order, steps, loss)
        return iterates, None, np.inf, naive.dual(K, y, s, lam, beta, loss)
    iterates, counts, closest = naive.pegasos(K, y, s, lam, order, steps, k, project, loss)
    return iterates, counts, closest, naive.best_dual(K, y, s, lam, iterates, k, sampling, loss)


def own_order(rows, weighted, sampling):
    """The shared draws that fall on these rows, as their places among them."""
    place = np.full(N, -1)
    place[rows] = np.arange(len(rows))
    order = place[draws(weighted, sampling, 60 * N)]
    return order[order >= 0]


@cache
def textbook_group(kernel, weighted, bias, sampling, rule, k, project, p, steps):
    """The same for the Crammer–Singer group that begins with column p; iterates are rows × classes."""
    problems = problems_of("crammer_singer", weighted)
    rows, K, labels, s = column(problems, p, weighted, kernel, bias)
    labels, lam, order = labels.astype(int), problems.lam[p], own_order(rows, weighted, sampling)
    if rule == "sdca":
        iterates, beta = naive_crammer_singer.sdca(K, labels, 3, s, lam, order, steps)
        return iterates, None, np.inf, naive_crammer_singer.dual(K, labels, s, lam, beta)
    iterates, counts, closest = naive_crammer_singer.pegasos(K, labels, 3, s, lam, order, steps, k, project)
    bound = naive_crammer_singer.best_dual(K, labels, s, lam, iterates, k, sampling)
    return iterates, counts, closest, bound
