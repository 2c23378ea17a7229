"""pegasos.model_selection: scikit-learn's functions, number by number, with all fits as columns."""

import inspect

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import model_selection as theirs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import classes_problem
from pegasos import PegasosClassifier, model_selection
from pegasos.model_selection import cells
from pegasos.search import shared_runs
from textbook import pegasos_classifier, pegasos_regressor

X, CODES = classes_problem(3)
Y = np.array(["a", "b", "c"])[CODES]
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(Y)).astype(float)
GROUPS = np.arange(len(Y)) % 4
CYCLIC = pegasos_classifier(sampling="cyclic", max_iter=2, lam=0.05)
RBF = clone(CYCLIC).set_params(kernel="rbf")
REGRESSOR = pegasos_regressor(sampling="cyclic", max_iter=2)
TIMES = ("fit_time", "score_time")
pytestmark = pytest.mark.filterwarnings("ignore:The objective is:sklearn.exceptions.ConvergenceWarning")
FUNCTIONS = [name for name in model_selection.__all__ if name.islower() and hasattr(theirs, name)]


def both(name, *given, **asked):
    """Our result and scikit-learn's."""
    return [getattr(module, name)(*given, **asked) for module in (model_selection, theirs)]


def assert_same(found, expected):
    """The same entries in the same order, of the same kind, and but for times the same numbers."""
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert type(found[name]) is type(values), name
        if name == "indices":
            for side in values:
                for own, other in zip(found[name][side], values[side], strict=True):
                    assert_array_equal(own, other)
        elif name in TIMES:
            assert found[name].shape == values.shape
        elif name != "estimator":
            assert_allclose(found[name], values, rtol=1e-10)


@pytest.fixture
def runs(monkeypatch):
    """The calls that are not handed to scikit-learn."""
    seen = []
    evaluate = cells.evaluate
    monkeypatch.setattr(cells, "evaluate", lambda *given: seen.append(given[0]) or evaluate(*given))
    return seen


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_those_of_scikit_learn(name):
    ours, other = (inspect.signature(getattr(module, name)) for module in (model_selection, theirs))
    assert list(ours.parameters) == list(other.parameters)
    for parameter in ours.parameters.values():
        assert_array_equal(parameter.default, other.parameters[parameter.name].default)
        assert parameter.kind == other.parameters[parameter.name].kind


@pytest.mark.parametrize(
    "estimator", [CYCLIC, RBF, make_pipeline(StandardScaler(), RBF)], ids=["linear", "rbf", "pipe"]
)
def test_cross_validation(estimator, runs):
    asked = dict(cv=3, return_train_score=True, return_indices=True, scoring=["accuracy", "f1_macro"])
    assert_same(*both("cross_validate", estimator, X, Y, **asked))
    assert_allclose(*both("cross_val_score", estimator, X, Y), rtol=1e-12)
    assert runs


def test_weights_groups_and_splitters():
    params = {"sample_weight": WEIGHTS}
    for cv in (
        theirs.GroupKFold(3),
        theirs.KFold(3, shuffle=True, random_state=0),
        theirs.ShuffleSplit(2, random_state=0),
    ):
        assert_same(*both("cross_validate", CYCLIC, X, Y, groups=GROUPS, cv=cv, params=params))
    unordered = [(np.arange(40)[::-1], np.arange(40, 60)), (np.r_[0:50, 0:10], np.arange(50, 60))]
    assert_same(*both("cross_validate", CYCLIC, X, Y, cv=unordered))


def test_regression():
    targets = np.column_stack([X[:, 0], X[:, 1] + X[:, 2]])
    assert_same(*both("cross_validate", REGRESSOR, X[:, 3:], targets, scoring=("r2", "neg_mean_squared_error")))
    assert_allclose(*both("cross_val_predict", REGRESSOR, X[:, 3:], targets), rtol=1e-9, atol=1e-12)


LOG_LOSS = clone(CYCLIC).set_params(loss="log_loss")


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
@pytest.mark.parametrize("estimator", [LOG_LOSS, make_pipeline(StandardScaler(), LOG_LOSS)], ids=["alone", "pipe"])
def test_predictions_of_rows_not_seen(estimator, method):
    cv = theirs.KFold(3, shuffle=True, random_state=1)
    for rows in (CODES < 3, CODES < 2):
        found, expected = both("cross_val_predict", estimator, X[rows], Y[rows], cv=cv, method=method)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if method == "predict":
            assert_array_equal(found, expected)
        else:
            assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_rows_in_csr():
    assert_same(*both("cross_validate", CYCLIC, sparse.csr_matrix(X), Y, cv=3))


