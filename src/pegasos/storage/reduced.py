"""What a model file says of a model that was made smaller: by `compress`, or by the type of its support vectors.

Support vectors of float16 or float32 are made floats of the model's own type when they are read; predictions are then
those of the rounded support vectors, whichever machine makes them. How much that changes scores is measured when the
file is written, on support vectors, where most scores are near to what decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.values import decode
from pegasos.estimators.predict import scores_in_parts
from pegasos.estimators.targets import recipe_of
from pegasos.svm import layout, state
from pegasos.svm.base import KernelMachine

TYPES: dict[str, np.dtype] = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4"), "float64": np.dtype("<f8")}
ROWS = "support_vectors_", "support_vectors_.data"
MEASURED = 2000  # support vectors at most
COMPRESSION = {"n_support_before": int, "n_support": int, "n_rows": int, "rms_change": float, "largest_change": float}


# --- support vectors of a smaller type --------------------------------------------------------------------------------


def rounded(model, tensors: dict[str, np.ndarray], dtype) -> dict[str, Any]:
    """Put support vectors of a smaller type among the tensors; what the file and `save` say of it."""
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    if name not in ("float16", "float32"):
        raise ValueError(f"dtype must be 'float16' or 'float32', got {dtype!r}.")
    key = next((one for one in ROWS if one in tensors and tensors[one].size), None)
    if key is None:
        raise ValueError(
            f"dtype={name!r} is for the support vectors of kernel models; this {type(model).__name__} stores none."
        )
    before = tensors[key]
    if TYPES[name].itemsize >= before.dtype.itemsize:
        raise ValueError(f"The support vectors are {before.dtype} already; dtype={name!r} would not make them smaller.")
    with np.errstate(over="ignore", under="ignore"):
        tensors[key] = before.astype(TYPES[name])
    if not np.isfinite(tensors[key]).all():
        raise ValueError(
            f"The support vectors reach {np.abs(before).max():.3g}, more than {name} can hold; scale the features, or "
            "store float32."
        )
    rms, largest = _change(model, tensors[key])
    restored = before.dtype.name
    return {"dtype": name, "restored": restored, "rms_change": rms, "largest_change": largest}


def _change(model, values: np.ndarray) -> tuple[float, float]:
    """The change of scores by these support vectors: its root mean square in the worst column, and the largest."""
    kernel, vectors, coefficients = _expansion(model)
    other: Any = vectors.copy()
    (other.data if issparse(other) else other)[...] = values
    places = np.unique(np.linspace(0, vectors.shape[0] - 1, MEASURED).astype(int))
    some, coefficients = vectors[places], np.ascontiguousarray(coefficients.T)
    change = scores_in_parts(kernel, some, other, coefficients) - scores_in_parts(kernel, some, vectors, coefficients)
    return float(np.sqrt((change**2).mean(axis=0)).max()), float(np.abs(change).max())


def _expansion(model) -> tuple[Any, Any, np.ndarray]:
    """The kernel, the support vectors, and their coefficients (n_columns, n_support), in float64."""
    if isinstance(model, KernelMachine):
        parts = state.parts_of(model)
        coefficients, counts = parts.arrays["dual_coef_"], parts.arrays["n_support_"]
        if len(counts) > 2:
            coefficients = layout.of_each_pair(coefficients, counts)
        kernel, vectors = parts.kernel, parts.support_vectors
    else:
        kernel, vectors, coefficients = recipe_of(model).fitted_kernel, model.support_vectors_, model.dual_coef_
    return kernel, vectors.astype(np.float64), coefficients.astype(np.float64)


def restored(fields: Record, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The tensors of a file with support vectors of the type that the model computes in."""
    if "stored" not in fields:
        return arrays
    about = Record(fields.take("stored", dict), "the stored type")
    name, wanted = (about.take_one_of(key, TYPES) for key in ("dtype", "restored"))
    for key in ("rms_change", "largest_change"):
        _size(about, key)
    about.done()
    key = next((one for one in ROWS if one in arrays), "")
    if not key or arrays[key].dtype != TYPES[name] or TYPES[name].itemsize > TYPES[wanted].itemsize:
        raise ModelFormatError("the support vectors are not of the type that the file says they are of")
    return arrays | {key: arrays[key].astype(TYPES[wanted])}


# --- fewer support vectors --------------------------------------------------------------------------------------------


def packed_compression(model) -> dict[str, Any]:
    """The part of the document that says what `compress` has cost, if that has been called."""
    return {"compression": model.compression_} if hasattr(model, "compression_") else {}


def unpack_compression(fields: Record) -> dict[str, Any]:
    """The fitted attribute of it."""
    if "compression" not in fields:
        return {}
    about, found = Record(fields.take("compression", dict), "the compression"), {}
    for key, kind in COMPRESSION.items():
        found[key] = about.take_integer(key, 0, 2**63 - 1) if kind is int else _size(about, key)
    share = decode(about.take("changed_labels", float, type(None)))
    if share is not None and not 0 <= share <= 1:
        raise ModelFormatError("the share of changed labels is none")
    about.done()
    return {"compression_": found | {"changed_labels": share}}


def _size(about: Record, key: str) -> float:
    value = about.take(key, float)
    if not 0 <= value < np.inf:
        raise ModelFormatError(f"{key} is no finite number that is not negative")
    return value
