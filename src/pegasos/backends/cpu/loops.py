"""How loops become machine code: each for the constants it is called with, when it is first called with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

# Lets sums run in SIMD lanes; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
# A division by zero is none of Python's errors here, and nobody calls loops from C: less to compile.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


LOOPS: list[Loop] = []


class Loop:
    """A loop that is compiled for the values of its keyword-only parameters.

    Under NUMBA_DISABLE_JIT it runs as it stands.
    """

    def __init__(self, function: Any, options: dict[str, Any]):
        self.function, self.options = function, options
        self.compiled: dict[tuple, Callable] = {}
        self.lock = threading.Lock()
        update_wrapper(self, function)
        LOOPS.append(self)

    def __call__(self, *given, **constants):
        compiled = self.compiled.get(tuple(constants.items()))
        if compiled is None:
            compiled = self.made(constants)
        return compiled(*given)

    def made(self, constants: dict[str, Any]) -> Callable:
        """The loop for some constants."""
        from numba import config

        from pegasos.backends.specialise import specialised
        from pegasos.utils.jit import njit

        with self.lock:
            key = tuple(constants.items())
            if key not in self.compiled:
                if config.DISABLE_JIT:
                    self.compiled[key] = lambda *given: self.function(*given, **constants)
                else:
                    self.compiled[key] = njit(**OPTIONS, **self.options)(specialised(self.function, constants))
            return self.compiled[key]


def jit(**options: Any) -> Callable[[Any], Loop]:
    """Make a function a `Loop`."""
    return lambda function: Loop(function, options)


def kept_loops() -> list[str]:
    """Files on disk of the loops that this process has compiled or loaded."""
    from pegasos.utils.jit import cache_of

    caches = [cache_of(compiled) for loop in LOOPS for compiled in loop.compiled.values()]
    return [cache.index for cache in caches if cache is not None]
