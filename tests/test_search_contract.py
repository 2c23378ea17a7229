"""PegasosSearchCV as a scikit-learn search: attributes, scoring, refit, routing, pickling and the common checks."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import classes_problem
from pegasos import PegasosClassifier, PegasosRegressor, PegasosSearchCV
from textbook import pegasos_classifier, pegasos_regressor

X, Y = classes_problem(3)
ONE, TWO = classes_problem(2)
WEIGHTS = np.random.default_rng(1).integers(0, 4, 60).astype(float)
GROUPS = np.arange(60) % 4
GRID = {"lam": [0.01, 0.1], "max_iter": [1, 3]}
CYCLIC = pegasos_classifier(sampling="cyclic", max_iter=2)
TIMES = ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")


THIRDS = KFold(3)


def searches(estimator=CYCLIC, grid=GRID, cv=THIRDS, **params):
    """The same search twice, unfitted: ours and scikit-learn's."""
    return [kind(estimator, grid, cv=cv, **params) for kind in (PegasosSearchCV, GridSearchCV)]


def assert_same_results(found, expected):
    """cv_results_ entry by entry: order, type, shape, dtype, masks and, but for times, values."""
    assert list(found.cv_results_) == list(expected.cv_results_)
    for name, values in expected.cv_results_.items():
        own = found.cv_results_[name]
        assert type(own) is type(values), name
        if name == "params":
            assert own == values
            continue
        assert (own.shape, own.dtype) == (values.shape, values.dtype), name
        if isinstance(values, np.ma.MaskedArray):
            np.testing.assert_array_equal(own.mask, values.mask)
            assert own.fill_value == values.fill_value
            np.testing.assert_array_equal(own.compressed(), values.compressed())
        elif name in TIMES:
            assert np.isfinite(own).all()
            assert (own > 0).all() or name.startswith("std")
        else:
            np.testing.assert_allclose(own, values, rtol=1e-9, atol=1e-12, err_msg=name)


# --- the common checks ----------------------------------------------------------------------------

