"""What the tasks on the workers of a Dask client are, and waiting for them in the background."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from threading import Lock, Thread
from typing import Any

from pegasos.backends.threads import threads_limited
from pegasos.distributed.local_solver import LocalSolver

_one_at_a_time = Lock()  # after a loss a worker may have two local solvers: the one that runs has all of its threads


def on_worker(function: Callable, local: LocalSolver, key: Any, *arguments: Any) -> Any:
    """Run a task of a local solver with all threads of its worker; Dask limits BLAS to one thread a task."""
    from distributed import get_worker

    worker = get_worker()
    if worker.nanny is None:  # other workers in this process have threads of their own
        return function(local, key, *arguments)
    with _one_at_a_time, threads_limited(worker.state.nthreads):
        return function(local, key, *arguments)


def in_background(call: Callable) -> ThreadFuture:
    """The result of a call in a daemon thread, since the call may never end."""
    result: ThreadFuture = ThreadFuture()

    def run():
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    Thread(target=run, daemon=True, name="pegasos-waiting").start()
    return result


def identity(value):
    return value


def is_none(value) -> bool:
    return value is None


def sum_of(*values):
    """The sum, or None where one of the values is None: its local solver has lost its dual variables."""
    total = values[0]
    for value in values[1:]:
        total = None if total is None or value is None else total + value
    return total
