"""Problems: every SVM problem is a column, and all columns share every pass over the data.

A column names one labeling (targets of all rows), one row set (the rows it is trained on) and one lam. One-vs-rest has
a labeling per class and one row set; one-vs-one a labeling per later class and a row set per pair; a lam-grid repeats
the columns, and folds multiply the row sets. An n×P matrix of targets never exists: what classes say of the rows is
kept by class code (`pegasos.problem.coded`), and written out for the columns that are trained together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from pegasos.problem.coded import ClassTargets, PairRows, PairWeights, balanced_pairs

FEW_VOTES = 2000  # of all rows and classes, up to which they are counted at once
ROUNDING = 2 / 3  # as a power of the precision: the largest difference between scores that are taken as equal


@dataclass(frozen=True)
class Problems:
    """Columns of one wide problem.

    Attributes
    ----------
    labelings : ndarray of shape (n_rows, n_labelings) or ClassTargets
        Targets: +1 or -1 (int8), class codes for Crammer–Singer, numbers for regression.
    row_sets : ndarray of bool, shape (n_rows, n_row_sets), or PairRows
        Rows of weight 0 are in no set.
    columns : ndarray of intp, shape (n_columns, 2)
        Labeling and row set of each column.
    lam : ndarray of shape (n_columns,)
        Regularisation of each column; nan until `with_lam`, `with_C` or `over_grid` sets it.
    weights : ndarray of shape (n_rows, n_row_sets) or (n_rows, 1), or PairWeights, or None
        Weights of the rows as given; None: all equal.
    n_classes : int
        Classes behind the first `n_base` columns.
    scheme : {"binary", "ovr", "ovo", "crammer_singer", "regression"}
        How scores turn into classes.
    C : float or None
        What `with_C` set, so that folds follow it.
    group : int
        Columns side by side that are one problem: 1, or the classes of Crammer–Singer.
    epsilon : float
        Width of the ε-insensitive loss.
    as_given : bool
        Whether weights are used as they are; else they are normalised to mean 1 over the rows of each set.
    zero : ndarray of shape (n_columns,) or None
        Objective of the zero model in each column, where these rows are some of many that decide it.
    """

    labelings: np.ndarray | ClassTargets
    row_sets: np.ndarray | PairRows
    columns: np.ndarray
    lam: np.ndarray
    weights: np.ndarray | PairWeights | None
    n_classes: int
    scheme: str
    C: float | None = None
    group: int = 1
    epsilon: float = 0.0
    as_given: bool = False
    zero: np.ndarray | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def n_rows(self) -> np.ndarray:
        """Rows of each column."""
        return self.row_sets.sum(axis=0)[self.columns[:, 1]]

    @property
    def total_weights(self) -> np.ndarray:
        """Σ of the rows' weights of each column."""
        if self.weights is None:
            return self.n_rows.astype(np.float64)
        with np.errstate(over="ignore"):
            if isinstance(self.weights, PairWeights):
                totals = self.weights.totals()
            elif isinstance(self.row_sets, PairRows):
                totals = self.row_sets.totals(self.weights[:, 0]).sum(axis=1)
            else:
                totals = np.where(self.row_sets, self.weights, 0.0).sum(axis=0, dtype=np.float64)
            return totals[self.columns[:, 1]]

    @property
    def weight_range(self) -> tuple[float, float] | None:
        """The smallest and the largest weight that is not 0; None where there is none."""
        if self.weights is None:
            return None
        weights = self.weights.positive() if isinstance(self.weights, PairWeights) else self.weights
        least, most = np.where(weights > 0, weights, np.inf).min(initial=np.inf), weights.max(initial=0.0)
        return (float(least), float(most)) if most > 0 else None

    def written(self, some=None) -> Problems:
        """Some of the columns, an index array, or all of them, with what is kept by class code as arrays of theirs."""
        given = self.labelings, self.row_sets, self.weights
        if some is None:
            if all(each is None or isinstance(each, np.ndarray) for each in given):
                return self
            own = None if self.weights is None else np.asarray(self.weights)
            labelings, row_sets = np.asarray(self.labelings), np.asarray(self.row_sets)
            return replace(self, labelings=labelings, row_sets=row_sets, weights=own)
        chosen = self.select(some)
        labelings, first = np.unique(chosen.columns[:, 0], return_inverse=True)
        sets, second = np.unique(chosen.columns[:, 1], return_inverse=True)
        weights = self.weights
        if weights is not None and weights.shape[1] > 1:
            weights = np.ascontiguousarray(weights[:, sets])  # the loops are compiled for rows side by side
        return replace(
            chosen,
            labelings=np.ascontiguousarray(self.labelings[:, labelings]),
            row_sets=np.ascontiguousarray(self.row_sets[:, sets]),
            columns=np.column_stack([first.ravel(), second.ravel()]),
            weights=weights,
        )

    def normalised_weights(self, dtype) -> np.ndarray:
        """Weights of mean 1 over the rows of each set and 0 outside it, shape (n_rows, n_row_sets).

        Equal weights are the row sets themselves, read as bytes 1 and 0: loops that meet rows at random stay in fewer
        cache lines.
        """
        if self.weights is None:
            return np.ascontiguousarray(self.row_sets).view(np.uint8)
        return self._own_weights.astype(dtype, copy=False)

    @cached_property
    def _own_weights(self) -> np.ndarray:
        assert self.weights is not None
        weights = np.where(self.row_sets, self.weights, 0.0)
        if not self.as_given:
            weights *= self.row_sets.sum(axis=0) / weights.sum(axis=0)
        return weights

    def with_lam(self, lam) -> Problems:
        """The same columns with this lam, one for all or one each."""
        return replace(self, lam=np.broadcast_to(np.asarray(lam, np.float64), self.n_columns).copy(), C=None)

    def with_C(self, C: float) -> Problems:
        """The same columns with lam = 1 / (C Σ weights), each over its own rows."""
        with np.errstate(over="ignore", divide="ignore"):
            return replace(self.with_lam(1.0 / (C * self.total_weights)), C=C)

    def over_grid(self, lams) -> Problems:
        """All columns for each lam in turn: column g·P + p is column p with the g-th lam, a number or one a column."""
        parts = [np.broadcast_to(np.asarray(lam, np.float64), self.n_columns) for lam in lams]
        columns = np.tile(self.columns, (len(parts), 1))
        return replace(self, columns=columns, lam=np.concatenate(parts), C=None)

    def over_folds(self, splits) -> Problems:
        """All columns for each fold in turn, restricted to the fold's training rows.

        `splits` yields (train, test) indices as scikit-learn's splitters do. `with_C` holds for each fold; `balanced`
        weights are those of the rows they were computed on.
        """
        sets, columns = [], []
        for fold, (train, _) in enumerate(splits):
            inside = np.zeros((len(self.row_sets), 1), bool)
            inside[train] = True
            sets.append(np.asarray(self.row_sets) & inside)
            columns.append(self.columns + np.array([0, fold * self.row_sets.shape[1]]))
        weights = self.weights
        if weights is not None and weights.shape[1] > 1:
            weights = np.tile(np.asarray(weights), len(sets))
        folded = replace(
            self,
            row_sets=np.hstack(sets),
            columns=np.vstack(columns),
            lam=np.tile(self.lam, len(sets)),
            weights=weights,
        )
        return folded if self.C is None else folded.with_C(self.C)

    def select(self, keep) -> Problems:
        """Some of the columns."""
        zero = None if self.zero is None else self.zero[keep]
        return replace(self, columns=self.columns[keep], lam=self.lam[keep], zero=zero)

    def alone(self, keep) -> Problems:
        """Some of the columns, as if there were no rows but theirs: the draws are different ones."""
        chosen = self.select(keep)
        sets, places = np.unique(chosen.columns[:, 1], return_inverse=True)
        weights = self.weights if self.weights is None or self.weights.shape[1] == 1 else self.weights[:, sets]
        columns = np.column_stack([chosen.columns[:, 0], places.ravel()])
        return replace(chosen, columns=columns, row_sets=self.row_sets[:, sets], weights=weights)

    def among(self, rows: np.ndarray, n_rows: int) -> Problems:
        """The same columns where their rows are the `rows` of `n_rows` rows; the others are in no set."""

        def spread(values):
            wide = np.zeros((n_rows, values.shape[1]), values.dtype)
            wide[rows] = np.asarray(values)
            return wide

        weights = None if self.weights is None else spread(self.weights)
        return replace(self, labelings=spread(self.labelings), row_sets=spread(self.row_sets), weights=weights)

    def equal_row_sets(self) -> list[np.ndarray]:
        """Masks of the columns that share their rows."""
        known: dict[bytes, int] = {}
        sets = np.packbits(np.asarray(self.row_sets), axis=0)
        kinds = np.array([known.setdefault(part.tobytes(), len(known)) for part in sets.T])[self.columns[:, 1]]
        return [kinds == kind for kind in np.unique(kinds)]

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """Decision values as scikit-learn shapes them, from the scores (n, P) of one set of columns."""
        return decode(scores, self.scheme, self.n_classes)


