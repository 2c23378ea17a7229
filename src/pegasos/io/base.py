"""What reading a file gives: a Dataset, or a DataError that says in one sentence what is wrong with the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.utils.fingerprint import fingerprint

LARGEST = 1e100  # squares of larger numbers overflow


class DataError(ValueError):
    """A file that cannot be read as data, in one sentence that names the file and the thing (line, column)."""


@dataclass
class Dataset:
    """Rows and labels, with where they come from. `X_test`, `y_test` are there if a set has its own test part."""

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

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.X.shape[1]

    @property
    def fingerprint(self) -> str:
        """A short text that differs when any row or label does."""
        return fingerprint(self.X, _encoded(self.y), self.X_test, _encoded(self.y_test))

    def facts(self) -> dict[str, Any]:
        """What a report says of the data."""
        n_rows = self.X.shape[0]
        return {
            "name": self.name,
            "source": self.source,
            "rows": n_rows if self.X_test is None else f"{n_rows} + {self.X_test.shape[0]} to test",
            "features": self.n_features,
            "classes": None if self.y is None or self.y.dtype.kind == "f" else len(np.unique(self.y)),
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True)
class Wish:
    """What the reader of a file is asked for: the label column, and the features of a model that is to predict."""

    label: str | int | None = None
    n_features: int | None = None
    feature_names: list[str] | None = None
    first_index: int | None = None
    firm: bool = True  # whether `label` is asked for, or only what the column of other files was

    @property
    def width(self) -> int | None:
        """Features that the rows must have, or None if any number is right."""
        if self.n_features is None and self.feature_names is not None:
            return len(self.feature_names)
        return self.n_features


def _encoded(y: np.ndarray | None) -> np.ndarray | None:
    """Labels as bytes: a fingerprint should not depend on how NumPy stores text."""
    return np.char.encode(y, "utf-8") if y is not None and y.dtype.kind == "U" else y


def check_size(name: str, largest: float) -> None:
    """Raise DataError for numbers whose squares overflow."""
    if largest > LARGEST:
        raise DataError(f"{name} holds values up to {largest:.3g}, too large to compute with; scale them first.")


def check_no_label_choice(name: str, wish: Wish, instead: str) -> None:
    """Raise DataError if a label column is asked for where there is none to choose."""
    if wish.label is not None and wish.firm:
        raise DataError(f"{name}: a label column ({wish.label!r}) can be chosen in tables only; {instead}.")


def check_width(name: str, found: int, wish: Wish) -> None:
    """Raise DataError if rows without a label column do not have the features of the model."""
    if wish.width is not None and found != wish.width:
        raise DataError(f"{name} has {found} columns, but the model has {wish.width} features.")


def listing(words: list[str], most: int = 12) -> str:
    """Names in quotes for a sentence, not more than a reader wants to see."""
    shown = ", ".join(repr(word) for word in words[:most])
    return f"{shown}, … ({len(words)} in all)" if len(words) > most else shown


def reason(error: Exception, most: int = 120) -> str:
    """What a library says went wrong, in one line of a length that a sentence can hold."""
    text = str(getattr(error, "reason", None) or error) or type(error).__name__
    line = " ".join(text.splitlines()[0].split()).rstrip(".")
    return line if len(line) <= most else line[: most - 1] + "…"
