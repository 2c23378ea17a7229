"""Pipelines of one scaler and one estimator as JSON and tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, Tensors
from pegasos.container.values import decode, encode
from pegasos.storage import machines, models
from pegasos.storage.models import names_of, parameters_of, set_features, with_parameters

CLASSES = models.CLASSES | machines.CLASSES
SCALERS = {scaler.__name__: scaler for scaler in (StandardScaler, MaxAbsScaler, MinMaxScaler)}
ATTRIBUTES = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MaxAbsScaler": ("max_abs_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
}
SEEN = "n_samples_seen_"
OUTPUT = "_sklearn_output_config"  # what `set_output` chose
OUTPUTS = ("default", "pandas", "polars")


def is_storable(model) -> bool:
    """Whether it is a pipeline of one of the scalers and one of our estimators."""
    steps = [type(step) for _, step in model.steps] if type(model) is Pipeline else []
    return len(steps) == 2 and steps[0] in SCALERS.values() and steps[1] in CLASSES.values()


def pack(pipeline: Pipeline) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON and the tensors of the pipeline's scaler, and the names of its steps."""
    (scaler_name, scaler), (name, _) = pipeline.steps
    check_is_fitted(scaler)
    kind = type(scaler).__name__
    arrays = {f"scaler.{key}": getattr(scaler, key) for key in ATTRIBUTES[kind] if getattr(scaler, key) is not None}
    document = {
        "steps": [scaler_name, name],
        "class": kind,
        "parameters": _changed_parameters(scaler),
        "output": getattr(scaler, OUTPUT, {}).get("transform"),
        "n_features_in": int(scaler.n_features_in_),
        "feature_names_in": names_of(scaler),
    }
    seen = getattr(scaler, SEEN)
    if isinstance(seen, np.ndarray):  # rows without a missing value differ from feature to feature
        arrays[f"scaler.{SEEN}"] = seen
    else:
        document["n_samples_seen"] = encode(seen, SEEN)
    return document, arrays


def _changed_parameters(scaler) -> dict[str, Any]:
    """Parameters that differ from their default: a scikit-learn that lacks a new one can still load the file."""
    defaults = parameters_of(type(scaler)())
    return {name: value for name, value in parameters_of(scaler).items() if value != defaults[name]}


def unpack(fields: Record, tensors: Tensors, model) -> Pipeline:
    """The pipeline of the scaler described and the model."""
    steps = fields.take_strings("steps")
    if len(steps) != 2 or steps[0] == steps[1] or any(not name or "__" in name for name in steps):
        raise ModelFormatError("the steps of the pipeline do not have two proper names")
    kind = fields.take_one_of("class", SCALERS)
    scaler = with_parameters(SCALERS[kind], fields.take("parameters", dict))
    n_features = fields.take_integer("n_features_in", 1)
    if n_features != model.n_features_in_:
        raise ModelFormatError("the scaler and the model have different numbers of features")
    set_features(scaler, n_features, fields.take("feature_names_in", list, type(None)))
    for key in ATTRIBUTES[kind]:
        name = f"scaler.{key}"
        setattr(scaler, key, tensors.take(name, FLOATS, (n_features,)) if name in tensors else None)
    output = fields.take("output", str, type(None))
    if output is not None:
        if output not in OUTPUTS:
            raise ModelFormatError("the scaler has no such output")
        setattr(scaler, OUTPUT, {"transform": output})
    _check_scaler(scaler)
    scaler.n_samples_seen_ = _seen(fields, tensors, n_features)
    fields.done()
    return Pipeline([(steps[0], scaler), (steps[1], model)])


def _check_scaler(scaler) -> None:
    """Check that the scaler has what it needs to transform, and divides nothing by zero."""
    if isinstance(scaler, StandardScaler):
        needed = ["mean_"] * bool(scaler.with_mean) + ["scale_"] * bool(scaler.with_std)
    else:
        needed = list(ATTRIBUTES[type(scaler).__name__])
    if any(getattr(scaler, key) is None for key in needed):
        raise ModelFormatError("the scaler lacks what it needs to transform")
    if scaler.scale_ is not None and (scaler.scale_ == 0).any():
        raise ModelFormatError("the scaler would divide by zero")
    if isinstance(scaler, MinMaxScaler):
        low, high = _range(scaler.feature_range)
        if not low < high:
            raise ModelFormatError("the range of the scaler is empty")


def _range(given) -> tuple[float, float]:
    if len(given) != 2 or not all(isinstance(one, int | float | np.number) for one in given):
        raise ModelFormatError("the range of the scaler is no pair of numbers")
    return given


def _seen(fields: Record, tensors: Tensors, n_features: int):
    name = f"scaler.{SEEN}"
    if name in tensors:
        return tensors.take(name, (np.dtype("<i8"), np.dtype("<f8")), (n_features,))
    seen = decode(fields.take("n_samples_seen", int, float, dict))
    if not isinstance(seen, int | float | np.number) or not seen >= 0:
        raise ModelFormatError("the scaler has seen no number of rows")
    return seen