def decode(scores: np.ndarray, scheme: str, n_classes: int) -> np.ndarray:
    """Decision values from the scores (n, P) of the columns of a scheme; see `Problems`."""
    if scheme == "binary":
        return scores[:, 0]
    if scheme == "ovo":
        return confident_votes(scores > 0, scores, n_classes).astype(scores.dtype, copy=False)
    if scheme == "crammer_singer" and n_classes == 2:
        return scores[:, 1] - scores[:, 0]
    return scores


def confident_votes(later: np.ndarray, scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the pairs with their ties broken by sums of scores, (n, K): scikit-learn's, bit for bit.

    scikit-learn takes one pair after the other, which for few rows is slow.

    Parameters
    ----------
    later : ndarray of bool, shape (n, n_pairs)
        Whether the later class of the pair wins.
    scores : ndarray of shape (n, n_pairs)
        Positive for the later class.
    n_classes : int
    """
    if len(scores) * n_classes > FEW_VOTES or n_classes < 3:
        return _ovr_decision_function(later, scores, n_classes)
    places, signs = pairs_of_classes(n_classes)
    terms = np.ascontiguousarray(scores.T[places] * signs)  # so that they are added up one after the other
    sums = terms.sum(axis=0)
    votes = (later.T[places] == (signs > 0)).sum(axis=0)
    return (votes + sums / (3 * (np.abs(sums) + 1))).T


@lru_cache(maxsize=16)
def pairs_of_classes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of each class in their order, (K - 1, K), and whether it is the later one of them, 1, or not, -1."""
    numbers = {pair: number for number, pair in enumerate(combinations(range(n_classes), 2))}
    others = [[other for other in range(n_classes) if other != own] for own in range(n_classes)]
    places = [sorted(numbers[min(own, one), max(own, one)] for one in some) for own, some in enumerate(others)]
    signs = [[1.0 if one < own else -1.0 for one in some] for own, some in enumerate(others)]
    return np.ascontiguousarray(np.array(places).T), np.ascontiguousarray(np.array(signs).T)[:, :, None]


def with_ties(scores: np.ndarray) -> np.ndarray:
    """Scores (n, K) in which those of a row that are the largest but for rounding are equal to it.

    The coefficients of a row under Crammer-Singer are often the same in several classes, and so are scores; how they
    were summed up must not decide between them.
    """
    if not scores.size:
        return scores
    largest = scores.max(axis=1, keepdims=True)
    near = np.finfo(scores.dtype).eps ** ROUNDING * np.abs(scores).max(axis=1, keepdims=True)
    return np.where(scores >= largest - near, largest, scores)


def side_by_side(parts: list[Problems]) -> Problems:
    """The columns of all parts, over the same rows and of the same group and epsilon, as one wide problem."""
    first = parts[0]
    if len(parts) == 1:
        return first
    places, offset = [], np.zeros(2, np.intp)
    for part in parts:
        places.append(part.columns + offset)
        offset += [part.labelings.shape[1], part.row_sets.shape[1]]
    weights = None
    if any(part.weights is not None for part in parts):
        each = [np.ones((1, 1)) if part.weights is None else part.weights for part in parts]
        weights = np.hstack([np.broadcast_to(one, part.row_sets.shape) for one, part in zip(each, parts, strict=True)])
    return replace(
        first,
        labelings=np.hstack([part.labelings for part in parts]),
        row_sets=np.hstack([part.row_sets for part in parts]),
        columns=np.vstack(places),
        lam=np.concatenate([part.lam for part in parts]),
        weights=weights,
        C=None,
    )


def one_vs_rest(codes: np.ndarray, n_classes: int, weights=None) -> Problems:
    """One column per class against all others; two classes need one column, +1 for the later class."""
    wanted = np.arange(n_classes) if n_classes > 2 else np.array([1])
    labelings = ClassTargets(codes, wanted)
    row_sets = np.ones((len(codes), 1), bool)
    columns = np.column_stack([np.arange(len(wanted)), np.zeros(len(wanted), np.intp)])
    return _make(labelings, row_sets, columns, weights, n_classes, "ovr" if n_classes > 2 else "binary")


def one_vs_one(codes: np.ndarray, n_classes: int, weights=None) -> Problems:
    """One column per pair (0, 1), (0, 2), ... on the rows of its two classes; +1 is the later class."""
    if n_classes == 2:
        return one_vs_rest(codes, n_classes, weights)
    pairs = np.array(list(combinations(range(n_classes), 2)))
    labelings = ClassTargets(codes, np.arange(1, n_classes))
    row_sets = PairRows(codes, pairs, np.ones(len(codes), bool))
    columns = np.column_stack([pairs[:, 1] - 1, np.arange(len(pairs))])
    return _make(labelings, row_sets, columns, weights, n_classes, "ovo")


def crammer_singer(codes: np.ndarray, n_classes: int, weights=None) -> Problems:
    """One column per class, all of them one problem."""
    labelings = codes[:, None].astype(np.int8 if n_classes <= 127 else np.int32)
    row_sets = np.ones((len(codes), 1), bool)
    columns = np.zeros((n_classes, 2), np.intp)
    return replace(_make(labelings, row_sets, columns, weights, n_classes, "crammer_singer"), group=n_classes)


def regression(targets: np.ndarray, epsilon: float, weights=None) -> Problems:
    """One column per target, a column of `targets` (n_rows, n_targets)."""
    row_sets = np.ones((len(targets), 1), bool)
    columns = np.column_stack([np.arange(targets.shape[1]), np.zeros(targets.shape[1], np.intp)])
    labelings = np.ascontiguousarray(targets)
    return replace(_make(labelings, row_sets, columns, weights, targets.shape[1], "regression"), epsilon=float(epsilon))


def balanced(problems: Problems, codes: np.ndarray) -> Problems:
    """Weigh classes evenly within each row set: the weights times Σ weights / (classes · Σ weights of the class)."""
    if isinstance(problems.row_sets, PairRows):
        own = None if problems.weights is None else problems.weights[:, 0]
        return replace(problems, weights=balanced_pairs(problems.row_sets, own))
    base = np.ones((len(codes), 1)) if problems.weights is None else problems.weights
    base = np.where(problems.row_sets, base, 0.0)
    per_class = np.zeros((problems.n_classes, base.shape[1]))
    np.add.at(per_class, codes, base)
    present = (per_class > 0).sum(axis=0)
    with np.errstate(divide="ignore"):
        factors = np.where(per_class > 0, per_class.sum(axis=0) / (present * per_class), 0.0)
    return replace(problems, weights=base * factors[codes])


def _make(labelings, row_sets, columns, weights, n_classes, scheme) -> Problems:
    if weights is not None:
        weights = np.asarray(weights, np.float64).reshape(len(labelings), -1)
        of_sets = weights.shape[1] > 1  # those of a set may leave out what others have
        row_sets = (np.asarray(row_sets) if of_sets else row_sets) & (weights != 0)
    lam = np.full(len(columns), np.nan)
    return Problems(labelings, row_sets, columns.astype(np.intp), lam, weights, n_classes, scheme)