SHORT = {"lam": [0.001], "max_iter": [2, 20]}
TWO_TARGETS = {"check_supervised_y_2d": "GridSearchCV does not say either that a regressor takes several targets"}
CHECKED = [
    PegasosSearchCV(PegasosClassifier(random_state=0, average=False), SHORT, cv=2),
    PegasosSearchCV(PegasosClassifier(kernel="rbf", random_state=0), {"lam": [0.01, 0.1]}, cv=3),
    PegasosSearchCV(PegasosRegressor(), {"C": [1, 10]}, cv=2),
    PegasosSearchCV(PegasosClassifier(), {"C": [0.1, 1.0]}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*StandardScaler:UserWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda search: TWO_TARGETS if is_regressor(search) else {})
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_it_is_what_its_estimator_is():
    assert is_classifier(PegasosSearchCV(pegasos_classifier(), GRID))
    assert is_regressor(PegasosSearchCV(pegasos_regressor(), GRID))
    assert get_tags(PegasosSearchCV(pegasos_classifier(kernel="precomputed"), GRID)).input_tags.pairwise
    assert get_tags(PegasosSearchCV(pegasos_classifier(), GRID)).input_tags.sparse


# --- results --------------------------------------------------------------------------------------

GRIDS = {
    "one grid": GRID,
    "two grids": [{"lam": [0.01, 0.1], "kernel": ["rbf"]}, {"C": [1.0, 2.0]}],
    "no value": {},
    "mixed values": {"gamma": ["scale", 0.1], "class_weight": [None, {0: 1, 1: 2, 2: 3}], "lam": [0.1]},
    "one candidate": {"lam": [0.1]},
    "ties": {"lam": [0.1, 0.1, 0.01, 0.1]},
}


@pytest.mark.parametrize("grid", GRIDS)
def test_results_look_as_those_of_grid_search(grid):
    found, expected = (search.fit(X, Y) for search in searches(grid=GRIDS[grid], return_train_score=grid != "ties"))
    assert_same_results(found, expected)
    for name in ("best_index_", "best_score_", "best_params_", "n_splits_", "multimetric_"):
        assert getattr(found, name) == getattr(expected, name), name
        assert type(getattr(found, name)) is type(getattr(expected, name)), name
    assert repr(found.scorer_) == repr(expected.scorer_)
    assert found.n_features_in_ == 4
    assert found.refit_time_ > 0
    np.testing.assert_array_equal(found.classes_, expected.classes_)


def errors_of_both(estimator, X, y):
    labels = estimator.predict(X)
    return {"right": (labels == y).mean(), "wrong": (labels != y).mean()}


PROBABLE = pegasos_classifier(sampling="cyclic", loss="log_loss")
SCORINGS = {
    "a name": (CYCLIC, "balanced_accuracy", True),
    "a threshold": (CYCLIC, "roc_auc", True),
    "probabilities": (PROBABLE, "neg_log_loss", True),
    "a scorer": (CYCLIC, make_scorer(accuracy_score), True),
    "a callable": (CYCLIC, lambda estimator, X, y: float((estimator.predict(X) == y).mean()), True),
    "a list": (CYCLIC, ["accuracy", "f1"], "f1"),
    "a tuple": (PROBABLE, ("roc_auc", "neg_brier_score"), "neg_brier_score"),
    "a dict": (CYCLIC, {"one": "accuracy", "two": make_scorer(accuracy_score, normalize=False)}, "two"),
    "a callable beside a name": (CYCLIC, {"one": "accuracy", "two": lambda e, X, y: e.score(X, y)}, "two"),
    "a callable that returns a dict": (CYCLIC, errors_of_both, "right"),
    "no refit": (CYCLIC, ["accuracy", "f1"], False),
    "a callable refit": (CYCLIC, ["accuracy", "f1"], lambda results: int(results["mean_test_f1"].argmin())),
    "a callable refit of one score": (CYCLIC, None, lambda results: 1),
}


@pytest.mark.parametrize("scoring", SCORINGS)
def test_scoring_and_refit_as_in_grid_search(scoring):
    estimator, scoring, refit = SCORINGS[scoring]
    given = dict(scoring=scoring, refit=refit, return_train_score=True)
    found, expected = (search.fit(ONE, TWO) for search in searches(estimator, {"lam": [0.01, 0.1]}, **given))
    assert_same_results(found, expected)
    assert found.multimetric_ == expected.multimetric_
    for name in ("best_index_", "best_params_", "best_score_", "best_estimator_", "refit_time_"):
        assert hasattr(found, name) == hasattr(expected, name), name
    if refit is not False:
        assert found.best_index_ == expected.best_index_
        np.testing.assert_array_equal(found.predict(ONE), expected.predict(ONE))
        if not callable(refit):
            assert found.score(ONE, TWO) == expected.score(ONE, TWO)


def test_regression_scores_as_in_grid_search():
    estimator = pegasos_regressor(kernel="rbf", sampling="cyclic")
    scoring = {"far": "neg_mean_absolute_error", "own": make_scorer(mean_absolute_error, greater_is_better=False)}
    found, expected = (search.fit(X, X[:, :2] + 5) for search in searches(estimator, scoring=scoring, refit="far"))
    assert_same_results(found, expected)
    np.testing.assert_allclose(found.predict(X), expected.predict(X))


def test_without_refit_there_is_a_best_but_no_model():
    search = PegasosSearchCV(CYCLIC, GRID, refit=False).fit(X, Y)
    assert search.best_params_ in search.cv_results_["params"]
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError):
        search.predict(X)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_methods_are_those_of_the_best_estimator(kernel):
    estimator = pegasos_classifier(kernel=kernel, loss="log_loss", random_state=0)
    search = PegasosSearchCV(estimator, GRID).fit(X, Y)
    for method in ("predict", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(search, method)(X), getattr(search.best_estimator_, method)(X))
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    assert not hasattr(PegasosSearchCV(pegasos_classifier(), GRID), "predict_proba")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_time_limit_holds_for_the_refit_of_a_pipeline_too():
    steps = 400_000
    pipeline = make_pipeline(StandardScaler(), pegasos_classifier(lam=0.1, max_steps=steps, random_state=0))
    search = PegasosSearchCV(pipeline, {}, cv=2, max_time=0.2).fit(ONE, TWO)
    assert search.best_estimator_[-1].n_iter_ < steps


