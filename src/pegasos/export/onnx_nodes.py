"""A model as operators of ONNX, for a graph of its own or for one that skl2onnx makes of a pipeline.

Only operators that onnxruntime has for float and double are used, and of them those that are written the same from
operator set 13 on. Scores are computed in the type of the model; rows of another type are cast first.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pegasos.export.described import Described
from pegasos.export.onnx_calibration import emit_calibrated
from pegasos.problem.columns import ROUNDING
from pegasos.svm import layout

LOWEST_OPSET = 13
KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")


class Nodes(Protocol):
    """Where operators go."""

    def add(self, kind: str, *inputs: str, **attributes) -> str:
        """Add an operator; the name of its output."""

    def constant(self, value: np.ndarray) -> str:
        """Add a constant; its name."""


def check_exportable(model: Described) -> None:
    """Raise ValueError for what has no operators."""
    if model.kernel.name not in KERNELS:
        raise ValueError(f"ONNX export has no kernel {model.kernel.name!r}; it has {', '.join(KERNELS)}.")
    label_type(model)


def label_type(model: Described) -> np.dtype:
    """The type of the output "label"."""
    if model.classes is None or model.scheme == "multilabel":
        return np.dtype(np.int64)
    return label_array(model.classes).dtype


def label_array(classes: np.ndarray) -> np.ndarray:
    """Class labels as a tensor: of integers, numbers, truth values or strings."""
    kind = classes.dtype.kind
    if kind == "b":
        return classes
    if kind in "iu":
        if classes.max() > np.iinfo(np.int64).max:
            raise ValueError("ONNX export has labels up to 2^63 - 1.")
        return classes.astype(np.int64)
    if kind == "f":
        return classes.astype(np.float64)
    if kind == "U" or (kind == "O" and all(isinstance(one, str) for one in classes)):
        return classes.astype(object)
    raise ValueError(f"ONNX export has labels that are numbers, truth values or strings; got {classes.dtype}.")


def compute_type(model: Described) -> np.dtype:
    """The type that scores are computed in."""
    return np.dtype(np.float32 if model.intercept.dtype == np.float32 else np.float64)


def emit(model: Described, nodes: Nodes, rows: str, given: np.dtype) -> dict[str, str]:
    """Add the operators of a model to the graph.

    Parameters
    ----------
    model : Described
    nodes : Nodes
    rows : str
        Name of the rows.
    given : dtype
        Their type, which is the type of scores, too.

    Returns
    -------
    dict
        Names of the outputs: "label", "scores" and "probabilities" as far as there are such, or "predictions".
    """
    check_exportable(model)
    graph = _Emitter(model, nodes, given)
    scores = graph.scores(rows)
    if model.scheme == "values":
        return {"predictions": graph.result(graph.flat(scores) if model.flat else scores)}
    if model.scheme == "outliers":
        flat = graph.flat(scores)
        signs = nodes.constant(np.array([-1, 1], np.int64))
        label = nodes.add("Gather", signs, graph.cast(graph.positive(flat), np.int64), axis=0)
        return {"label": label, "scores": graph.result(flat)}
    if model.scheme == "multilabel":
        found = {"label": graph.cast(graph.positive(scores), np.int64), "scores": graph.result(scores)}
        return found | ({"probabilities": graph.result(graph.shared_odds(scores))} if model.logistic else {})
    places, decisions, chances = graph.decided(scores)
    if model.calibration is not None:
        n_classes = len(np.asarray(model.classes))
        columns = decisions if n_classes > 2 else graph.column(decisions)
        chances = emit_calibrated(model.calibration, nodes, columns, n_classes, graph.type)
    names = nodes.constant(label_array(np.asarray(model.classes)))
    found = {"label": nodes.add("Gather", names, places, axis=0), "scores": graph.result(decisions)}
    if chances is not None:
        found["probabilities"] = graph.result(chances)
    return found


class _Emitter:
    """Operators of one model."""

    def __init__(self, model: Described, nodes: Nodes, given: np.dtype):
        self.model, self.nodes, self.given, self.type = model, nodes, np.dtype(given), compute_type(model)

    def cast(self, name: str, kind) -> str:
        import onnx

        return self.nodes.add("Cast", name, to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def number(self, value) -> str:
        """A constant in the type of the model."""
        return self.nodes.constant(np.asarray(value, self.type))

    def result(self, name: str) -> str:
        """What goes out, in the type that came in."""
        return name if self.given == self.type else self.cast(name, self.given)

    def flat(self, name: str) -> str:
        """One column as an array of one dimension."""
        return self.nodes.add("Reshape", name, self.nodes.constant(np.array([-1], np.int64)))

    def column(self, name: str) -> str:
        """An array of one dimension as one column."""
        return self.nodes.add("Reshape", name, self.nodes.constant(np.array([-1, 1], np.int64)))

    def positive(self, name: str) -> str:
        return self.nodes.add("Greater", name, self.number(0))

    # --- scores -----------------------------------------------------------------------------------------------------

    def scores(self, rows: str) -> str:
        """Scores of all columns, (n, P)."""
        model, add = self.model, self.nodes.add
        if self.given != self.type:
            rows = self.cast(rows, self.type)
        if model.weights is not None:
            return add("Add", add("MatMul", rows, self.number(model.weights.T)), self.number(model.intercept))
        coefficients: Any = model.coefficients
        if not coefficients.shape[1]:  # no support vectors: the intercept, once for each row
            zeros = np.zeros((model.n_features, model.n_columns))
            return add("Add", add("MatMul", rows, self.number(zeros)), self.number(model.intercept))
        values = self.kernel_values(rows)
        return add("Add", add("MatMul", values, self.number(coefficients.T)), self.number(model.intercept))

    def kernel_values(self, rows: str) -> str:
        """K(rows, support vectors)."""
        kernel, add = self.model.kernel, self.nodes.add
        if kernel.is_precomputed:
            places: Any = self.model.support
            return add("Gather", rows, self.nodes.constant(places.astype(np.int64)), axis=1)
        vectors: Any = self.model.vectors
        vectors = np.asarray(vectors.toarray() if hasattr(vectors, "indptr") else vectors, self.type)
        products = add("MatMul", rows, self.number(vectors.T))
        if kernel.is_linear:
            return products
        parameters: Any = kernel
        if kernel.name == "rbf":  # |x|² + |z|² - 2 x·z; rounding must not make it negative
            of_rows = add("MatMul", add("Mul", rows, rows), self.number(np.ones((vectors.shape[1], 1))))
            squares = add("Add", of_rows, self.number((vectors * vectors).sum(axis=1)))
            distances = add("Sub", squares, add("Mul", products, self.number(2)))
            distances = add("Max", distances, self.number(0))
            return add("Exp", add("Mul", distances, self.number(-parameters.gamma)))
        shifted = add("Add", add("Mul", products, self.number(parameters.gamma)), self.number(parameters.coef0))
        return add("Tanh", shifted) if kernel.name == "sigmoid" else add("Pow", shifted, self.number(parameters.degree))

    # --- classes ----------------------------------------------------------------------------------------------------

    def decided(self, scores: str) -> tuple[str, str, str | None]:
        """Places of the classes, decision values, and probabilities if there are."""
        model, add = self.model, self.nodes.add
        if len(np.asarray(model.classes)) == 2:
            return self.of_two(scores)
        if model.scheme == "ovo":
            decisions = self.confident_votes(scores)
            return self.largest(decisions), decisions, None
        if model.scheme == "pairs":
            decisions = scores
            if model.decision_function_shape == "ovr" or model.break_ties:
                decisions = self.confident_votes(add("Neg", scores))
            places = self.largest(decisions if model.break_ties else self.votes(add("Not", self.positive(scores))))
            return places, decisions if model.decision_function_shape == "ovr" else scores, None
        if model.scheme == "crammer_singer" and model.name.startswith("Pegasos"):
            return self.largest(self.cast(self.near_the_largest(scores), self.type)), scores, None
        chances = None
        if model.logistic:
            chances = self.shared_odds(scores)
        return self.largest(scores), scores, chances

    def of_two(self, scores: str) -> tuple[str, str, str | None]:
        """Two classes: scores (n,), positive for the later one."""
        model, add = self.model, self.nodes.add
        if model.scheme == "crammer_singer":
            scores = add("MatMul", scores, self.number([[-1.0], [1.0]]))
        scores = self.flat(scores)
        if model.scheme == "pairs":  # of which the first is LIBSVM's positive one; a score of 0 is the later one's
            places = self.cast(add("Not", self.positive(scores)), np.int64)
            decisions = add("Neg", scores)
        else:
            places, decisions = self.cast(self.positive(scores), np.int64), scores
        later = None
        if model.sigmoids is not None:
            slope, constant = (self.number(values[0]) for values in model.sigmoids)
            later = add("Sigmoid", add("Add", add("Mul", scores, slope), constant))
        elif model.logistic:
            later = add("Sigmoid", decisions)
        if later is None:
            return places, decisions, None
        column = self.column(later)
        return places, decisions, add("Concat", add("Sub", self.number(1), column), column, axis=1)

    def shared_odds(self, scores: str) -> str:
        """The logistic functions of a row's scores, made to sum to 1."""
        return self.nodes.add("Softmax", self.log_sigmoid(scores), axis=-1)

    def log_sigmoid(self, scores: str) -> str:
        """min(s, 0) - log(1 + exp(-|s|)); onnxruntime's Softplus knows no double."""
        add = self.nodes.add
        tail = add("Log", add("Add", add("Exp", add("Neg", add("Abs", scores))), self.number(1)))
        return add("Sub", add("Min", scores, self.number(0)), tail)

    def largest(self, values: str) -> str:
        """Where each row is largest, the first of several places."""
        return self.nodes.add("ArgMax", values, axis=1, keepdims=0)

    def near_the_largest(self, scores: str) -> str:
        """Which scores of a row are the largest but for rounding, as Crammer and Singer's are compared."""
        add, one = self.nodes.add, self.nodes.constant(np.array([1], np.int64))
        widest = self.top(add("Abs", scores), one)
        share = np.finfo(self.type).eps ** ROUNDING
        least = add("Sub", self.top(scores, one), add("Mul", widest, self.number(share)))
        return add("Not", add("Less", scores, least))

    def top(self, values: str, one: str) -> str:
        return self.nodes.add("TopK", values, one, axis=1)

    def votes(self, later: str) -> str:
        """How many pairs each class wins; `later` says where the later one of the pair does."""
        first, second = self.ends_of_pairs()
        later = self.cast(later, self.type)
        add = self.nodes.add
        of_later = add("MatMul", later, self.number(second))
        return add("Add", of_later, add("MatMul", add("Sub", self.number(1), later), self.number(first)))

    def confident_votes(self, scores: str) -> str:
        """Votes with their ties broken by sums of scores, as scikit-learn does; positive for the later class."""
        first, second = self.ends_of_pairs()
        add = self.nodes.add
        sums = add("MatMul", scores, self.number(second - first))
        scaled = add("Mul", add("Add", add("Abs", sums), self.number(1)), self.number(3))
        return add("Add", self.votes(self.positive(scores)), add("Div", sums, scaled))

    def ends_of_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Which class is the first of each pair, and which the second, (n_pairs, n_classes)."""
        n_classes = len(np.asarray(self.model.classes))
        pairs = np.array([(i, j) for _, i, j in layout.pairs(n_classes)])
        first, second = (np.eye(n_classes)[pairs[:, which]] for which in (0, 1))
        return first, second
