"""When Python looks for objects that nobody can reach."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Let nobody look while many objects come to stay: Numba's modules, or what its compiler makes.

    Python looks at all objects of the process each time their number has grown by a quarter, and finds nothing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
