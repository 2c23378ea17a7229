"""LIBSVM's model files: written from any classifier or regressor with one of its kernels, and read."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pegasos.container.schema import ModelFormatError
from pegasos.export import text
from pegasos.export.described import Described, described, refuse_many_labels
from pegasos.export.pairs import as_pairs
from pegasos.kernels import make_kernel
from pegasos.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM, state

KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}
TYPES: dict[str, Any] = {
    "c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR,
}  # fmt: skip
CLASSIFIERS = ("c_svc", "nu_svc")
KNOWN = tuple(
    b"svm_type kernel_type degree gamma coef0 nr_class total_sv rho label probA probB prob_density_marks nr_sv".split()
)
MOST_CLASSES = 20_000  # more pairs than fit into a line
SHARE_FOR_DENSE = 0.25  # of the entries stored at which support vectors become a dense array


# --- writing --------------------------------------------------------------------------------------------------------


def save_libsvm(model, path: str | os.PathLike) -> None:
    """Write a fitted model as a file that LIBSVM's ``svm-predict`` reads.

    Classifiers of one-vs-rest scores become the differences of these scores, pair by pair: LIBSVM's votes then choose
    the class of the largest score. Not held: labels that are no integers, names of features, parameters of the fit;
    probabilities of ``loss="log_loss"``; and in one-vs-one of `PegasosClassifier` the confidences that break ties of
    votes, which LIBSVM gives to the class that comes first.

    Parameters
    ----------
    model : PegasosClassifier, PegasosRegressor, PegasosSearchCV, or a machine of `pegasos.svm`
        With a kernel of LIBSVM: "linear", "poly", "rbf", "sigmoid" or "precomputed".
    path : str or path-like
    """
    text.write_lines(path, libsvm_lines(described(model)))


def libsvm_lines(model: Described) -> Iterator[str]:
    """The lines of the file of a model."""
    kernel = model.kernel
    if kernel.name not in KERNELS:
        raise ValueError(f"LIBSVM has no kernel {kernel.name!r}; its kernels are {', '.join(KERNELS)}.")
    if kernel.name == "poly" and getattr(kernel, "degree", 0) != int(getattr(kernel, "degree", 0)):
        raise ValueError("LIBSVM's degrees are integers.")
    refuse_many_labels(model, "A LIBSVM file holds")
    if model.classes is None:
        return _lines_of_one(model)
    return _lines_of_pairs(model)


def _head(kind: str, model: Described) -> Iterator[str]:
    kernel: Any = model.kernel
    yield f"svm_type {kind}"
    yield f"kernel_type {KERNELS[kernel.name]}"
    if kernel.name == "poly":
        yield f"degree {int(kernel.degree)}"
    if kernel.uses("gamma"):
        yield f"gamma {_text(kernel.gamma)}"
    if kernel.uses("coef0"):
        yield f"coef0 {_text(kernel.coef0)}"


def _lines_of_one(model: Described) -> Iterator[str]:
    """Regression, or detection of outliers."""
    if model.n_columns != 1:
        raise ValueError(f"A LIBSVM file holds one target; this model has {model.n_columns}.")
    kinds = {"NuSVR": "nu_svr", "OneClassSVM": "one_class"}
    yield from _head(kinds.get(model.name, "epsilon_svr"), model)
    coefficients, vectors = model.coefficients, model.vectors
    if model.weights is not None:
        coefficients, vectors = np.ones((1, 1)), model.weights
    assert coefficients is not None
    yield "nr_class 2"
    yield f"total_sv {coefficients.shape[1]}"
    yield f"rho {_text(-model.intercept[0])}"
    yield "SV"
    yield from _support_lines(coefficients, vectors, model.support)


def _lines_of_pairs(model: Described) -> Iterator[str]:
    pairs = as_pairs(model)
    labels = text.integer_labels(pairs.classes, "LIBSVM")
    yield from _head("nu_svc" if model.name == "NuSVC" else "c_svc", model)
    yield f"nr_class {len(labels)}"
    yield f"total_sv {pairs.coefficients.shape[1]}"
    yield f"rho {_texts(-pairs.intercept)}"
    yield f"label {' '.join(map(str, labels))}"
    if model.sigmoids is not None:
        yield f"probA {_texts(model.sigmoids[0])}"
        yield f"probB {_texts(model.sigmoids[1])}"
    yield f"nr_sv {' '.join(map(str, pairs.counts.tolist()))}"
    yield "SV"
    yield from _support_lines(pairs.coefficients, pairs.vectors, pairs.support)


def _support_lines(coefficients: np.ndarray, vectors, support) -> Iterator[str]:
    for number, of_row in enumerate(coefficients.T):
        if vectors is None:
            yield f"{_texts(of_row)} 0:{int(support[number]) + 1}"
            continue
        row: Any = vectors[[number]]
        row = row if hasattr(row, "indptr") else csr_array(row)
        entries = (f"{place + 1}:{_text(value)}" for place, value in zip(row.indices.tolist(), row.data))
        yield " ".join((_texts(of_row), *entries))


def _text(value) -> str:
    """A number in as few digits as give it back."""
    return repr(float(value) + 0.0)


def _texts(values) -> str:
    return " ".join(map(_text, values))


# --- reading --------------------------------------------------------------------------------------------------------


class ReadSupport(NamedTuple):
    """The second part of a file."""

    coefficients: np.ndarray  # (n_columns, n_support)
    indices: np.ndarray
    values: np.ndarray
    ends: np.ndarray


def load_libsvm(path: str | os.PathLike, *, n_features: int | None = None, sparse: bool | None = None):
    """Read a model that LIBSVM's ``svm-train``, or `save_libsvm`, wrote.

    Everything is checked before it is used: a file of unknown origin does no harm. Labels of more than two classes
    stay in the order of the file, which decides where votes are equal. A file says nothing of C, nu, epsilon, weights,
    rows of training or the certificate: parameters have their defaults, `support_` counts the support vectors.

    Parameters
    ----------
    path : str or path-like
    n_features : int, default=None
        Features of the rows to predict; None: the highest index among the support vectors. For a precomputed kernel
        rows of training.
    sparse : bool, default=None
        Whether support vectors are sparse: such a model takes sparse rows, too, and is slower. None: where three
        quarters of their entries are 0 or more.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM of `pegasos.svm`

    Raises
    ------
    ModelFormatError
        The file is no model file of LIBSVM, or is damaged.
    """
    return text.read_model(path, "LIBSVM", lambda lines: _read(lines, n_features, sparse))


def _read(lines: Iterator[bytes], n_features: int | None, sparse: bool | None):
    header = text.read_header(lines, b"SV", KNOWN)
    kind = text.take_one_of(header, "svm_type", TYPES)
    model = TYPES[kind]()
    kernel, parameters = _kernel(header)
    model.set_params(**parameters)
    n_classes = text.integer(text.take(header, "nr_class", 1)[0], "nr_class", 2, MOST_CLASSES)
    if kind not in CLASSIFIERS and n_classes != 2:
        raise ModelFormatError(f"nr_class of {kind} is not 2")
    n_pairs = n_classes * (n_classes - 1) // 2
    arrays = {"intercept_": -np.array(text.numbers(text.take(header, "rho", n_pairs), "rho"))}
    total = text.integer(text.take(header, "total_sv", 1)[0], "total_sv", 0)
    arrays["n_support_"] = np.array([total], np.int64)
    if kind in CLASSIFIERS:
        model.classes_ = text.take_labels(header, n_classes)
        arrays["n_support_"] = np.array(text.integers(text.take(header, "nr_sv", n_classes), "nr_sv", 0), np.int64)
        arrays["class_weight_"] = np.ones(n_classes)
        arrays |= _sigmoids(header, n_pairs)
        if "probA_" in arrays:
            model.set_params(probability=True)
    if arrays["n_support_"].sum() != total:
        raise ModelFormatError("nr_sv does not add up to total_sv")
    rows = _support_rows(lines, total, n_classes - 1, kernel.is_precomputed)
    arrays["dual_coef_"] = rows.coefficients
    return _restored(model, kernel, arrays, rows, n_features, sparse)


def _kernel(header) -> tuple[Any, dict[str, Any]]:
    """The kernel, and the parameters of the estimator that say so."""
    names = {theirs: ours for ours, theirs in KERNELS.items()}
    name = names[text.take_one_of(header, "kernel_type", names)]
    parameters: dict[str, Any] = {}
    if name == "poly":
        parameters["degree"] = text.integer(text.take(header, "degree", 1)[0], "degree", 0)
    if name in ("poly", "rbf", "sigmoid"):
        parameters["gamma"] = text.number(text.take(header, "gamma", 1)[0], "gamma")
        if parameters["gamma"] < 0:
            raise ModelFormatError("gamma is negative")
    if name in ("poly", "sigmoid"):
        parameters["coef0"] = text.number(text.take(header, "coef0", 1)[0], "coef0")
    return make_kernel(name, **parameters), {"kernel": name} | parameters


def _sigmoids(header, n_pairs: int) -> dict[str, np.ndarray]:
    if b"probA" not in header and b"probB" not in header:
        return {}
    return {f"{name}_": np.array(text.numbers(text.take(header, name, n_pairs), name)) for name in ("probA", "probB")}


def _support_rows(lines: Iterator[bytes], total: int, n_columns: int, precomputed: bool) -> ReadSupport:
    coefficients, indices, values, ends = array("d"), array("i"), array("d"), array("q", [0])
    for line in lines:
        if len(ends) > total:
            raise ModelFormatError(f"it has more than the {total} support vectors of total_sv")
        words = line.split()
        if len(words) < n_columns:
            raise ModelFormatError(f"a support vector has {len(words)} coefficients, not {n_columns}")
        coefficients.extend(text.numbers(words[:n_columns], "a coefficient"))
        last = -1 if precomputed else 0
        for word in words[n_columns:]:
            index, colon, value = word.partition(b":")
            place = text.integer(index, "an index", 0)
            if not colon or place <= last:
                raise ModelFormatError(f"an entry is not index:value, or out of order: {text.shown(word)}")
            last = place
            indices.append(place)
            values.append(text.number(value, "a value"))
        ends.append(len(indices))
    if len(ends) != total + 1:
        raise ModelFormatError(f"it has {len(ends) - 1} support vectors, not the {total} of total_sv")
    by_row = np.frombuffer(coefficients, np.float64) if coefficients else np.zeros(0)
    table = np.ascontiguousarray(by_row.reshape(total, n_columns).T)
    as_array = lambda found, kind: np.array(found, kind)
    return ReadSupport(table, as_array(indices, np.int32), as_array(values, np.float64), as_array(ends, np.int64))


def _restored(model, kernel, arrays: dict, rows: ReadSupport, n_features: int | None, sparse: bool | None):
    total = rows.coefficients.shape[1]
    support: Any = np.arange(total)
    if kernel.is_precomputed:
        support = _places(rows, total)
        highest, vectors = int(support.max(initial=0)) + 1, np.empty((0, 0))
    else:
        highest = int(rows.indices.max(initial=1))
    if n_features is not None and n_features < highest:
        raise ValueError(f"n_features={n_features}: the file has a support vector with the index {highest}.")
    width = highest if n_features is None else int(n_features)
    if not kernel.is_precomputed:
        vectors = csr_array((rows.values, rows.indices - 1, rows.ends.astype(np.int32)), shape=(total, width))
        if sparse is False or (sparse is None and vectors.nnz >= SHARE_FOR_DENSE * total * width):
            vectors = vectors.toarray()
    if len(getattr(model, "classes_", ())) == 2:  # scikit-learn's signs: the second class is positive
        if model.classes_[0] > model.classes_[1]:
            order = np.roll(np.arange(total), -arrays["n_support_"][0])
            support, vectors = support[order], vectors if kernel.is_precomputed else vectors[order]
            arrays["dual_coef_"] = arrays["dual_coef_"][:, order]
            _turn(model, arrays)
        arrays["intercept_"], arrays["dual_coef_"] = -arrays["intercept_"], -arrays["dual_coef_"]
    arrays |= {"support_": support.astype(np.int32), "n_iter_": np.zeros(len(arrays["intercept_"]), np.int64)}
    arrays["n_support_"] = arrays["n_support_"].astype(np.int32)
    model.n_features_in_ = width
    shape = (width if kernel.is_precomputed else max(total, 1), width)
    state.restore(model, state.FittedMachine(kernel, vectors, shape, None, arrays))
    return model


def _places(rows: ReadSupport, total: int) -> np.ndarray:
    """The training rows that support vectors of a precomputed kernel are: each is the one entry 0:number."""
    wanted = len(rows.indices) == total and (np.diff(rows.ends) == 1).all() and not rows.indices.any()
    places = rows.values - 1
    if not wanted or ((places < 0) | (places != np.floor(places)) | (places >= 2**31 - 1)).any():
        raise ModelFormatError("a support vector of the precomputed kernel is not the number of a training row")
    if len(np.unique(places)) != total:
        raise ModelFormatError("a training row is twice among the support vectors")
    return places.astype(np.int32)


def _turn(model, arrays: dict) -> None:
    """Sort two classes; LIBSVM's signs change with them."""
    model.classes_ = model.classes_[::-1].copy()
    for name in ("intercept_", "dual_coef_"):
        arrays[name] = -arrays[name]
    arrays["n_support_"] = arrays["n_support_"][::-1].copy()
    if "probA_" in arrays:  # P(first) = 1 / (1 + exp(A f + B))
        arrays["probB_"] = -arrays["probB_"]
