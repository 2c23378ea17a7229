"""What every file has to stand: it is read right in every way, or refused in a sentence, soon and in little memory."""

from __future__ import annotations

import resource
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from model_files import Harm
from pegasos.io import DataError, NotInPieces, read
from pegasos.io.text import lines
from streams import all_rows, opened

LONGEST = 5.0  # seconds of processor time for one file in one way
# of sentences that refuse a file in pieces only
ALONE = ("in pieces", "too large to compute with", "which are no classes", "which are no numbers", "has no labels")
ROOM = 2**30  # bytes of address space beyond those in use: a larger allocation fails and is seen
SMALL = lines.SMALL


class Truth(NamedTuple):
    """What is right to read from a file."""

    X: np.ndarray
    y: np.ndarray


def judged(path: Path, truth: Truth | None, *, text: bool = False, **options) -> str:
    """Read a file whole, in pieces and, if it is `text`, by each parser; all have to agree, and with the truth."""
    found = [_attempt(path, options, small) for small in ((1 << 40, 0) if text else (SMALL,))]
    for other in found[1:]:
        _compare(found[0], other, "two parsers")
    if isinstance(found[0], str):
        if truth is not None:
            raise Harm(f"a good file is refused: {found[0]}")
        return "refused"
    if truth is not None:
        _compare(_dense(truth.X, truth.y), found[0], "file and reader")
    _compare_pieces(path, options, found[0])
    return "read" if truth is None else "right"


def _attempt(path: Path, options: dict, small: int):
    """Rows and labels, or the sentence with which they are refused."""
    lines.SMALL = small
    with _watched(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = read(path, **options)
        except DataError as error:
            return _sentence(error, path)
        finally:
            lines.SMALL = SMALL
    y = np.zeros(data.X.shape[0], int) if data.y is None else data.y  # rows of arrays may have no labels
    if len(y) != data.X.shape[0] or y.ndim != 1:
        raise Harm("there is not one label for each row")
    values = data.X.data if hasattr(data.X, "indptr") else data.X
    if not np.isfinite(values).all() or values.dtype.kind != "f" or data.X.shape[1] < 1:
        raise Harm("rows that are not numbers")
    return _dense(data.X, y)


def _dense(X, y) -> Truth:
    if hasattr(X, "indptr"):
        X.sum_duplicates()
        X = X.toarray() if X.shape[1] < 10_000 else np.column_stack([X.indptr[1:], X.indptr[:-1]]) * 1.0
    return Truth(np.asarray(X), np.asarray(y))


def _compare(one, other, what: str) -> None:
    if isinstance(one, str) or isinstance(other, str):
        if isinstance(one, str) != isinstance(other, str):
            raise Harm(f"{what}: only one refuses: {one if isinstance(one, str) else other}")
        return
    if one.X.shape != other.X.shape or not np.array_equal(one.X, other.X):
        raise Harm(f"{what} have different rows: {one.X.shape}, {other.X.shape}")
    if _labels(one.y) != _labels(other.y):
        raise Harm(f"{what} have different labels: {one.y[:5]}, {other.y[:5]}")


def _labels(y: np.ndarray) -> list:
    return y.tolist() if y.dtype.kind in "iufb" else [str(label) for label in y.tolist()]


def _compare_pieces(path: Path, options: dict, whole: Truth) -> None:
    """In pieces the same rows come in the same order; a file that cannot be read so is refused."""
    with _watched(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            source, _ = opened(path, chunk=300, regression=whole.y.dtype.kind == "f", **options)
            X, y, _ = all_rows(source)
        except NotInPieces:
            return
        except DataError as error:
            said = _sentence(error, path)
            if not any(words in said for words in ALONE):
                raise Harm(f"in pieces it is refused: {said}") from error
            return
    _compare(whole, _dense(X, y), "whole and pieces")


def _sentence(error: Exception, path: Path) -> str:
    said = str(error)
    names = (path.name, path.name.replace("images", "labels").replace("idx3", "idx1"))
    if not any(name in said for name in names) or "\n" in said or len(said) > 600 or not said.endswith((".", "?")):
        raise Harm(f"no proper sentence: {said!r}")
    return said


@contextmanager
def _watched():
    began = time.process_time()
    yield
    if (taken := time.process_time() - began) > LONGEST:
        raise Harm(f"it took {taken:.1f} s")


def limit_memory() -> None:
    """Let allocations fail that are far beyond what is in use."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        most = int(statm.read_text().split()[0]) * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def rows_and_labels(rng, *, words: bool | None = None) -> Truth:
    """Random rows of a few columns, and labels of one kind."""
    n_rows, width = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    kind = rng.integers(3)
    X = rng.normal(size=(n_rows, width)) * 10.0 ** rng.integers(-8, 9)
    if kind == 1:
        X = np.round(rng.normal(size=(n_rows, width)) * 3)
    if kind == 2:
        X = np.where(rng.random((n_rows, width)) < 0.6, 0.0, X)
    labels = [np.array([-1, 1]), np.array([0, 1, 2]), np.array([2**53 + 1, 2**53]), np.array(["no", "yes", "ü b"])]
    if words is not None:
        labels = [one for one in labels if (one.dtype.kind == "U") == words]
    chosen = labels[rng.integers(len(labels))]
    return Truth(X, chosen[np.arange(n_rows) % len(chosen)])


def damaged(raw: bytes, rng) -> bytes:
    """Bytes changed, cut off, doubled, moved, or replaced by numbers that mean something somewhere."""
    for _ in range(int(rng.integers(1, 4))):
        if not raw:
            return b"\0"
        first, length = int(rng.integers(len(raw))), int(rng.integers(1, 40))
        kind = rng.integers(7)
        if kind == 0:
            raw = raw[:first] + bytes([raw[first] ^ (1 << int(rng.integers(8)))]) + raw[first + 1 :]
        elif kind == 1:
            raw = raw[:first]
        elif kind == 2:
            raw = raw[:first] + raw[first + length :]
        elif kind == 3:
            raw = raw[:first] + raw[first : first + length] * int(rng.integers(2, 5)) + raw[first + length :]
        elif kind == 4:
            raw = raw[:first] + rng.bytes(length) + raw[first + length :]
        elif kind == 5:
            number = [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**40][rng.integers(8)]
            raw = raw[:first] + number.to_bytes(8, "little", signed=True) + raw[first + 8 :]
        else:
            raw = raw + rng.bytes(length)
    return raw
