"""How loops become machine code: each for the constants it is called with, when it is first called with them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any

# Lets sums run in SIMD lanes; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
# A division by zero is none of Python's errors here, and nobody calls loops from C: less to compile.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
PACKAGE = Path(__file__).parents[2]
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

        with self.lock:
            key = tuple(constants.items())
            if key not in self.compiled:
                if config.DISABLE_JIT:
                    self.compiled[key] = lambda *given: self.function(*given, **constants)
                else:
                    self.compiled[key] = self._njit(constants)
            return self.compiled[key]

    def _njit(self, constants: dict[str, Any]) -> Callable:
        """The loop for Numba. Its text is written only if it has to be compiled: that takes longer than to load it.

        Machine code is kept under the name of the loop and a digest of all sources and the constants; loops and losses
        that others define have it under a digest of their text.
        """
        from pegasos.utils.jit import njit

        def text() -> FunctionType:
            from pegasos.backends.specialise import specialised

            return specialised(self.function, constants)

        options = OPTIONS | self.options
        ours = all(map(_is_ours, [self.function, *map(type, constants.values())]))
        if not (ours and SOURCES and _sources() == SOURCES):
            return njit(**options)(text())
        known_by = hashlib.sha256(f"{SOURCES} {sorted(constants.items())}".encode())
        name = f"{self.function.__name__}_{known_by.hexdigest()[:12]}"
        code = self.function.__code__.replace(co_kwonlyargcount=0, co_name=name, co_qualname=name)
        return njit(text, **options)(FunctionType(code, self.function.__globals__))


def _is_ours(thing: Any) -> bool:
    return thing.__module__.partition(".")[0] in (PACKAGE.name, "builtins")


def _sources() -> str:
    """A digest of all that our loops are made of; empty where sources are not files."""
    made = hashlib.sha256()
    files = [path for folder in ("losses", "rules", "backends", "utils") for path in (PACKAGE / folder).rglob("*.py")]
    for path in sorted(files):
        made.update(path.read_bytes())
    return made.hexdigest() if files else ""


SOURCES = _sources()  # as they were when these modules were loaded


def jit(**options: Any) -> Callable[[Any], Loop]:
    """Make a function a `Loop`."""
    return lambda function: Loop(function, options)


def kept_loops() -> list[str]:
    """Files on disk of the loops that this process has compiled or loaded."""
    from pegasos.utils.jit import cache_of

    caches = [cache_of(compiled) for loop in LOOPS for compiled in loop.compiled.values()]
    return [cache.index for cache in caches if cache is not None]
