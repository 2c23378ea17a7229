"""Threads for work that releases the GIL, and how many of them there may be."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import current_process

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

WORTH_A_THREAD = 2e6  # operations that take longer than starting a thread

_lock = threading.Lock()
_limits: list[int] = []  # of all that are in `blas_limited` ...
_unlimited: list[int] = []  # ... and threads of each library before the first
_own = threading.local()  # of the calling thread, in `threads_limited`: its `threads`, and the `pool` of them
_sharing = 0  # fits at this moment that use all threads: each takes an even part of them
SHARED = 0  # stands for such a part


@cache
def _controller():
    return ThreadpoolController()


@cache
def _libraries():
    return _controller().select(user_api="blas").lib_controllers


def blas_threads() -> int:
    """Threads for the work of the calling thread: those of `threads_limited`, else as many as BLAS uses."""
    threads = getattr(_own, "threads", None)
    if threads is None:
        return _threads_of_blas()
    return max(1, _all_threads() // max(1, _sharing)) if threads == SHARED else threads


def _all_threads() -> int:
    """Threads that BLAS uses while nobody is in `blas_limited`."""
    with _lock:
        if _limits:
            return max(_unlimited, default=1)
    return _threads_of_blas()


def _threads_of_blas() -> int:
    return max((library.num_threads for library in _libraries()), default=1)


@contextmanager
def threads_limited(n_jobs: int | None = None) -> Iterator[None]:
    """Let the calling thread share out its work among so many threads in here.

    They are our own, and BLAS uses one for each of them: threads of BLAS wait for each other in every product, which on
    a busy machine takes many times as long as the product.

    Parameters
    ----------
    n_jobs : int or None
        Threads; -1: all cores, -2: all but one. None: as many as BLAS uses, which OMP_NUM_THREADS, OPENBLAS_NUM_THREADS
        and the workers of joblib and Dask limit. Several such fits in one process take an even part each, and one in
        a daemonic process, which has neighbours, takes one. Limits within limits are never higher.
    """
    global _sharing
    before = getattr(_own, "threads", None)
    if n_jobs is None:
        wanted = SHARED if before is None else before
        if before is None and current_process().daemon:
            wanted = 1
    elif n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; give a number of threads, -1 for all cores, or None.")
    else:
        wanted = n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)
        if before is not None:
            wanted = min(wanted, blas_threads())
    joins, pool = wanted == SHARED and before is None, getattr(_own, "pool", None)
    with _lock:
        _sharing += joins
    _own.threads, _own.pool = wanted, pool or _Pool()
    try:
        with blas_limited(1):
            yield
    finally:
        if pool is None:
            _own.pool.close()
        _own.threads, _own.pool = before, pool
        with _lock:
            _sharing -= joins


class _Pool:
    """Threads that are started when they are first needed."""

    def __init__(self):
        self.executor: ThreadPoolExecutor | None = None
        self.size = 0

    def of(self, threads: int) -> ThreadPoolExecutor:
        """At least so many threads."""
        if self.executor is None or self.size < threads:
            self.close()
            self.executor, self.size = _executor(threads), threads
        return self.executor

    def close(self) -> None:
        """End the threads: one that outlived its fit would be lost in a forked worker."""
        if self.executor is not None:
            self.executor.shutdown()
            self.executor = None


def _executor(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="pegasos", initializer=_work_alone)


def _work_alone() -> None:
    _own.threads = 1


@contextmanager
def _workers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for one call, with BLAS on one thread: those of the fit, or some that end with the call."""
    pool = getattr(_own, "pool", None)
    if pool is not None:
        yield pool.of(threads)
        return
    with blas_limited(1), _executor(threads) as executor:
        yield executor


@contextmanager
def blas_limited(threads: int) -> Iterator[None]:
    """Let BLAS use at most so many threads in here; of several limits at a time the lowest holds."""
    threads = max(1, threads)
    with _lock:
        if not _limits:
            _unlimited[:] = [library.num_threads for library in _libraries()]
        lower = not _limits or threads < min(_limits)  # else BLAS keeps to this one already
        _limits.append(threads)
        if lower:
            _apply()
    try:
        yield
    finally:
        with _lock:
            _limits.remove(threads)
            if not _limits or threads < min(_limits):
                _apply()


def _apply() -> None:
    for library, most in zip(_libraries(), _unlimited, strict=True):
        # threadpoolctl (3.8) listens only to the thread that set OpenBLAS first. We count limits ourselves, for all.
        set_threads = getattr(library, "_real_set_num_threads", library.set_num_threads)
        set_threads(min(most, *_limits) if _limits else most)


@contextmanager
def alone() -> Iterator[None]:
    """Let the calling thread share out nothing in here: its neighbours do the same work at the same time."""
    before, _own.threads = getattr(_own, "threads", None), 1
    try:
        yield
    finally:
        _own.threads = before


def in_parallel(work, n_items, operations=np.inf):
    """Call ``work(first, last)`` on even parts of ``range(n_items)``, one part a thread, if `operations` are worth it.

    `work` has to release the GIL.
    """
    threads = 1
    if n_items > 1 and operations > WORTH_A_THREAD:
        threads = blas_threads()
    if threads <= 1:
        work(0, n_items)
        return
    threads = min(threads, n_items)
    edges = np.linspace(0, n_items, threads + 1).astype(int)
    with _workers(threads) as pool:
        for _ in pool.map(work, edges[:-1], edges[1:]):
            pass


def share_out(work, items, go_on=None, threads: int | None = None) -> bool:
    """Call ``work(item)`` for all items; each of `blas_threads` threads takes the next one that is left.

    BLAS itself keeps to one thread meanwhile: products of the size of an item are faster side by side than shared.
    ``go_on(part)`` is asked before each item but the first, with the part of them that is taken; the first time it
    says no ends the work. Returns whether all is done.
    """
    threads = min(blas_threads() if threads is None else threads, len(items))
    if threads <= 1:
        for number, item in enumerate(items):
            if number and go_on is not None and not go_on(number / len(items)):
                return False
            work(item)
        return True
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

    with _workers(threads) as pool:
        try:
            for _ in pool.map(take_turns, range(threads)):
                pass
        except BaseException:  # Ctrl-C
            state["stopped"] = True
            raise
    return not state["stopped"]
