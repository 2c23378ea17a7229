"""Calibrated probabilities: those of CalibratedClassifierCV(ensemble=False) over the same folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, StratifiedKFold

import pegasos
from conftest import classes_problem
from pegasos import PegasosClassifier, PegasosSearchCV
from pegasos.estimators.calibration import METHODS
from textbook import pegasos_classifier

X, CODES = classes_problem(3)
Y = np.array(["a", "b", "c"])[CODES]
CYCLIC = pegasos_classifier(sampling="cyclic", max_iter=3, lam=0.05)
RBF = clone(CYCLIC).set_params(kernel="rbf")
EXACT = PegasosClassifier(kernel="rbf", tol=1e-9)
WEIGHTS = np.random.default_rng(1).integers(1, 4, len(Y)).astype(float)
SHUFFLED = StratifiedKFold(3, shuffle=True, random_state=2)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def assert_same(estimator, method, X=X, Y=Y, cv=5, atol=1e-10, **given):
    found = clone(estimator).set_params(probability=method, probability_cv=cv).fit(X, Y, **given)
    expected = CalibratedClassifierCV(estimator, method=method, cv=cv, ensemble=False).fit(X, Y, **given)
    assert_array_equal(found.classes_, expected.classes_)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=atol)
    assert_allclose(np.exp(found.predict_log_proba(X)), expected.predict_proba(X), atol=atol)
    assert_array_equal(found.predict(X), clone(estimator).fit(X, Y, **given).predict(X))


@pytest.mark.parametrize("method", METHODS)
def test_methods(method):
    for estimator in (CYCLIC, RBF):
        assert_same(estimator, method)
        assert_same(estimator, method, X[CODES < 2], Y[CODES < 2], cv=SHUFFLED)


@pytest.mark.parametrize("multi_class", ["ovo", "crammer_singer"])
def test_schemes(multi_class):
    assert_same(clone(CYCLIC).set_params(multi_class=multi_class), "sigmoid", cv=SHUFFLED)


def test_rows_and_weights():
    assert_same(CYCLIC, "sigmoid", sparse.csr_matrix(X))
    assert_same(CYCLIC, "isotonic", sample_weight=WEIGHTS, cv=SHUFFLED)
    assert_same(clone(CYCLIC).set_params(kernel="precomputed"), "sigmoid", X @ X.T)
    assert_same(CYCLIC, "sigmoid", X.astype(np.float32), atol=1e-5)


def test_fits_to_the_optimum():
    assert_same(EXACT, "sigmoid", atol=1e-4)
    rows = np.arange(len(X)) % 2 == 0
    model = PegasosClassifier(kernel="rbf", probability="sigmoid").fit(X[rows], Y[rows])
    assert log_loss(Y[~rows], model.predict_proba(X[~rows]), labels=model.classes_) < np.log(3)


def test_bad_folds_are_refused_as_scikit_learn_does():
    few = np.where(np.arange(60) < 4, "rare", Y)
    for cv, y, message in ((5, few, "provided less than 5 examples"), (LeaveOneOut(), Y, "LeaveOneOut")):
        with pytest.raises(ValueError, match=message):
            clone(CYCLIC).set_params(probability="sigmoid", probability_cv=cv).fit(X, y)
        with pytest.raises(ValueError, match=message):
            CalibratedClassifierCV(CYCLIC, cv=cv, ensemble=False).fit(X, y)
    with pytest.raises(ValueError, match="'probability' parameter"):
        clone(CYCLIC).set_params(probability=True).fit(X, Y)
    lacking = [(np.flatnonzero(k != CODES), np.flatnonzero(k == CODES)) for k in range(3)]
    for make in (
        lambda cv: clone(CYCLIC).set_params(probability="sigmoid", probability_cv=cv),
        lambda cv: CalibratedClassifierCV(CYCLIC, cv=cv, ensemble=False),
    ):
        with pytest.warns(RuntimeWarning, match="Number of classes"), pytest.raises(ValueError, match="class"):
            make(lacking).fit(X, Y)


def test_who_offers_probabilities():
    assert not hasattr(PegasosClassifier(), "predict_proba")
    assert not hasattr(PegasosClassifier(), "predict_log_proba")
    assert hasattr(PegasosClassifier(probability="sigmoid"), "predict_log_proba")
    model = pegasos_classifier(loss="log_loss").fit(X, Y)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    online = PegasosClassifier(lam=0.1, probability="sigmoid").partial_fit(X, Y, classes=np.unique(Y))
    with pytest.raises(ValueError, match="Only `fit` calibrates"):
        online.predict_proba(X)
    refitted = PegasosClassifier(probability="sigmoid").fit(X, Y).set_params(probability=None).fit(X, Y)
    assert not hasattr(refitted, "calibration_")


def test_a_search_calibrates_within_each_fold():
    estimator = clone(CYCLIC).set_params(probability="sigmoid", probability_cv=3)
    asked = dict(cv=KFold(3), scoring="neg_log_loss", refit=False)
    found, expected = (
        kind(estimator, {"lam": [0.01, 0.1]}, **asked).fit(X, Y) for kind in (PegasosSearchCV, GridSearchCV)
    )
    assert_allclose(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


@pytest.mark.parametrize("method", METHODS)
def test_model_files_keep_the_calibration(method, tmp_path):
    for rows in (CODES < 3, CODES < 2):
        model = clone(RBF).set_params(probability=method, probability_cv=SHUFFLED).fit(X[rows], Y[rows])
        model.save(tmp_path / "model.safetensors")
        assert_array_equal(pegasos.load(tmp_path / "model.safetensors").predict_proba(X), model.predict_proba(X))
