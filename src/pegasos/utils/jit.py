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
    """Machine code on disk; files that are damaged or cannot be written are as good as none.

    `on_miss` is called when the code for some arguments is not there, before it is compiled.
    """

    def __init__(self, function: Any, on_miss: Callable[[], Any]):
        super().__init__(function)
        self.on_miss = on_miss

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
            found = self._load_overload(sig, target_context)
        except Exception:  # unpickling garbage raises anything
            found = None
            try:
                self.flush()
            except OSError:
                self.disable()
        if found is None:
            self.on_miss()
        return found

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


def njit(write: Callable[[], Any] | None = None, **options: Any) -> Callable[[Any], Any]:
    """`numba.njit` with a `LoopCache`.

    With `write`, the function only stands for the one that `write` returns, which is called if it has to be compiled:
    its name and its positional parameters tell all that is needed to load machine code.
    """

    def compiled(function):
        dispatcher = numba.njit(**options)(function)
        if numba.config.DISABLE_JIT:
            return dispatcher

        def written() -> None:
            if write is not None:
                dispatcher.py_func = dispatcher._compiler.py_func = write()

        dispatcher.compile = partial(_compile, dispatcher.compile)
        try:
            dispatcher._cache = LoopCache(function, cache(written))
        except RuntimeError:  # no folder is writable
            _warn(NO_FOLDER)
            written()
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
