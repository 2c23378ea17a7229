"""When a solve has to end: its time limit, with room for the certificate, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

MOST_FOR_CERTIFICATE = 0.5  # of the time limit; a certificate that takes longer is left out ...
NO_TIME = 0.05  # ... unless it is but so many seconds


class Clock:
    """Seconds since the start of a fit, and how many are left for steps.

    Parameters
    ----------
    max_time : float or None
    started : float or None
        ``time.perf_counter()`` of the start; None: now.
    interruptible : bool
        Whether `watching_interrupts` notes a Ctrl-C; else it raises KeyboardInterrupt as usual.
    """

    def __init__(self, max_time: float | None, started: float | None = None, *, interruptible: bool = True):
        self.interruptible = interruptible
        self.started = time.perf_counter() if started is None else started
        self.max_time = np.inf if max_time is None else max_time
        self.reserve = 0.0  # seconds that the certificate will take
        self.timed_out = False
        self.interrupted = False
        self._share = np.inf
        self._looked: float | None = None
        self._expected = 0.0

    @property
    def limited(self) -> bool:
        """Whether there is a time limit."""
        return self.max_time < np.inf

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def worth_certifying(self) -> bool:
        """Whether there is room for a certificate."""
        return self.reserve <= max(NO_TIME, MOST_FOR_CERTIFICATE * self.max_time)

    @property
    def has_room_for_another(self) -> bool:
        """Whether there is room for a certificate before the last one."""
        return not self.limited or self.seconds + self.reserve < self._end()

    def share(self, n_parts: int) -> None:
        """Give the next of `n_parts` parts its share of the time that is left."""
        if self.limited:
            now = self.seconds
            self._share, self._looked = now + (self._end() - now) / n_parts, None

    def expect(self, seconds: float) -> None:
        """What is done before the first look will take so long."""
        self._expected = seconds

    def is_up(self) -> bool:
        """Whether no step is to be taken any more; what was done since the last look will take as long again."""
        now = self.seconds
        last = self._expected if self._looked is None else now - self._looked
        self._looked = now
        if self.limited and now + last > min(self._end(), self._share):
            self.timed_out = True
            return True
        return self.interrupted

    def _end(self) -> float:
        return self.max_time - (max(0.0, self.reserve - NO_TIME) if self.worth_certifying else 0.0)

    @contextmanager
    def watching_interrupts(self) -> Iterator[None]:
        """Note a first Ctrl-C instead of being torn out of a step; a second one interrupts as usual.

        Only the main thread is told of signals, and only there can it be done.
        """
        if not self.interruptible or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):  # ignored, or not Python's to handle
            yield
            return

        def note(number, frame):
            if self.interrupted:
                before(number, frame)
            self.interrupted = True

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
