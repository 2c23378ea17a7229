"""Calibrated probabilities as operators of ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pegasos.estimators.calibration import Calibration

if TYPE_CHECKING:
    from pegasos.export.onnx_nodes import Nodes


def emit_calibrated(calibration: Calibration, nodes: Nodes, decisions: str, n_classes: int, kind: np.dtype) -> str:
    """Probabilities (n, n_classes) of decision values (n, n_classes), (n, 1) for two classes.

    Parameters
    ----------
    calibration : Calibration
    nodes : Nodes
    decisions : str
        Their name.
    n_classes : int
    kind : dtype
        Their type.
    """
    add, parts, method = nodes.add, calibration.parts, calibration.method
    number = lambda value: nodes.constant(np.asarray(value, kind))
    if method == "temperature":
        logits = add("MatMul", decisions, number([[-1.0, 1.0]])) if n_classes == 2 else decisions
        return add("Softmax", add("Mul", logits, number(float(parts[0][0]))), axis=-1)
    if method == "sigmoid":
        slopes, offsets = -np.array(parts).T
        found = add("Sigmoid", add("Add", add("Mul", decisions, number(slopes)), number(offsets)))
    else:
        places = [nodes.constant(np.array([number])) for number in range(len(parts))]
        columns = [add("Gather", decisions, place, axis=1) for place in places]
        columns = [_interpolated(nodes, column, part, kind) for column, part in zip(columns, parts, strict=True)]
        found = columns[0] if n_classes == 2 else add("Concat", *columns, axis=1)
    if n_classes == 2:
        return add("Concat", add("Sub", number(1), found), found, axis=1)
    total = add("MatMul", found, number(np.ones((n_classes, 1))))
    nothing = add("Where", add("Greater", total, number(0)), number(0), number(1))  # no class claims the row: all do
    return add("Div", add("Add", found, add("Div", nothing, number(n_classes))), add("Add", total, nothing))


def _interpolated(nodes: Nodes, scores: str, part: np.ndarray, kind: np.dtype) -> str:
    """np.interp of one column of scores (n, 1) between the points of an isotonic regression."""
    add = nodes.add
    number = lambda value: nodes.constant(np.asarray(value, kind))
    points, values = part.astype(kind)
    steps = np.diff(points)
    slopes = np.divide(np.diff(values), steps, out=np.zeros_like(steps), where=steps > 0)
    scores = add("Max", add("Min", scores, number(points[-1])), number(points[0]))
    before = add("Where", add("Less", scores, number(points)), number(0), number(1))  # (n, points)
    last = nodes.constant(np.array([-1]))
    place = add("Sub", add("ReduceSum", before, last, keepdims=1), number(1))
    place = add("Cast", place, to=7)  # int64
    of = lambda table: add("Gather", number(table), place, axis=0)
    return add("Add", of(values), add("Mul", add("Sub", scores, of(points)), of(np.append(slopes, 0))))
