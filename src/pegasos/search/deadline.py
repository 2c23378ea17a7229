"""The time limit of a search, shared by its runs."""

from __future__ import annotations

import time

import numpy as np

LOADING = 3.0  # seconds that the first part of a search may take beyond its share, if there are twice as many


class Deadline:
    """When a search, or a part of one, has to end; `max_time` None: never."""

    def __init__(self, max_time: float | None, started: float, parent: Deadline | None = None):
        self.started = started
        self.max_time = np.inf if max_time is None else max_time
        self._parent = parent
        self.cut_short = False  # whether any run ended before its steps were done
        self._begun = False

    def cut(self) -> None:
        """Note that a run ended before its steps were done."""
        self.cut_short = True
        if self._parent is not None:
            self._parent.cut()

    def __getstate__(self) -> dict:
        """Clocks differ from machine to machine, so a deadline travels as the seconds that are left."""
        return vars(self) | {"max_time": np.inf if self.max_time == np.inf else self.left}

    def __setstate__(self, state: dict) -> None:
        """What is left counts from its arrival."""
        vars(self).update(state, started=time.perf_counter())

    def within(self, part: float) -> Deadline:
        """A deadline for that part of the work that is left; the first part also loads the compiled loops."""
        share = self.share(part)
        if share is not None and not self._begun:
            share = max(share, min(LOADING, 0.5 * self.left))
        self._begun = True
        return Deadline(share, time.perf_counter(), self)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.started + self.max_time - time.perf_counter())

    @property
    def passed(self) -> bool:
        """Whether no time is left for the search as a whole; a part that is late still runs as little as it can."""
        return self.left == 0.0 if self._parent is None else self._parent.passed

    def at(self, part: float) -> float:
        """``time.perf_counter()`` when that part of what is left will be over."""
        return time.perf_counter() + part * self.left

    def share(self, part: float) -> float | None:
        """Seconds for that part of the work that is left; None: no limit."""
        return None if self.max_time == np.inf else max(1e-3, part * self.left)
