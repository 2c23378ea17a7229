"""The survey: one reading of a file for everything that has to be known of all rows before the first step."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from pegasos.estimators.totals import ClassTotals, TargetTotals
from pegasos.io.dataset import DataError, check_size
from pegasos.io.source import Chunk, Source
from pegasos.streaming.prepare import Split
from pegasos.streaming.progress import StreamProgress
from pegasos.streaming.windows import chunks, n_bytes


@dataclass(frozen=True)
class StreamSurvey:
    """What a first reading of a file has found.

    Attributes
    ----------
    totals : ClassTotals or TargetTotals
        Of the training rows; rows held out for a test count in `n_test` and nowhere else.
    n_test, n_features : int
    sparse : bool
    dtype : str
        Of the features.
    largest : float
        The largest absolute value of any feature.
    bytes_per_chunk : float
        In memory, on average.
    seconds : float
        How long the reading took.
    """

    totals: ClassTotals | TargetTotals
    n_test: int
    n_features: int
    sparse: bool
    dtype: str
    largest: float
    bytes_per_chunk: float
    seconds: float

    @property
    def n_rows(self) -> int:
        """Training rows."""
        totals = self.totals
        return totals.n_rows if isinstance(totals, TargetTotals) else int(totals.counts.sum())

    @property
    def facts(self) -> dict:
        """What a report says of the data."""
        classes = len(self.totals.labels) if isinstance(self.totals, ClassTotals) else None
        rows = self.n_rows if not self.n_test else f"{self.n_rows} + {self.n_test} to test"
        return {"rows": rows, "features": self.n_features, "classes": classes}


class _TextLabels(Exception):
    """Some labels are text, so all of them are."""


def survey(
    source: Source,
    progress: StreamProgress,
    *,
    regression: bool,
    epsilon: float = 0.0,
    power: int = 1,
    split: Split | None = None,
) -> StreamSurvey:
    """Read all rows once; from then on the source knows how wide they are, and whether labels are text.

    `epsilon` and `power` are those of the loss, for regression.
    """
    if not source.labelled:
        raise DataError(f"{source.name} has no labels to learn from.")
    try:
        return _survey(
            source, progress, _TargetSums(source, epsilon, power) if regression else _ClassCounts(source), split
        )
    except _TextLabels:  # labels that were read as numbers have to be read again, as they are written
        source.text_labels = True
        return _survey(source, progress, _ClassCounts(source), split)


def _survey(
    source: Source, progress: StreamProgress, labels: _ClassCounts | _TargetSums, split: Split | None
) -> StreamSurvey:  # fmt: skip
    rows, clock, n_test = _RowTotals(), progress.clock, 0
    began, read_before = clock.seconds, progress.read
    with closing(chunks(source)) as read:
        for chunk in read:
            if clock.seconds > clock.max_time and progress.read > read_before:
                raise DataError(_too_long(source, clock, clock.seconds - began, progress.read - read_before))
            rows.add(chunk)
            kept = chunk if split is None else split.train(chunk)
            n_test += len(chunk.y) - len(kept.y)
            labels.add(kept.y)
            progress.add(chunk.share)
    progress.end_reading()
    if rows.n_rows == 0:
        raise DataError(f"{source.name} is empty: it holds no rows.")
    check_size(source.name, rows.largest)
    if source.n_features is None:
        source.settle_features(rows.lowest, rows.highest)
    assert source.n_features is not None
    return StreamSurvey(
        totals=labels.totals(),
        n_test=n_test,
        n_features=source.n_features,
        sparse=rows.sparse,
        dtype=rows.dtype,
        largest=rows.largest,
        bytes_per_chunk=rows.n_bytes / rows.n_chunks,
        seconds=clock.seconds - began,
    )


def _too_long(source: Source, clock, seconds: float, share: float) -> str:
    return (
        f"max_time={clock.max_time:g} was over before a first look at {source.name} was done: after {seconds:.3g} s, "
        f"{100 * share:.3g} % of it was read. The look alone takes about {seconds / share:.3g} s; give several times "
        "as much."
    )


class _RowTotals:
    """The shape and size of the rows."""

    def __init__(self):
        self.n_rows = self.n_chunks = self.n_bytes = 0
        self.largest, self.sparse, self.dtype = 0.0, False, ""
        self.lowest, self.highest = 2**31, -1  # index of a feature

    def add(self, chunk: Chunk) -> None:
        X = chunk.X
        self.sparse, self.dtype = hasattr(X, "indptr"), X.dtype.name
        self.n_rows += X.shape[0]
        self.n_chunks += 1
        self.n_bytes += n_bytes(X)
        values = X.data if self.sparse else X
        self.largest = max(self.largest, float(values.max(initial=0)), -float(values.min(initial=0)))
        if self.sparse and X.nnz:
            self.lowest = min(self.lowest, int(X.indices.min()))
            self.highest = max(self.highest, int(X.indices.max()))


class _ClassCounts:
    """The labels of classes and how often each occurs."""

    def __init__(self, source: Source):
        self.source = source
        self.counts: Counter = Counter()
        self.integers = True  # whether all labels were read as integers

    def add(self, y: np.ndarray) -> None:
        if not len(y):
            return
        if y.dtype.kind == "U" and not self.source.text_labels:
            raise _TextLabels
        if y.dtype.kind == "f":
            fractions = y[y != np.floor(y)]
            if fractions.size:
                raise DataError(
                    f"{self.source.name} has labels such as {fractions[0]:g}, which are no classes; use --regression "
                    "to predict numbers."
                )
            self.integers = False
        labels, counts = np.unique(y, return_counts=True)
        self.counts.update(dict(zip(labels.tolist(), counts.tolist())))

    def totals(self) -> ClassTotals:
        labels = sorted(self.counts)
        dtype = None if self.source.text_labels else np.int64 if self.integers else np.float64
        counts = np.array([self.counts[label] for label in labels], np.int64)
        return ClassTotals(np.array(labels, dtype), counts, counts.astype(np.float64))


class _TargetSums:
    """Sums of the targets, and of the loss of predicting 0."""

    def __init__(self, source: Source, epsilon: float, power: int):
        self.source, self.epsilon, self.power = source, epsilon, power
        self.total, self.loss, self.count = 0.0, 0.0, 0

    def add(self, y: np.ndarray) -> None:
        if y.dtype.kind == "U":
            raise DataError(
                f"{self.source.name} has labels such as {y[0]!s}, which are no numbers; --regression needs numbers."
            )
        self.total += float(y.sum(dtype=np.float64))
        self.loss += float((np.maximum(np.abs(y) - self.epsilon, 0.0) ** self.power).sum(dtype=np.float64))
        self.count += len(y)

    def totals(self) -> TargetTotals:
        count = max(1, self.count)
        return TargetTotals(
            self.count, float(self.count), mean=np.array([self.total / count]), zero=self.loss / count
        )  # fmt: skip
