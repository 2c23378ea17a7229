"""The first look at each partition, and what all of them say together.

One small value for each partition comes to the driver; whatever has to be known of all rows before the first step
follows from these: the number of rows, the classes and what they weigh, means of targets, the spread of the features.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from pegasos.distributed.partitions import Part
from pegasos.estimators import validation
from pegasos.kernels import LinearKernel, spread, squared_norms

MOST_LABELS = 100_000  # different ones in a partition: more are no classes


@dataclass(frozen=True)
class Question:
    """What a look has to find out."""

    of_classes: bool
    bias: float = 0.0
    spread: bool = False  # of the features, for gamma="scale"


@dataclass(frozen=True)
class Look:
    """What one partition holds; rows of weight 0 count in `n_rows` and nowhere else."""

    n_rows: int
    n_features: int = 0
    dtype: Any = None
    problem: str | None = None
    n_used: int = 0  # rows of positive weight
    weight: float = 0.0  # Σ of their weights
    labels: np.ndarray = field(default_factory=lambda: np.empty(0))  # classes among them ...
    counts: np.ndarray = field(default_factory=lambda: np.empty(0))  # ... how many rows each has ...
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))  # ... and what these weigh
    targets: tuple[int, ...] = ()  # shape of one row's target, for regression ...
    total: np.ndarray = field(default_factory=lambda: np.empty(0))  # ... and Σ weight·target
    mean: float = 0.0  # of the features, weighted ...
    variance: float = 0.0  # ... and their variance
    n_bytes: int = 0


def look(part: Part, question: Question) -> Look:
    """Look at one partition, where it is."""
    if part.problem is not None:
        return Look(0, problem=part.problem)
    try:
        return _look(part, question)
    except ValueError as error:
        return Look(part.n_rows, problem=" ".join(str(error).split()))


def _look(part: Part, question: Question) -> Look:
    X, weights = part.X, _checked_weights(part)
    if not np.isfinite(X.data if hasattr(X, "indptr") else X).all():
        raise ValueError("X holds NaN or infinity; fill in or leave out missing values before the fit.")
    validation.check_magnitudes(X, squared_norms(X), LinearKernel(), question.bias, hints=False)
    used = weights > 0
    facts: dict[str, Any] = dict(n_used=int(used.sum()), weight=float(weights.sum()), n_bytes=part.__sizeof__())
    if question.spread and used.any():
        total = weights.sum() * X.shape[1]
        facts["mean"] = float(weights @ np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()) / total
        facts["variance"] = spread(X, weights)
    facts |= _classes(part.y, used, weights) if question.of_classes else _targets(part.y, weights, X.dtype)
    return Look(X.shape[0], X.shape[1], X.dtype, **facts)


def _checked_weights(part: Part) -> np.ndarray:
    weights = part.weights
    if weights is None:
        return np.ones(part.n_rows)
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight holds NaN or infinity.")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative, and holds {weights.min():g}.")
    return weights


def _classes(y: np.ndarray, used: np.ndarray, weights: np.ndarray) -> dict:
    if y.ndim != 1:
        raise ValueError(f"The labels y must be one for each row; they have the shape {y.shape}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("The labels y hold NaN or infinity.")
    if len(y) and y.dtype.kind not in "mMS":  # dates and bytes are labels like any other
        check_classification_targets(y)
    labels, places = np.unique(y[used], return_inverse=True)
    if len(labels) > MOST_LABELS:
        raise ValueError(f"y holds more than {MOST_LABELS} different labels, which are no classes.")
    places = places.ravel()
    counts = np.bincount(places, minlength=len(labels))
    return {"labels": labels, "counts": counts, "weights": np.bincount(places, weights[used], minlength=len(labels))}


def _targets(y: np.ndarray, weights: np.ndarray, dtype) -> dict:
    try:
        targets = y.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"The targets y are no numbers: {error}") from error
    if not np.isfinite(targets).all():
        raise ValueError("The targets y hold NaN or infinity.")
    validation.check_targets(targets, dtype)
    return {"targets": y.shape[1:], "total": weights @ targets.reshape(len(y), -1)}


# --- all partitions together -----------------------------------------------------------------------------------------


def check(looks: list[Look]) -> None:
    """Raise what is wrong, for the first partition that has something wrong."""
    for number, found in enumerate(looks):
        if found.problem is not None:
            named = "" if found.problem.startswith("partition") else f" (partition {number})"
            raise ValueError(f"{found.problem.rstrip('.')}{named}.")
    filled = [found for found in looks if found.n_rows]
    if not filled:
        raise ValueError("X holds no rows: all of its partitions are empty.")
    widths = sorted({found.n_features for found in filled})
    if len(widths) > 1:
        raise ValueError(f"The partitions of X have {widths[0]} to {widths[-1]} features; all must have the same.")
    if widths[0] == 0:
        n_rows = sum(found.n_rows for found in filled)
        raise ValueError(f"X has 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.")
    if not any(found.n_used for found in filled):
        raise ValueError("sample_weight is zero for every row; at least two rows need a positive weight.")
    shapes = sorted({found.targets for found in filled})
    if len(shapes) > 1:
        raise ValueError(f"The targets y have rows of the shapes {shapes[0]} and {shapes[1]}; all must be alike.")


def dtype_of(looks: list[Look]) -> np.dtype:
    """The type that holds all features."""
    return np.result_type(*[found.dtype for found in looks if found.n_rows])


def classes_of(looks: list[Look]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All labels, how many rows of positive weight each has, and what these weigh."""
    filled = [found for found in looks if found.n_used]
    kinds = {"text" if found.labels.dtype.kind in "OUST" else "other" for found in filled}
    if len(kinds) > 1:
        raise ValueError("The labels y are text in some partitions and numbers in others; use one type for all labels.")
    labels = np.concatenate([found.labels for found in filled])
    classes, places = np.unique(labels, return_inverse=True)
    counts = np.bincount(places.ravel(), np.concatenate([found.counts for found in filled]))
    weights = np.bincount(places.ravel(), np.concatenate([found.weights for found in filled]))
    return classes, counts, weights


def scale_gamma_of(looks: list[Look]) -> float:
    """What gamma="scale" stands for over all partitions, from the mean and variance of each."""
    filled = [found for found in looks if found.n_used]
    shares = np.array([found.weight for found in filled])
    shares /= shares.sum()
    means = np.array([found.mean for found in filled])
    mean = shares @ means
    variance = shares @ (np.array([found.variance for found in filled]) + (means - mean) ** 2)
    return 1.0 / (filled[0].n_features * variance) if variance > 0 else 1.0
