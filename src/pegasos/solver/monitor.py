"""Callbacks of a solve, and what is known of it: records of its history and the last certificate of each column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasos.rules.state import State
from pegasos.solver.certificate import Certificate, Certifier
from pegasos.solver.clock import Clock


@dataclass
class Hooks:
    """Callbacks of a solve; one that returns True ends it.

    Attributes
    ----------
    record : callable, optional
        Called with a dict (step, objective, gap, seconds) after passes 1, 2, 4, 8, ... and at the end.
    progress : callable, optional
        Called with the fraction of the work that is done, from 0 to 1, after each stretch of draws.
    after_pass : callable, optional
        Called after each pass with the number of passes done and a function that returns the model.
    """

    record: Callable[[dict], object] | None = None
    progress: Callable[[float], object] | None = None
    after_pass: Callable[[int, Callable[[], np.ndarray]], object] | None = None


class Monitor:
    """The history of one solve, whose columns have these objectives of the zero model."""

    def __init__(self, clock: Clock, hooks: Hooks, zero_objective: np.ndarray):
        self.clock, self.hooks = clock, hooks
        self.history: list[dict] = []
        self.stopped = False  # by a callback
        unknown = np.full(len(zero_objective), np.nan)
        self.known = Certificate(unknown, unknown.copy(), zero_objective.copy())
        self.known_at = np.full(len(zero_objective), -1)  # steps that each column had taken then

    def record(self, state: State, certificate: Certificate) -> None:
        """Keep a certificate, and call the hook for records."""
        places = state.columns["place"]
        self.known.objective[places], self.known.dual[places] = certificate.objective, certificate.dual
        self.known_at[places] = state.columns["steps"]
        record = {
            "step": int(state.columns["steps"].max(initial=0)),
            "objective": float(certificate.objective.mean()),
            "gap": float(certificate.gap.max()),
            "seconds": self.clock.seconds,
        }
        if self.history and self.history[-1]["step"] == record["step"]:
            self.history[-1] = record
            return
        self.history.append(record)
        if self.hooks.record is not None:
            self.stopped |= self.hooks.record(record) is True

    def last(self, state: State, certifier: Certifier) -> Certificate:
        """The certificate of the result, nan if there is no time for it; after a second Ctrl-C the last known one."""
        up_to_date = (self.known_at == state.columns["steps"]).all()
        if self.clock.timed_out and not self.clock.worth_certifying and not up_to_date:
            unknown = np.full(len(state.columns), np.nan)
            return Certificate(unknown, unknown, self.known.zero)
        try:
            certificate = self.known if up_to_date else certifier.certify(state)
        except KeyboardInterrupt:  # the second Ctrl-C: the first one ended the steps
            return self.known
        self.record(state, certificate)
        return certificate
