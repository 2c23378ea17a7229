"""Pipelines as ONNX graphs: converters of our estimators for skl2onnx.

`register` makes them known to skl2onnx, after which its ``to_onnx`` and ``convert_sklearn`` take pipelines, searches
and column transformers with our estimators in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pegasos.svm
from pegasos.estimators import PegasosClassifier, PegasosRegressor
from pegasos.export.described import described
from pegasos.export.onnx_file import width_of
from pegasos.export.onnx_nodes import LOWEST_OPSET, check_exportable, emit, label_type

NEEDED = "Export of a pipeline to ONNX needs the package skl2onnx: pip install 'pegasos[onnx]'."


def pipeline_to_onnx(pipeline, dtype: np.dtype):
    """A fitted pipeline as a graph, whose one input "X" has this type."""
    register()
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if dtype == np.float64 else FloatTensorType
    n_features = getattr(pipeline, "n_features_in_", None)
    return to_onnx(pipeline, initial_types=[("X", kind([None, n_features]))])


def register() -> None:
    """Make the estimators of this package known to skl2onnx."""
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(NEEDED) from error
    kinds = [PegasosClassifier, PegasosRegressor, *(getattr(pegasos.svm, name) for name in pegasos.svm.__all__)]
    for kind in kinds:
        update_registered_converter(
            kind, f"Pegasos{kind.__name__}", _shapes, _convert, overwrite=True, parser=_parse
        )  # fmt: skip


class _ContainerNodes:
    """Operators that go where skl2onnx puts them."""

    def __init__(self, scope, container):
        self.scope, self.container = scope, container

    def add(self, kind: str, *inputs: str, **attributes) -> str:
        """Add an operator; the name of its output."""
        name = self.scope.get_unique_variable_name(kind.lower())
        outputs = [name, self.scope.get_unique_variable_name("places")] if kind == "TopK" else [name]
        self.container.add_node(
            kind, list(inputs), outputs, name=self.scope.get_unique_operator_name(kind), **attributes
        )
        return name

    def constant(self, value: np.ndarray) -> str:
        """Add a constant; its name."""
        from onnx import numpy_helper

        name = self.scope.get_unique_variable_name("constant")
        tensor = numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)
        self.container.initializers.append(tensor)
        return name


def _outputs_of(model) -> list[str]:
    """The names of the outputs, as of a graph of its own."""
    found = described(model)
    if found.scheme == "values":
        return ["predictions"]
    return ["label", "scores", "probabilities"] if found.has_chances else ["label", "scores"]


def _parse(scope, model, inputs, custom_parsers=None):
    from skl2onnx.common.data_types import Int64TensorType

    operator = scope.declare_local_operator(f"Pegasos{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    for name in _outputs_of(model):
        operator.outputs.append(scope.declare_local_variable(name, Int64TensorType()))  # `_shapes` knows the types
    return operator.outputs


def _given_type(operator):
    """The type of scores: that of the rows where they are numbers with a point."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    return (DoubleTensorType, np.float64) if double else (FloatTensorType, np.float32)


def _shapes(operator) -> None:
    from skl2onnx.common.data_types import BooleanTensorType, DoubleTensorType, Int64TensorType, StringTensorType

    found = described(operator.raw_operator)
    kinds: dict[str, Any] = {"bool": BooleanTensorType, "object": StringTensorType, "float64": DoubleTensorType}
    label = label_type(found).name
    for name, variable in zip(_outputs_of(operator.raw_operator), operator.outputs, strict=True):
        kind = kinds.get(label, Int64TensorType) if name == "label" else _given_type(operator)[0]
        variable.set_type(kind([None, *width_of(found, name)]))


def _convert(scope, operator, container) -> None:
    if container.target_opset < LOWEST_OPSET:
        raise ValueError(f"Export to ONNX needs target_opset {LOWEST_OPSET} or more, got {container.target_opset}.")
    found = described(operator.raw_operator)
    check_exportable(found)
    nodes, given = _ContainerNodes(scope, container), np.dtype(_given_type(operator)[1])
    rows = operator.inputs[0].full_name
    if len(operator.inputs) > 1:
        rows = nodes.add("Concat", *(one.full_name for one in operator.inputs), axis=1)
    names = emit(found, nodes, rows, given)
    for made, variable in zip(names.values(), operator.outputs, strict=True):
        container.add_node("Identity", [made], [variable.full_name], name=scope.get_unique_operator_name("output"))
