"""Numbers in the text files of LIBSVM and LIBLINEAR: written exactly, and read from files of unknown origin."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.container.schema import ModelFormatError
from pegasos.utils.files import replacing

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LONGEST_WORD = 64
LONGEST_LINE = 2**25  # its words take ten times as much
LABELS = -(2**31), 2**31 - 1


def integer_labels(classes: np.ndarray, format: str) -> list[int]:
    """Class labels as the integers that a file can hold."""
    kind = classes.dtype.kind
    values = classes.tolist()
    if kind in "biuf" and all(value == int(value) and LABELS[0] <= value <= LABELS[1] for value in values):
        return [int(value) for value in values]
    raise ValueError(
        f"A {format} file holds labels that are integers of 32 bits only; got {values[:3]}. Encode the labels, for "
        "example with LabelEncoder, before fitting."
    )


def write_lines(path: str | os.PathLike, lines: Iterable[str]) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as part, open(part, "w", encoding="ascii", newline="\n") as file:
        for line in lines:
            file.write(line + "\n")


def read_model(path: str | os.PathLike, format: str, read: Callable[[Iterator[bytes]], Any]) -> Any:
    """What `read` makes of the lines of a file; whatever is wrong with them is a ModelFormatError that names it."""
    path = Path(os.fsdecode(path))
    try:
        with open(path, "rb") as file:
            return read(_lines(file))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"There is no model file {path}.") from error
    except ModelFormatError as error:
        raise ModelFormatError(f"{path} is no {format} model that can be loaded: {error}.") from error
    except MemoryError as error:
        raise ModelFormatError(
            f"{path} is no {format} model that can be loaded: it is too large for memory."
        ) from error


def _lines(file) -> Iterator[bytes]:
    """The lines of a file, none of which takes more memory than a model's could."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise ModelFormatError(f"it has a line of more than {LONGEST_LINE} bytes")
        yield line


def number(word: bytes, what: str) -> float:
    """A finite number."""
    if len(word) > LONGEST_WORD or not NUMBER.fullmatch(word) or not np.isfinite(value := float(word)):
        raise ModelFormatError(f"{what} is no finite number: {shown(word)}")
    return value


def numbers(words: list[bytes], what: str) -> list[float]:
    """Finite numbers."""
    return [number(word, what) for word in words]


def integer(word: bytes, what: str, lowest: int, highest: int = 2**31 - 1) -> int:
    """An integer within bounds."""
    if not re.fullmatch(rb"[+-]?\d{1,10}", word) or not lowest <= int(word) <= highest:
        raise ModelFormatError(f"{what} is no integer from {lowest} to {highest}: {shown(word)}")
    return int(word)


def integers(words: list[bytes], what: str, lowest: int) -> list[int]:
    """Integers that are at least `lowest`."""
    return [integer(word, what, lowest) for word in words]


def shown(word: bytes) -> str:
    """A word as an error may show it."""
    return repr(word[:40].decode("ascii", "replace"))


def read_header(lines: Iterator[bytes], end: bytes, known: tuple[bytes, ...], most: int = 20) -> dict[bytes, list]:
    """The words of each line up to the line `end`, by the first one; no line twice, and none that is not known."""
    found: dict[bytes, list[bytes]] = {}
    for line in lines:
        words = line.split()
        if words == [end]:
            return found
        if len(found) > most or not words or words[0] not in known:
            raise ModelFormatError(f"its header has a line that is not known: {shown(line.strip())}")
        if words[0] in found:
            raise ModelFormatError(f"its header has {shown(words[0])} twice")
        found[words[0]] = words[1:]
    raise ModelFormatError(f"its header has no line {shown(end)}")


def take(header: dict[bytes, list[bytes]], name: str, count: int | None = None) -> list[bytes]:
    """The words of a line of the header, so many of them."""
    words = header.get(name.encode())
    if words is None:
        raise ModelFormatError(f"its header has no line {name!r}")
    if count is not None and len(words) != count:
        raise ModelFormatError(f"{name!r} has {len(words)} values, not {count}")
    return words


def take_one_of(header: dict[bytes, list[bytes]], name: str, allowed: Iterable[str]) -> str:
    """The one word of a line of the header, among those allowed."""
    word = take(header, name, 1)[0].decode("ascii", "replace")
    if word not in allowed:
        raise ModelFormatError(f"{name!r} is {word[:40]!r}, which is none of {', '.join(allowed)}")
    return word


def take_labels(header: dict[bytes, list[bytes]], n_classes: int) -> np.ndarray:
    """The class labels, which are different from each other."""
    labels = [integer(word, "a label", *LABELS) for word in take(header, "label", n_classes)]
    if len(set(labels)) != n_classes:
        raise ModelFormatError("a class label is there twice")
    return np.array(labels, np.int64)