def test_a_class_that_a_fold_lacks():
    cv = [
        (np.flatnonzero(CODES != 2), np.flatnonzero(CODES == 2)),
        (np.flatnonzero(CODES == 2), np.flatnonzero(CODES != 2)),
    ]
    one = [(np.flatnonzero((CODES != 2) | (np.arange(60) < 9)), np.flatnonzero((CODES == 2) & (np.arange(60) >= 9)))]
    for module in (model_selection, theirs):
        with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 2"):
            scores = module.cross_val_score(CYCLIC, X, Y, cv=cv)
        assert_array_equal(np.isnan(scores), [False, True])
        with pytest.raises(ValueError, match="at least 2 classes"):
            module.cross_val_score(CYCLIC, X, Y, cv=cv, error_score="raise")
        with pytest.raises(ValueError, match="at least 2 classes"):
            module.cross_val_predict(CYCLIC, X, Y, cv=cv)
        with pytest.raises(ValueError, match="only works for partitions"):
            module.cross_val_predict(CYCLIC, X, Y, cv=one)
    log_loss = clone(CYCLIC).set_params(loss="log_loss")
    order = np.argsort(CODES, kind="stable")
    for module in (model_selection, theirs):
        with pytest.warns(RuntimeWarning, match="Number of classes in training fold"):
            found = module.cross_val_predict(log_loss, X[order], Y[order], cv=theirs.KFold(3), method="predict_proba")
        assert (found[:20, 0] == 0).all()


def test_fitted_estimators_come_back():
    found = model_selection.cross_validate(RBF, X, Y, cv=3, return_estimator=True, return_indices=True)
    assert len({id(each) for each in found["estimator"]}) == 3
    for each, test, score in zip(found["estimator"], found["indices"]["test"], found["test_score"], strict=True):
        assert each.score(X[test], Y[test]) == score


@pytest.mark.parametrize("shuffle", [False, True])
def test_learning_curve(shuffle, runs):
    asked = dict(train_sizes=[0.3, 0.6, 1.0], cv=3, shuffle=shuffle, random_state=0, return_times=True)
    found, expected = both("learning_curve", CYCLIC, X, Y, **asked)
    assert len(found) == len(expected) == 5
    for own, other in zip(found[:3], expected[:3], strict=True):
        assert_allclose(own, other, rtol=1e-12)
    assert found[3].shape == expected[3].shape
    assert len(runs) == 1


def test_learning_curve_by_partial_fit():
    asked = dict(train_sizes=[10, 30], cv=3, exploit_incremental_learning=True)
    found, expected = both("learning_curve", CYCLIC, X, Y, **asked)
    assert_allclose(found[2], expected[2])


def test_validation_curve(runs):
    for estimator, name in ((CYCLIC, "lam"), (make_pipeline(StandardScaler(), CYCLIC), "pegasosclassifier__max_iter")):
        asked = dict(param_name=name, param_range=[1, 2, 4], cv=3, scoring="balanced_accuracy")
        for own, other in zip(*both("validation_curve", estimator, X, Y, **asked), strict=True):
            assert_allclose(own, other, rtol=1e-12)
    assert len(runs) == 2


def test_other_estimators_are_handed_to_scikit_learn(runs):
    other = LogisticRegression(C=0.5)
    assert_same(*both("cross_validate", other, X, Y, return_estimator=True))
    assert_allclose(*both("cross_val_score", other, X, Y))
    assert_allclose(*both("cross_val_predict", other, X, Y, method="predict_proba"))
    for name, asked in (("learning_curve", {}), ("validation_curve", dict(param_name="C", param_range=[1, 2]))):
        for own, expected in zip(*both(name, other, X, Y, **asked), strict=True):
            assert_allclose(own, expected)
    for own, expected in zip(*both("permutation_test_score", other, X, Y, n_permutations=3), strict=True):
        assert_allclose(own, expected)
    assert not runs


