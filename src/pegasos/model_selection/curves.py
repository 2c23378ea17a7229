"""Learning and validation curves: every training size, every value and every fold at once."""

from __future__ import annotations

import numpy as np
from sklearn import model_selection as theirs
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.model_selection._validation import _aggregate_score_dicts, _translate_train_sizes
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import validate_params

from pegasos.estimators import devices
from pegasos.model_selection.cells import Asked, GivenRows, given, scored, shares
from pegasos.model_selection.routing import routed
from pegasos.search.search import check_regularisation

TENTHS = np.linspace(0.1, 1.0, 5)


@validate_params(theirs.learning_curve._skl_parameter_constraints, prefer_skip_nested_validation=False)
def learning_curve(
    estimator, X, y, *, groups=None, train_sizes=TENTHS, cv=None, scoring=None, exploit_incremental_learning=False,
    n_jobs=None, pre_dispatch="all", verbose=0, shuffle=False, random_state=None, error_score=np.nan,
    return_times=False, params=None,
):  # fmt: skip
    """Scores for growing training sets, as `sklearn.model_selection.learning_curve` gives them.

    All sizes and folds are trained together where the estimator is one of this package or a pipeline that ends in one;
    others, and `exploit_incremental_learning`, are handed to scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import learning_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PegasosClassifier(kernel="rbf")
    >>> sizes, train, test = learning_curve(model, X, y, train_sizes=[30, 60, 120], shuffle=True, random_state=0)
    >>> sizes.tolist(), test.shape
    ([30, 60, 120], (3, 5))
    """
    if exploit_incremental_learning or not shares(estimator, None):
        return theirs.learning_curve(
            estimator, X, y, groups=groups, train_sizes=train_sizes, cv=cv, scoring=scoring,
            exploit_incremental_learning=exploit_incremental_learning, n_jobs=n_jobs, pre_dispatch=pre_dispatch,
            verbose=verbose, shuffle=shuffle, random_state=random_state, error_score=error_score,
            return_times=return_times, params=params,
        )  # fmt: skip
    X, y = given(X, y)
    groups = devices.on_host(groups)
    cv = check_cv(cv, y, classifier=is_classifier(estimator))
    scorer = check_scoring(estimator, scoring=scoring)
    rows = GivenRows(X, y, routed("learning_curve", estimator, cv, scorer, params=params, groups=groups))
    splits = list(cv.split(X, y, **rows.routed.splitter.split))
    sizes = _translate_train_sizes(train_sizes, len(splits[0][0]))
    if shuffle:
        generator = check_random_state(random_state)
        splits = [(generator.permutation(train), test) for train, test in splits]
    parts = [(train[:size], test) for train, test in splits for size in sizes]
    asked = Asked("learning_curve", scorer, error_score, return_train_score=True, n_jobs=n_jobs, verbose=verbose)
    cells = scored([estimator], rows, parts, asked)
    results = _aggregate_score_dicts(cells)
    names = ("train_scores", "test_scores", *(("fit_time", "score_time") if return_times else ()))
    return sizes, *(results[name].reshape(-1, len(sizes)).T for name in names)


@validate_params(theirs.validation_curve._skl_parameter_constraints, prefer_skip_nested_validation=False)
def validation_curve(
    estimator, X, y, *, param_name, param_range, groups=None, cv=None, scoring=None, n_jobs=None, pre_dispatch="all",
    verbose=0, error_score=np.nan, params=None,
):  # fmt: skip
    """Training and test scores for the values of a parameter, as `sklearn.model_selection.validation_curve` has them.

    All values and folds are trained together, as in a search, where the estimator is one of this package or a pipeline
    that ends in one; others are handed to scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import validation_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PegasosClassifier(kernel="rbf")
    >>> train, test = validation_curve(model, X, y, param_name="C", param_range=[0.01, 1, 100])
    >>> test.shape, bool(test[1].mean() > 0.95)
    ((3, 5), True)
    """
    if not shares(estimator, None):
        return theirs.validation_curve(
            estimator, X, y, param_name=param_name, param_range=param_range, groups=groups, cv=cv, scoring=scoring,
            n_jobs=n_jobs, pre_dispatch=pre_dispatch, verbose=verbose, error_score=error_score, params=params,
        )  # fmt: skip
    X, y = given(X, y)
    cv = check_cv(cv, y, classifier=is_classifier(estimator))
    scorer = check_scoring(estimator, scoring=scoring)
    rows = GivenRows(X, y, routed("validation_curve", estimator, cv, scorer, params=params, groups=groups))
    candidates = [clone(estimator).set_params(**{param_name: clone(value, safe=False)}) for value in param_range]
    for each in candidates:
        check_regularisation(each, {param_name: None})
    splits = list(cv.split(X, y, **rows.routed.splitter.split))
    asked = Asked("validation_curve", scorer, error_score, return_train_score=True, n_jobs=n_jobs, verbose=verbose)
    cells = scored(candidates, rows, splits, asked)
    results = _aggregate_score_dicts(cells)
    return tuple(results[name].reshape(len(candidates), -1) for name in ("train_scores", "test_scores"))
