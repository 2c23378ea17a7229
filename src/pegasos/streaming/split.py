"""Rows of a stream that are held out for a test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
