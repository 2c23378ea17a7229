"""Fitted estimators as a JSON document and tensors, and back; what is read is checked before it becomes a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.utils.validation import check_is_fitted

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, INT32, INT64, Tensors
from pegasos.container.values import decode, encode
from pegasos.estimators import PegasosClassifier, PegasosRegressor, validation
from pegasos.estimators.outcome import converged
from pegasos.estimators.targets import recipe_of
from pegasos.kernels import KERNELS, Kernel, make_kernel
from pegasos.storage import calibration, labels, warm_start

CLASSES = {"PegasosClassifier": PegasosClassifier, "PegasosRegressor": PegasosRegressor}
LEFT_OUT = ("checkpoint",)  # a path on the machine that trained
SPARSE = {"csr_array": csr_array, "csr_matrix": csr_matrix}
OF_CERTIFICATE = ("objective_", "dual_gap_", "relative_gap_")
INDICATORS = ("dense", "csr", "sets")
PLAIN = ("intercept_", "t_", "coef_", "support_", "dual_coef_", "violations_", "n_support_", *OF_CERTIFICATE)
HIGHEST_DEGREE = 2**31 - 1
UNUSED = {"gamma": 1.0, "degree": 3, "coef0": 1.0}  # what a file says of parameters that its kernel does not use


def pack(model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON and the tensors of a fitted PegasosClassifier or PegasosRegressor."""
    check_is_fitted(model, "intercept_")
    recipe = recipe_of(model)
    if callable(model.kernel) or recipe.fitted_kernel.is_callable:
        raise ValueError(
            "A model whose kernel is a Python function cannot be stored: a model file holds no code. Use a named "
            'kernel, or kernel="precomputed" and compute the kernel matrix before predicting.'
        )
    tensors = {name: getattr(model, name) for name in PLAIN if hasattr(model, name)}
    if issparse(tensors.get("coef_")):
        tensors["coef_"] = tensors["coef_"].toarray()
    remembered, state = warm_start.pack(model)
    document = {
        "class": type(model).__name__,
        "parameters": parameters_of(model, LEFT_OUT),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": names_of(model),
        "kernel": packed_kernel(recipe.fitted_kernel),
        "n_iter": int(model.n_iter_),
        "memory": remembered,
    }
    if hasattr(model, "history_"):
        document["history"] = [{key: encode(one, key) for key, one in record.items()} for record in model.history_]
    if isinstance(model, PegasosClassifier):
        entry, stored = labels.pack(model.classes_)
        document |= {"scheme": recipe.fitted_targets, "classes": entry}
        if recipe.fitted_targets == "multilabel":
            document["indicator"] = recipe.fitted_attributes["_indicator"]
        tensors |= stored
        if hasattr(model, "calibration_"):
            document["calibration"], stored = calibration.pack(model.calibration_)
            tensors |= stored
    else:
        document["targets"] = recipe.fitted_targets
    if hasattr(model, "support_vectors_"):
        entry, stored = packed_rows(model.support_vectors_)
        document["support_vectors"] = entry
        tensors |= stored
    return document, tensors | state


def parameters_of(estimator, left_out=()) -> dict[str, Any]:
    """The parameters as JSON; objects that predictions do not need are left out: random states, splitters."""
    found = {name: value for name, value in estimator.get_params(deep=False).items() if name not in left_out}
    if not isinstance(found.get("random_state"), int | np.integer | None):
        found["random_state"] = None
    if not isinstance(found.get("probability_cv"), int | np.integer | None):
        found["probability_cv"] = 5
    return {name: encode(value, f"The parameter {name}") for name, value in found.items()}


def names_of(estimator) -> list[str] | None:
    """The names of the features, or None where the rows had none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def packed_kernel(kernel: Kernel) -> dict[str, Any]:
    """Name and parameters; those that the kernel does not use have their defaults.

    Python's own numbers are written as float, which is the same to NumPy; NumPy's scalars keep their type.
    """
    gamma, degree, coef0 = (getattr(kernel, name, default) for name, default in UNUSED.items())
    coef0 = coef0 if isinstance(coef0, np.generic) else float(coef0)
    degree = degree if isinstance(degree, np.generic) else int(degree)
    found = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return {"name": kernel.name} | {name: encode(value, name) for name, value in found.items()}


def packed_rows(rows) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The support vectors; their order in memory is kept, since products round differently in another."""
    if not issparse(rows):
        order = "F" if rows.flags.f_contiguous and not rows.flags.c_contiguous else "C"
        return {"layout": "dense", "order": order}, {"support_vectors_": rows}
    parts = {f"support_vectors_.{name}": getattr(rows, name) for name in ("data", "indices", "indptr")}
    return {"layout": "csr_matrix" if isinstance(rows, csr_matrix) else "csr_array"}, parts


