"""A wall clock that is kept: the age of the process, an alarm, and whether compiled loops are at hand."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BEFORE_IMPORTS = 0.15  # seconds of a process before its first line of ours, where the system does not tell
COMPILING = 20.0  # seconds that the first compilation can take on a slow machine


class TimeIsUp(Exception):
    """The alarm rang."""


def process_age() -> float:
    """Seconds since the process began, start-up of the interpreter included."""
    with suppress(OSError, ValueError, IndexError):
        ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return max(uptime - ticks / os.sysconf("SC_CLK_TCK"), 0.0)
    return time.perf_counter() - _IMPORTED + BEFORE_IMPORTS


_IMPORTED = time.perf_counter()


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TimeIsUp within the block after so many seconds; without alarms (Windows, threads) it does nothing."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number, frame):
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- compiled loops --------------------------------------------------------------------------------------------------


def is_compiled(kind: str) -> bool:
    """Whether an earlier run on rows of this kind has left its compiled loops on disk, and no source is newer."""
    with suppress(OSError, ValueError):
        folder, stamp = _note(kind).read_text(encoding="utf-8").splitlines()
        return stamp == _stamp() and any(Path(folder).glob("steps.direct_steps-*.nbi"))
    return False


def note_compiled(kind: str) -> None:
    """Leave word that rows of this kind need no further compilation."""
    from pegasos.backends.cpu import steps
    from pegasos.files import write_text

    with suppress(OSError, AttributeError):
        folder = steps.direct_steps._cache.cache_path
        _note(kind).parent.mkdir(parents=True, exist_ok=True)
        write_text(_note(kind), f"{folder}\n{_stamp()}")


def interpret() -> None:
    """Let the loops run as plain Python, which needs no compilation; before they are first imported."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"


def _note(kind: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(cache) / "pegasos" / f"compiled-{kind}"


def _stamp() -> str:
    """What compiled loops depend on: the sources, their place, and Numba."""
    from importlib.metadata import version

    package = Path(__file__).parents[1]
    sources = [*package.glob("*.py"), *package.glob("backends/**/*.py"), *package.glob("rows/*.py")]
    newest = max(source.stat().st_mtime_ns for source in sources)
    return f"{package} {newest} numba {version('numba')} {os.environ.get('NUMBA_CACHE_DIR', '')}"
