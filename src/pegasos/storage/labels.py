"""Class labels of any type, as a tensor where they are numbers and as JSON where they are strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.container.schema import WIDEST_LABELS, ModelFormatError, Record, checked_dtype
from pegasos.container.tensors import Tensors

TENSOR = "classes_"


def pack(classes: np.ndarray) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Class labels as JSON and tensors."""
    kind = classes.dtype.kind
    if kind in "biuf" and classes.dtype.char != "g":
        return {"dtype": classes.dtype.str}, {TENSOR: classes.astype(classes.dtype.newbyteorder("<"))}
    if kind in "mM":
        return {"dtype": classes.dtype.str}, {TENSOR: classes.astype(classes.dtype.newbyteorder("<")).view("<i8")}
    if kind in "US":
        return {"dtype": classes.dtype.str, "labels": _texts(classes.tolist())}, {}
    for one in (str, bytes) if kind == "O" else ():
        if all(isinstance(label, one) for label in classes):
            return {"dtype": "object", "of": one.__name__, "labels": _texts(classes.tolist())}, {}
    raise ValueError(f"Class labels of type {classes.dtype} cannot be stored in a model file.")


def _texts(labels: list) -> list[str]:
    return [label.decode("latin-1") if isinstance(label, bytes) else str(label) for label in labels]


def unpack(entry: Record, tensors: Tensors, *, ordered: bool = True) -> np.ndarray:
    """The class labels, of the type they had; different from each other, and sorted unless not `ordered`."""
    classes = _of_strings(entry) if "labels" in entry else _of_numbers(entry, tensors)
    entry.done()
    if len(classes) < 2:
        raise ModelFormatError("it has fewer than two classes")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ModelFormatError("a class label is NaN or infinite")
    order = np.unique(classes)
    if not ordered and len(order) == len(classes):
        return classes
    if len(order) != len(classes) or not _equal(order, classes):
        raise ModelFormatError("its classes are not sorted and different from each other")
    return classes


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    if first.dtype.kind in "mM":  # NaT can be a label, and does not equal itself
        first, second = first.astype(np.int64), second.astype(np.int64)
    return np.array_equal(first, second)


def _of_numbers(entry: Record, tensors: Tensors) -> np.ndarray:
    dtype = checked_dtype(entry.take("dtype", str), "biufmM")
    stored = np.dtype("<i8") if dtype.kind in "mM" else dtype.newbyteorder("<")
    values = tensors.take(TENSOR, (stored,), (None,), finite=False)
    return values.view(dtype.newbyteorder("<")).astype(dtype)


def _of_strings(entry: Record) -> np.ndarray:
    labels: list[Any] = entry.take_strings("labels")
    name = entry.take("dtype", str)
    dtype = np.dtype(object) if name == "object" else checked_dtype(name, "US")
    as_bytes = entry.take_one_of("of", ("str", "bytes")) == "bytes" if name == "object" else dtype.kind == "S"
    if as_bytes:
        try:
            labels = [label.encode("latin-1") for label in labels]
        except UnicodeEncodeError as error:
            raise ModelFormatError("a class label is not made of bytes") from error
    if len(labels) * dtype.itemsize > WIDEST_LABELS:
        raise ModelFormatError("its class labels are too wide")
    classes = np.array(labels, dtype)
    if classes.tolist() != labels:  # cut off, or with zeros at the end
        raise ModelFormatError(f"its class labels are not of type {name}")
    return classes
