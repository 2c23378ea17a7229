"""How each candidate is trained: by the fastest way that gives what a fit of its own would give.

Pegasos estimators are trained in shared runs of all folds. In fits to the optimum rows that repeat within a fold are
weights; under the steps of Pegasos such a fold, and in cyclic order one whose rows are not in the order of the data,
has runs of its own, over copies of its rows. A pipeline that ends in a Pegasos estimator has its transformers fitted on
each fold, so that nothing leaks, and its last step is trained in shared runs of that fold. All other estimators are
fitted one by one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection._validation import _fit_and_score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from pegasos.estimators import validation
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.multilabel import is_multilabel
from pegasos.estimators.solving import is_textbook
from pegasos.estimators.targets import recipe_of
from pegasos.search.column_plan import FoldRows, SearchData
from pegasos.search.deadline import Deadline
from pegasos.search.grouping import grouped_by
from pegasos.search.results import Fold, Results
from pegasos.search.scored_model import OWN
from pegasos.search.shared_runs import evaluate_together
from pegasos.utils.arrays import DeviceMissing

OWN_FITS = tuple(own.fit for own in OWN)
COLUMN_PARAMETERS = ("lam", "C", "max_steps", "max_iter")  # in which the candidates of one run may differ


def evaluate(candidates: dict[int, Any], X, y, fit_params: dict, results: Results, deadline: Deadline) -> None:
    """Train and score all candidates, unfitted estimators, on all folds of `results`."""
    ways: dict[tuple[Callable, bool], dict[int, Any]] = {}
    several_labels = any(map(is_classifier, candidates.values())) and is_multilabel(y)  # each fit has columns enough
    for candidate, estimator in candidates.items():
        way = (_one_by_one, False) if several_labels else _way(estimator, fit_params)
        ways.setdefault(way, {})[candidate] = estimator
    left = len(candidates)
    for (train, _), part in ways.items():
        train(part, X, y, fit_params, results, deadline.within(len(part) / left))
        left -= len(part)


def _way(estimator, fit_params: dict) -> tuple[Callable, bool]:
    """What trains a candidate, and whether its X is a kernel matrix, where other kernels would see features."""
    last = sharing(estimator, fit_params)
    if last is None:
        return _one_by_one, False
    return (_in_shared_runs, last.kernel == "precomputed") if last is estimator else (_pipelines, False)


def take_device_rows(candidates: Iterable, fit_params: dict) -> bool:
    """Whether all candidates can be trained on rows of a GPU: those that share runs and are no pipelines."""
    return all(type(each) in OWN and sharing(each, fit_params) is each for each in candidates)


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
    """Whether a fit does what `fit` of this package does, and has no callbacks, which would have to be called."""
    known = isinstance(estimator, PegasosBase) and type(estimator).fit in OWN_FITS
    calibrated = getattr(estimator, "probability", None) is not None  # within each fold, by folds of its own
    return known and not calibrated and not getattr(estimator, "_skl_callbacks", [])


def _in_shared_runs(candidates: dict[int, PegasosBase], X, y, fit_params, results: Results, deadline: Deadline) -> None:
    candidates = _valid(candidates, results.folds, results)
    if not candidates:
        return
    data, folds = _data_of(next(iter(candidates.values())), X, y, fit_params, results.folds)
    weighted = [rows.with_counts() if _repeats(rows) else rows for rows in folds]  # the others have runs of their own
    by_separate: dict[tuple[int, ...], list] = {}  # groups of candidates, by the folds that need runs of their own
    for group in grouped_by(candidates, run_parameters):
        first = next(iter(group.values()))
        by_weights = recipe_of(first).begins_anew and results.needs_scores_only(first)
        cyclic = first.sampling == "cyclic"
        separate = () if by_weights else tuple(n for n, rows in enumerate(folds) if _needs_own_runs(rows, cyclic))
        by_separate.setdefault(separate, []).append(group)
    left = len(by_separate) * len(folds)
    for separate, groups in by_separate.items():
        shared = [weighted[number] for number in range(len(folds)) if number not in separate]
        if shared:
            evaluate_together(groups, data, shared, results, deadline.within(len(shared) / left))
        left -= len(shared)
        for number in separate:
            evaluate_together(groups, *_copied(data, folds[number]), results, deadline.within(1 / left))
            left -= 1


def _data_of(estimator: PegasosBase, X, y, fit_params: dict, folds: list[Fold]) -> tuple[SearchData, list[FoldRows]]:
    """The rows that any of the folds needs, checked, and the places of those of each fold among them."""
    used = np.unique(np.concatenate([part for fold in folds for part in (fold.train, fold.test)]))
    weights = fit_params.get("sample_weight")
    if len(used) < _num_samples(X):
        X, y = _safe_split(estimator, X, y, used, used)
        weights = None if weights is None else _safe_indexing(weights, used)
    probe = clone(estimator)
    X, y = recipe_of(probe).checked(X, y)
    weights = validation.check_weights(weights, X)
    rows = [FoldRows(fold, np.searchsorted(used, fold.train), np.searchsorted(used, fold.test)) for fold in folds]
    return SearchData(X, y, weights, _input_attributes(probe), pairwise=probe.kernel == "precomputed"), rows


def _valid(candidates: dict[int, PegasosBase], folds: list[Fold], results: Results) -> dict[int, PegasosBase]:
    """Candidates whose parameters are valid; the others have failed on all folds."""
    valid: dict[int, PegasosBase] = {}
    known: dict[str, Any] = {}  # values of parameters that are valid, to check each once
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
                results.add_failure(candidate, fold, error)
        else:
            valid[candidate] = estimator
    return valid


def _needs_own_runs(rows: FoldRows, cyclic: bool) -> bool:
    if (np.diff(rows.train) > 0).all():
        return False
    return cyclic or _repeats(rows)


def _repeats(rows: FoldRows) -> bool:
    return len(np.unique(rows.train)) < len(rows.train)


def _copied(data: SearchData, rows: FoldRows) -> tuple[SearchData, list[FoldRows]]:
    """A copy of a fold's rows, in its own order, repeated as they are."""
    n_train = len(rows.train)
    index = np.concatenate([rows.train, rows.test])
    return data.take(index), [FoldRows(rows.fold, np.arange(n_train), np.arange(n_train, len(index)))]