def test_predict_before_fit_says_so():
    with pytest.raises(NotFittedError):
        PegasosSearchCV(CYCLIC, GRID).predict(X)


@pytest.mark.parametrize("kind", ["linear", "rbf", "pipeline"])
def test_data_frames_and_their_names(kind):
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(60)[::-1])
    labels = pd.Series(np.array(["x", "y", "z"])[Y], index=frame.index)
    estimator = make_pipeline(StandardScaler(), CYCLIC) if kind == "pipeline" else clone(CYCLIC).set_params(kernel=kind)
    prefix = "pegasosclassifier__" if kind == "pipeline" else ""
    for scoring in (None, lambda estimator, X, y: (estimator.predict(X) == y.to_numpy()).mean()):
        grid = {f"{prefix}lam": [0.01, 0.1]}
        found, expected = (search.fit(frame, labels) for search in searches(estimator, grid, scoring=scoring))
        assert_same_results(found, expected)
        assert found.feature_names_in_.tolist() == list("abcd")
        assert found.classes_.tolist() == ["x", "y", "z"]
        np.testing.assert_array_equal(found.predict(frame), expected.predict(frame))


@pytest.mark.parametrize("as_type", [list, np.asfortranarray, sparse.csc_array, sparse.coo_matrix, np.float32])
def test_rows_of_any_type(as_type):
    found, expected = (search.fit(as_type(X), list(Y)) for search in searches())
    assert_same_results(found, expected)


# --- as a value -----------------------------------------------------------------------------------


