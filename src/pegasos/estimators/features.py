"""In which features of the rows a model is linear, and the rows of models that are linear in explicit ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.kernels import Kernel


@dataclass(frozen=True)
class FeatureMap:
    """In which features of the rows the model is linear.

    Attributes
    ----------
    kernel : Kernel
    bias : float
        The constant feature; 0: none.
    landmarks : Landmarks or None
    squares : ndarray or None
        Squared norms of the rows, where they are known.
    largest : ndarray or None
        The largest absolute value of each feature, where it is known.
    """

    kernel: Kernel
    bias: float
    landmarks: Any = None
    squares: np.ndarray | None = None
    largest: np.ndarray | None = None


def with_gamma_of(kernel: Kernel, landmarks) -> Kernel:
    """The kernel with the gamma of the landmarks' own, which were chosen among other rows."""
    known = None if landmarks is None else getattr(landmarks.kernel, "gamma", None)
    if known is None or not kernel.uses("gamma"):
        return kernel
    return replace(kernel, gamma=known)  # type: ignore[call-arg]


def explicit_rows(X, features: FeatureMap, *, most_bytes: float, sdca: bool, until: float = np.inf):
    """The `Rows` of a model that is linear in the rows' own features, or in those of landmarks.

    Features of landmarks are computed once and kept if they take at most so many bytes and are complete `until` then.
    """
    from pegasos.rows import DenseRows, LandmarkRows, SparseRows
    from pegasos.rows.kernel import in_time_for

    landmarks, bias = features.landmarks, features.bias
    if landmarks is None:
        if hasattr(X, "indptr"):
            return SparseRows(X, bias, features.squares)
        return DenseRows(np.ascontiguousarray(X), bias, features.squares)  # steps go over single rows
    if float(X.shape[0]) * landmarks.n_features * X.dtype.itemsize <= most_bytes:
        values = landmarks.features_if(X, in_time_for(until))
        if values is not None:
            return DenseRows(values, bias)
    return LandmarkRows(X, landmarks, bias, bounded=sdca and features.kernel.stationary)
