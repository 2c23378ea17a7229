"""Targets, row sets and weights of many columns kept by class code: as much as the rows need, not rows × columns.

They stand where a matrix stands, and turn into one (`np.asarray`, or some columns by `[:, some]`) where a loop over all
rows of these columns begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


class _Written:
    """What stands for a matrix: subclasses have `shape`, `dtype` and `columns`, which writes some columns out."""

    ndim = 2
    dtype: np.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        raise NotImplementedError

    def columns(self, some) -> np.ndarray:
        """Some of the columns, an index array or a slice, as an array."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Bytes of the whole matrix."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.asarray(self.columns(slice(None)), dtype)

    def __getitem__(self, key):
        rows, some = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(some, int | np.integer):
            return self.columns([some])[:, 0][rows]
        return self.columns(some)[rows]


@dataclass(frozen=True)
class ClassTargets(_Written):
    """A labeling for each of some classes: +1 for its rows, -1 for all others.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows,)
        The class of each row.
    classes : ndarray of int, shape (n_labelings,)
    """

    codes: np.ndarray
    classes: np.ndarray
    dtype = np.dtype(np.int8)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and labelings."""
        return len(self.codes), len(self.classes)

    def columns(self, some) -> np.ndarray:
        """The targets in some labelings."""
        return _signs(self.codes[:, None] == self.classes[some])


@dataclass(frozen=True)
class PairRows(_Written):
    """A row set for each of some pairs of classes: the rows of both.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows,)
    pairs : ndarray of int, shape (n_row_sets, 2)
    used : ndarray of bool, shape (n_rows,)
        Rows that are in sets at all.
    """

    codes: np.ndarray
    pairs: np.ndarray
    used: np.ndarray
    dtype = np.dtype(bool)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and row sets."""
        return len(self.codes), len(self.pairs)

    def columns(self, some) -> np.ndarray:
        """Which rows some of the sets have."""
        pairs, codes = self.pairs[some], np.where(self.used, self.codes, -1)[:, None]
        inside = codes == pairs[:, 0]
        inside |= codes == pairs[:, 1]
        return inside

    def __and__(self, used: np.ndarray) -> PairRows:
        return replace(self, used=self.used & used[:, 0])

    def sum(self, axis: int = 0) -> np.ndarray:
        """Rows of each set."""
        return self.totals(np.ones(len(self.codes))).sum(axis=1).astype(np.int64)

    def any(self, axis: int = 1) -> np.ndarray:
        """Which rows are in a set."""
        return self.used & np.isin(self.codes, self.pairs)

    def totals(self, weights: np.ndarray) -> np.ndarray:
        """Σ weights (n_rows,) of the rows of both classes of each set, shape (n_row_sets, 2)."""
        n_classes = int(max(self.codes.max(initial=0), self.pairs.max(initial=0))) + 1
        return np.bincount(self.codes[self.used], weights[self.used], n_classes)[self.pairs]


@dataclass(frozen=True)
class PairWeights(_Written):
    """Weights of the rows in each pair of classes: their own, times a factor for either class of the pair; else 0.

    Attributes
    ----------
    rows : PairRows
    own : ndarray of shape (n_rows,)
    factors : ndarray of shape (n_row_sets, 2)
    """

    rows: PairRows
    own: np.ndarray
    factors: np.ndarray
    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and row sets."""
        return self.rows.shape

    def columns(self, some) -> np.ndarray:
        """The weights in some of the sets."""
        codes, pairs, factors = self.rows.codes[:, None], self.rows.pairs[some], self.factors[some]
        first, second = (codes == pairs[:, place] for place in (0, 1))
        own = np.where(self.rows.used, self.own, 0.0)[:, None]
        return own * np.where(first, factors[:, 0], np.where(second, factors[:, 1], 0.0))

    def totals(self) -> np.ndarray:
        """Σ weights of each set."""
        return (self.rows.totals(self.own) * self.factors).sum(axis=1)

    def positive(self) -> np.ndarray:
        """The smallest and the largest positive weight of either class of each set, in one array."""
        own, codes = self.own[self.rows.used], self.rows.codes[self.rows.used]
        least, most = np.full(codes.max(initial=0) + 1, np.inf), np.zeros(codes.max(initial=0) + 1)
        np.minimum.at(least, codes, own)
        np.maximum.at(most, codes, own)
        found = np.concatenate([(each[self.rows.pairs] * self.factors).ravel() for each in (least, most)])
        return found[(found > 0) & np.isfinite(found)]


def balanced_pairs(rows: PairRows, own: np.ndarray | None) -> PairWeights:
    """Weights with which both classes of each pair weigh the same, and as much together as before."""
    own = np.ones(len(rows.codes)) if own is None else own
    totals = rows.totals(own)
    present = (totals > 0).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(totals > 0, totals.sum(axis=1, keepdims=True) / (present * totals), 0.0)
    return PairWeights(rows, own, factors)


def _signs(inside: np.ndarray) -> np.ndarray:
    """+1 where inside, else -1, as int8, in the place of the mask."""
    signs = inside.view(np.int8)
    signs *= 2
    signs -= 1
    return signs