def unpack(cls, fields: Record, tensors: Tensors, format: int, compressed: bool = False):
    """The fitted estimator of this class that a document of this format and its tensors describe.

    Of one that was `compressed` it is not known how many support vectors each class has.
    """
    model = with_parameters(cls, present_parameters(fields.take("parameters", dict), format))
    for name in LEFT_OUT:
        if getattr(model, name) is not None:
            raise ModelFormatError(f"the parameter {name} is set, which no model file does")
    n_features = fields.take_integer("n_features_in", 1)
    set_features(model, n_features, fields.take("feature_names_in", list, type(None)))
    kernel = unpack_kernel(fields)
    intercept = tensors.take("intercept_", FLOATS, (None,))
    n_columns = len(intercept)
    if cls is PegasosClassifier:
        about = _about_classes(fields, tensors, n_columns)
    else:
        about = {"_targets": fields.take("targets", int, type(None))}
        if n_columns != (about["_targets"] or 1) or about["_targets"] == 0:
            raise ModelFormatError("the number of targets is not that of the intercepts")
    steps = tensors.take_counts("t_", INT64, (n_columns,))
    found = {
        "intercept_": intercept,
        "t_": steps,
        "_kernel": kernel,
        "n_iter_": fields.take_integer("n_iter", 0, 2**63),
    }
    if "classes_" in about and "calibration" in fields:
        entry = Record(fields.take("calibration", dict), "the calibration")
        n_classes = len(about["classes_"])
        found["calibration_"] = calibration.unpack(entry, tensors, 1 if n_classes == 2 else n_classes)
    found |= about | _about_run(fields, tensors, n_columns)
    if kernel.is_linear:
        found["coef_"] = tensors.take("coef_", (intercept.dtype,), (n_columns, n_features))
    else:
        counted = () if compressed or about.get("_scheme") == "multilabel" else about.get("classes_", ())
        found |= _support(fields, tensors, kernel, n_columns, n_features, len(counted))
    found["_memory"] = warm_start.unpack(
        fields.take("memory", dict, str, type(None)), tensors, about, steps, n_features
    )
    if "relative_gap_" in found:
        found["converged_"] = converged(np.asarray(found["relative_gap_"]), recipe_of(model).tol)
    for name, value in found.items():
        setattr(model, name, value)
    return model


def present_parameters(given: dict[str, Any], format: int) -> dict[str, Any]:
    """Parameters of a file of this format under the names and with the meanings that they have now.

    In format 1, `max_iter` counted steps and `max_passes` passes, C = None stood for 1, and Pegasos was the default.
    """
    if format > 1:
        return given
    names = {"max_iter": "max_steps", "max_passes": "max_iter"}
    found = {"solver": "pegasos", "tol": None} | {names.get(name, name): value for name, value in given.items()}
    if found.get("C") is None:
        found["C"] = 1.0
    return found


def with_parameters(cls, given: dict[str, Any]):
    """An estimator with these parameters, which scikit-learn has found valid; those not given have their default."""
    model = cls()
    unknown = set(given) - set(model.get_params(deep=False))
    if unknown:
        raise ModelFormatError(f"{cls.__name__} has no parameter {min(unknown)[:40]!r}; a later version may know it")
    for name, value in given.items():
        setattr(model, name, decode(value))
    try:
        validation.check_parameters(model)
    except (ValueError, TypeError) as error:
        raise ModelFormatError(f"a parameter is not valid: {str(error)[:200]}") from error
    return model


def set_features(estimator, n_features: int, names: list | None) -> None:
    """Set the number and the names of the features."""
    estimator.n_features_in_ = n_features
    if names is None:
        return
    if len(names) != n_features or not all(type(name) is str for name in names):
        raise ModelFormatError("the names of the features are not one string for each")
    estimator.feature_names_in_ = np.array(names, object)


def unpack_kernel(document: Record) -> Kernel:
    """The kernel that a document names."""
    fields = Record(document.take("kernel", dict), "the kernel")
    name = fields.take_one_of("name", KERNELS)
    gamma = fields.take("gamma", float)
    degree, coef0 = (decode(fields.take(key, int, float, dict)) for key in ("degree", "coef0"))
    fields.done()
    if not gamma >= 0:
        raise ModelFormatError("the kernel's gamma is negative")
    if not (type(degree) is int or isinstance(degree, np.integer)) or not 0 <= degree <= HIGHEST_DEGREE:
        raise ModelFormatError("the kernel's degree is no integer within range")
    plain = type(coef0) is float or (isinstance(coef0, np.generic) and coef0.dtype.kind in "biuf")
    if not plain or not np.isfinite(coef0):
        raise ModelFormatError("the kernel's coef0 is no finite number")
    return make_kernel(name, gamma=gamma, degree=degree, coef0=coef0)


