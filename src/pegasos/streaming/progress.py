"""How much of the reading of a streamed fit is done, and how long it has taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasos.solver.clock import Clock


@dataclass
class StreamProgress:
    """The clock of a streamed fit, and how often its file was read and will be.

    Attributes
    ----------
    clock : Clock
    show : callable or None
        Called with the fraction of the work that is done, from 0 to 1, whenever some of the file was read.
    readings : float
        How often the file will have been read at the end, as far as is known.
    read : float
        How often it was read so far.
    """

    clock: Clock
    show: Callable[[float], object] | None = None
    readings: float = 1.0
    read: float = 0.0

    def add(self, share: float) -> None:
        """Count this share of the file as read."""
        self.read += share
        if self.show is not None:
            readings = self.readings if np.isfinite(self.readings) else 2.0 * self.read + 1.0
            self.show(min(1.0, max(self.read / readings, self.clock.seconds / self.clock.max_time)))

    def end_reading(self) -> None:
        """The file was read to its end: remove the rounding errors of the shares."""
        self.read = float(round(self.read))
