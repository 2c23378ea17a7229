"""What is done to each chunk by the thread that reads it: rows are held out, features scaled, labels coded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.estimators.totals import SharedProblem
from pegasos.io import DataError
from pegasos.io.source import Chunk


@dataclass(frozen=True)
class Split:
    """A share of the rows, chosen at random, that is held out for a test; the same rows in every pass."""

    share: float
    seed: int

    def train(self, chunk: Chunk) -> Chunk:
        """The rows to train on."""
        return chunk.select(~self._held(chunk))

    def test(self, chunk: Chunk) -> Chunk:
        """The rows held out."""
        return chunk.select(self._held(chunk))

    def _held(self, chunk: Chunk) -> np.ndarray:
        return np.random.default_rng([self.seed, chunk.begin]).random(len(chunk.y)) < self.share


@dataclass(frozen=True)
class ChunkPreparer:
    """Makes training rows of the chunks of a file.

    Attributes
    ----------
    name : str
        The name of the file.
    problem : SharedProblem
        Its classes give the labels their codes; rows of other classes are left out.
    scaler : fitted scaler or None
    split : Split or None
    """

    name: str
    problem: SharedProblem
    scaler: Any = None
    split: Split | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        """The chunk as the solver takes it."""
        chunk = chunk if self.split is None else self.split.train(chunk)
        if self.scaler is not None and len(chunk.y):
            X = self.scaler.transform(chunk.X)
            if hasattr(X, "indptr"):
                X.has_canonical_format = True  # only its values changed
            chunk = replace(chunk, X=X if hasattr(X, "indptr") else np.asarray(X))  # it may give data frames
        codes, known = self.problem.coded(chunk.y)
        if not known.all() and self.problem.weights is None:  # with weights, they may be rows of a class that weighs 0
            raise DataError(
                f"{self.name} has the label {chunk.y[~known][0]!s}, which was not there before: it changed."
            )
        return replace(chunk, y=codes).select(known)
