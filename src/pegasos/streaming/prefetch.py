"""Reading ahead: other threads read and parse chunks while the caller works on earlier ones.

One thread draws the tasks in their order, as far as there is room; as many threads as BLAS uses carry them out. The
results come in the order of the tasks, whichever thread is first, and at most `depth` of them wait or are being made.
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
    """Results of the tasks, in order; an error of a task, or of drawing it, is raised in its place.

    The threads end when all is read, when this generator is closed, and after an error.
    """
    ready: SimpleQueue[Future[T] | BaseException | None] = SimpleQueue()
    room, stopped = threading.Semaphore(depth), threading.Event()

    def carry_out(task: Callable[[], T]) -> T:
        with alone():
            return task()

    def feed() -> None:
        try:
            while room.acquire() and not stopped.is_set():
                task = next(tasks, None)
                if task is None:
                    break
                ready.put(pool.submit(carry_out, task))
            ready.put(None)
        except BaseException as error:
            ready.put(error)
        finally:
            if isinstance(tasks, Generator):
                tasks.close()

    with ThreadPoolExecutor(min(depth, blas_threads()), thread_name_prefix="pegasos-read") as pool:
        feeder = threading.Thread(target=feed, name="pegasos-draw", daemon=True)
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
