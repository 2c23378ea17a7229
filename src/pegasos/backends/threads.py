"""Threads for work that releases the GIL."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

WORTH_A_THREAD = 2e6  # operations that take longer than starting a thread

_lock = threading.Lock()
_limits: list[int] = []  # of all that are in `blas_limited` ...
_unlimited: list[int] = []  # ... and threads of each library before the first
_own = threading.local()


@cache
def _controller():
    return ThreadpoolController()


def blas_threads() -> int:
    """Threads that BLAS uses, and so does everything here: the user's limits hold."""
    if getattr(_own, "alone", False):
        return 1
    return max((lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"), default=1)


@contextmanager
def blas_limited(threads: int) -> Iterator[None]:
    """Let BLAS use at most so many threads in here; of several limits at a time the lowest holds."""
    libraries = _controller().select(user_api="blas").lib_controllers
    with _lock:
        if not _limits:
            _unlimited[:] = [library.num_threads for library in libraries]
        _limits.append(max(1, threads))
        _apply(libraries)
    try:
        yield
    finally:
        with _lock:
            _limits.remove(max(1, threads))
            _apply(libraries)


@contextmanager
def blas_raised(threads: int) -> Iterator[None]:
    """Let BLAS use so many threads in here, whatever it was told before; nobody else may do so at the same time."""
    with _controller().limit(limits=threads, user_api="blas"):
        yield


def _apply(libraries) -> None:
    for library, most in zip(libraries, _unlimited, strict=True):
        library.set_num_threads(min(most, *_limits) if _limits else most)


@contextmanager
def alone() -> Iterator[None]:
    """Let the calling thread share out nothing in here: its neighbours do the same work at the same time."""
    before, _own.alone = getattr(_own, "alone", False), True
    try:
        yield
    finally:
        _own.alone = before


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


def share_out(work, items, go_on=None, threads: int | None = None) -> bool:
    """Call ``work(item)`` for all items; each of as many threads as BLAS uses takes the next one that is left.

    BLAS itself keeps to one thread meanwhile: products of the size of an item are faster side by side than shared.
    ``go_on(part)`` is asked before each item but the first, with the part of them that is taken; the first time it
    says no ends the work. Returns whether all is done.
    """
    threads = min(blas_threads() if threads is None else threads, len(items))
    left, lock, state = iter(enumerate(items)), threading.Lock(), {"stopped": False}

    def take_turns(_):
        while True:
            with lock:
                number, item = next(left, (0, None))
                if item is None or state["stopped"]:
                    return
                if number and go_on is not None and not go_on(number / len(items)):
                    state["stopped"] = True
                    return
            try:
                work(item)
            except BaseException:  # the others need not go on
                state["stopped"] = True
                raise

    if threads <= 1:
        take_turns(0)
    else:
        with blas_limited(1), ThreadPoolExecutor(threads, thread_name_prefix="pegasos") as pool:
            try:
                for _ in pool.map(take_turns, range(threads)):
                    pass
            except BaseException:  # Ctrl-C
                state["stopped"] = True
                raise
    return not state["stopped"]
