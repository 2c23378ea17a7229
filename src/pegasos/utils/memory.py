"""How much memory there is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes of memory that are available to this process; infinite where that is unknown."""
    return min(_of_the_machine(), _of_the_container())


def _of_the_machine() -> float:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    with suppress(OSError, ValueError, AttributeError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return float("inf")


def _of_the_container() -> float:
    """What the limit of a container leaves; pages of files that it has read are given back when memory is asked for."""
    with suppress(OSError, ValueError):
        limit = float((CGROUP / "memory.max").read_text())  # "max" where there is none
        used = float((CGROUP / "memory.current").read_text())
        counts = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        return max(0.0, limit - used + float(counts.get("inactive_file", 0)))
    return float("inf")
