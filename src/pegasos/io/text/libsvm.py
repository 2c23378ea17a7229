"""LIBSVM text: `label index:value …`, one sparse row a line. Comments, `qid:` and blank lines are skipped."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import csr_matrix

from pegasos.io.dataset import DataError
from pegasos.io.labels import labels_from_text, whole_if_possible
from pegasos.io.text import python_parser
from pegasos.io.text.lines import Text, is_large
from pegasos.io.text.python_parser import LibsvmEntries


def libsvm_entries(text: Text, text_labels: bool = False) -> LibsvmEntries:
    """The entries and labels of all rows; labels are text if they are to be `text_labels`."""
    if is_large(text):
        from pegasos.io.text import compiled_parser

        entries = compiled_parser.libsvm_entries(text, text_labels)
        if entries is not None:
            return entries
    return python_parser.libsvm_entries(text)


def labels_of(
    text: Text, entries: LibsvmEntries, *, optional: bool = False, text_labels: bool = False
) -> np.ndarray | None:
    """Labels of all rows; None if no row has one, or if they are `optional` and missing in every row."""
    labels = entries.labels
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
    return labels_from_text(tokens, place, optional=optional, text_labels=text_labels)


def some_without_label(text: Text, row: int, before: bool) -> DataError:
    """The error for a row without a label where those `before` have one, or the other way round."""
    have = "no label, but the rows before have one" if before else "a label, but the rows before have none"
    return DataError(f"{text.in_line(text.row_position(row))}, the row has {have}.")


def matrix(text: Text, entries: LibsvmEntries, first: int, width: int) -> tuple[csr_matrix, np.ndarray]:
    """The rows, as many columns wide as `width` says, and the features beyond that were left out.

    `first` is the index of the first feature. The entries are used up.
    """
    values, indices = entries.values, entries.indices
    indptr = np.concatenate([[0], np.cumsum(entries.lengths)])
    indices -= np.int32(first)
    unseen = np.empty(0, indices.dtype)
    if indices.size and int(indices.max()) >= width:  # features that a model has not seen have no weight in it
        seen = indices < width
        unseen = np.unique(indices[~seen])
        kept = np.concatenate([[0], np.cumsum(seen)])
        values, indices, indptr = values[seen], indices[seen], kept[indptr]
    X = csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, width))
    if not entries.rising:
        _order(text, X)
    X.has_canonical_format = True  # known, and not worth another look
    return X, unseen


def warn_unseen(name: str, unseen: np.ndarray, width: int) -> None:
    """Warn of features that were left out because the model has fewer."""
    warnings.warn(
        f"{name} has {len(unseen)} {'feature' if len(unseen) == 1 else 'features'} beyond the {width} of the model; "
        "unseen in training, they have weight 0 and are left out.",
        UserWarning,
        stacklevel=2,
    )


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