def _pipelines(candidates: dict[int, Pipeline], X, y, fit_params, results: Results, deadline: Deadline) -> None:
    groups = grouped_by(candidates, lambda pipeline: pipeline.steps[:-1])
    left = len(groups) * len(results.folds)
    for group in groups:
        for fold in results.folds:
            if deadline.passed:
                for candidate in group:
                    results.skip(candidate, fold)
            else:
                _pipeline_on(group, fold, results, deadline.within(1 / left))
            left -= 1


def _pipeline_on(candidates: dict[int, Pipeline], fold: Fold, results: Results, deadline: Deadline) -> None:
    """Fit the transformers on the fold's training rows, then all last steps together."""
    pipeline = next(iter(candidates.values()))
    finals = _valid({candidate: each.steps[-1][1] for candidate, each in candidates.items()}, [fold], results)
    if not finals:
        return
    before = clone(pipeline[:-1]) if len(pipeline.steps) > 1 else None
    probe = clone(next(iter(finals.values())))
    try:
        X, y = fold.rows(pipeline, "train")
        X, y = recipe_of(probe).checked(X if before is None else before.fit_transform(X, y), y)
    except Exception as error:
        for candidate in finals:
            results.add_failure(candidate, fold, error)
        return

    def in_pipeline(final):
        fitted = copy.copy(pipeline)
        fitted.steps = [*([] if before is None else before.steps), (pipeline.steps[-1][0], final)]
        return fitted

    data = SearchData(X, y, None, _input_attributes(probe), in_pipeline=in_pipeline)
    rows = FoldRows(fold, np.arange(X.shape[0]), np.arange(0))  # a fitted pipeline transforms the test rows itself
    evaluate_together(grouped_by(finals, run_parameters), data, [rows], results, deadline)


def _one_by_one(candidates: dict[int, Any], X, y, fit_params, results: Results, deadline: Deadline) -> None:
    for candidate, estimator in candidates.items():
        for fold in results.folds:
            if deadline.passed:
                results.skip(candidate, fold)
                continue
            result = _fit_and_score(
                clone(estimator), X, y, scorer=results.scorers, train=fold.train, test=fold.test, verbose=0,
                parameters=None, fit_params=fit_params, score_params=fold.score_params,
                return_train_score="train" in results.sides, return_n_test_samples=True, return_times=True,
                error_score=results.error_score,
            )  # fmt: skip
            results.add(candidate, fold, result)


def _input_attributes(estimator) -> dict[str, Any]:
    """What checking its rows has left on an estimator."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def run_parameters(estimator: PegasosBase) -> dict[str, Any]:
    """Parameters in which the candidates of one run agree."""
    found = {name: value for name, value in estimator.get_params(deep=False).items() if name not in COLUMN_PARAMETERS}
    if estimator.solver == "smo":  # nothing is read off on its way
        found |= {"max_steps": estimator.max_steps, "max_iter": estimator.max_iter}
    return found | {"textbook": is_textbook(estimator)}
