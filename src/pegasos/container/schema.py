"""Reading JSON of unknown origin: every limit is checked before Python builds anything large from it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

MOST_BYTES = 10_000_000  # of one JSON text; within these limits parsing takes at most about 100 MB and half a second
MOST_STRINGS = 500_000
MOST_VALUES = 500_000
DEEPEST = 32
LONGEST_NUMBER = 32  # digits; no number of a model needs more, and Python parses long ones in quadratic time
WIDEST_LABELS = 64_000_000  # bytes of an array of strings
DTYPE = re.compile(
    r"[<>|](b1|i[1248]|u[1248]|f[248]|[US][0-9]{1,8}|[mM]8(\[[0-9]{0,9}(Y|M|W|D|h|m|s|ms|us|μs|ns|ps|fs|as)\])?)"
)


class ModelFormatError(ValueError):
    """A file that is no model file, or a damaged one, or one of a later version.

    Examples
    --------
    >>> import pegasos
    >>> with open("note.safetensors", "w") as file:
    ...     _ = file.write("something else")
    >>> try:
    ...     pegasos.load("note.safetensors")
    ... except pegasos.ModelFormatError as error:
    ...     print("refused")
    refused
    """


def parse(raw: bytes | str, what: str) -> Any:
    """Parse a JSON text within all limits; `what` names it in errors."""
    try:
        raw = raw.encode() if isinstance(raw, str) else raw
        _check_extent(raw, what)
        text = raw.decode()
        return json.loads(
            text, object_pairs_hook=_unique, parse_int=_integer, parse_float=_number, parse_constant=_no_constant
        )
    except ModelFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{what} is no valid JSON") from error


def _check_extent(raw: bytes, what: str) -> None:
    """Limit depth and number of values by counting marks: the parser recurses, and each empty list takes 60 bytes."""
    if len(raw) > MOST_BYTES:
        raise ModelFormatError(f"{what} has {len(raw)} bytes, more than the {MOST_BYTES} that are read")
    plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"")  # now every quotation mark begins or ends a string
    if plain.count(b'"') > 2 * MOST_STRINGS:
        raise ModelFormatError(f"{what} has more than {MOST_STRINGS} strings")
    outside = b"".join(plain.split(b'"')[::2])
    if sum(outside.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise ModelFormatError(f"{what} has more than {MOST_VALUES} values")
    change = np.zeros(256, np.int8)
    change[list(b"[{")], change[list(b"]}")] = 1, -1
    depths = np.cumsum(change[np.frombuffer(outside, np.uint8)], dtype=np.int32)
    if depths.max(initial=0) > DEEPEST:
        raise ModelFormatError(f"{what} is nested more than {DEEPEST} deep")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFormatError("a JSON object has a key twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ModelFormatError(f"a number has {len(digits)} digits")
    return int(digits)


def _number(digits: str) -> float:
    if len(digits) > LONGEST_NUMBER or not math.isfinite(value := float(digits)):
        raise ModelFormatError(f"the number {digits[:LONGEST_NUMBER]} is out of range")
    return value


def _no_constant(name: str) -> float:
    raise ModelFormatError(f"JSON has no number {name}")


class Record:
    """A JSON object whose fields are taken one by one, each checked for its type, until none is left."""

    def __init__(self, value: Any, what: str):
        if type(value) is not dict:
            raise ModelFormatError(f"{what} is no JSON object")
        self.left, self.what = dict(value), what

    def __contains__(self, name: str) -> bool:
        return name in self.left

    def take(self, name: str, *types: type) -> Any:
        """The field `name`, of exactly one of these types (True is no int here)."""
        if name not in self.left:
            raise ModelFormatError(f"{self.what} lacks {name!r}")
        value = self.left.pop(name)
        if type(value) not in types:
            raise ModelFormatError(f"{name!r} in {self.what} has a value of the wrong type")
        return value

    def take_one_of(self, name: str, allowed) -> str:
        """The string `name`, one of those allowed."""
        value = self.take(name, str)
        if value not in allowed:
            raise ModelFormatError(f"{name!r} in {self.what} is {value[:40]!r}, which is none of {', '.join(allowed)}")
        return value

    def take_integer(self, name: str, lowest: int = 0, highest: int = 2**48) -> int:
        """The integer `name` within bounds."""
        value = self.take(name, int)
        if not lowest <= value <= highest:
            raise ModelFormatError(f"{name!r} in {self.what} is {value}, not between {lowest} and {highest}")
        return value

    def take_strings(self, name: str) -> list[str]:
        """The list of strings `name`."""
        value = self.take(name, list)
        if not all(type(one) is str for one in value):
            raise ModelFormatError(f"{name!r} in {self.what} is no list of strings")
        return value

    def done(self) -> None:
        """Raise ModelFormatError if a field is left, which this version does not know."""
        if self.left:
            raise ModelFormatError(f"{self.what} has an unknown field {str(min(self.left))[:40]!r}")


def checked_dtype(name: Any, kinds: str) -> np.dtype:
    """The NumPy type of this name, if its kind is among `kinds`; only plain types with a byte order are accepted."""
    if type(name) is not str or not DTYPE.fullmatch(name):
        raise ModelFormatError("a NumPy type is none that a model file can have")
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"{name!r} is no NumPy type") from error
    if dtype.kind not in kinds:
        raise ModelFormatError(f"{name!r} is not a type that is expected there")
    return dtype
