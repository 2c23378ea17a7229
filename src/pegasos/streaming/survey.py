"""The first look at all rows of a source: what has to be known before the first step."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from pegasos.io.dataset import DataError, check_size
from pegasos.io.source import Chunk, Source
from pegasos.streaming.progress import Work
from pegasos.streaming.split import Split
from pegasos.streaming.windows import chunks, n_bytes


@dataclass(frozen=True)
class Look:
    """What a look at all rows has found; rows held out for a test count in `n_test` and nowhere else."""

    n_rows: int
    n_test: int
    n_features: int
    sparse: bool
    dtype: str  # of the features
    largest: float  # absolute value of any feature
    classes: np.ndarray | None  # None for regression
    counts: np.ndarray  # rows of each class
    mean: float  # of the targets, for regression
    zero: float  # the mean loss of predicting 0, for regression
    bytes_a_chunk: float  # in memory, on average
    seconds: float

    @property
    def facts(self) -> dict:
        """What a report says of the data."""
        classes = None if self.classes is None else len(self.classes)
        rows = self.n_rows if not self.n_test else f"{self.n_rows} + {self.n_test} to test"
        return {"rows": rows, "features": self.n_features, "classes": classes}


class _Words(Exception):
    """Some labels are text, so all of them are."""


def look(source: Source, work: Work, *, regression: bool, epsilon: float = 0.0, split: Split | None = None) -> Look:
    """Look at all rows once; from then on the source knows how wide they are, and whether labels are text."""
    if not source.labelled:
        raise DataError(f"{source.name} has no labels to learn from.")
    try:
        return _look(source, work, regression, epsilon, split)
    except _Words:  # numbers that came before have to be read again, as they are written
        source.text_labels = True
        return _look(source, work, regression, epsilon, split)


def _look(source: Source, work: Work, regression: bool, epsilon: float, split: Split | None) -> Look:
    seen, labels = _Rows(), _Targets(source, epsilon) if regression else _Classes(source)
    began, before = work.clock.seconds, work.read
    with closing(chunks(source)) as read:
        for chunk in read:
            if work.clock.seconds > work.clock.max_time and work.read > before:
                raise DataError(_too_long(source, work, work.clock.seconds - began, work.read - before))
            seen.add(chunk)
            rows = chunk if split is None else split.train(chunk)
            seen.n_test += len(chunk.y) - len(rows.y)
            labels.add(rows.y)
            work.done(chunk.share)
    work.end_reading()
    if seen.n_rows == 0:
        raise DataError(f"{source.name} is empty: it holds no rows.")
    check_size(source.name, seen.largest)
    if source.n_features is None:
        source.settle_features(seen.lowest, seen.highest)
    assert source.n_features is not None
    return Look(
        n_rows=seen.n_rows - seen.n_test,
        n_test=seen.n_test,
        n_features=source.n_features,
        sparse=seen.sparse,
        dtype=seen.dtype,
        largest=seen.largest,
        bytes_a_chunk=seen.n_bytes / seen.n_chunks,
        seconds=work.clock.seconds - began,
        **labels.found(),
    )


def _too_long(source: Source, work: Work, seconds: float, part: float) -> str:
    return (
        f"max_time={work.clock.max_time:g} was over before a first look at {source.name} was done: after {seconds:.3g} "
        f"s, {100 * part:.3g} % of it was read. The look alone takes about {seconds / part:.3g} s; give several times "
        "as much."
    )


class _Rows:
    """The shape and size of the rows."""

    def __init__(self):
        self.n_rows = self.n_test = self.n_chunks = self.n_bytes = 0
        self.largest, self.sparse, self.dtype = 0.0, False, ""
        self.lowest, self.highest = 2**31, -1

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


class _Classes:
    """The labels of classes and how often each occurs."""

    def __init__(self, source: Source):
        self.source = source
        self.counts: Counter = Counter()
        self.whole = True  # whether all labels are whole numbers

    def add(self, y: np.ndarray) -> None:
        if not len(y):
            return
        if y.dtype.kind == "U" and not self.source.text_labels:
            raise _Words
        if y.dtype.kind == "f":
            odd = y[y != np.floor(y)]
            if odd.size:
                raise DataError(
                    f"{self.source.name} has labels such as {odd[0]:g}, which are no classes; use --regression to "
                    "predict numbers."
                )
            self.whole = False
        labels, counts = np.unique(y, return_counts=True)
        self.counts.update(dict(zip(labels.tolist(), counts.tolist())))

    def found(self) -> dict:
        labels = sorted(self.counts)
        dtype = None if self.source.text_labels else np.int64 if self.whole else np.float64
        counts = np.array([self.counts[label] for label in labels], np.int64)
        return {"classes": np.array(labels, dtype), "counts": counts, "mean": 0.0, "zero": 0.0}


class _Targets:
    """The mean of the targets, and that of the loss of predicting 0."""

    def __init__(self, source: Source, epsilon: float):
        self.source, self.epsilon = source, epsilon
        self.total, self.loss, self.count = 0.0, 0.0, 0

    def add(self, y: np.ndarray) -> None:
        if y.dtype.kind == "U":
            raise DataError(
                f"{self.source.name} has labels such as {y[0]!s}, which are no numbers; --regression needs numbers."
            )
        self.total += float(y.sum(dtype=np.float64))
        self.loss += float(np.maximum(np.abs(y) - self.epsilon, 0.0).sum(dtype=np.float64))
        self.count += len(y)

    def found(self) -> dict:
        count = max(1, self.count)
        return {"classes": None, "counts": np.empty(0), "mean": self.total / count, "zero": self.loss / count}
