"""Cross-validation, all folds at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import model_selection as theirs
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.model_selection._validation import (
    _aggregate_score_dicts,
    _check_is_permutation,
    _enforce_prediction_order,
    _normalize_score_results,
)
from sklearn.preprocessing import LabelEncoder
from sklearn.utils._param_validation import validate_params
from sklearn.utils.validation import _num_samples

from pegasos.model_selection.cells import Asked, GivenRows, evaluated, given, scored, shares
from pegasos.model_selection.routing import routed
from pegasos.search.results import Fold, Results
from pegasos.search.scored_model import OWN

BY_CLASS = ("decision_function", "predict_proba", "predict_log_proba")


@validate_params(theirs.cross_validate._skl_parameter_constraints, prefer_skip_nested_validation=False)
def cross_validate(
    estimator, X, y=None, *, groups=None, scoring=None, cv=None, n_jobs=None, verbose=0, params=None,
    pre_dispatch="2*n_jobs", return_train_score=False, return_estimator=False, return_indices=False, error_score=np.nan,
):  # fmt: skip
    """Scores and times of an estimator on each fold, as `sklearn.model_selection.cross_validate` gives them.

    All folds are trained together where the estimator is one of this package or a pipeline that ends in one; others are
    handed to scikit-learn. Parameters and result are scikit-learn's. `n_jobs` are threads; None: as many as BLAS uses.
    ``fit_time`` is the time of the shared run, divided evenly over the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import cross_validate
    >>> X, y = load_digits(return_X_y=True)
    >>> found = cross_validate(PegasosClassifier(kernel="rbf"), X / 16, y, cv=3)
    >>> bool(found["test_score"].min() > 0.9)
    True
    """
    if not shares(estimator, None):
        return theirs.cross_validate(
            estimator, X, y, groups=groups, scoring=scoring, cv=cv, n_jobs=n_jobs, verbose=verbose, params=params,
            pre_dispatch=pre_dispatch, return_train_score=return_train_score, return_estimator=return_estimator,
            return_indices=return_indices, error_score=error_score,
        )  # fmt: skip
    scorer = check_scoring(estimator, scoring=scoring, raise_exc=error_score == "raise")
    asked = Asked(
        "cross_validate", scorer, error_score, return_train_score, return_estimator, n_jobs, verbose, scoring
    )  # fmt: skip
    cells, splits = _cells(estimator, X, y, Splitting(groups, cv, params), asked)
    names = ("fit_time", "score_time", *(("estimator",) if return_estimator else ()))
    results = _aggregate_score_dicts(cells)
    found: dict[str, Any] = {name: results[name] for name in names}
    if return_indices:
        found["indices"] = dict(zip(("train", "test"), zip(*splits, strict=True), strict=True))
    wanted = ("test", "train") if return_train_score else ("test",)
    sides = {side: _normalize_score_results(results[f"{side}_scores"]) for side in wanted}
    for name in sides["test"]:
        for side, scores in sides.items():
            found[f"{side}_{name}"] = scores[name]
    return found


class Splitting(NamedTuple):
    """How rows are split, and what `fit` is given."""

    groups: Any
    cv: Any
    params: dict | None


def _cells(estimator, X, y, splitting: Splitting, asked: Asked) -> tuple[list[dict], list[tuple]]:
    """The cells of all folds, and the folds."""
    X, y = given(X, y)
    cv = check_cv(splitting.cv, y, classifier=is_classifier(estimator))
    routes = routed(asked.name, estimator, cv, asked.scorer, params=splitting.params, groups=splitting.groups)
    splits = list(cv.split(X, y, **routes.splitter.split))
    return scored([estimator], GivenRows(X, y, routes), splits, asked), splits


@validate_params(theirs.cross_val_score._skl_parameter_constraints, prefer_skip_nested_validation=False)
def cross_val_score(
    estimator, X, y=None, *, groups=None, scoring=None, cv=None, n_jobs=None, verbose=0, params=None,
    pre_dispatch="2*n_jobs", error_score=np.nan,
):  # fmt: skip
    """The score of an estimator on each fold, as `sklearn.model_selection.cross_val_score` gives it.

    See `cross_validate` for what is shared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(PegasosClassifier(kernel="rbf"), X, y, cv=5).mean() > 0.95)
    True
    """
    if not shares(estimator, None):
        return theirs.cross_val_score(
            estimator, X, y, groups=groups, scoring=scoring, cv=cv, n_jobs=n_jobs, verbose=verbose, params=params,
            pre_dispatch=pre_dispatch, error_score=error_score,
        )  # fmt: skip
    scorer = check_scoring(estimator, scoring=scoring)
    asked = Asked("cross_validate", scorer, error_score, n_jobs=n_jobs, verbose=verbose)
    cells, _ = _cells(estimator, X, y, Splitting(groups, cv, params), asked)
    return np.array([cell["test_scores"] for cell in cells])


@validate_params(theirs.cross_val_predict._skl_parameter_constraints, prefer_skip_nested_validation=False)
def cross_val_predict(
    estimator, X, y=None, *, groups=None, cv=None, n_jobs=None, verbose=0, params=None, pre_dispatch="2*n_jobs",
    method="predict",
):  # fmt: skip
    """What an estimator that has not seen a row predicts for it, as `sklearn.model_selection.cross_val_predict` does.

    See `cross_validate` for what is shared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import cross_val_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> predicted = cross_val_predict(PegasosClassifier(kernel="rbf"), X, y, cv=5)
    >>> bool((predicted == y).mean() > 0.95)
    True
    """
    if not shares(estimator, None):
        return theirs.cross_val_predict(
            estimator, X, y, groups=groups, cv=cv, n_jobs=n_jobs, verbose=verbose, params=params,
            pre_dispatch=pre_dispatch, method=method,
        )  # fmt: skip
    X, y = given(X, y)
    # The splitter is asked for its own parameters, so that a cv of routed metadata is looked at before it is made one.
    routes = routed("cross_val_predict", estimator, cv, None, params=params, groups=groups)
    cv = check_cv(cv, y, classifier=is_classifier(estimator))
    splits = list(cv.split(X, y, **routes.splitter.split))
    places = np.concatenate([test for _, test in splits])
    if not _check_is_permutation(places, _num_samples(X)):
        raise ValueError("cross_val_predict only works for partitions")
    n_classes = None
    if method in BY_CLASS and y is not None:
        y = np.asarray(y)
        if y.ndim == 1:
            y = LabelEncoder().fit_transform(y)
            n_classes = len(np.unique(y))
    rows = GivenRows(X, y, routes)
    results = Predictions(method, n_classes, rows.folds(splits))
    evaluated([estimator], rows, results, Asked("cross_val_predict", None, n_jobs=n_jobs, verbose=verbose))
    predictions = [results.predictions[number] for number in range(len(splits))]
    back = np.empty(len(places), int)
    back[places] = np.arange(len(places))
    if sparse.issparse(predictions[0]):
        return sparse.vstack(predictions, format=predictions[0].format)[back]
    return np.concatenate(predictions)[back]


class Predictions(Results):
    """What the estimator of each fold predicts for its test rows, where there is one candidate and no score.

    Parameters
    ----------
    method : str
        The method that predicts.
    n_classes : int or None
        Classes of all rows, for predictions that have a column for each.
    folds : list of Fold
    """

    def __init__(self, method: str, n_classes: int | None, folds: list[Fold]):
        super().__init__(
            None, folds, 1, error_score="raise", return_train_score=False, on_cell=lambda done, best: None,
            metric="score",
        )  # fmt: skip
        self.method, self.n_classes = method, n_classes
        self.predictions: dict[int, Any] = {}

    def needs_scores_only(self, estimator) -> bool:
        """Predictions of our own estimators follow from scores."""
        return type(estimator) in OWN

    def scored_by_accuracy(self, estimator, fold) -> bool:
        """There is no score."""
        return False

    def score(self, candidate, fold, estimator, rows=None) -> None:
        """Keep the predictions."""
        X = fold.rows(estimator, "test")[0] if rows is None else rows("test")[0]
        found = getattr(estimator, self.method)(X)
        if self.n_classes is not None:
            found = _enforce_prediction_order(estimator.classes_, found, self.n_classes, self.method)
        self.predictions[fold.number] = found
        self.add(candidate, fold, {"test_scores": np.nan, "fit_time": 0.0, "score_time": 0.0})
