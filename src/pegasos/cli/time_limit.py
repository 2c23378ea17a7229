"""Time limits that count from the start of the process: its age, and an alarm."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BEFORE_IMPORTS = 0.3  # assumed age of the process when this module is imported, where /proc does not tell
AGAIN = 0.05  # seconds until the alarm is repeated: the first may be raised where it is swallowed, as in __del__
_IMPORTED = time.perf_counter()


class TimeIsUp(BaseException):
    """Raised by `alarm`. Not an Exception, so that no handler of errors catches it."""


def process_age() -> float:
    """Seconds since the process began, start-up of the interpreter included."""
    known = time.perf_counter() - _IMPORTED
    with suppress(OSError, ValueError, IndexError):
        ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return max(uptime - ticks / os.sysconf("SC_CLK_TCK"), known)
    return known + BEFORE_IMPORTS


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp within the block after so many seconds; on Windows and outside the main thread, do nothing."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number, frame):
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
