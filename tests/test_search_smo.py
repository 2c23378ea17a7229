"""Searches through an active set: every cell at its optimum, whatever it begins from and wherever kernel rows are."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from pegasos import PegasosClassifier, PegasosRegressor, PegasosSearchCV

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.003, 0.03]}
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def digits():
    """Half the size of a pixel's range, four classes."""
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:240] / 2, y[:240]


@pytest.mark.parametrize("given", [{"solver": "smo"}, {"solver": "smo", "multi_class": "ovo"}, {}], ids=str)
def test_cells_are_fits_of_their_own(digits, given):
    X, y = digits
    estimator = PegasosClassifier(kernel="rbf", tol=1e-6, **given)
    ours = PegasosSearchCV(estimator, GRID, cv=FOLDS, refit=False).fit(X, y)
    theirs = GridSearchCV(estimator, GRID, cv=FOLDS, refit=False).fit(X, y)
    assert np.nanmax(ours.cv_results_["mean_gap"]) <= 1e-6
    for fold in range(3):
        name = f"split{fold}_test_score"
        assert np.abs(ours.cv_results_[name] - theirs.cv_results_[name]).max() <= 1.01 / 80  # a row on a border


def test_kernel_rows_that_do_not_fit_change_no_cell(digits):
    X, y = digits
    found = []
    for cache_size in (2000, 0.01):
        estimator = PegasosClassifier(kernel="rbf", solver="smo", tol=1e-6, cache_size=cache_size)
        search = PegasosSearchCV(estimator, GRID, cv=FOLDS, refit=False).fit(X, y)
        assert np.nanmax(search.cv_results_["mean_gap"]) <= 1e-6
        found.append(search.cv_results_["mean_test_score"])
    assert np.abs(found[0] - found[1]).max() <= 1.01 / 240


def test_a_matrix_and_a_regression(digits):
    X, y = digits
    K = rbf_kernel(X, gamma=0.01)
    estimator = PegasosClassifier(kernel="precomputed", solver="smo")
    search = PegasosSearchCV(estimator, {"C": [0.1, 1.0, 10.0]}, cv=FOLDS).fit(K, y)
    assert search.best_score_ > 0.95
    grid = {"C": [0.1, 1.0], "epsilon": [0.0, 0.2]}
    search = PegasosSearchCV(PegasosRegressor(kernel="rbf", solver="smo"), grid, cv=3).fit(X, y * 1.0)
    assert np.nanmax(search.cv_results_["mean_gap"]) <= 1e-3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_of_steps_are_runs_of_their_own(digits):
    X, y = digits
    grid = {"max_iter": [0.1, 100.0], "C": [1.0]}
    for solver in ("smo", "auto"):
        estimator = PegasosClassifier(kernel="rbf", solver=solver, fit_intercept=False)
        gaps = PegasosSearchCV(estimator, grid, cv=FOLDS, refit=False).fit(X, y).cv_results_["mean_gap"]
        assert gaps[1] <= 1e-3
        assert not gaps[0] <= 1e-3
