"""Scores of new rows, on the CPU or a GPU: as arrays of NumPy, wherever they were computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import validate_data

from pegasos.estimators import devices
from pegasos.estimators.inputs import is_plain
from pegasos.kernels import Kernel, canonical
from pegasos.kernels.tiles import PARTIAL_SUMS
from pegasos.utils.arrays import on_gpu, to_device_of, to_host

BYTES_PER_PREDICTION = 64e6
FEW_ROWS = 8


class Predicting:
    """What estimators do with the model they have; see `PegasosBase` for what is on them."""

    _kernel: Any
    device: str
    coef_: np.ndarray
    intercept_: np.ndarray
    support_: np.ndarray
    support_vectors_: np.ndarray
    dual_coef_: np.ndarray

    def _scores(self, X) -> np.ndarray:
        """Scores of the rows of X in each column, the intercept included."""
        precomputed = self._kernel.is_precomputed
        if not is_plain(self, X):
            X = devices.received(X)
            if on_gpu(X):
                X = devices.checked_rows(self, X, reset=False)
                if self.device != "cpu" and devices.missing() is None:
                    return self._scores_on_gpu(X)
                X = to_host(X)
            X = validate_data(
                self, X, accept_sparse=False if precomputed else "csr", dtype=[np.float64, np.float32], reset=False
            )
            X = canonical(X)
        wanted = not hasattr(X, "indptr") and devices.wants_gpu(self, X, self._multiplications_of(X))
        if wanted and devices.missing() is None:  # a model of a GPU predicts anywhere
            try:
                return self._scores_on_gpu(X)
            except MemoryError:
                if devices.asked_for(self, X):
                    raise
            devices.free()
        if self._kernel.is_linear:
            scores = safe_sparse_dot(X, self.coef_.T, dense_output=True)
        elif precomputed:
            scores = looked_up_in_parts(X, self.support_, np.ascontiguousarray(self.dual_coef_.T))
        else:
            scores = self._kernel_scores(X)
        return scores + self.intercept_

    def _kernel_scores(self, X) -> np.ndarray:
        coefficients = self.dual_coef_.T
        if X.shape[0] > FEW_ROWS:  # else a copy would take longer than the scores
            coefficients = np.ascontiguousarray(coefficients)
        return scores_in_parts(self._kernel, X, self.support_vectors_, coefficients)

    def _multiplications_of(self, X) -> float:
        """About how many the scores of rows take."""
        widest = 1 if self._kernel.is_linear or self._kernel.is_precomputed else len(self.support_)
        return float(X.size) * widest

    def _scores_on_gpu(self, X) -> np.ndarray:
        """The same for dense rows there or here, some at a time: fewer where the GPU has not enough memory."""
        import cupy

        linear = self._kernel.is_linear
        coefficients = cupy.asarray((self.coef_ if linear else self.dual_coef_).T)
        support = None
        if not linear and not self._kernel.is_precomputed:
            rows: Any = self.support_vectors_
            support = cupy.asarray(rows.toarray() if hasattr(rows, "indptr") else rows)
        places = None if linear else cupy.asarray(self.support_)
        by_rows = np.result_type(X.dtype, coefficients.dtype)  # as on the CPU; kernels take rows in their own type
        scores = np.zeros((X.shape[0], coefficients.shape[1]), by_rows if support is None else coefficients.dtype)

        def some(rows: slice) -> None:
            part = cupy.asarray(X[rows])
            if linear:
                found = part @ coefficients
            elif support is None:
                found = part[:, places] @ coefficients
            elif len(support):
                found = self._kernel.scores(part.astype(coefficients.dtype, copy=False), support, coefficients)
            else:
                return
            scores[rows] = to_host(found)

        with devices.precision(self.device):
            devices.in_parts(some, X.shape[0], devices.ROWS_AT_ONCE)
        return scores + to_device_of(self.intercept_, scores)


def scores_in_parts(kernel: Kernel, X, support, coefficients: np.ndarray) -> np.ndarray:
    """K(X, support) @ coefficients in their type, some rows of X at a time: memory does not grow with the rows."""
    n_support, n_columns = coefficients.shape
    scores = np.zeros((X.shape[0], n_columns), coefficients.dtype)
    if not n_support:
        return scores
    widest = max(n_support, PARTIAL_SUMS * n_columns)
    at_once = int(np.clip(BYTES_PER_PREDICTION / (widest * scores.itemsize), 1, 4096))
    for first in range(0, X.shape[0], at_once):
        rows = slice(first, first + at_once)
        scores[rows] = kernel.scores(X[rows].astype(coefficients.dtype, copy=False), support, coefficients)
    return scores


def looked_up_in_parts(X: np.ndarray, support: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """The same where X are kernel values of all training rows, of which `support` has the places."""
    scores = np.zeros((X.shape[0], coefficients.shape[1]), np.result_type(X, coefficients))
    at_once = int(np.clip(BYTES_PER_PREDICTION / (8 * max(1, len(support))), 1, 4096))
    for first in range(0, X.shape[0], at_once):
        rows = slice(first, first + at_once)
        scores[rows] = X[rows, support] @ coefficients
    return scores
