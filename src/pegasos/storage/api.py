"""Save a fitted model, load it, and describe a model file without loading it."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pegasos.container import file as container
from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import Tensors
from pegasos.container.values import decode
from pegasos.search import PegasosSearchCV
from pegasos.storage import labels, machines, models, pipelines, reduced
from pegasos.storage.pipelines import CLASSES

MOST_CLASS_BYTES = 2**20  # of the labels that `describe` reads


def save(
    model, path: str | os.PathLike, about: dict[str, Any] | None = None, *, dtype: str | None = None
) -> dict[str, Any] | None:
    """Write a fitted model to a file that `load` reads.

    The file holds numbers and text, no code: it can be loaded without trusting whoever made it. It is written whole or
    not at all; a file that is there already is replaced.

    Parameters
    ----------
    model : PegasosClassifier, PegasosRegressor, one of `pegasos.svm`, Pipeline or PegasosSearchCV
        A pipeline must be a StandardScaler, MaxAbsScaler or MinMaxScaler followed by one of these. Of a search, its
        `best_estimator_` is stored.
    path : str or path-like
        Usually with the ending ``.safetensors``.
    about : dict, default=None
        Anything that JSON can hold, stored with the model; ``describe(path)["about"]`` returns it.
    dtype : {"float16", "float32"}, default=None
        Keep the support vectors of a kernel model in a smaller type: a quarter, or half, of the bytes. The model that
        `load` gives computes in the type of this one, with the support vectors rounded.

    Returns
    -------
    dict or None
        With `dtype`, what it costs: "rms_change" (in the worst column) and "largest_change" of the scores of support
        vectors, beside "dtype" and the type "restored" by `load`; also ``describe(path)["stored"]``.
    """
    model = _storable(model)
    document, tensors = _pack(model, about)
    if dtype is not None:
        document["stored"] = reduced.rounded(_last(model), tensors, dtype)
    try:  # what is written can be read: better to fail now than when the model is needed
        container.write(path, document, tensors, check=_unpack)
    except ModelFormatError as error:
        raise ValueError(f"This model cannot be stored: {error}.") from error
    return document.get("stored")


def load(path: str | os.PathLike):
    """Read a model that `save` wrote.

    A checksum covers every byte, and everything is checked before it is used, so that a file of unknown origin does no
    harm. Predictions are bit for bit those of the model that was saved.

    Returns
    -------
    PegasosClassifier, PegasosRegressor, one of `pegasos.svm`, or Pipeline

    Raises
    ------
    ModelFormatError
        The file is no model file, is damaged, or was written by a later version.
    """
    return _with_named_errors(path, _load)


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """What the header of a model file says; of the tensors only the classes are read, and no checksum is verified.

    Returns
    -------
    dict
        "format", "versions", "class", "parameters", "n_features_in", "feature_names_in", "classes" (None for regression
        or where they take more than a megabyte), "kernel", "n_iter", "scaler" (its class, or None), "tensors" (shape
        and dtype by name), "size" of the file in bytes, "about", and where support vectors have been rounded or made
        fewer "stored" and "compression", which say what that has changed.
    """
    return _with_named_errors(path, _describe)


def _storable(model):
    """The model to store: of a search its best estimator, of a model fitted on Dask its local copy."""
    if isinstance(model, PegasosSearchCV):
        check_is_fitted(model)
        if not hasattr(model, "best_estimator_"):
            raise ValueError("This search has no best_estimator_ to store; set refit=True and fit it again.")
        model = model.best_estimator_
    if hasattr(model, "local_model"):  # fitted on Dask
        model = model.local_model()
    if type(model) in CLASSES.values() or pipelines.is_storable(model):
        return model
    raise TypeError(
        f"A model file holds a PegasosClassifier, a PegasosRegressor, a PegasosSearchCV, one of pegasos.svm, or a "
        f"Pipeline of one StandardScaler, MaxAbsScaler or MinMaxScaler and one of these; got {type(model).__name__}."
    )


def _last(model):
    """The model itself, or that at the end of a pipeline."""
    return model if type(model) in CLASSES.values() else model[-1]


def _pack(model, about) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the tensors of a model or a pipeline."""
    last = _last(model)
    in_pipeline = last is not model
    own, tensors = (machines if type(last) in machines.CLASSES.values() else models).pack(last)
    versions = {name: version(name) for name in ("pegasos", "numpy", "scikit-learn")}
    versions["python"] = platform.python_version()
    document = {"format": container.FORMAT, "versions": versions, **own, "about": about, "pipeline": None}
    document |= reduced.packed_compression(last)
    if in_pipeline:
        document["pipeline"], more = pipelines.pack(model)
        tensors |= more
    _check_about(about)
    return document, tensors