def _about_classes(fields: Record, tensors: Tensors, n_columns: int) -> dict[str, Any]:
    classes = labels.unpack(Record(fields.take("classes", dict), "the classes"), tensors)
    n = len(classes)
    columns = {"binary": 1} if n == 2 else {"ovr": n, "ovo": n * (n - 1) // 2}
    columns["crammer_singer"] = columns["multilabel"] = n
    scheme = fields.take_one_of("scheme", columns)
    if n_columns != columns[scheme]:
        raise ModelFormatError(f"{n} classes do not have {n_columns} columns in the scheme {scheme!r}")
    if scheme == "multilabel":
        return {"classes_": classes, "_scheme": scheme, "_indicator": fields.take_one_of("indicator", INDICATORS)}
    return {"classes_": classes, "_scheme": scheme}


def _about_run(fields: Record, tensors: Tensors, n_columns: int) -> dict[str, Any]:
    """Attributes that describe the fit and are not needed to predict."""
    found: dict[str, Any] = {}
    for name in OF_CERTIFICATE:
        if name in tensors:
            found[name] = tensors.take(name, FLOATS[1:], (n_columns,), finite=False)
    if "history" in fields:
        found["history_"] = [_history(record) for record in fields.take("history", list)]
    return found


def _history(record: Any) -> dict[str, Any]:
    if type(record) is not dict:
        raise ModelFormatError("the history is no list of records")
    found = {key: decode(value) for key, value in record.items()}
    if not all(isinstance(value, int | float | np.number) for value in found.values()):
        raise ModelFormatError("the history holds something that is no number")
    return found


def _support(fields: Record, tensors: Tensors, kernel: Kernel, n_columns: int, n_features: int, n_classes: int) -> dict:
    """The support rows and their coefficients; `n_classes` is 0 for regression."""
    support = tensors.take_counts("support_", INT64, (None,))
    n_support = len(support)
    if (np.diff(support) <= 0).any() or (kernel.is_precomputed and support.max(initial=-1) >= n_features):
        raise ModelFormatError("the support rows are not in order, or not among the training rows")
    found: dict[str, Any] = {"support_": support}
    found["dual_coef_"] = tensors.take("dual_coef_", FLOATS, (n_columns, n_support))
    shape = (0, 0) if kernel.is_precomputed else (n_support, n_features)
    found["support_vectors_"] = unpacked_rows(
        Record(fields.take("support_vectors", dict), "support_vectors"), tensors, shape
    )
    if "violations_" in tensors:
        found["violations_"] = tensors.take_counts("violations_", INT32, (n_columns, n_support))
    if n_classes:
        counts = found["n_support_"] = tensors.take_counts("n_support_", INT64, (n_classes,))
        if counts.max(initial=0) > n_support or counts.sum() != n_support:
            raise ModelFormatError("the numbers of support rows do not add up")
    return found


def unpacked_rows(fields: Record, tensors: Tensors, shape: tuple[int, int]):
    """The support vectors that `packed_rows` made tensors of."""
    layout = fields.take_one_of("layout", ("dense", *SPARSE))
    if layout == "dense":
        order = fields.take_one_of("order", ("C", "F"))
        fields.done()
        rows = tensors.take("support_vectors_", FLOATS, shape)
        return np.asfortranarray(rows) if order == "F" else rows
    fields.done()
    data = tensors.take("support_vectors_.data", FLOATS, (None,))
    indptr = tensors.take_counts("support_vectors_.indptr", _index_type(tensors), (shape[0] + 1,))
    indices = tensors.take_counts("support_vectors_.indices", indptr.dtype, (len(data),))
    _check_csr(indices, indptr, shape[1])
    rows = SPARSE[layout](shape, dtype=data.dtype)
    rows.data, rows.indices, rows.indptr = data, indices, indptr  # the constructor would change the type of indices
    rows.has_canonical_format = True
    return rows


def _index_type(tensors: Tensors) -> np.dtype:
    name = "support_vectors_.indptr"
    return INT32 if name in tensors and tensors.left[name].dtype == INT32 else INT64


def _check_csr(indices: np.ndarray, indptr: np.ndarray, n_columns: int) -> None:
    """Check that the rows follow one another, each with its columns in order and none twice, as `fit` leaves them."""
    in_order = indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all()
    if not in_order or indices.max(initial=-1) >= n_columns:
        raise ModelFormatError("the sparse support vectors have indices out of range")
    rising = np.diff(indices) > 0
    starts = indptr[1:-1]
    rising[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    if not rising.all():
        raise ModelFormatError("the sparse support vectors have a row whose columns are not in order")
