"""Every candidate by the fastest way that gives what a fit of its own would give.

Candidates that are Pegasos estimators go to `wide`: all folds together, but for folds whose rows repeat or, in cyclic
order, are not in the order of the data; these go alone, over copies of their rows. A pipeline that ends in one has its
transformers fitted on each fold, so that nothing leaks, and the rest goes to `wide`. All others are fitted one by one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection._validation import _fit_and_score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from pegasos.estimators import PegasosClassifier, PegasosRegressor, validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.targets import recipe_of
from pegasos.search import shared_runs
from pegasos.search.column_plan import Data, Place
from pegasos.search.deadline import Deadline
from pegasos.search.grouping import groups_alike
from pegasos.search.results import Board, Fold
from pegasos.utils.arrays import DeviceMissing

OWN_FITS = (PegasosClassifier.fit, PegasosRegressor.fit)


def evaluate(candidates: dict[int, Any], X, y, fit_params: dict, board: Board, deadline: Deadline) -> None:
    """Train and score all candidates, unfitted estimators, on all folds of the board."""
    ways: dict[tuple[Callable, bool], dict[int, Any]] = {}
    for candidate, estimator in candidates.items():
        ways.setdefault(_way(estimator, fit_params), {})[candidate] = estimator
    left = len(candidates)
    for (way, _), part in ways.items():
        way(part, X, y, fit_params, board, deadline.within(len(part) / left))
        left -= len(part)


def _way(estimator, fit_params: dict) -> tuple[Callable, bool]:
    """The way of a candidate, and whether its X is a kernel matrix, where other kernels would see features."""
    last = sharing(estimator, fit_params)
    if last is None:
        return _one_by_one, False
    return (_together, last.kernel == "precomputed") if last is estimator else (_pipelines, False)


def sharing(estimator, fit_params: dict) -> PegasosBase | None:
    """What shares runs with other candidates: this one itself or a pipeline's last step; None: it is fitted alone."""
    if _is_own(estimator) and set(fit_params) <= {"sample_weight"}:
        return estimator
    if type(estimator) is Pipeline and not fit_params:
        last = estimator.steps[-1][1]
        if _is_own(last) and last.kernel != "precomputed":
            return last
    return None


def _is_own(estimator) -> bool:
    """Whether a fit does what we know it does, with no one looking on."""
    known = isinstance(estimator, PegasosBase) and type(estimator).fit in OWN_FITS
    return known and not getattr(estimator, "_skl_callbacks", [])


def _together(candidates: dict[int, PegasosBase], X, y, fit_params, board: Board, deadline: Deadline) -> None:
    candidates = _sane(candidates, board.folds, board)
    if not candidates:
        return
    data, places = _data_of(next(iter(candidates.values())), X, y, fit_params, board.folds)
    by_folds: dict[tuple[int, ...], list] = {}
    for alike in groups_alike(candidates, besides_columns):
        cyclic = next(iter(alike.values())).sampling == "cyclic"
        alone = tuple(number for number, place in enumerate(places) if _stands_alone(place, cyclic))
        by_folds.setdefault(alone, []).append(alike)
    left = len(by_folds) * len(places)
    for alone, groups in by_folds.items():
        shared = [place for number, place in enumerate(places) if number not in alone]
        if shared:
            shared_runs.evaluate(groups, data, shared, board, deadline.within(len(shared) / left))
        left -= len(shared)
        for number in alone:
            shared_runs.evaluate(groups, *_by_itself(data, places[number]), board, deadline.within(1 / left))
            left -= 1


def _data_of(estimator: PegasosBase, X, y, fit_params: dict, folds: list[Fold]) -> tuple[Data, list[Place]]:
    """The rows that some of the folds need, checked, and where those of each fold are."""
    used = np.unique(np.concatenate([part for fold in folds for part in (fold.train, fold.test)]))
    weights = fit_params.get("sample_weight")
    if len(used) < _num_samples(X):
        X, y = _safe_split(estimator, X, y, used, used)
        weights = None if weights is None else _safe_indexing(weights, used)
    probe = clone(estimator)
    X, y = recipe_of(probe).checked(X, y)
    weights = validation.check_weights(weights, X)
    places = [Place(fold, np.searchsorted(used, fold.train), np.searchsorted(used, fold.test)) for fold in folds]
    return Data(X, y, weights, _seen(probe), pairwise=probe.kernel == "precomputed"), places


