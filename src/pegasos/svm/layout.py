"""LIBSVM's layout of pairwise classifiers.

Support vectors are in the order of their classes. The pair (i, j), i < j, has the coefficients of class i in row j - 1
of `dual_coef_`, those of class j in row i; its score is positive where class i is the more likely one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse, vstack
from sklearn.utils.extmath import safe_sparse_dot

from pegasos.svm.formulations import RowModel

MANY_CLASSES = 64  # from which a matrix of all pairs and classes is too large
FEW_CLASSES = 12  # products with the coefficients of all pairs then take less than a product for each class


class Support(NamedTuple):
    """The rows that have a coefficient, how many there are of each class, and the coefficients."""

    rows: np.ndarray
    counts: np.ndarray
    coefficients: np.ndarray  # (n_classes - 1, n_support)


def pairs(n_classes: int) -> Iterator[tuple[int, int, int]]:
    """The number of each pair and its two classes."""
    for number, (first, second) in enumerate(combinations(range(n_classes), 2)):
        yield number, first, second


def of_pairs(models: list[RowModel], codes: np.ndarray, n_classes: int) -> Support:
    """The classifiers of all pairs together; `codes` are the classes of the rows."""
    values = np.zeros((n_classes - 1, len(codes)))
    for number, first, second in pairs(n_classes):
        rows, coefficients = models[number].rows, models[number].coefficients
        own = codes[rows] == first
        values[second - 1, rows[own]] = coefficients[own]
        values[first, rows[~own]] = coefficients[~own]
    support = np.flatnonzero(values.any(axis=0))
    support = support[np.argsort(codes[support], kind="stable")]
    counts = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
    return Support(support.astype(np.int32), counts, np.ascontiguousarray(values[:, support]))


def of_one(model: RowModel) -> Support:
    """One model, which knows no classes."""
    kept = np.flatnonzero(model.coefficients)
    kept = kept[np.argsort(model.rows[kept], kind="stable")]
    counts = np.array([len(kept)], np.int32)
    return Support(model.rows[kept].astype(np.int32), counts, model.coefficients[None, kept])


def as_sparse(values: np.ndarray, like) -> csr_array | csr_matrix:
    """Coefficients as a CSR matrix of the kind of the rows, zeros among them stored."""
    kind = csr_array if isinstance(like, csr_array) else csr_matrix
    if not values.shape[1]:
        return kind((len(values), 0), dtype=values.dtype)
    indices = np.tile(np.arange(values.shape[1], dtype=np.int32), len(values))
    return kind((values.ravel(), indices, np.arange(len(values) + 1) * values.shape[1]), shape=values.shape)


def pair_scores(
    scores_of: Callable[[slice, Any], Any], counts: np.ndarray, dual_coef: np.ndarray, intercept
) -> np.ndarray:
    """Scores of the pairs.

    Parameters
    ----------
    scores_of : callable
        ``scores_of(some, coefficients)`` gives ``K(X, support vectors[some]) @ coefficients``; without coefficients the
        kernel values of few rows, or None where there are too many.
    counts : ndarray of int, shape (n_classes,)
    dual_coef : ndarray of shape (n_classes - 1, n_support)
    intercept : ndarray of shape (n_pairs,)
    """
    ends = np.concatenate([[0], np.cumsum(counts)])
    if len(counts) == 2:
        return scores_of(slice(None), dual_coef.T) + intercept
    if counts.min() > 0 and (values := scores_of(slice(None), None)) is not None:
        found = np.add.reduceat(values[:, None, :] * dual_coef, ends[:-1], axis=2)  # (n, n_classes - 1, n_classes)
        first, second = _ends_of_pairs(len(counts))
        return found[:, second - 1, first] + found[:, first, second] + intercept
    if len(counts) <= FEW_CLASSES:
        return scores_of(slice(None), _by_pair(dual_coef, ends)) + intercept
    by_class = []
    for first, last in pairwise(ends):
        by_class.append(scores_of(slice(first, last), dual_coef[:, first:last].T))
    columns = [by_class[i][:, j - 1] + by_class[j][:, i] for _, i, j in pairs(len(counts))]
    return np.stack(columns, axis=1) + intercept


def _by_pair(dual_coef: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The coefficients (n_support, n_pairs) of all pairs, most of them 0."""
    n_classes = len(ends) - 1
    found = np.zeros((dual_coef.shape[1], n_classes * (n_classes - 1) // 2))
    for number, i, j in pairs(n_classes):
        for row, own in ((j - 1, i), (i, j)):
            some = slice(ends[own], ends[own + 1])
            found[some, number] = dual_coef[row, some]
    return found


def votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """The class that wins the most pairs; the first of several."""
    if 2 < n_classes <= MANY_CLASSES:
        gains, least = _votes_of_pairs(n_classes)
        return ((scores > 0) @ gains + least).argmax(axis=1)
    found = np.zeros((len(scores), n_classes), np.intp)
    for number, first, second in pairs(n_classes):
        wins = scores[:, number] > 0
        found[:, first] += wins
        found[:, second] += ~wins
    return found.argmax(axis=1)


@lru_cache(maxsize=16)
def _votes_of_pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """What each pair adds to the votes (n_pairs, n_classes) where its first class wins, to those where none does."""
    first, second = _ends_of_pairs(n_classes)
    classes = np.eye(n_classes)
    return classes[first] - classes[second], np.arange(n_classes, dtype=float)


@lru_cache(maxsize=16)
def _ends_of_pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The first class of each pair, and the second."""
    return np.triu_indices(n_classes, 1)


def pair_weights(dual_coef, counts: np.ndarray, support_vectors):
    """Weights of the features in each pair of a linear kernel, sparse where the support vectors are."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    of = [slice(first, last) for first, last in pairwise(ends)]
    found = []
    for _, i, j in pairs(len(counts)):
        first = safe_sparse_dot(dual_coef[[j - 1], of[i]], support_vectors[of[i]])
        second = safe_sparse_dot(dual_coef[[i], of[j]], support_vectors[of[j]])
        found.append(first + second)
    return vstack(found, format="csr") if issparse(found[0]) else np.vstack(found)


def of_each_pair(dual_coef: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Coefficients of all support vectors in each pair, shape (n_pairs, n_support)."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    of = [slice(first, last) for first, last in pairwise(ends)]
    found = np.zeros((len(counts) * (len(counts) - 1) // 2, dual_coef.shape[1]))
    for number, i, j in pairs(len(counts)):
        found[number, of[i]] = dual_coef[j - 1, of[i]]
        found[number, of[j]] = dual_coef[i, of[j]]
    return found


def of_all_pairs(coefficients: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The layout (n_classes - 1, n_support) of coefficients of each pair, as `of_each_pair` gives them."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    of = [slice(first, last) for first, last in pairwise(ends)]
    found = np.zeros((len(counts) - 1, coefficients.shape[1]))
    for number, i, j in pairs(len(counts)):
        found[j - 1, of[i]] = coefficients[number, of[i]]
        found[i, of[j]] = coefficients[number, of[j]]
    return found