def test_metadata_routing():
    weights = np.arange(1.0, 61.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        estimator = clone(CYCLIC).set_fit_request(sample_weight=True)
        cv = theirs.GroupKFold(3)
        params = {"sample_weight": weights, "groups": GROUPS}
        assert_same(*both("cross_validate", estimator, X, Y, cv=cv, scoring=scorer, params=params))
        for module in (model_selection, theirs):
            with pytest.raises(UnsetMetadataPassedError, match="cross_validate"):
                module.cross_validate(CYCLIC, X, Y, params={"sample_weight": weights})
            with pytest.raises(ValueError, match="groups"):
                module.cross_val_score(CYCLIC, X, Y, groups=GROUPS)


def test_a_scorer_of_the_user_gets_a_fitted_estimator():
    def margin(estimator, rows, labels):
        return float(np.abs(estimator.decision_function(rows)).mean())

    assert_allclose(*both("cross_val_score", RBF, X, Y, scoring=margin), rtol=1e-9)

    def broken(estimator, rows, labels):
        raise RuntimeError("no score")

    for module in (model_selection, theirs):
        with pytest.warns(UserWarning, match="Scoring failed"):
            assert np.isnan(module.cross_val_score(CYCLIC, X, Y, scoring=broken)).all()


def test_bad_input_is_refused_as_scikit_learn_does():
    for module in (model_selection, theirs):
        with pytest.raises(ValueError, match="n_splits=100"):
            module.cross_val_score(CYCLIC, X, Y, cv=100)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            module.cross_val_score(CYCLIC, X, Y[:-1])
        with pytest.raises(ValueError, match="'scoring' parameter"):
            module.cross_val_score(CYCLIC, X, Y, scoring="nonsense")
        with pytest.raises(ValueError, match="train_sizes"):
            module.learning_curve(CYCLIC, X, Y, train_sizes=[2.0])


def test_fits_that_miss_tol_warn_once():
    with pytest.warns(ConvergenceWarning, match="5 of 5 fits ended") as caught:
        model_selection.cross_val_score(PegasosClassifier(C=1e4, tol=1e-12, max_iter=1), X, Y)
    assert len(caught) == 1


# --- searches -----------------------------------------------------------------------------------------------------


def assert_same_search(found, expected):
    assert list(found.cv_results_) == list(expected.cv_results_)
    assert found.cv_results_["params"] == expected.cv_results_["params"]
    assert_allclose(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], rtol=1e-12)
    assert_array_equal(found.cv_results_["rank_test_score"], expected.cv_results_["rank_test_score"])
    assert found.best_params_ == expected.best_params_
    assert_array_equal(found.predict(X), expected.predict(X))


def test_grid_search():
    searches = [
        module.GridSearchCV(CYCLIC, {"lam": [0.01, 0.1], "max_iter": [1, 2]}, cv=3)
        for module in (model_selection, theirs)
    ]
    assert_same_search(*(search.fit(X, Y) for search in searches))
    assert set(inspect.signature(theirs.GridSearchCV).parameters) <= set(searches[0].get_params(deep=False))
    clone(searches[0])


def test_randomised_search():
    from scipy.stats import loguniform

    space = {"lam": loguniform(1e-3, 1), "max_iter": [1, 2]}
    searches = [
        module.RandomizedSearchCV(CYCLIC, space, n_iter=6, cv=3, random_state=3) for module in (model_selection, theirs)
    ]
    assert_same_search(*(search.fit(X, Y) for search in searches))
    assert set(searches[0].get_params(deep=False)) == {
        *inspect.signature(theirs.RandomizedSearchCV).parameters,
        "max_time",
    }
    clone(searches[0])


def test_searches_over_other_estimators_are_scikit_learns(runs):
    grid = {"C": [0.1, 1.0]}
    searches = [module.GridSearchCV(LogisticRegression(), grid, cv=3, n_jobs=1) for module in (model_selection, theirs)]
    assert_same_search(*(search.fit(X, Y) for search in searches))
    pipeline, steps = make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression": [CYCLIC, RBF]}
    searches = [module.GridSearchCV(pipeline, steps, cv=3) for module in (model_selection, theirs)]
    for search in searches:
        search.fit(X, Y)
    assert_allclose(searches[0].cv_results_["mean_test_score"], searches[1].cv_results_["mean_test_score"])
    with pytest.raises(ValueError, match="Invalid parameter"):
        model_selection.GridSearchCV(LogisticRegression(), {"nonsense": [1]}).fit(X, Y)


def test_repeated_rows_are_weights(monkeypatch):
    """Folds of a bootstrap share the run of the others, and each is the fit on its repeated rows."""
    rng = np.random.default_rng(0)
    cv = [(rng.integers(0, 60, 60), np.arange(20)), (np.arange(40)[::-1], np.arange(40, 60))]
    seen = []
    solve = shared_runs.solve
    monkeypatch.setattr(shared_runs, "solve", lambda job, **how: seen.append(job.n_columns) or solve(job, **how))
    asked = dict(
        cv=cv, return_train_score=True, scoring=["accuracy", "neg_log_loss"], params={"sample_weight": WEIGHTS + 1}
    )
    for kernel in ("linear", "rbf"):
        estimator = PegasosClassifier(kernel=kernel, gamma=0.5, loss="log_loss", tol=1e-9)
        found, expected = both("cross_validate", estimator, X, Y, **asked)
        for name in ("test_accuracy", "train_accuracy", "test_neg_log_loss", "train_neg_log_loss"):
            assert_allclose(found[name], expected[name], atol=1e-5)
    assert seen == [6, 6]
    classifier = PegasosClassifier(kernel="precomputed", tol=1e-9, loss="squared_hinge")
    assert_allclose(*both("cross_val_score", classifier, X @ X.T, Y, cv=cv))
    assert_allclose(*both("cross_val_score", classifier, X @ X.T, Y, cv=cv, scoring=lambda m, X, y: m.score(X, y)))