def _sane(candidates: dict[int, PegasosBase], folds: list[Fold], board: Board) -> dict[int, PegasosBase]:
    """Candidates whose parameters make sense; the others have failed on all folds."""
    sane: dict[int, PegasosBase] = {}
    known: dict[str, Any] = {}  # values of parameters that are fine, to look at each once
    for candidate, estimator in candidates.items():
        try:
            given = estimator.get_params(deep=False)
            fresh = {name: value for name, value in given.items() if name not in known or known[name] is not value}
            validate_parameter_constraints(estimator._parameter_constraints, fresh, type(estimator).__name__)
            known |= given
            validation.check_supported(estimator)
            validation.check_combinations(estimator)
        except DeviceMissing:  # whatever the candidates are, the machine lacks something
            raise
        except Exception as error:
            for fold in folds:
                board.failed(candidate, fold, error)
        else:
            sane[candidate] = estimator
    return sane


def _stands_alone(place: Place, cyclic: bool) -> bool:
    if (np.diff(place.train) > 0).all():
        return False
    return cyclic or len(np.unique(place.train)) < len(place.train)


def _by_itself(data: Data, place: Place) -> tuple[Data, list[Place]]:
    """A copy of a fold's rows, in its own order, repeated as they are."""
    n_train = len(place.train)
    rows = np.concatenate([place.train, place.test])
    return data.only(rows), [Place(place.fold, np.arange(n_train), np.arange(n_train, len(rows)))]


def _pipelines(candidates: dict[int, Pipeline], X, y, fit_params, board: Board, deadline: Deadline) -> None:
    groups = groups_alike(candidates, lambda pipeline: pipeline.steps[:-1])
    left = len(groups) * len(board.folds)
    for group in groups:
        for fold in board.folds:
            if deadline.passed:
                for candidate in group:
                    board.skip(candidate, fold)
            else:
                _pipeline_on(group, fold, board, deadline.within(1 / left))
            left -= 1


def _pipeline_on(candidates: dict[int, Pipeline], fold: Fold, board: Board, deadline: Deadline) -> None:
    """Fit the transformers on the fold's training rows, then all last steps together."""
    pipeline = next(iter(candidates.values()))
    finals = _sane({candidate: each.steps[-1][1] for candidate, each in candidates.items()}, [fold], board)
    if not finals:
        return
    before = clone(pipeline[:-1]) if len(pipeline.steps) > 1 else None
    probe = clone(next(iter(finals.values())))
    try:
        X, y = fold.rows(pipeline, "train")
        X, y = recipe_of(probe).checked(X if before is None else before.fit_transform(X, y), y)
    except Exception as error:
        for candidate in finals:
            board.failed(candidate, fold, error)
        return

    def wrap(final):
        fitted = copy.copy(pipeline)
        fitted.steps = [*([] if before is None else before.steps), (pipeline.steps[-1][0], final)]
        return fitted

    data = Data(X, y, None, _seen(probe), wrap=wrap)
    place = Place(fold, np.arange(X.shape[0]), np.arange(0))  # a fitted pipeline transforms the test rows itself
    shared_runs.evaluate(groups_alike(finals, besides_columns), data, [place], board, deadline)


def _one_by_one(candidates: dict[int, Any], X, y, fit_params, board: Board, deadline: Deadline) -> None:
    for candidate, estimator in candidates.items():
        for fold in board.folds:
            if deadline.passed:
                board.skip(candidate, fold)
                continue
            result = _fit_and_score(
                clone(estimator), X, y, scorer=board.scorers, train=fold.train, test=fold.test, verbose=0,
                parameters=None, fit_params=fit_params, score_params=fold.score_params,
                return_train_score="train" in board.sides, return_n_test_samples=True, return_times=True,
                error_score=board.error_score,
            )  # fmt: skip
            board.note(candidate, fold, result)


def _seen(estimator) -> dict[str, Any]:
    """What checking its rows has left on an estimator."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def besides_columns(estimator: PegasosBase) -> dict[str, Any]:
    """Parameters in which the candidates of one run agree."""
    return {
        name: value for name, value in estimator.get_params(deep=False).items() if name not in shared_runs.ON_COLUMNS
    }
