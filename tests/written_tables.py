"""Tables as pandas writes them: all combinations of what `DataFrame.to_csv` can do, and what is right to read."""

from __future__ import annotations

import csv
import io
import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from pegasos.io import DataError, read

ROWS = 24
LABELS = {
    "whole": [3, 1, 2],
    "signed": [1, -1],
    "large": [2**53 + 1, 2**53, 12345678901234567],
    "whole floats": [1.0, 2.0, 5.0],
    "fractions": [0.5, 1.25, -3.75],
    "words": ["setosa", "virginica", "versicolor"],
    "spaces": ["Iris setosa", "class 1", "class 2"],
    "separators": ["a, b", "c;d", "e|f"],
    "quotes": ['say "a"', "it's", '5" pipe'],
    "lines": ["two\nlines", "one", "tab\tbed"],
    "comments": ["#1", "# two", "three"],
    "codes": ["007", "010", "042"],
    "truth": [True, False],
    "unicode": ["größer", "a\xa0b", "日本"],
    "blanks": [" a", "a", "a "],
}
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "bar": "|"}
QUOTING = {
    "minimal": csv.QUOTE_MINIMAL,
    "all": csv.QUOTE_ALL,
    "words": csv.QUOTE_NONNUMERIC,
    "none": csv.QUOTE_NONE,
}
CHOICES = {
    "header": ("names", "numbers", "none"),
    "index": ("none", "numbers", "words"),
    "quoting": tuple(QUOTING),
    "separator": tuple(SEPARATORS),
    "decimal": (".", ","),
    "place": ("first", "middle", "last"),
    "features": ("fractions", "whole"),
    "labels": tuple(LABELS),
}
NAMES = ["width", "height, cm", "depth"]


@dataclass(frozen=True)
class Written:
    """A table as pandas wrote it, and what is right to read from it."""

    text: str
    label: str | int | None
    X: np.ndarray
    y: np.ndarray
    names: list[str] | None


def cases():
    """All combinations, as dictionaries."""
    for values in product(*CHOICES.values()):
        yield dict(zip(CHOICES, values, strict=True))


def written(case: dict[str, str]) -> Written | None:
    """The table of a case; None if pandas cannot write it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(ROWS, 3)) * [1, 1e-6, 1e5] if case["features"] == "fractions" else rng.integers(
        -3, 9, size=(ROWS, 3))  # fmt: skip
    y = [LABELS[case["labels"]][row % len(LABELS[case["labels"]])] for row in range(ROWS)]
    frame = pd.DataFrame(X, columns=NAMES)
    place = {"first": 0, "middle": 1, "last": 3}[case["place"]]
    frame.insert(place, "the kind", y)
    if case["header"] != "names":
        frame.columns = range(4)
    if case["index"] == "words":
        frame.index = [f"row{number}" for number in range(ROWS)]
    indexed = case["index"] != "none"
    buffer = io.StringIO()
    try:
        frame.to_csv(
            buffer, sep=SEPARATORS[case["separator"]], decimal=case["decimal"], header=case["header"] != "none",
            index=indexed, quoting=QUOTING[case["quoting"]],
        )  # fmt: skip
    except csv.Error:
        return None
    label: str | int | None = place + indexed
    if case["header"] == "names":
        label = "the kind"
    elif case["header"] == "numbers":
        label = str(place)
    names = None if case["header"] == "none" else [str(name) for name in frame.columns.delete(place)]
    return Written(buffer.getvalue(), label if case["place"] != "last" else None, X.astype(float), np.array(y), names)


def outcome(table: Written, path, **options) -> tuple[str, str]:
    """What comes of reading a table: ("right" | "warned" | "wrong" | "refused", what was said)."""
    path.write_text(table.text, encoding="utf-8", newline="")
    given = {"label": table.label} | options
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            data = read(path, **given)
        except DataError as error:
            return "refused", str(error)
        said = [str(one.message) for one in caught]
    same = data.X.shape == table.X.shape and np.array_equal(data.X, table.X) and same_labels(data.y, table.y)
    if same and data.feature_names == table.names:
        return "right", " ".join(said)
    return ("warned" if said else "wrong"), " ".join(said)


def same_labels(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether labels are what was written: numbers by value, whole ones to the last digit, all others as text."""
    if expected.dtype.kind in "iu":
        return found.dtype.kind == "i" and found.tolist() == expected.tolist()
    if expected.dtype.kind == "f":
        return found.dtype.kind in "if" and found.tolist() == expected.tolist()
    return found.tolist() == [str(label) for label in expected.tolist()]
