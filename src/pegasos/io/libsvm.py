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
    pairs = parsed(text)
    y = labels_of(text, pairs, optional=bool(wish.width))
    first = first_index_of(text, pairs.indices, wish.first_index)
    width = wish.width
    if width is None:
        width = int(pairs.indices.max()) - first + 1 if pairs.indices.size else 0
        if width == 0:
            raise DataError(f"{text.name} holds no entries index:value, so its rows have no features.")
    X, unseen = matrix(text, pairs, first, width)
    if unseen.size:
        warn_unseen(text.name, unseen, width)
    return Dataset(text.name, X, y, format="libsvm", first_index=first)


def parsed(text: Text, words: bool = False) -> plain.Pairs:
    """The entries of all rows; labels are text if they are to be `words`."""
    if is_large(len(text.data)):
        from pegasos.io import fast

        pairs = fast.pairs(text, words)
        if pairs is not None:
            return pairs
    return plain.pairs(text)


def labels_of(text: Text, pairs: plain.Pairs, *, optional: bool, words: bool = False) -> np.ndarray | None:
    """Labels of all rows or of none."""
    labels = pairs.labels
    if isinstance(labels, np.ndarray):
        return whole_if_possible(labels)
    tokens = [label for label in labels if label is not None]
    if not tokens:
        return None
    if len(tokens) < len(labels):
        first = labels[0] is not None
        strange = next(row for row, label in enumerate(labels) if (label is not None) != first)
        raise some_without_label(text, strange, first)
    place = lambda row: text.in_line(text.row_position(row))
    return labels_from_text(tokens, place, optional=optional, words=words)


def some_without_label(text: Text, row: int, before: bool) -> DataError:
    """The error for a row without a label where those `before` have one, or the other way round."""
    have = "no label, but the rows before have one" if before else "a label, but the rows before have none"
    return DataError(f"{text.in_line(text.row_position(row))}, the row has {have}.")


def matrix(text: Text, pairs: plain.Pairs, first: int, width: int) -> tuple[csr_matrix, np.ndarray]:
    """Rows of so many features, which count from `first`, and the features beyond that were left out."""
    values, indices = pairs.values, pairs.indices
    indptr = np.concatenate([[0], np.cumsum(pairs.lengths)])
    indices -= np.int32(first)
    unseen = np.empty(0, indices.dtype)
    if indices.size and int(indices.max()) >= width:  # features that a model has not seen have no weight in it
        seen = indices < width
        unseen = np.unique(indices[~seen])
        kept = np.concatenate([[0], np.cumsum(seen)])
        values, indices, indptr = values[seen], indices[seen], kept[indptr]
    X = csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, width))
    if not pairs.rising:
        _order(text, X)
    X.has_canonical_format = True  # known, and not worth another look
    return X, unseen


def warn_unseen(name: str, unseen: np.ndarray, width: int) -> None:
    """Warn of features beyond those of the model."""
    warnings.warn(
        f"{name} has {len(unseen)} {'feature' if len(unseen) == 1 else 'features'} beyond the {width} of the model; "
        "unseen in training, they have weight 0 and are left out.",
        UserWarning,
        stacklevel=2,
    )


def first_index_of(text: Text, indices: np.ndarray, known: int | None) -> int:
    """Whether features count from 0 or from 1: as in the training file, else from 1 unless a 0 occurs."""
    lowest = int(indices.min()) if indices.size else 1
    if known == 1 and lowest == 0:
        raise DataError(f"{text.name} has a feature 0, but the features of the training file count from 1.")
    return min(lowest, 1) if known is None else known


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
