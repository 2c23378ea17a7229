"""Python and NumPy values as JSON and back, exactly.

JSON has no infinity, no tuples, no dicts with other keys than strings and no NumPy scalars; each becomes an object
whose only key names its type. A NumPy scalar keeps its type: ``x + np.float64(0.1)`` and ``x + 0.1`` round differently
for a float32 x. Long integers, such as the states of random generators, are hexadecimal: readers of JSON limit digits.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pegasos.container.schema import LONGEST_NUMBER, ModelFormatError, checked_dtype

SPECIAL = ("nan", "inf", "-inf")
LONG = re.compile(r"-?0x[0-9a-f]{1,64}")


def encode(value: Any, what: str) -> Any:
    """The value as JSON can hold it; `what` names it in errors."""
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int and value.bit_length() <= 256:
        return value if len(str(value)) < LONGEST_NUMBER else {"int": hex(value)}
    if type(value) is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if type(value) is bytes:
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, np.generic) and value.dtype.kind in "biufmMUS" and value.dtype.char != "g":
        return {"scalar": [value.dtype.str, _encoded_scalar(value)]}
    if type(value) is list:
        return [encode(one, what) for one in value]
    if type(value) is tuple:
        return {"tuple": [encode(one, what) for one in value]}
    if type(value) is dict:
        return {"dict": [[encode(key, what), encode(one, what)] for key, one in value.items()]}
    raise ValueError(f"{what} holds a value of type {type(value).__name__}, which a model file cannot hold.")


def _encoded_scalar(value: np.generic) -> Any:
    kind = value.dtype.kind
    if kind in "mM":
        return int(value.view(np.int64))
    if kind == "S":
        return value.item().decode("latin-1")
    return encode(value.item() if kind != "U" else str(value), "a scalar")


def decode(value: Any) -> Any:
    """The value that `encode` turned into JSON."""
    if value is None or type(value) in (bool, str, int, float):
        return value
    if type(value) is list:
        return [decode(one) for one in value]
    if len(value) != 1:
        raise ModelFormatError("a value is none that a model file can have")
    ((tag, content),) = value.items()
    if tag == "float" and content in SPECIAL:
        return float(content)
    if tag == "int" and type(content) is str and LONG.fullmatch(content):
        return int(content, 16)
    if tag == "bytes":
        return _bytes(content)
    if tag == "tuple" and type(content) is list:
        return tuple(decode(one) for one in content)
    if tag == "dict" and type(content) is list:
        return _decoded_dict(content)
    if tag == "scalar" and type(content) is list and len(content) == 2:
        return _decoded_scalar(*content)
    raise ModelFormatError("a value is none that a model file can have")


def _bytes(content: Any) -> bytes:
    try:
        return content.encode("latin-1")
    except (AttributeError, UnicodeEncodeError) as error:
        raise ModelFormatError("a value that should be bytes is not") from error


def _decoded_dict(content: list) -> dict:
    if not all(type(pair) is list and len(pair) == 2 for pair in content):
        raise ModelFormatError("a dict is no list of pairs")
    try:
        found = {decode(key): decode(value) for key, value in content}
    except TypeError as error:  # a key that cannot be one
        raise ModelFormatError("a dict has a key that cannot be one") from error
    if len(found) != len(content):
        raise ModelFormatError("a dict has a key twice")
    return found


def _decoded_scalar(name: Any, content: Any) -> Any:
    dtype = checked_dtype(name, "biufmMUS").newbyteorder("=")
    content = decode(content) if type(content) is dict else content
    if dtype.kind == "S":
        return np.bytes_(_bytes(content))
    if dtype.kind == "U":
        wanted: tuple[type, ...] = (str,)
    else:
        wanted = {"b": (bool,), "f": (float, int)}.get(dtype.kind, (int,))
    if type(content) not in wanted:
        raise ModelFormatError("a NumPy scalar has a value of the wrong type")
    if dtype.kind == "U":
        return np.str_(content)
    stored = np.dtype(np.int64) if dtype.kind in "mM" else dtype
    if stored.kind in "iu" and not np.iinfo(stored).min <= content <= np.iinfo(stored).max:
        raise ModelFormatError("a NumPy scalar is out of the range of its type")
    with np.errstate(over="ignore"):
        return np.array(content, stored).view(dtype)[()]
