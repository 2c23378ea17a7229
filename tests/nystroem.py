"""Landmarks by the textbook: kernels by scikit-learn, and the kernel matrix K(X, Z) K(Z, Z)⁺ K(Z, X) written out."""

from functools import partial

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

from conftest import classes_problem

X, Y = classes_problem(3, n_rows=60)
TARGETS = np.c_[X @ [1.0, -0.5, 0.2, 0.0] + 0.3 * Y, Y - X[:, 0]]
WEIGHTS = np.where(np.arange(60) % 7 == 3, 0.0, np.linspace(0.3, 2.0, 60))
CONTAINERS = {"dense": np.ascontiguousarray, "columns first": np.asfortranarray, "csr": sparse.csr_matrix}


def triangle(A, B, width=4.0):
    """A kernel of the user: positive semi-definite in each feature, so its product and mean are, too."""
    A, B = (part.toarray() if sparse.issparse(part) else part for part in (A, B))
    return np.maximum(0, 1 - np.abs(A[:, None, :] - B[None, :, :]) / width).mean(axis=2)


# parameters of an estimator, and the same kernel by other means
KERNELS = {
    "rbf": (dict(kernel="rbf", gamma=0.3), partial(pairwise.rbf_kernel, gamma=0.3)),
    "poly": (
        dict(kernel="poly", gamma=0.4, degree=3, coef0=1.0),
        partial(pairwise.polynomial_kernel, gamma=0.4, degree=3, coef0=1.0),
    ),
    "laplacian": (dict(kernel="laplacian", gamma=0.3), partial(pairwise.laplacian_kernel, gamma=0.3)),
    "callable": (dict(kernel=triangle, kernel_params={"width": 3.0}), partial(triangle, width=3.0)),
}


def rows_for(kernel, container="dense", dtype=np.float64):
    """Parameters, the rows to fit and the kernel function; for "precomputed" the rows are a kernel matrix."""
    if kernel == "precomputed":
        return dict(kernel="precomputed"), KERNELS["rbf"][1](X, X).astype(dtype), KERNELS["rbf"][1]
    params, function = KERNELS[kernel]
    return params, CONTAINERS[container](X.astype(dtype)), function


def spanned(function, A, Z):
    """Inner products of the features that the landmarks Z give the rows of A; negative directions are left out."""
    values, vectors = np.linalg.eigh(function(Z, Z))
    kept = values > 1e-11 * values[-1]
    features = function(A, Z) @ (vectors[:, kept] / np.sqrt(values[kept]))
    return features @ features.T
