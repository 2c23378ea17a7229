"""Any classifier as LIBSVM's: a score for each pair of classes, coefficients in its layout.

The pair (i, j), i < j, has the coefficients of the support vectors of class i in row j - 1, those of class j in row i.
One-vs-rest scores f are pairs, too, f_i - f_j: whoever wins all pairs has the largest score. A support vector that this
layout cannot hold once is there several times, under several classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pegasos.export.described import Described
from pegasos.svm import layout


class PairModel(NamedTuple):
    """A classifier in LIBSVM's layout; of two classes the first has positive scores."""

    classes: np.ndarray
    counts: np.ndarray  # support vectors of each class
    coefficients: np.ndarray  # (n_classes - 1, n_support)
    intercept: np.ndarray  # of each pair
    vectors: Any
    support: np.ndarray | None


def as_pairs(model: Described) -> PairModel:
    """The classifier in LIBSVM's layout."""
    classes: Any = model.classes
    n_classes, intercept = len(classes), model.intercept.astype(np.float64)
    if model.counts is not None:
        coefficients: Any = model.pair_coefficients
        return PairModel(classes, model.counts, coefficients, intercept, model.vectors, model.support)
    coefficients, vectors = _support_of(model)
    if model.scheme == "crammer_singer" and n_classes == 2:
        coefficients, intercept = coefficients[1:] - coefficients[:1], intercept[1:] - intercept[:1]
    if n_classes == 2:  # the later class first: its scores are positive, and a score of 0 is the other's
        counts = np.array([coefficients.shape[1], 0], np.int32)
        return PairModel(classes[::-1], counts, coefficients, intercept, vectors, model.support)
    if model.scheme == "ovo":
        places, found = _from_pairs(coefficients, n_classes)
        intercept = -intercept
    else:
        places, found = _from_classes(coefficients)
        intercept = np.array([intercept[i] - intercept[j] for _, i, j in layout.pairs(n_classes)])
    counts = np.array([len(some) for some in places], np.int32)
    order = np.concatenate(places)
    support = None if model.support is None else model.support[order]
    rows = None if vectors is None else vectors[order]
    return PairModel(classes, counts, np.ascontiguousarray(np.hstack(found)), intercept, rows, support)


def _support_of(model: Described) -> tuple[np.ndarray, Any]:
    """Coefficients and support vectors; the weights of a linear model are support vectors of coefficient 1."""
    if model.weights is None:
        coefficients: Any = model.coefficients
        return coefficients.astype(np.float64), model.vectors
    return np.eye(len(model.weights)), model.weights.astype(np.float64)


def _from_classes(coefficients: np.ndarray) -> tuple[list, list]:
    """Class by class its support vectors, and their coefficients in the pairs, from scores of each class."""
    places, found = [], []
    n_classes = len(coefficients)
    for number, own in enumerate(coefficients):
        some = np.flatnonzero(own)
        signs = np.where(np.arange(n_classes - 1) < number, -1.0, 1.0)  # it is the second of a pair, or the first
        places.append(some)
        found.append(signs[:, None] * own[some])
    return places, found


def _from_pairs(coefficients: np.ndarray, n_classes: int) -> tuple[list, list]:
    """The same from scores of pairs that are positive for the second class.

    A support vector is put under the class that all pairs have in common in which it has a coefficient, as it is after
    a fit of pairs; where there is none, under the first class of each of its pairs.
    """
    pairs = list(layout.pairs(n_classes))
    used = coefficients != 0
    of_class = np.zeros((n_classes, len(pairs)), bool)
    for number, i, j in pairs:
        of_class[i, number] = of_class[j, number] = True
    fits = np.array([~used[~own].any(axis=0) for own in of_class])  # (n_classes, n_support)
    home = np.where(fits.any(axis=0) & used.any(axis=0), fits.argmax(axis=0), -1)
    places, found = [], []
    for number in range(n_classes):
        values = np.zeros((n_classes - 1, coefficients.shape[1]))
        for pair, i, j in pairs:
            if i == number:
                values[j - 1] = np.where((home == i) | (home == -1), -coefficients[pair], 0.0)
            elif j == number:
                values[i] = np.where(home == j, -coefficients[pair], 0.0)
        some = np.flatnonzero(values.any(axis=0))
        places.append(some)
        found.append(values[:, some])
    return places, found
