"""Threads for work that releases the GIL."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

WORTH_A_THREAD = 2e6  # operations that take longer than starting a thread


@cache
def _controller():
    return ThreadpoolController()


def blas_threads() -> int:
    """Threads that BLAS uses, and so does everything here: the user's limits hold."""
    return max((lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"), default=1)


def blas_limited(threads: int):
    """A context in which BLAS uses at most so many threads."""
    return _controller().limit(limits=max(1, threads), user_api="blas")


def in_parallel(work, n_items, operations=np.inf):
    """Call ``work(first, last)`` on even parts of ``range(n_items)``, one part a thread, if `operations` are worth it.

    `work` has to release the GIL. There are as many threads as BLAS uses, so that the user's limits hold here too,
    and they end with the call: a thread that outlived it would be lost in a forked worker.
    """
    threads = 1
    if n_items > 1 and operations > WORTH_A_THREAD:
        threads = blas_threads()
    if threads <= 1:
        work(0, n_items)
        return
    threads = min(threads, n_items)
    edges = np.linspace(0, n_items, threads + 1).astype(int)
    with ThreadPoolExecutor(threads, thread_name_prefix="pegasos") as pool:
        for _ in pool.map(work, edges[:-1], edges[1:]):
            pass
