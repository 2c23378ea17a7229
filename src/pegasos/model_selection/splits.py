"""The folds of many versions of the targets over the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.model_selection._split import _CVIterableWrapper
from sklearn.utils import check_random_state

WITHOUT_TARGETS = (
    KFold, GroupKFold, LeaveOneOut, LeavePOut, LeaveOneGroupOut, LeavePGroupsOut, PredefinedSplit, TimeSeriesSplit,
    _CVIterableWrapper,
)  # fmt: skip
ALWAYS_DRAWN = (ShuffleSplit, RepeatedKFold)

Splits = list[tuple[np.ndarray, np.ndarray]]


def splits_of(cv, X, versions: Iterator[np.ndarray], first: Splits, **given) -> Iterator[tuple[np.ndarray, Splits]]:
    """The folds of each version of the targets, as ``cv.split`` gives them; `first` if they are the same for all."""
    same = is_same_for_all(cv)
    for y in versions:
        yield y, first if same else list(cv.split(X, y, **given))


def is_same_for_all(cv) -> bool:
    """Whether a splitter gives the same folds whatever the targets are."""
    seeded = isinstance(getattr(cv, "random_state", None), Integral)
    if type(cv) in ALWAYS_DRAWN:
        return seeded
    return type(cv) in WITHOUT_TARGETS and (seeded or not getattr(cv, "shuffle", False))


def is_stratified(cv) -> bool:
    """Whether `stratified_folds` knows what a splitter gives."""
    return type(cv) is StratifiedKFold and (not cv.shuffle or isinstance(cv.random_state, Integral))


def stratified_folds(cv: StratifiedKFold, codes: np.ndarray) -> np.ndarray:
    """The fold that each row is in the test set of, for many versions of the targets at once.

    Parameters
    ----------
    cv : StratifiedKFold
        One that `is_stratified`.
    codes : ndarray of int, shape (n_versions, n_rows)
        Classes, all of which are in each version, and in each as often.
    """
    n_splits, n_classes = cv.get_n_splits(), int(codes.max()) + 1
    masks = [codes == code for code in range(n_classes)]
    counts = np.array([np.count_nonzero(mask[0]) for mask in masks])
    met = np.argsort(np.column_stack([mask.argmax(axis=1) for mask in masks]), axis=1)  # classes as they first appear
    folds = np.empty(codes.shape, np.int16)
    orders, which = np.unique(met, axis=0, return_inverse=True)
    for number, order in enumerate(orders):
        own = np.flatnonzero(which.ravel() == number)
        generator = check_random_state(cv.random_state) if cv.shuffle else None
        ordered = np.repeat(np.arange(n_classes), counts[order])
        allocation = np.array([np.bincount(ordered[first::n_splits], minlength=n_classes) for first in range(n_splits)])
        for place, code in enumerate(order):
            of_class = np.arange(n_splits).repeat(allocation[:, place])
            if generator is not None:
                generator.shuffle(of_class)
            rows = masks[code][own]
            part = folds[own]
            part[rows] = np.tile(of_class, len(own))  # each version's rows of the class, in order
            folds[own] = part
    return folds


def splits_of_folds(folds: np.ndarray) -> Splits:
    """Training and test rows of each fold."""
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(int(folds.max()) + 1)]
