"""Memory that a worker frees while it trains: kept for the next block, and given back at the end.

Dask starts its workers with MALLOC_TRIM_THRESHOLD_=65536: what is freed goes back to the system at once. A solve frees
and takes arrays of the same size for every block, and would have the system hand them out page by page each time, which
takes almost as long as the steps themselves.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
BY_DEFAULT = 128 * 2**10  # bytes, of both
AT_MOST = 32 * 2**20  # where glibc itself ends up when it may adapt to what is freed


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """A context in which freed memory stays with the process; not for several threads, no change without glibc."""
    of_dask = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    libc: Any = ctypes.CDLL(None) if os.name == "posix" else None
    if not of_dask.isdigit() or not hasattr(libc, "mallopt"):
        yield
        return
    libc.mallopt(M_MMAP_THRESHOLD, AT_MOST)
    libc.mallopt(M_TRIM_THRESHOLD, 2 * AT_MOST)
    try:
        yield
    finally:
        libc.mallopt(M_MMAP_THRESHOLD, BY_DEFAULT)
        libc.mallopt(M_TRIM_THRESHOLD, int(of_dask))
        libc.malloc_trim(0)
