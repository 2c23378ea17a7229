"""A snapshot of a running solve: everything that decides, to the last bit, how it goes on.

Whoever keeps snapshots is a `Keeper`; a solve asks it between two stretches of draws. What a step reads besides the
state is little: where the stream of draws is, which way the last steps went (`pull_rate`), and in which order a kernel
without a matrix has gathered its support rows, since sums round by their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from pegasos.rules.state import State


@dataclass
class Lap:
    """Where a solve is in the columns it runs at present: which group of equal row sets, and how far."""

    group: int = 0
    first: int = 0  # passes of the stream before the first
    passes: int = 0
    refreshed: int = 0  # passes after which kept scores were last computed anew
    next_check: int = 1  # passes after which the certificate is next made for whoever asks


@dataclass
class Snapshot:
    """Where a solve stands. `state` are the columns that run, None if they are those of `whole`, all columns."""

    whole: State
    state: State | None
    lap: Lap
    stream: dict[str, Any]
    order: np.ndarray  # of support rows
    pull_rate: float
    seconds: float
    first_steps: np.ndarray
    known: np.ndarray  # objective and dual objective last certified, and at which steps
    history: list[dict] = field(default_factory=list)

    def to_device_of(self, array) -> Snapshot:
        """The same, with its states where `array` is."""
        state = None if self.state is None else self.state.to_device_of(array)
        return replace(self, whole=self.whole.to_device_of(array), state=state)


class Keeper(Protocol):
    """Who keeps snapshots of a solve."""

    found: Snapshot | None  # where to go on

    def due(self) -> bool:
        """Whether it is time for another one."""

    def keep(self, snapshot: Snapshot) -> None:
        """Keep it; nothing of it changes meanwhile."""