def test_clones_parameters_and_repr():
    search = PegasosSearchCV(pegasos_classifier(lam=0.5), GRID, max_time=5, cv=KFold(2))
    assert search.get_params()["estimator__lam"] == 0.5
    other = clone(search).set_params(estimator__lam=0.25, cv=4, error_score=0)
    assert (other.estimator.lam, other.cv, other.error_score, other.max_time) == (0.25, 4, 0, 5)
    assert search.estimator.lam == 0.5
    assert "PegasosSearchCV" in repr(search)
    assert "param_grid" in repr(search)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_pickled_search_is_the_same(kernel):
    search = PegasosSearchCV(pegasos_classifier(kernel=kernel, random_state=0), GRID, cv=3).fit(X, Y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.best_params_ == search.best_params_
    assert_same_results(again, search)


def test_a_search_within_cross_validation():
    search = PegasosSearchCV(pegasos_classifier(random_state=0), GRID, cv=2)
    assert (cross_val_score(search, X, Y, cv=3) > 0.4).all()


def test_the_same_seed_gives_the_same_results():
    search = PegasosSearchCV(pegasos_classifier(random_state=7), GRID, cv=3)
    assert_same_results(clone(search).fit(X, Y), search.fit(X, Y))


def test_a_generator_as_random_state_is_not_used_up():
    generator = np.random.RandomState(0)
    before = generator.get_state()[1].copy()
    PegasosSearchCV(pegasos_classifier(random_state=generator), GRID, cv=3).fit(X, Y)
    np.testing.assert_array_equal(generator.get_state()[1], before)


# --- scorers of one's own -------------------------------------------------------------------------

KINDS = {
    "linear": dict(),
    "rbf": dict(kernel="rbf"),
    "rbf with an intercept": dict(kernel="rbf", fit_intercept=True, multi_class="ovo"),
    "crammer_singer": dict(multi_class="crammer_singer", solver="sdca"),
    "precomputed": dict(kernel="precomputed"),
}
OF_THE_FIT = (  # the search promises no certificates
    "objective_", "dual_gap_", "relative_gap_", "converged_", "history_", "violations_", "_memory",
)  # fmt: skip


@pytest.mark.parametrize("cv", [KFold(3), ShuffleSplit(2, random_state=0)], ids=["in order", "permuted"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_callable_gets_a_whole_estimator(kind, cv):
    rows, seen = X @ X.T if kind == "precomputed" else X, []

    def scorer(estimator, X_test, y_test):
        seen.append((estimator.get_params(), estimator))
        assert len(X_test) == len(y_test)
        return estimator.score(X_test, y_test)

    estimator = clone(CYCLIC).set_params(**KINDS[kind])
    for search in searches(estimator, cv=cv, scoring=scorer, refit=False, error_score="raise"):
        search.fit(rows, Y)
    half = len(seen) // 2
    for params, own in seen[:half]:
        others = [other for given, other in seen[half:] if given == params]
        assert any(_same_model(own, other) for other in others), params


def _same_model(own, other):
    """Whether two fitted estimators agree, all attributes that a search promises among them."""
    expected = {name: value for name, value in vars(other).items() if name not in OF_THE_FIT}
    missing = expected.keys() - vars(own).keys()
    assert not missing, missing
    names = [name for name in expected if name.endswith("_") and not name.startswith("_")]
    alike = [np.shape(vars(own)[name]) == np.shape(expected[name]) for name in names]
    return all(alike) and all(np.allclose(vars(own)[n], expected[n], rtol=1e-9, atol=1e-12) for n in names)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_kept_estimator_predicts_rows_it_never_saw(kernel):
    kept = []
    scorer = lambda estimator, X, y: kept.append(estimator) or 0.5
    PegasosSearchCV(clone(CYCLIC).set_params(kernel=kernel), {"lam": [0.1]}, cv=[(range(40), range(40, 60))],
                    scoring=scorer, refit=False).fit(X, Y)  # fmt: skip
    other = clone(CYCLIC).set_params(kernel=kernel, lam=0.1).fit(X[:40], Y[:40])
    new = np.random.default_rng(0).normal(size=(9, 4))
    np.testing.assert_allclose(kept[0].decision_function(new), other.decision_function(new))


class Doubtful(PegasosClassifier):
    """Looks at its rows before it predicts."""

    def predict(self, X):
        return super().predict(np.asarray(X) * 1.0)


def test_a_subclass_that_predicts_in_its_own_way():
    found, expected = (search.fit(X, Y) for search in searches(Doubtful(sampling="cyclic"), {"lam": [0.01, 0.1]}))
    assert_same_results(found, expected)


# --- routing --------------------------------------------------------------------------------------


def test_weights_and_groups_without_routing():
    found, expected = (search.fit(X, Y, sample_weight=WEIGHTS, groups=GROUPS) for search in searches(cv=GroupKFold(3)))
    assert_same_results(found, expected)


@pytest.mark.parametrize(("weigh_fits", "weigh_scores"), [(True, True), (True, False), (False, True)])
def test_metadata_goes_where_it_is_asked_for(weigh_fits, weigh_scores):
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = clone(CYCLIC).set_fit_request(sample_weight=weigh_fits)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=weigh_scores)
        cv = GroupKFold(3).set_split_request(groups=True)
        found, expected = (
            search.fit(X, Y, sample_weight=WEIGHTS, groups=GROUPS)
            for search in searches(estimator, cv=cv, scoring=scorer)
        )
        assert_same_results(found, expected)
        np.testing.assert_array_equal(found.best_estimator_.coef_, expected.best_estimator_.coef_)
        weights = dict(sample_weight=WEIGHTS) if weigh_scores else {}
        assert found.score(X, Y, **weights) == expected.score(X, Y, **weights)


@pytest.mark.parametrize("estimator", [pegasos_classifier(), LogisticRegression()], ids=["own", "foreign"])
def test_metadata_that_nobody_asks_for_is_refused(estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        for search in searches(estimator, {"C": [1.0]}):
            with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
                search.fit(X, Y, sample_weight=WEIGHTS)
