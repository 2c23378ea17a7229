"""Snapshots of a running solve: everything that decides, to the last bit, how it goes on.

Besides the state that is little: where the stream of draws is, the rate of pulls, which decides how the next steps are
taken, and the order in which a kernel without a matrix has cached its support rows, since sums round by their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from pegasos.rules.state import State


@dataclass
class PassCount:
    """Passes of the group of columns that runs: columns of equal row sets, where batches need that."""

    group: int = 0
    first: int = 0  # passes of the stream before those of this solve
    passes: int = 0
    refreshed: int = 0  # passes after which kept scores were last computed anew
    next_check: int = 1  # passes after which the next certificate is due


@dataclass
class Snapshot:
    """Where a solve stands. `state` are the columns that run, None if they are those of `whole`, all columns."""

    whole: State
    state: State | None
    lap: PassCount
    stream: dict[str, Any]
    order: np.ndarray  # of cached support rows
    pull_rate: float
    seconds: float
    first_steps: np.ndarray
    known: np.ndarray  # objective and dual objective last certified, and at which steps
    history: list[dict] = field(default_factory=list)
    own: dict[str, np.ndarray] = field(default_factory=dict)  # what a solver keeps beside the state

    def in_order_of(self, like: State) -> Snapshot:
        """The same, with its states in the order in memory of this one."""
        state = None if self.state is None else self.state.in_order_of(like)
        return replace(self, whole=self.whole.in_order_of(like), state=state)

    def to_device_of(self, array) -> Snapshot:
        """The same, with its states on the device of an array."""
        state = None if self.state is None else self.state.to_device_of(array)
        return replace(self, whole=self.whole.to_device_of(array), state=state)


class SnapshotStore(Protocol):
    """Where snapshots of a solve are kept; the solver asks it between two stretches of draws."""

    found: Snapshot | None  # of this very solve, to go on from

    def due(self) -> bool:
        """Whether it is time for another one."""

    def refused(self) -> ValueError:
        """The error for a snapshot that cannot be one of this very solve."""

    def keep(self, snapshot: Snapshot) -> None:
        """Keep it; nothing of it changes meanwhile."""
