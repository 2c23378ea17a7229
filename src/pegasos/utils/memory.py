"""How much memory there is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes of memory that are available to this process."""
    import psutil  # not at the top: the command line answers before this is imported

    return min(float(psutil.virtual_memory().available), _of_the_container())


def _of_the_container() -> float:
    """What the limit of a container leaves, of which psutil knows nothing; infinite without one.

    Pages of files that it has read are given back when memory is asked for.
    """
    with suppress(OSError, ValueError):
        limit = float((CGROUP / "memory.max").read_text())  # "max" where there is none
        used = float((CGROUP / "memory.current").read_text())
        counts = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        return max(0.0, limit - used + float(counts.get("inactive_file", 0)))
    return float("inf")
