"""What is known of a running solve: records for whoever looks on, and the last certificate of each column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate, Certifier
from pegasos.solver.clock import Clock


@dataclass
class Hooks:
    """Whoever looks on. `record` gets (step, objective, gap, seconds) after passes 1, 2, 4, 8, ... and at the end;
    `progress` how much of the work is done, from 0 to 1, whenever there is news; `after_pass` the number of passes done
    and a function that makes the model, after each. One that returns True ends the solve.
    """

    record: Callable[[dict], object] | None = None
    progress: Callable[[float], object] | None = None
    after_pass: Callable[[int, Callable[[], np.ndarray]], object] | None = None


class Monitor:
    """Records of a solve whose columns have these objectives of the zero model."""

    def __init__(self, certifier: Certifier, clock: Clock, watcher: Hooks, zero: np.ndarray):
        self.certifier, self.clock, self.watcher = certifier, clock, watcher
        self.history: list[dict] = []
        self.stopped = False  # someone has seen enough
        unknown = np.full(len(zero), np.nan)
        self.known = Certificate(unknown, unknown.copy(), zero.copy())
        self.known_at = np.full(len(zero), -1)  # steps that each column had taken then

    def record(self, state: State, found: Certificate) -> None:
        """Keep a certificate, and tell the watcher of it."""
        places = state.columns["place"]
        self.known.objective[places], self.known.dual[places] = found.objective, found.dual
        self.known_at[places] = state.columns["steps"]
        record = {
            "step": int(state.columns["steps"].max(initial=0)),
            "objective": float(found.objective.mean()),
            "gap": float(found.gap.max()),
            "seconds": self.clock.seconds,
        }
        if self.history and self.history[-1]["step"] == record["step"]:
            self.history[-1] = record
            return
        self.history.append(record)
        if self.watcher.record is not None:
            self.stopped |= self.watcher.record(record) is True

    def last(self, state: State) -> Certificate:
        """The certificate of the result, nan if there is no time for it; after a second Ctrl-C the last known one."""
        up_to_date = (self.known_at == state.columns["steps"]).all()
        if self.clock.timed_out and not self.clock.worth_certifying and not up_to_date:
            unknown = np.full(len(state.columns), np.nan)
            return Certificate(unknown, unknown, self.known.zero)
        try:
            found = self.known if up_to_date else self.certifier.certify(state)
        except KeyboardInterrupt:  # the second Ctrl-C, the first ended the steps
            return self.known
        self.record(state, found)
        return found
