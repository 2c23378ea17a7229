"""LIBSVM text: `label index:value …`, one sparse row a line. Comments, `qid:` and blank lines are skipped."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import csr_matrix

from pegasos.io import plain
from pegasos.io.base import DataError, Dataset, Wish, check_no_label_choice
from pegasos.io.labels import labels_from_text, whole_if_possible
from pegasos.io.text import Text, is_large


def read_libsvm(text: Text, wish: Wish) -> Dataset:
    """The Dataset in a LIBSVM file; indices count from 1, or from 0 if a 0 occurs."""
    check_no_label_choice(text.name, wish, "in a LIBSVM file it is the first entry of each line")
    pairs = _parsed(text)
    y = _labels(text, pairs.labels, wish)
    first = _first_index(text, pairs.indices, wish)
    X = _matrix(text, pairs, first, wish)
    return Dataset(text.name, X, y, format="libsvm", first_index=first)


def _parsed(text: Text) -> plain.Pairs:
    if is_large(len(text.data)):
        from pegasos.io import fast

        pairs = fast.pairs(text)
        if pairs is not None:
            return pairs
    return plain.pairs(text)


def _labels(text: Text, labels: list[str | None] | np.ndarray, wish: Wish) -> np.ndarray | None:
    """Labels of all rows or of none."""
    if isinstance(labels, np.ndarray):
        return whole_if_possible(labels)
    tokens = [label for label in labels if label is not None]
    if not tokens:
        return None
    if len(tokens) < len(labels):
        first = labels[0] is not None
        strange = next(row for row, label in enumerate(labels) if (label is not None) != first)
        have = "no label, but the rows before have one" if first else "a label, but the rows before have none"
        raise DataError(f"{text.in_line(text.row_position(strange))}, the row has {have}.")
    return labels_from_text(tokens, lambda row: text.in_line(text.row_position(row)), optional=bool(wish.width))


def _matrix(text: Text, pairs: plain.Pairs, first: int, wish: Wish) -> csr_matrix:
    values, indices = pairs.values, pairs.indices
    indptr = np.concatenate([[0], np.cumsum(pairs.lengths)])
    indices -= np.int32(first)
    width = int(indices.max()) + 1 if indices.size else 0
    if wish.width is not None:
        if width > wish.width:
            values, indices, indptr = _without_unseen(text, values, indices, indptr, wish.width)
        width = wish.width
    elif width == 0:
        raise DataError(f"{text.name} holds no entries index:value, so its rows have no features.")
    X = csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, width))
    if not pairs.rising:
        _order(text, X)
    X.has_canonical_format = True  # known, and not worth another look
    return X


def _first_index(text: Text, indices: np.ndarray, wish: Wish) -> int:
    """Whether features count from 0 or from 1: as in the training file, else from 1 unless a 0 occurs."""
    lowest = int(indices.min()) if indices.size else 1
    if wish.first_index == 1 and lowest == 0:
        raise DataError(f"{text.name} has a feature 0, but the features of the training file count from 1.")
    return min(lowest, 1) if wish.first_index is None else wish.first_index


def _without_unseen(text: Text, values, indices, indptr, width: int):
    """Entries of features that a model has not seen have no weight in it."""
    seen = indices < width
    n_unseen = len(np.unique(indices[~seen]))
    warnings.warn(
        f"{text.name} has {n_unseen} {'feature' if n_unseen == 1 else 'features'} beyond the {width} of the model; "
        "unseen in training, they have weight 0 and are left out.",
        UserWarning,
        stacklevel=2,
    )
    kept = np.concatenate([[0], np.cumsum(seen)])
    return values[seen], indices[seen], kept[indptr]


def _order(text: Text, X: csr_matrix) -> None:
    """Sort the entries of each row; a feature that comes twice in a row is an error."""
    X.sort_indices()
    within = np.ones(max(X.nnz - 1, 0), dtype=bool)
    ends = X.indptr[1:-1]
    within[ends[(ends > 0) & (ends < X.nnz)] - 1] = False  # there the next row begins
    twice = np.flatnonzero(within & (np.diff(X.indices) == 0))
    if twice.size:
        row = int(np.searchsorted(X.indptr, twice[0], side="right")) - 1
        raise DataError(f"{text.in_line(text.row_position(row))}, a feature comes twice.")
