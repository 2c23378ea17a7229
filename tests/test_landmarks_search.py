"""Searches over landmarks: every cell is what GridSearchCV finds, with landmarks of the fold's training rows only."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nystroem import TARGETS, WEIGHTS, X, Y, rows_for
from pegasos import PegasosSearchCV
from test_search_cells import assert_same_cells, both
from textbook import pegasos_classifier, pegasos_regressor

N = len(X)
RBF = dict(kernel="rbf", gamma=0.3, n_landmarks=9)
LAMS = {"lam": [0.1, 0.01]}
RNG = np.random.default_rng(3)
BOOTSTRAP = [(drawn, np.setdiff1d(np.arange(N), drawn)) for drawn in RNG.integers(0, N, (2, N))]
TESTED = [np.arange(0, N, 3), np.arange(1, N, 3)]
PERMUTED = [(RNG.permutation(np.setdiff1d(np.arange(N), test)), test) for test in TESTED]


def classifier(**params):
    return pegasos_classifier(**(dict(sampling="cyclic", random_state=0) | RBF | params))


def loss_of(estimator, X, y):
    """A scorer of the user, who sees the estimator itself and tells models apart that label all rows alike."""
    scores = estimator.decision_function(X).reshape(len(y), -1)
    own = scores[np.arange(len(y)), np.minimum(y, scores.shape[1] - 1)]
    assert estimator.support_.size <= estimator.n_landmarks
    return -float(np.abs(own - 1).mean())


# --- cell by cell ---------------------------------------------------------------------------------

RULES = [
    dict(),
    dict(landmarks="k-means++", average=False),
    dict(batch_size=7, project=True, average="uniform"),
    dict(batch_size=20, fit_intercept=True),
    dict(batch_size="all"),
    dict(multi_class="ovo", class_weight="balanced"),
    dict(multi_class="crammer_singer"),
    dict(loss="log_loss"),
    dict(loss="squared_hinge"),
    dict(solver="sdca"),
    dict(solver="sdca", multi_class="crammer_singer", average=False),
    dict(gamma="scale"),
]


@pytest.mark.parametrize("cache_size", [None, 0])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_cell_equals_grid_search(rule, cache_size):
    estimator = classifier(cache_size=cache_size, max_iter=3, **rule)
    assert_same_cells(*both(estimator, LAMS, X, Y))
    assert_same_cells(*both(estimator, LAMS, X, Y, scoring=loss_of), rtol=1e-8)


GRIDS = [
    ({"n_landmarks": [5, 9, None]}, dict(lam=0.02)),
    ({"landmarks": ["uniform", "k-means++"], "lam": [0.1, 0.01]}, dict()),
    ({"kernel": ["rbf", "poly", "laplacian", "sigmoid"], "n_landmarks": [5, 9]}, dict(lam=0.02, max_iter=3)),
    ({"gamma": ["scale", 0.1, 1.0], "C": [0.1, 10]}, dict()),
    ({"random_state": [0, 1, 2]}, dict(lam=0.02)),
    ({"cache_size": [None, 0], "solver": ["pegasos", "sdca"]}, dict(lam=0.02, max_iter=3)),
]


@pytest.mark.parametrize(("grid", "params"), GRIDS, ids=str)
def test_every_grid_equals_grid_search(grid, params):
    assert_same_cells(*both(classifier(**params), grid, X, Y))


@pytest.mark.parametrize("rows", ["csr", "float32", "precomputed", "callable"])
@pytest.mark.parametrize("rule", [dict(), dict(solver="sdca"), dict(batch_size=20, cache_size=0)], ids=str)
def test_every_kind_of_rows_equals_grid_search(rows, rule):
    kernel = rows if rows in ("precomputed", "callable") else "rbf"
    params, values, _ = rows_for(kernel)
    values = {"csr": sparse.csr_matrix(values), "float32": values.astype(np.float32)}.get(rows, values)
    found, expected = both(classifier(**params, **rule), LAMS, values, Y, scoring=loss_of)
    assert_same_cells(found, expected, rtol=1e-3 if rows == "float32" else 1e-8)


@pytest.mark.parametrize(
    "params", [dict(), dict(landmarks="k-means++", multi_class="ovo"), dict(gamma="scale")], ids=str
)
@pytest.mark.filterwarnings("ignore:The scoring .* does not support sample_weight")
def test_sample_weights_are_those_of_the_fold(params):
    assert_same_cells(*both(classifier(**params), LAMS, X, Y, sample_weight=WEIGHTS), rtol=1e-9)
    given = dict(scoring=loss_of, sample_weight=WEIGHTS)
    assert_same_cells(*both(classifier(**params), LAMS, X, Y, **given), rtol=1e-8)


@pytest.mark.parametrize("rule", [dict(), dict(average="suffix"), dict(batch_size=4, average="uniform")], ids=str)
@pytest.mark.parametrize("cache_size", [None, 0])
def test_stops_on_the_way_equal_fits_of_their_own(rule, cache_size):
    grid = {"max_steps": [3, 11, 50, 170], "lam": [0.1, 0.01]}
    found, expected = both(classifier(cache_size=cache_size, **rule), grid, X, Y, scoring=loss_of)
    assert_same_cells(found, expected, rtol=1e-8)


def test_stops_of_dual_coordinate_ascent_equal_fits_of_their_own():
    grid = {"max_steps": [11, 39, 50, 170], "lam": [0.1, 0.01]}
    assert_same_cells(*both(classifier(solver="sdca"), grid, X, Y, scoring=loss_of), rtol=1e-8)


SPLITS = {
    "permuted": PERMUTED,
    "repeated rows": BOOTSTRAP,
    "some rows": ShuffleSplit(2, train_size=0.4, random_state=0),
}


@pytest.mark.parametrize("params", [dict(), dict(landmarks="k-means++", solver="sdca")], ids=str)
@pytest.mark.parametrize("sampling", ["cyclic", "shuffle"])
@pytest.mark.parametrize("split", SPLITS)
def test_every_split_equals_grid_search(split, sampling, params):
    estimator = classifier(sampling=sampling, **params)
    if sampling == "cyclic":
        assert_same_cells(*both(estimator, LAMS, X, Y, SPLITS[split], scoring=loss_of), rtol=1e-8)
        return
    # The shared stream draws in another order; which rows are landmarks does not depend on it.
    found, expected = both(estimator, LAMS, X, Y, SPLITS[split], scoring=landmarks_seen)
    assert_same_cells(found, expected)


def landmarks_seen(estimator, X, y):
    """A number that tells which rows the landmarks are, and asserts that they are where the estimator says."""
    assert (np.diff(estimator.support_) > 0).all()
    assert len(estimator.support_vectors_) == len(estimator.support_) == estimator.n_support_.sum()
    return float((estimator.support_vectors_ * [1, 10, 100, 1000]).sum() + estimator.support_.sum() / 7)


def test_landmarks_are_among_the_training_rows_of_their_fold_only():
    """The first feature is the row's number, of which the kernel takes no notice."""
    rows, seen = np.column_stack([np.arange(N), X]), []

    def without_numbers(A, B):
        return np.exp(-0.3 * ((A[:, None, 1:] - B[None, :, 1:]) ** 2).sum(axis=2))

    def scorer(estimator, part, y):
        seen.append((estimator.support_vectors_[:, 0].astype(int), part[:, 0].astype(int)))
        return 0.0

    for cv in (KFold(3), PERMUTED):
        PegasosSearchCV(classifier(kernel=without_numbers), LAMS, cv=cv, scoring=scorer, refit=False).fit(rows, Y)
    assert len(seen) == 2 * 3 + 2 * 2
    for landmarks, test in seen:
        assert len(landmarks) == 9
        assert not set(landmarks) & set(test)


