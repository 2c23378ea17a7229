"""Numba's compiler with a cache on disk that never stands in the way: what cannot be kept or read is compiled anew."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from pegasos.utils.collection import collection_paused

with collection_paused():
    import numba
    from numba.core.caching import FunctionCache
    from numba.core.runtime import rtsys

NO_FOLDER = "Numba finds no folder for them that this user can write to"
CURE = (
    "Every new process compiles them again, which takes seconds. Set NUMBA_CACHE_DIR to a writable folder with room "
    "for some megabytes, or let a user who can write next to the package run `pegasos warmup`."
)


class LoopCache(FunctionCache):
    """Machine code on disk; files that are damaged or cannot be written are as good as none."""

    @property
    def index(self) -> str:
        """The file that lists the machine code of a function."""
        return self._cache_file._index_path

    def load_overload(self, sig, target_context):
        """The machine code for arguments of some types, None where there is none that can be read.

        Numba's own loader first imports all that its compiler knows, which takes longer than all else.
        """
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception:  # unpickling garbage raises anything
            try:
                self.flush()
            except OSError:
                self.disable()
            return None

    def save_overload(self, sig, data) -> None:
        """Keep machine code, if there is room."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn(f"{self.cache_path}: {error.strerror}")


def cache_of(dispatcher: Any) -> LoopCache | None:
    """Where a compiled function is kept, if it is."""
    found = getattr(dispatcher, "_cache", None)
    return found if isinstance(found, LoopCache) else None


def njit(**options: Any) -> Callable[[Any], Any]:
    """`numba.njit` with a `LoopCache`."""

    def compiled(function):
        dispatcher = numba.njit(**options)(function)
        if not numba.config.DISABLE_JIT:
            dispatcher.compile = partial(_compile, dispatcher.compile)
            try:
                dispatcher._cache = LoopCache(function)
            except RuntimeError:  # no folder is writable
                _warn(NO_FOLDER)
        return dispatcher

    return compiled


def _compile(compile_for: Callable, signature: Any) -> Any:
    """Load a function for arguments of some types, or compile it."""
    with collection_paused():
        return compile_for(signature)


@cache
def _warn(why: str) -> None:
    """Say once why loops cannot be kept, and what helps."""
    warnings.warn(f"Compiled loops cannot be kept: {why}. {CURE}", UserWarning, stacklevel=2)
