"""What reading a file gives: a Dataset, or a DataError that says in one sentence what is wrong with the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.io.scaling import Scaling
from pegasos.utils.fingerprint import fingerprint
from pegasos.utils.memory import available_memory

LARGEST = 1e100  # squares of larger numbers overflow
SMALL = 1 << 26  # bytes for which there is room


class DataError(ValueError):
    """A file that cannot be read as data, in one sentence that names the file and the thing (line, column).

    Examples
    --------
    >>> from pegasos.datasets import DataError, load
    >>> with open("rows.csv", "w") as file:
    ...     _ = file.write("1,2,a\\n3,b\\n")
    >>> try:
    ...     load("rows.csv", header=False)
    ... except DataError as error:
    ...     print(error)
    rows.csv: line 2 has 2 fields, but the first row has 3.
    """


@dataclass
class Dataset:
    """Rows and labels, and where they come from. `X_test` and `y_test` are there if a set has its own test part.

    Examples
    --------
    >>> from pegasos.datasets import load
    >>> data = load("iris")
    >>> type(data).__name__, data.X.shape, data.format, data.X_test is None
    ('Dataset', (150, 4), 'embedded', True)
    """

    name: str
    X: Any  # ndarray or csr_matrix
    y: Any  # ndarray, or None for rows without labels
    X_test: Any = None
    y_test: Any = None
    source: str = ""
    format: str = ""
    feature_names: list[str] | None = None
    label_name: str | None = None
    image_shape: tuple[int, int] | None = None
    first_index: int | None = None  # of LIBSVM text: whether its features count from 0 or from 1
    left_out: list[str | int] = field(default_factory=list)  # columns of a table, by name or number
    scaling: Scaling | None = None  # what the loader did to the features
    raw: bool = False  # whether the loader was told to leave them as they are

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.X.shape[1]

    @property
    def fingerprint(self) -> str:
        """A short text that differs where any row or label does."""
        return fingerprint(self.X, _encoded(self.y), self.X_test, _encoded(self.y_test))

    def facts(self) -> dict[str, Any]:
        """The lines of a report that describe the data."""
        n_rows = self.X.shape[0]
        return {
            "name": self.name,
            "source": self.source,
            "rows": n_rows if self.X_test is None else f"{n_rows} + {self.X_test.shape[0]} to test",
            "features": self.n_features,
            "classes": None if self.y is None or self.y.dtype.kind == "f" else len(np.unique(self.y)),
            "fingerprint": self.fingerprint,
        }


def _encoded(y: np.ndarray | None) -> np.ndarray | None:
    """Labels as bytes: a fingerprint should not depend on how NumPy stores text."""
    return np.char.encode(y, "utf-8") if y is not None and y.dtype.kind == "U" else y


def check_size(name: str, largest: float) -> None:
    """Raise DataError for numbers whose squares overflow."""
    if largest > LARGEST:
        raise DataError(f"{name} holds values up to {largest:.3g}, too large to compute with; scale them first.")


def check_room(name: str, n_bytes: float, what: str) -> None:
    """Raise DataError for what would take more memory than is available: to be called before it is read."""
    if n_bytes > SMALL and n_bytes > (available := available_memory()):
        raise DataError(
            f"{name}: {what} would take {in_words(n_bytes)} of memory, and {in_words(available)} are available; give "
            "fewer rows, or train on the file in pieces (--stream yes)."
        )


def in_words(n_bytes: float) -> str:
    """A number of bytes for a sentence."""
    unit, size = next(
        ((unit, size) for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)) if n_bytes >= size),
        ("bytes", 1.0),
    )
    return f"{n_bytes / size:,.3g} {unit}" if n_bytes < 1e15 else f"{n_bytes / size:,.0f} {unit}"


def listing(words: list[str], most: int = 12) -> str:
    """Names in quotes for a sentence, the first `most` of them."""
    shown = ", ".join(repr(word) for word in words[:most])
    return f"{shown}, … ({len(words)} in all)" if len(words) > most else shown


def reason(error: Exception, most: int = 120) -> str:
    """The message of a library's exception as one short line, to be quoted in a sentence."""
    text = str(getattr(error, "reason", None) or error) or type(error).__name__
    line = " ".join(text.splitlines()[0].split()).rstrip(".")
    return line if len(line) <= most else line[: most - 1] + "…"
