"""Start vectors: w₁ is in the sums until a column has taken its first step, which multiplies it by 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.problem.job import Job
from pegasos.rules.column import Rule
from pegasos.rules.state import State
from pegasos.utils.arrays import to_device_of


@dataclass(frozen=True)
class StartVectors:
    """The sums that columns begin with, which of them (by place) still have them, and the radii of their balls.

    A first step is not projected while w₁ is in the sums, but when it is taken out.
    """

    job: Job
    sums: Any
    waiting: np.ndarray
    radii: np.ndarray

    @classmethod
    def of(cls, job: Job, state: State) -> StartVectors | None:
        """Those of a state before its first step; None where there are none that will be forgotten.

        A loss whose pulls are unbounded begins ahead of the first step and forgets nothing.
        """
        columns = state.columns
        begins = (columns["steps"] == 0) & (columns["norm_squared"] > 0)
        if state.rule != Rule.PEGASOS or not begins.any():
            return None
        ahead = begins & (columns["step_offset"] > 0)
        offset = np.where(ahead, columns["step_offset"], 1.0)
        state.rescale(offset)
        columns["norm_squared"] *= offset**2
        waiting = begins & ~ahead
        if not waiting.any():
            return None
        columns["pass_is_feasible"][waiting] = job.schedule.batch is None or job.schedule.meets_all_rows
        radii = columns["radius"].copy()
        columns["radius"][waiting] = np.inf
        return cls(job, state.sums.copy(), waiting, radii)

    def forgotten(self, state: State) -> StartVectors | None:
        """Take w₁ out of the columns that have taken their first step; what is left to do."""
        columns = state.columns
        due = self.waiting[columns["place"]] & (columns["steps"] > 0)
        if not due.any():
            return self
        here, own = np.flatnonzero(due), columns["place"][due]
        places, origins = to_device_of(here, state.sums), to_device_of(own, state.sums)
        begun = self.sums[:, origins].astype(state.sums.dtype)
        state.sums[:, places] -= begun
        if state.weighted.size:  # w₁ stays in the average
            state.weighted[:, places] -= begun * to_device_of(columns["average"][here].astype(begun.dtype), state.sums)
        columns["norm_squared"][here] = self.job.rows.square_norms(state.select(due).sums)
        columns["radius"][here] = self.radii[own]
        if self.job.schedule.project:
            self._project(state, here)
        waiting = self.waiting.copy()
        waiting[own] = False
        return replace(self, waiting=waiting) if waiting.any() else None

    def _project(self, state: State, here: np.ndarray) -> None:
        """What `close_step` does at the end of a step, for groups of columns."""
        columns, size = state.columns, self.job.problems.group
        squares = columns["norm_squared"][here].reshape(-1, size).sum(axis=1)
        norms = np.repeat(np.sqrt(np.maximum(squares, 0.0)), size) * state.scales[here]
        radii = columns["radius"][here]
        columns["shrink"][here] *= np.where(norms > radii, radii / np.where(norms > 0, norms, 1.0), 1.0)