# --- pipelines, regressors, the best model --------------------------------------------------------


@pytest.mark.parametrize("cv", [KFold(3), PERMUTED, BOOTSTRAP], ids=["in order", "permuted", "repeated rows"])
def test_a_pipeline_equals_grid_search(cv):
    pipeline = make_pipeline(StandardScaler(), classifier())
    grid = {"pegasosclassifier__lam": [0.1, 0.01], "pegasosclassifier__n_landmarks": [4, 9]}
    found, expected = both(pipeline, grid, 3 * X + 1, Y, cv, refit=True)
    assert_same_cells(found, expected)
    np.testing.assert_array_equal(found.predict(3 * X + 1), expected.predict(3 * X + 1))


@pytest.mark.parametrize("params", [dict(), dict(solver="sdca"), dict(batch_size=20, cache_size=0)], ids=str)
def test_regressors_too(params):
    estimator = pegasos_regressor(sampling="cyclic", random_state=0, **RBF, **params)
    grid = [{"lam": [0.01], "max_iter": [2, 5]}, {"C": [1]}]
    assert_same_cells(*both(estimator, grid, X, TARGETS, scoring="r2"), rtol=1e-7)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_bad_numbers_of_landmarks_fail_beside_good_ones():
    grid = {"n_landmarks": [0, 5], "lam": [0.1]}
    for kind in (PegasosSearchCV, GridSearchCV):
        with pytest.warns(FitFailedWarning, match="n_landmarks"):
            found = kind(classifier(), grid, cv=3, refit=False).fit(X, Y)
        assert np.isnan(found.cv_results_["mean_test_score"][0])
        assert found.cv_results_["mean_test_score"][1] > 0.3


def test_more_landmarks_than_training_rows_warn_and_use_all():
    with pytest.warns(UserWarning, match="n_landmarks=50 is more than the 40 rows"):
        found = PegasosSearchCV(classifier(n_landmarks=50), LAMS, cv=KFold(3), refit=False).fit(X, Y)
    with pytest.warns(UserWarning, match="n_landmarks=50 is more than the 40 rows"):
        expected = GridSearchCV(classifier(n_landmarks=50), LAMS, cv=KFold(3), refit=False).fit(X, Y)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


@pytest.mark.parametrize("sampling", ["shuffle", "replacement", "cyclic"])
def test_the_best_estimator_is_a_fit_on_all_rows(sampling):
    search = PegasosSearchCV(classifier(sampling=sampling), {"lam": [0.01, 0.1], "n_landmarks": [5, 9]}, cv=3).fit(X, Y)
    fresh = classifier(sampling=sampling, **search.best_params_).fit(X, Y)
    for name in ("dual_coef_", "support_", "intercept_", "t_", "dual_gap_", "objective_"):
        np.testing.assert_array_equal(getattr(search.best_estimator_, name), getattr(fresh, name))
    np.testing.assert_array_equal(search.predict(X), fresh.predict(X))
    assert search.score(X, Y) > 0.6
