"""Fitted machines of `pegasos.svm` as a JSON document and tensors, and back; what is read is checked first."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, INT32, INT64, Tensors
from pegasos.kernels import LinearKernel
from pegasos.storage import labels
from pegasos.storage.models import (
    names_of,
    packed_kernel,
    packed_rows,
    parameters_of,
    set_features,
    unpack_kernel,
    unpacked_rows,
    with_parameters,
)  # fmt: skip
from pegasos.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, state
from pegasos.svm.linear import LinearMachine

CLASSES: dict[str, Any] = {
    kind.__name__: kind for kind in (SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR, OneClassSVM)
}  # fmt: skip
CLASSIFIERS = ("SVC", "NuSVC", "LinearSVC")
DOUBLE = FLOATS[1:]


def pack(model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON and the tensors of a fitted machine."""
    check_is_fitted(model, "n_iter_")
    linear = isinstance(model, LinearMachine)
    if not linear and callable(model.kernel):
        raise ValueError(
            "A model whose kernel is a Python function cannot be stored: a model file holds no code. Use a named "
            'kernel, or kernel="precomputed" and compute the kernel matrix before predicting.'
        )
    document = {
        "class": type(model).__name__,
        "parameters": parameters_of(model),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": names_of(model),
        "n_iter": int(np.max(model.n_iter_)),
    }
    if linear:
        tensors = state.linear_arrays_of(model)
        document["kernel"] = packed_kernel(LinearKernel())
    else:
        parts = state.parts_of(model)
        entry, rows = packed_rows(parts.support_vectors)
        tensors = parts.arrays | rows
        document |= {"kernel": packed_kernel(parts.kernel), "support_vectors": entry}
        document |= {"shape_fit": list(map(int, parts.shape_fit)), "status": parts.status}
    if hasattr(model, "classes_"):
        document["classes"], stored = labels.pack(model.classes_)
        tensors = tensors | stored
    return document, tensors


def unpack(name: str, fields: Record, tensors: Tensors):
    """The fitted machine of this class that a document and its tensors describe."""
    model = with_parameters(CLASSES[name], fields.take("parameters", dict))
    n_features = fields.take_integer("n_features_in", 1)
    set_features(model, n_features, fields.take("feature_names_in", list, type(None)))
    n_iter, kernel = fields.take_integer("n_iter", 0, 2**63 - 1), unpack_kernel(fields)
    n_classes = 0
    if name in CLASSIFIERS:
        entry = Record(fields.take("classes", dict), "the classes")
        model.classes_ = labels.unpack(entry, tensors, ordered=False)  # those of LIBSVM's files are in any order
        n_classes = len(model.classes_)
    if isinstance(model, LinearMachine):
        if not kernel.is_linear:
            raise ModelFormatError("the kernel of a linear machine is not linear")
        state.restore_linear(model, _linear_arrays(model, tensors, n_features, n_classes), n_iter)
        return model
    if kernel.name != model.kernel:
        raise ModelFormatError("the kernel is not the one of the parameters")
    shape = fields.take("shape_fit", list)
    if len(shape) != 2 or not all(type(size) is int and size > 0 for size in shape):
        raise ModelFormatError("the shape of the training rows is none")
    status = fields.take("status", int, type(None))
    if status not in (0, 1, None):
        raise ModelFormatError("the status of the fit is neither 0 nor 1")
    n_width = n_features if not kernel.is_precomputed else shape[0]
    if n_width != n_features:
        raise ModelFormatError("the kernel matrix of the fit was not square")
    arrays = _arrays(model, tensors, kernel, n_features, n_classes)
    n_support = arrays["dual_coef_"].shape[1]
    wanted = (0, 0) if kernel.is_precomputed else (n_support, n_features)
    vectors = unpacked_rows(Record(fields.take("support_vectors", dict), "support_vectors"), tensors, wanted)
    state.restore(model, state.FittedMachine(kernel, vectors, tuple(shape), status, arrays))
    return model


def _certificate(tensors: Tensors, n_columns: int) -> dict[str, np.ndarray]:
    """How far the fit was from the optimum, where that is known."""
    if "objective_" not in tensors:
        return {}
    found = {name: tensors.take(name, DOUBLE, (n_columns,), finite=False) for name in state.CERTIFICATE}
    return found | {"converged_": tensors.take_counts("converged_", INT32, (n_columns,))}


def _linear_arrays(model, tensors: Tensors, n_features: int, n_classes: int) -> dict[str, np.ndarray]:
    n_columns = n_classes if n_classes > 2 else 1
    grouped = n_classes > 0 and model.multi_class == "crammer_singer"
    shape = (n_columns, n_features) if n_classes else (n_features,)
    arrays = {"coef_": tensors.take("coef_", DOUBLE, shape)}
    if model.fit_intercept:
        arrays["intercept_"] = tensors.take("intercept_", DOUBLE, (n_columns,))
    return arrays | _certificate(tensors, n_classes if grouped else n_columns)


def _arrays(model, tensors: Tensors, kernel, n_features: int, n_classes: int) -> dict[str, np.ndarray]:
    """The tensors of a kernel machine but for its support vectors."""
    n_columns = n_classes * (n_classes - 1) // 2 if n_classes else 1
    coefficients = tensors.take("dual_coef_", DOUBLE, (max(n_classes - 1, 1), None))
    n_support = coefficients.shape[1]
    online = isinstance(model, OneClassSVM) and "online.sums" in tensors
    arrays = {
        "dual_coef_": coefficients,
        "intercept_": tensors.take("intercept_", DOUBLE, (n_columns,)),
        "support_": tensors.take_counts("support_", INT32, (None,)),
        "n_support_": tensors.take_counts("n_support_", INT32, (n_classes or 1,)),
        "n_iter_": tensors.take_counts("n_iter_", INT64, (n_columns,)),
    }
    support = arrays["support_"]
    if len(support) != n_support and not (online and not len(support)):
        raise ModelFormatError("there is not one number for each support row")
    if len(np.unique(support)) != len(support) or (kernel.is_precomputed and support.max(initial=-1) >= n_features):
        raise ModelFormatError("the support rows are not different ones, or not among the training rows")
    if arrays["n_support_"].max() > n_support or arrays["n_support_"].sum(dtype=np.int64) != n_support:
        raise ModelFormatError("the numbers of support rows do not add up")
    if n_classes:
        arrays["class_weight_"] = tensors.take("class_weight_", DOUBLE, (n_classes,))
        if "probA_" in tensors:
            arrays |= {name: tensors.take(name, DOUBLE, (n_columns,)) for name in ("probA_", "probB_")}
    if online:
        n_state = n_features if model.n_landmarks is None else n_support
        for part, size in (("sums", n_state), ("products", n_state), ("numbers", 5)):
            arrays[f"online.{part}"] = tensors.take(f"online.{part}", DOUBLE, (size,))
    return arrays | _certificate(tensors, n_columns)
