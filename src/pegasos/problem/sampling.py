"""Seeded streams of row indices: the draws are known in advance, and the same for every column and backend.

A pass is as many draws as there are rows. ``shuffle`` visits each row once a pass in a new random order, ``cyclic`` in
the order of the data, ``replacement`` draws each time from all rows, and ``subsets`` draws for each batch so many
different rows of all; its passes end with a batch.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

SAMPLINGS = ("shuffle", "replacement", "cyclic", "subsets")
INDEPENDENT = ("replacement", "subsets")  # a pass need not meet every row


class Stream:
    """Draws of row indices.

    Parameters
    ----------
    rows : ndarray of int
        Rows to draw from.
    sampling : {"shuffle", "replacement", "cyclic", "subsets"}
        How a pass is drawn.
    seed : int
        Seed of the generator; unused by "cyclic".
    batch : int
        Rows of one of the "subsets".

    Attributes
    ----------
    passes : int
        Whole passes handed out so far.
    """

    def __init__(self, rows: np.ndarray, sampling: str, seed: int, batch: int = 1):
        if sampling not in SAMPLINGS:
            raise ValueError(f"sampling must be one of {SAMPLINGS}, got {sampling!r}.")
        self.rows = rows
        self.sampling = sampling
        self._subset = batch if sampling == "subsets" else 1
        self._generator = np.random.default_rng(seed)
        self._before_pass = self._generator.bit_generator.state  # the generator's, before the latest pass was drawn
        self._kept: np.ndarray | None = None
        self._waiting = np.empty(0, np.int64)  # drawn, not yet handed out
        self._drawn_passes = 0

    @property
    def pass_length(self) -> int:
        """Draws of a pass: as many as there are rows, or whole subsets of at most so many."""
        return max(len(self.rows) // self._subset, 1) * self._subset

    @property
    def passes(self) -> int:
        """Whole passes handed out so far."""
        return self._drawn_passes - (self._waiting.size > 0)

    @property
    def begun_passes(self) -> int:
        """Passes of which any draw was handed out."""
        return self._drawn_passes

    def generator_before(self, draws: int) -> Mapping | None:
        """The generator's state before the pass in which so many draws end, if that is the latest or the next one."""
        whole = draws // self.pass_length
        if whole == self._drawn_passes:
            return self._generator.bit_generator.state
        return self._before_pass if whole == self._drawn_passes - 1 else None

    def skip(self, draws: int, generator: Mapping | None) -> None:
        """Leave out the first draws, as if they had been handed out; before anything else is asked of the stream.

        `generator` is what `generator_before` said of them; without it the passes left out are drawn.
        """
        whole, part = divmod(draws, self.pass_length)
        part += -part % self._subset  # another size of batches may have been drawn before
        if generator is None:
            for _ in range(whole):
                self._next_pass()
        else:
            self._generator.bit_generator.state = generator
            self._drawn_passes = whole
        if part:
            self._waiting = self._next_pass()[part:]

    def snapshot(self) -> dict[str, Any]:
        """Where the stream is: `restore` on a stream of the same rows goes on from there."""
        return {
            "waiting": self._waiting,
            "drawn_passes": self._drawn_passes,
            "generator": self._generator.bit_generator.state,
            "before_pass": self._before_pass,
        }

    def restore(self, found: Mapping[str, Any]) -> None:
        """Go on where `snapshot` was taken."""
        self._waiting, self._drawn_passes = found["waiting"], found["drawn_passes"]
        self._generator.bit_generator.state, self._before_pass = found["generator"], found["before_pass"]

    def keep(self, rows: np.ndarray) -> None:
        """Hand out only the rows where the mask `rows` is True from now on; the draws themselves stay the same.

        Subsets of fewer rows are others: they are drawn anew unless all rows that wait are among these.
        """
        if self._subset > 1:
            self.rows = self.rows[rows[self.rows]]
            self._waiting = self._waiting if rows[self._waiting].all() else self._waiting[:0]
            return
        self._kept = None if rows.all() else rows
        if self._kept is not None:
            self._waiting = self._waiting[self._kept[self._waiting]]

    def take(self, most: int, batch: int = 1) -> np.ndarray:
        """Hand out up to `most` draws, a multiple of `batch`, up to the end of a pass unless a batch straddles it."""
        while self._waiting.size < batch:
            self._waiting = np.concatenate([self._waiting, self._next_pass()])
        count = max(1, min(most, self._waiting.size) // batch) * batch
        draws, self._waiting = self._waiting[:count], self._waiting[count:]
        return draws

    def put_back(self, draws: np.ndarray) -> None:
        """Return the last draws of the latest `take`."""
        if draws.size:
            self._waiting = np.concatenate([draws, self._waiting])

    def _next_pass(self) -> np.ndarray:
        self._before_pass = self._generator.bit_generator.state
        self._drawn_passes += 1
        if self.sampling == "shuffle":
            draws = self._generator.permutation(self.rows)
        elif self.sampling == "replacement":
            draws = self.rows[self._generator.integers(0, len(self.rows), len(self.rows))]
        elif self.sampling == "subsets":
            draws = self._subsets()
        else:
            draws = self.rows
        return draws if self._kept is None else draws[self._kept[draws]]

    def _subsets(self) -> np.ndarray:
        """The subsets of a pass, one after the other."""
        n_rows, size = len(self.rows), self._subset
        if size > n_rows:
            raise ValueError(f"A subset of {size} rows cannot be drawn from {n_rows} rows.")
        if size == 1:
            return self.rows[self._generator.integers(0, n_rows, n_rows)]
        choose = lambda: self._generator.choice(n_rows, size, replace=False)
        return self.rows[np.concatenate([choose() for _ in range(n_rows // size)])]
