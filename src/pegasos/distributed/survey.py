"""A survey of all partitions before the first step: what each holds, and what they hold together.

One small value for each partition comes to the driver. From these follows all that a worker cannot know from its own
rows: the classes and their weights, the means of the targets, the spread of the features for gamma="scale".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from pegasos.distributed.partitions import Partition
from pegasos.estimators import validation
from pegasos.estimators.totals import ClassTotals, TargetTotals
from pegasos.kernels import LinearKernel, spread, squared_norms
from pegasos.utils.fingerprint import fingerprint

DIRECTIONS = 4  # in which the means of partitions are compared: the sum of all features, and random ones
DIFFERENT, BY_CHANCE = 0.25, 5.0  # standard deviations between means; the second over the root of the rows
MOST_LABELS = 100_000  # different labels in one partition; with more the targets are taken to be no classes


@dataclass(frozen=True)
class SurveyRequest:
    """What a survey has to find out of each partition."""

    classification: bool
    bias: float = 0.0
    spread: bool = False  # of the features, for gamma="scale"
    fingerprint: bool = False  # of all numbers, for a checkpoint


@dataclass(frozen=True)
class PartitionSurvey:
    """What one partition holds; rows of weight 0 count in `n_rows` and nowhere else."""

    n_rows: int
    n_features: int = 0
    dtype: Any = None
    problem: str | None = None  # why the rows cannot be used
    n_used: int = 0  # rows of positive weight
    weight: float = 0.0  # the sum of their weights
    labels: np.ndarray = field(default_factory=lambda: np.empty(0))  # for classification: classes among them,
    counts: np.ndarray = field(default_factory=lambda: np.empty(0))  # the rows of each,
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))  # and the sum of their weights
    target_shape: tuple[int, ...] = ()  # for regression: the shape of one row's target,
    target_sum: np.ndarray = field(default_factory=lambda: np.empty(0))  # and the weighted sum of the targets
    mean: float = 0.0  # weighted mean of all feature values
    variance: float = 0.0  # weighted variance of all feature values
    sketch: np.ndarray = field(default_factory=lambda: np.empty(0))  # the rows' mean in some random directions,
    sketch_squares: np.ndarray = field(default_factory=lambda: np.empty(0))  # and the mean of the squares there
    fingerprint: str = ""


def survey_partition(partition: Partition, request: SurveyRequest) -> PartitionSurvey:
    """The survey of one partition, made where the partition is."""
    if partition.problem is not None:
        return PartitionSurvey(0, problem=partition.problem)
    try:
        return _survey(partition, request)
    except ValueError as error:
        return PartitionSurvey(partition.n_rows, problem=" ".join(str(error).split()))


def _survey(partition: Partition, request: SurveyRequest) -> PartitionSurvey:
    X, y, weights = partition.X, partition.y, _checked_weights(partition)
    if not np.isfinite(X.data if hasattr(X, "indptr") else X).all():
        raise ValueError("X holds NaN or infinity; fill in or leave out missing values before the fit.")
    validation.check_magnitudes(X, squared_norms(X), LinearKernel(), request.bias, hints=False)
    used = weights > 0
    facts: dict[str, Any] = {"n_used": int(used.sum()), "weight": float(weights.sum())}
    if request.fingerprint:
        facts["fingerprint"] = fingerprint(X, partition.weights) + _fingerprint_of_targets(y)
    if used.any():
        directions = np.random.default_rng(0).standard_normal((X.shape[1], DIRECTIONS), np.float32)
        directions[:, 0] = 1.0
        seen = np.asarray(X @ directions, np.float64)[used]
        facts["sketch"], facts["sketch_squares"] = seen.mean(axis=0), (seen**2).mean(axis=0)
    if request.spread and used.any():
        total = weights.sum() * X.shape[1]
        facts["mean"] = float(weights @ np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()) / total
        facts["variance"] = spread(X, weights)
    facts |= _classes(y, used, weights) if request.classification else _targets(y, weights, X.dtype)
    return PartitionSurvey(X.shape[0], X.shape[1], X.dtype, **facts)


def _fingerprint_of_targets(y: np.ndarray) -> str:
    """A fingerprint of targets of any type."""
    return fingerprint(np.array([str(each) for each in y.ravel()]) if y.dtype.hasobject else y)


def _checked_weights(partition: Partition) -> np.ndarray:
    weights = partition.weights
    if weights is None:
        return np.ones(partition.n_rows)
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
    if len(y) and y.dtype.kind not in "mMS":  # scikit-learn does not know dates and bytes as labels
        check_classification_targets(y)
    labels, codes = np.unique(y[used], return_inverse=True)
    if len(labels) > MOST_LABELS:
        raise ValueError(f"y holds more than {MOST_LABELS} different labels, which are no classes.")
    codes = codes.ravel()
    counts = np.bincount(codes, minlength=len(labels))
    return {"labels": labels, "counts": counts, "weights": np.bincount(codes, weights[used], minlength=len(labels))}


def _targets(y: np.ndarray, weights: np.ndarray, dtype) -> dict:
    try:
        targets = y.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"The targets y are no numbers: {error}") from error
    if not np.isfinite(targets).all():
        raise ValueError("The targets y hold NaN or infinity.")
    validation.check_targets(targets, dtype)
    return {"target_shape": y.shape[1:], "target_sum": weights @ targets.reshape(len(y), -1)}


class DataSurvey:
    """What all partitions hold together.

    Parameters
    ----------
    partitions : list of PartitionSurvey

    Raises
    ------
    ValueError
        Where a partition cannot be used, or where partitions do not go together.
    """

    def __init__(self, partitions: list[PartitionSurvey]):
        self.partitions = partitions
        self.filled = [part for part in partitions if part.n_rows]
        self.used = [part for part in partitions if part.n_used]
        self._check()

    def _check(self) -> None:
        for number, part in enumerate(self.partitions):
            if part.problem is not None:
                named = "" if part.problem.startswith("partition") else f" (partition {number})"
                raise ValueError(f"{part.problem.rstrip('.')}{named}.")
        if not self.filled:
            raise ValueError("X holds no rows: all of its partitions are empty.")
        widths = sorted({part.n_features for part in self.filled})
        if len(widths) > 1:
            raise ValueError(f"The partitions of X have {widths[0]} to {widths[-1]} features; all must have the same.")
        if widths[0] == 0:
            raise ValueError(f"X has 0 feature(s) (shape=({sum(self.sizes)}, 0)) while a minimum of 1 is required.")
        if not self.used:
            raise ValueError("sample_weight is zero for every row; at least two rows need a positive weight.")
        shapes = sorted({part.target_shape for part in self.filled})
        if len(shapes) > 1:
            raise ValueError(f"The targets y have rows of the shapes {shapes[0]} and {shapes[1]}; all must be alike.")

    @property
    def sizes(self) -> list[int]:
        """Rows of each partition."""
        return [part.n_rows for part in self.partitions]

    @property
    def n_features(self) -> int:
        """Features of the rows."""
        return self.filled[0].n_features

    @property
    def dtype(self) -> np.dtype:
        """The type that holds the features of all partitions."""
        return np.result_type(*[part.dtype for part in self.filled])

    @property
    def fingerprint(self) -> str:
        """A short text that differs where the rows of any partition do."""
        return fingerprint(np.array([part.fingerprint for part in self.partitions]))

    def differ(self) -> bool:
        """Whether partitions hold rows of different kinds: of other classes, or elsewhere in the features.

        Means are compared in standard deviations, with room for chance: no partition has that many rows by luck.
        """
        n_used = np.array([part.n_used for part in self.used], float)
        means = np.array([part.sketch for part in self.used])
        squares = np.array([part.sketch_squares for part in self.used])
        if all(len(part.labels) for part in self.used):
            classes = np.unique(np.concatenate([part.labels for part in self.used]).astype(str))
            shares = np.zeros((len(self.used), len(classes)))
            for own, part in zip(shares, self.used):
                own[np.searchsorted(classes, part.labels.astype(str))] = part.counts / part.n_used
            means, squares = np.hstack([means, shares]), np.hstack([squares, shares])
        of_all, square = (n_used @ each / n_used.sum() for each in (means, squares))
        deviation = np.sqrt(np.maximum(square - of_all**2, 0))
        room = DIFFERENT + BY_CHANCE / np.sqrt(n_used)
        return bool((np.abs(means - of_all) > room[:, None] * deviation + 1e-6 * np.abs(of_all)).any())

    def class_totals(self) -> ClassTotals:
        """The classes of all partitions, the rows of positive weight in each, and the sums of their weights."""
        kinds = {"text" if part.labels.dtype.kind in "OUST" else "other" for part in self.used}
        if len(kinds) > 1:
            raise ValueError(
                "The labels y are text in some partitions and numbers in others; use one type for all labels."
            )
        classes, codes = np.unique(np.concatenate([part.labels for part in self.used]), return_inverse=True)
        counts = np.bincount(codes.ravel(), np.concatenate([part.counts for part in self.used]))
        weights = np.bincount(codes.ravel(), np.concatenate([part.weights for part in self.used]))
        return ClassTotals(classes, counts, weights)

    def target_totals(self) -> TargetTotals:
        """The number and weight of all rows, and the weighted mean of their targets."""
        weight = sum(part.weight for part in self.filled)
        mean = np.sum([part.target_sum for part in self.filled], axis=0) / weight
        return TargetTotals(sum(part.n_used for part in self.filled), weight, mean, self.filled[0].target_shape)

    def scale_gamma(self) -> float:
        """The value of gamma="scale" over the rows of all partitions."""
        shares = np.array([part.weight for part in self.used])
        shares /= shares.sum()
        means = np.array([part.mean for part in self.used])
        mean = shares @ means
        variance = shares @ (np.array([part.variance for part in self.used]) + (means - mean) ** 2)
        return 1.0 / (self.n_features * variance) if variance > 0 else 1.0
