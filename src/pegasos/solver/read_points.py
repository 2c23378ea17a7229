"""Stops on the way: the model of a column after fewer steps than it will take is read off as it passes by.

A window of an average begins, and a mark is read off, between two blocks; so blocks are cut where one is due.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pegasos.rules.state import State


class ReadPoints:
    """Steps at which someone wants the model of a column.

    Parameters
    ----------
    steps : ndarray of int64, shape (n_columns, n_marks)
        ReadPoints of each column, rising; the last is its end.
    reached : callable
        Called with the state of columns that stand at a mark, and with a mask (columns, n_marks) of the marks they
        stand at. A column that ends early stands at all that are left.
    """

    def __init__(self, steps: np.ndarray, reached: Callable[[State, np.ndarray], object]):
        self.steps, self.reached = steps, reached
        self._passed = np.zeros(len(steps), np.int64)

    @property
    def ends(self) -> np.ndarray:
        """Steps of each column in all."""
        return self.steps[:, -1]

    def next(self, places: np.ndarray) -> np.ndarray:
        """The step of each column's next mark."""
        return self.steps[places, np.minimum(self._passed[places], self.steps.shape[1] - 1)]

    def read_off(self, state: State, *, at_end: bool = False) -> None:
        """Hand over the columns that have come to a mark; `at_end` all that are still awaited."""
        places = state.columns["place"]
        arrived = (self.steps[places] <= state.columns["steps"][:, None]).sum(axis=1)
        arrived[state.finished | at_end] = self.steps.shape[1]
        passed = self._passed[places]
        due = arrived > passed
        if not due.any():
            return
        numbers = np.arange(self.steps.shape[1])
        which = (numbers >= passed[due, None]) & (numbers < arrived[due, None])
        self._passed[places[due]] = arrived[due]
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
    least = np.full(len(row_sets), len(index))  # draws that columns of one row set are met by alike
    np.minimum.at(least, which.ravel(), left[near])
    met = (weights[index][:, row_sets] != 0).cumsum(axis=0)
    there = met >= least
    return int(np.where(there.any(axis=0), there.argmax(axis=0) + 1, len(index)).min())
