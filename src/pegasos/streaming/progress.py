"""How far a streamed fit is, and how long it has taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasos.solver.clock import Clock


@dataclass
class Work:
    """The clock of a streamed fit, and how often its file is and will be read.

    Attributes
    ----------
    clock : Clock
    tell : callable or None
        Hears how much of the work is done, from 0 to 1, whenever there is news.
    readings : float
        How often the file will have been read at the end, as far as is known.
    read : float
        How often it was read so far.
    """

    clock: Clock
    tell: Callable[[float], object] | None = None
    readings: float = 1.0
    read: float = 0.0

    def done(self, share: float) -> None:
        """So much of the file was read."""
        self.read += share
        if self.tell is not None:
            readings = self.readings if np.isfinite(self.readings) else 2.0 * self.read + 1.0
            self.tell(min(1.0, max(self.read / readings, self.clock.seconds / self.clock.max_time)))

    def end_reading(self) -> None:
        """The file was read to its end; shares are rounded."""
        self.read = float(round(self.read))
