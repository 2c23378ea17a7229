"""Whether compiled loops are at hand: the first run on a machine compiles, which takes longer than some can wait."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pegasos.utils.files import write_text

SECONDS = 30.0  # that the first compilation can take on a slow machine


def is_compiled(kind: str) -> bool:
    """Whether an earlier run of this kind has left its compiled loops on disk, and no source is newer."""
    with suppress(OSError, ValueError):
        stamp, *files = _note(kind).read_text(encoding="utf-8").splitlines()
        return stamp == _stamp() and bool(files) and all(map(os.path.exists, files))
    return False


def note_compiled(kind: str) -> None:
    """Leave word that runs of this kind need no further compilation; without word runs are only interpreted."""
    from pegasos.backends.cpu.loops import kept_loops

    with suppress(OSError, AttributeError):  # Numba's caches are not public
        if files := kept_loops():
            _note(kind).parent.mkdir(parents=True, exist_ok=True)
            write_text(_note(kind), "\n".join([_stamp(), *files]))


def interpreted() -> bool:
    """Whether loops run as plain Python, where those of NumPy are faster."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def interpret() -> bool:
    """Let the loops run as plain Python, which needs no compilation; whether it is not too late for that."""
    import sys

    os.environ["NUMBA_DISABLE_JIT"] = "1"
    return "numba" not in sys.modules


def _note(kind: str) -> Path:
    from platformdirs import user_cache_path  # not at the top: most who import this module do not ask

    return user_cache_path("pegasos", appauthor=False) / f"compiled-{kind}"


def _stamp() -> str:
    """What compiled loops depend on: the sources, their place, and Numba."""
    from importlib.metadata import version

    package = Path(__file__).parents[1]
    newest = max(source.stat().st_mtime_ns for source in package.rglob("*.py"))
    return f"{package} {newest} numba {version('numba')} {os.environ.get('NUMBA_CACHE_DIR', '')}"
