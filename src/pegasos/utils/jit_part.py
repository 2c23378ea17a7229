"""A mark for functions that are parts of compiled loops."""

from typing import TypeVar

Function = TypeVar("Function")


def jit_part(function: Function) -> Function:
    """Mark a function that is written out into the compiled loops that call it; nothing about it changes."""
    return function
