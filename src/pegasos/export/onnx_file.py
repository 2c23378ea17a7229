"""A fitted model as an ONNX graph in a file."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np

from pegasos.export.described import Described, described
from pegasos.export.onnx_nodes import check_exportable, compute_type, emit, label_type
from pegasos.utils.files import replacing

OPSET = 17
IR_VERSION = 8
NEEDED = "Export to ONNX needs the package onnx: pip install 'pegasos[onnx]'."


def to_onnx(model, path: str | os.PathLike | None = None, *, dtype=None):
    """A fitted model as an ONNX graph, which onnxruntime and many other programs run.

    The one input is "X", rows in any number. Classifiers and detectors of outliers have the outputs "label" and
    "scores" (the `decision_function`), and "probabilities" where the model has `predict_proba`; of several labels a row
    "label" is 0 or 1 for each of `classes_`. Regressors have "predictions". Scores are computed in the type
    the model was fitted in, whatever the type of the rows. For pipelines see `pegasos.export.onnx_pipelines`.

    Not held: the kernel "laplacian" and kernels that are functions; sparse rows; probabilities of more than two classes
    by Platt's sigmoids; names of features.

    Parameters
    ----------
    model : PegasosClassifier, PegasosRegressor, PegasosSearchCV, a machine of `pegasos.svm`, or a Pipeline
    path : str or path-like, default=None
        Where to write the graph.
    dtype : {np.float32, np.float64}, default=None
        Type of the rows and of the scores; None: the one the model was fitted in.

    Returns
    -------
    onnx.ModelProto
    """
    onnx = _onnx()
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}.")
    if hasattr(model, "steps"):
        from pegasos.export.onnx_pipelines import pipeline_to_onnx

        proto = pipeline_to_onnx(model, np.dtype(dtype or np.float32))
    else:
        found = described(model)
        check_exportable(found)
        proto = _proto(found, compute_type(found) if dtype is None else np.dtype(dtype))
    onnx.checker.check_model(proto)
    if path is not None:
        with replacing(path) as part:
            part.write_bytes(proto.SerializeToString())
    return proto


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError(NEEDED) from error
    return onnx


class _Graph:
    """Operators and constants of a graph of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: str, **attributes) -> str:
        """Add an operator; the name of its output."""
        from onnx import helper

        name = f"{kind.lower()}_{len(self.nodes)}"
        outputs = [name, f"{name}_places"] if kind == "TopK" else [name]
        self.nodes.append(helper.make_node(kind, list(inputs), outputs, name=f"node_{name}", **attributes))
        return name

    def constant(self, value: np.ndarray) -> str:
        """Add a constant; its name."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
        return name


def _proto(model: Described, given: np.dtype):
    from onnx import TensorProto, helper

    graph = _Graph()
    kinds = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}
    kinds |= {"bool": TensorProto.BOOL, "object": TensorProto.STRING}
    names = emit(model, graph, "X", given)
    label = label_type(model)
    outputs = []
    for name, made in names.items():
        graph.nodes.append(helper.make_node("Identity", [made], [name], name=f"output_{name}"))
        shape: list[Any] = ["rows", *width_of(model, name)]
        outputs.append(helper.make_tensor_value_info(name, kinds[(label if name == "label" else given).name], shape))
    rows = helper.make_tensor_value_info("X", kinds[given.name], ["rows", model.n_features])
    body = helper.make_graph(graph.nodes, "pegasos", [rows], outputs, graph.constants)
    return helper.make_model(
        body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
        producer_name="pegasos", producer_version=version("pegasos"),
    )  # fmt: skip


def width_of(model: Described, name: str) -> list[int]:
    """The dimensions of an output after that of the rows."""
    if name == "probabilities" or model.scheme == "multilabel":
        return [len(np.asarray(model.classes))]
    if name == "label" or model.scheme == "outliers":
        return []
    if model.scheme == "values":
        return [] if model.flat else [model.n_columns]
    n_classes = len(np.asarray(model.classes))
    if n_classes == 2:
        return []
    raw = model.scheme == "pairs" and model.decision_function_shape == "ovo"
    return [model.n_columns if raw else n_classes]
