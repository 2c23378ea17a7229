"""Reading ahead: other threads read and parse chunks while the caller works on earlier ones.

One thread takes the tasks in their order, as many as there is room for; as many threads as BLAS uses run them. The
results come in the order of the tasks, whichever thread is first, and at most `depth` tasks are running or have a
result that nobody has taken yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from pegasos.backends.threads import alone, blas_threads

T = TypeVar("T")


def read_ahead(tasks: Iterator[Callable[[], T]], depth: int) -> Generator[T, None, None]:
    """Results of the tasks, in order; an error of a task, or of the iterator of tasks, is raised in its place.

    The threads end when all is read, when this generator is closed, and after an error.
    """
    ready: SimpleQueue[Future[T] | BaseException | None] = SimpleQueue()
    room, stopped = threading.Semaphore(depth), threading.Event()

    def run(task: Callable[[], T]) -> T:
        with alone():
            return task()

    def submit_all() -> None:
        try:
            while room.acquire() and not stopped.is_set():
                task = next(tasks, None)
                if task is None:
                    break
                ready.put(pool.submit(run, task))
            ready.put(None)
        except BaseException as error:
            ready.put(error)
        finally:
            if isinstance(tasks, Generator):
                tasks.close()

    with ThreadPoolExecutor(min(depth, blas_threads()), thread_name_prefix="pegasos-read") as pool:
        feeder = threading.Thread(target=submit_all, name="pegasos-draw", daemon=True)
        feeder.start()
        try:
            while (found := ready.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                result = found.result()
                del found  # or it would keep a chunk in memory that the caller has done with
                room.release()
                yield result
                del result
        finally:
            stopped.set()
            room.release()
            feeder.join()
            pool.shutdown(wait=True, cancel_futures=True)
