"""Rows seen through landmarks: the state is a weight for each of their features, which exist a block at a time."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pegasos.kernels.nystroem import Landmarks, product
from pegasos.kernels.tiles import STRIP
from pegasos.rows.base import Rows

BLOCK, BOUNDED_BLOCK = 256, 512
BYTES_AT_ONCE = 32e6  # of kernel values


class LandmarkRows(Rows):
    """Rows of a matrix as their features by `landmarks`; the state is W, features × columns.

    Whitening costs more than all the rest: m² multiplications a row. Steps of Pegasos one by one need it, since
    rows of a block meet each other. A batch does not: its scores are k(x)·(T W) and its pulls Tᵀ(Σ pull·k(x)), which
    whitens once for all its rows.

    Nor do `bounded` rows, for dual coordinate ascent: within a block they meet through the kernel itself. Features of
    landmarks never exceed it (K - F·Fᵀ is a Schur complement), so the steps of a block raise a lower bound of the dual
    objective that is tight where the block begins: wherever a block is cut, the dual is not below where it began. The
    steps are a little shorter than those of coordinates by themselves, and the model depends on where blocks are cut
    (windows of an average, stops of a search) beyond rounding. For kernels that are positive semi-definite only.
    """

    largest_block_batch = 16

    def __init__(self, X, landmarks: Landmarks, bias: float = 0.0, bounded: bool = False):
        super().__init__(X, landmarks.n_features, bias)
        self.landmarks, self.bounded = landmarks, bounded
        self.block_length = BOUNDED_BLOCK if bounded else BLOCK
        a_row = len(landmarks.index) * self.dtype.itemsize
        self.at_once = int(np.clip(BYTES_AT_ONCE / a_row, self.block_length, 4 * STRIP))

    @cached_property
    def squares(self) -> np.ndarray:
        """Squared norms of the features, the constant feature included: one pass over all rows."""
        found = np.empty(self.n_rows)
        for block in self.blocks():
            features = block.values.features
            found[block.rows] = np.einsum("ij,ij->i", features, features)
        return found + self.bias**2

    @property
    def largest_square(self) -> float:
        """No feature vector is longer than the row's own kernel value says, and that one is known without a pass."""
        return float(np.abs(self.landmarks.kernel.diagonal(self.X)).max()) + self.bias**2

    @property
    def width(self) -> float:
        """Numbers that a row and a column exchange in one step, roughly."""
        return float(self.n_state)

    def _values(self, index, full_rows):
        return FeatureBlock(self.landmarks, self.X[index])

    def _products(self, block, sums):
        if block.values.whitened:
            return product(block.values.features, sums).T
        return product(block.values.kernel_values, self.landmarks.coefficients(sums)).T

    def _gram(self, block):
        if self.bounded:
            return self.landmarks.among(block.values.rows, block.rows)
        return product(block.values.features, block.values.features.T)

    def add_both(self, block, pulls, weighted, state) -> None:
        """Both sums by the same products."""
        if not state.weighted.size or block.values.whitened:
            super().add_both(block, pulls, weighted, state)
            return
        both = np.zeros((len(state.sums), 2 * len(pulls)), self.dtype)
        self.add(block, np.vstack([pulls, weighted]), both)
        state.sums += both[:, : len(pulls)]
        state.weighted += both[:, len(pulls) :]

    def _add(self, block, pulls, sums):
        if block.values.whitened:
            sums[: self.n_state] += product(block.values.features.T, pulls.T)
        else:
            sums[: self.n_state] += self.landmarks.whitened(product(block.values.kernel_values.T, pulls.T))


class FeatureBlock:
    """Rows of a block; kernel values and features are computed when they are first needed, and kept with the block."""

    def __init__(self, landmarks: Landmarks, rows):
        self.landmarks, self.rows = landmarks, rows

    @property
    def whitened(self) -> bool:
        """Whether the features are known already."""
        return "features" in vars(self)

    @cached_property
    def kernel_values(self) -> np.ndarray:
        """K(x, landmarks) of the rows."""
        return self.landmarks.values(self.rows)

    @cached_property
    def features(self) -> np.ndarray:
        """Features of the rows."""
        if "kernel_values" in vars(self):
            return product(self.kernel_values, self.landmarks.whitening)
        return self.landmarks.features(self.rows)