def _check_about(about) -> None:
    if about is not None and not isinstance(about, dict):
        raise TypeError(f"about must be a dict or None, got {type(about).__name__}.")
    try:
        same = json.loads(json.dumps(about, allow_nan=False)) == about
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"about must hold only what JSON can hold: {error}.") from error
    if not same:  # tuples would come back as lists, numbers as keys as strings
        raise ValueError("about must hold only what JSON gives back: lists, no tuples, and strings as keys.")


def _with_named_errors(path, function):
    """Call the function on the path of a file; whatever is wrong with the file ends in one sentence that names it."""
    path = Path(os.fsdecode(path))
    try:
        return function(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"There is no model file {path}.") from error
    except ModelFormatError as error:
        raise ModelFormatError(f"{path} is no model file that can be loaded: {error}.") from error
    except (OSError, MemoryError):
        raise
    except Exception as error:  # where a check is missing, the caller still gets the one error to expect
        raise ModelFormatError(f"{path} is no model file that can be loaded: {type(error).__name__}.") from error


def _load(path: Path):
    header, arrays = container.read(path)
    return _unpack(header.document, arrays)


def _unpack(document: dict[str, Any], arrays: dict[str, np.ndarray]):
    """The model or pipeline that a document and its tensors describe."""
    fields, about = _head(document)
    tensors = Tensors(reduced.restored(fields, arrays))
    compression = reduced.unpack_compression(fields)
    scaled = fields.take("pipeline", dict, type(None))
    name = fields.take_one_of("class", CLASSES)
    if name in machines.CLASSES:
        model = machines.unpack(name, fields, tensors)
    else:
        model = models.unpack(models.CLASSES[name], fields, tensors, about["format"], bool(compression))
    vars(model).update(compression)
    fields.done()
    found = model if scaled is None else pipelines.unpack(Record(scaled, "the pipeline"), tensors, model)
    tensors.done()
    return found


def _head(document) -> tuple[Record, dict[str, Any]]:
    """The fields of a document, and those taken that every model file has: format, versions and about."""
    fields = Record(document, "the description")
    if "checkpoint" in fields:
        raise ModelFormatError("it is the checkpoint of a fit that has not ended; start the fit again to go on from it")
    found = {"format": fields.take("format", int), "versions": fields.take("versions", dict)}
    if not all(type(value) is str for value in found["versions"].values()):
        raise ModelFormatError("the versions are no strings")
    return fields, found | {"about": fields.take("about", dict, type(None))}


def _describe(path: Path) -> dict[str, Any]:
    header = container.read_header(path)
    fields, found = _head(header.document)
    found["class"] = fields.take_one_of("class", CLASSES)
    parameters = models.present_parameters(fields.take("parameters", dict), found["format"])
    found["parameters"] = {name: decode(value) for name, value in parameters.items()}
    found["n_features_in"] = fields.take_integer("n_features_in", 1)
    found["feature_names_in"] = fields.take("feature_names_in", list, type(None))
    found["kernel"] = models.unpack_kernel(fields).name
    found["n_iter"] = fields.take_integer("n_iter", 0, 2**63)
    scaled = fields.take("pipeline", dict, type(None))
    found["scaler"] = None if scaled is None else Record(scaled, "the pipeline").take_one_of("class", pipelines.SCALERS)
    found["classes"] = _classes(path, header, fields)
    found |= {key: fields.take(key, dict) for key in ("stored", "compression") if key in fields}
    found["tensors"] = {name: (one.shape, str(one.dtype)) for name, one in header.tensors.items()}
    found["size"] = os.path.getsize(path)
    return found


def _classes(path: Path, header: container.Header, fields: Record) -> np.ndarray | None:
    """The classes of a classifier, if they take little memory."""
    if "classes" not in fields:
        return None
    arrays = {}
    if stored := header.tensors.get(labels.TENSOR):
        if stored.nbytes > MOST_CLASS_BYTES:
            return None
        arrays[labels.TENSOR] = container.read_one(path, labels.TENSOR)
    return labels.unpack(Record(fields.take("classes", dict), "the classes"), Tensors(arrays), ordered=False)
