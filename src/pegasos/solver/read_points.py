"""Read points: steps at which the model of a column is read off on the way to its end.

Windows of an average begin, and models are read off, between two blocks of draws; so a block is cut where one is due.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pegasos.rules.state import State


class ReadPoints:
    """Steps at which the models of columns are wanted.

    Parameters
    ----------
    steps : ndarray of int64, shape (n_columns, n_points)
        Read points of each column, rising; the last is its end.
    reached : callable
        Called with the state of columns that stand at a read point, and with a mask (columns, n_points) of the points
        they stand at. A column that ends early stands at all that are left.
    """

    def __init__(self, steps: np.ndarray, reached: Callable[[State, np.ndarray], object]):
        self.steps, self.reached = steps, reached
        self._n_read = np.zeros(len(steps), np.int64)

    @property
    def ends(self) -> np.ndarray:
        """Steps of each column in all."""
        return self.steps[:, -1]

    def next(self, places: np.ndarray) -> np.ndarray:
        """The step of the next read point of each of these columns."""
        return self.steps[places, np.minimum(self._n_read[places], self.steps.shape[1] - 1)]

    def read_off(self, state: State, *, at_end: bool = False) -> None:
        """Hand the columns that have come to a read point to `reached`; `at_end` all that are still to come."""
        places = state.columns["place"]
        arrived = (self.steps[places] <= state.columns["steps"][:, None]).sum(axis=1)
        arrived[state.finished | at_end] = self.steps.shape[1]
        n_read = self._n_read[places]
        due = arrived > n_read
        if not due.any():
            return
        numbers = np.arange(self.steps.shape[1])
        which = (numbers >= n_read[due, None]) & (numbers < arrived[due, None])
        self._n_read[places[due]] = arrived[due]
        self.reached(state if due.all() else state.select(due), which)


def draws_before(stops: np.ndarray, columns: np.ndarray, weights: np.ndarray, index: np.ndarray, batch: int) -> int:
    """How many of the draws `index` are left before the first column comes to its stop; all of them if none does.

    `stops` are steps, one a column; `weights` are the normalised ones, not 0 where a row is the column's.
    """
    left = (stops - columns["steps"]) * batch
    near = (left > 0) & (left <= len(index)) & (stops < columns["limit"])  # at its limit a column stops by itself
    if not near.any():
        return len(index)
    row_sets, which = np.unique(columns["row_set"][near], return_inverse=True)
    least = np.full(len(row_sets), len(index))  # draws that reach the first stop among the columns of each row set
    np.minimum.at(least, which.ravel(), left[near])
    until = len(index)
    for row_set, wanted in zip(row_sets, least, strict=True):
        own = np.flatnonzero(weights[index[:until], row_set])
        if len(own) >= wanted:
            until = int(own[wanted - 1]) + 1
    return until
