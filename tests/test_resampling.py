"""Bootstrap and jackknife as columns: the fits on repeated rows, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

from conftest import classes_problem
from pegasos import PegasosClassifier, PegasosRegressor
from pegasos.model_selection import bootstrap, jackknife
from pegasos.model_selection import wide as wide_fits
from pegasos.model_selection.resampled import bca_interval

X, CODES = classes_problem(3)
Y = np.array(["a", "b", "c"])[CODES]
TWO, ONE = X[CODES < 2], Y[CODES < 2]
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(Y)).astype(float)
LINEAR = PegasosClassifier(tol=1e-10)
RBF = PegasosClassifier(kernel="rbf", gamma=0.5, tol=1e-10)


def assert_same_fits(estimator, X=X, Y=Y, sample_weight=None, scoring=None, atol=1e-4, **asked):
    """Each fit is that on the repeated rows."""
    asked = {"n_resamples": 8, "random_state": 0} | asked
    found = bootstrap(estimator, X, Y, sample_weight=sample_weight, scoring=scoring, **asked)
    score = get_scorer(scoring) if scoring else lambda model, rows, labels: model.score(rows, labels)
    for number, counts in enumerate(found.counts):
        rows, others = np.repeat(np.arange(len(Y)), counts), counts == 0
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[rows]}
        model = clone(estimator).fit(X[rows], Y[rows], **weights)
        assert_allclose(found.scores[number], score(model, X[others], Y[others]), atol=1e-5)
        if hasattr(model, "coef_"):
            assert_allclose(found.coef[number], model.coef_, atol=atol)
            assert_allclose(found.intercept[number], model.intercept_, atol=atol)
        else:
            assert found.coef is None
    return found


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_losses(loss):
    assert_same_fits(clone(LINEAR).set_params(loss=loss), TWO, ONE)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("estimator", [LINEAR, RBF], ids=["linear", "rbf"])
def test_classes(estimator, multi_class):
    assert_same_fits(clone(estimator).set_params(multi_class=multi_class))


def test_crammer_singer():
    assert_same_fits(clone(LINEAR).set_params(multi_class="crammer_singer", tol=1e-4), n_resamples=3, atol=0.1)


def test_kinds_of_rows():
    assert_same_fits(LINEAR, sparse.csr_matrix(TWO), ONE)
    wide = np.random.default_rng(0).normal(size=(len(ONE), 90))
    assert_same_fits(LINEAR, wide, ONE)
    assert_same_fits(PegasosClassifier(kernel="rbf", tol=1e-8), TWO, ONE)  # a gamma for each resample
    assert_same_fits(LINEAR, TWO.astype(np.float32), ONE, atol=1e-2)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 2.0}])
def test_weights(class_weight):
    assert_same_fits(clone(LINEAR).set_params(class_weight=class_weight), sample_weight=WEIGHTS, scoring="f1_macro")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_regression(kernel):
    svr = PegasosRegressor(kernel=kernel, gamma=0.5, tol=1e-10)
    assert_same_fits(svr, X[:, 1:], X[:, 0], scoring="neg_mean_squared_error")


def test_weak_regularisation_is_handed_on():
    """Where descent does not come to the end soon, the columns are solved as a single fit would be."""
    assert_same_fits(clone(LINEAR).set_params(C=1e4, tol=1e-7), TWO * [1.0, 30.0, 0.1, 1.0], ONE, atol=2e-2)


def test_chunks_change_nothing(monkeypatch):
    whole = bootstrap(LINEAR, X, Y, n_resamples=6, random_state=0)
    monkeypatch.setattr(wide_fits, "BYTES_PER_ENTRY", 1_000_000)
    cut = bootstrap(LINEAR, X, Y, n_resamples=6, random_state=0)
    assert_array_equal(cut.counts, whole.counts)
    assert_allclose(cut.coef, whole.coef, atol=1e-4)
    assert_array_equal(cut.scores, whole.scores)


def test_jackknife_leaves_out_each_row():
    found = jackknife(RBF, TWO, ONE)
    assert_array_equal(found.counts, 1 - np.eye(len(ONE)))
    rows = np.arange(len(ONE))
    expected = [clone(RBF).fit(TWO[rows != i], ONE[rows != i]).score(TWO[[i]], ONE[[i]]) for i in rows[:10]]
    assert_array_equal(found.scores[:10], expected)
    linear = jackknife(LINEAR, TWO, ONE)
    assert_allclose(linear.estimate["coef"], clone(LINEAR).fit(TWO, ONE).coef_, atol=1e-4)


def test_bca_is_scipys():
    data = np.random.default_rng(0).lognormal(size=30)
    expected = stats.bootstrap((data,), np.mean, n_resamples=500, method="BCa", rng=np.random.default_rng(1))
    left_out = (data.sum() - data) / 29
    found = bca_interval(
        expected.bootstrap_distribution[:, None], np.array([data.mean()]), left_out[:, None], np.array([0.025, 0.975])
    )
    assert_allclose(found[:, 0], expected.confidence_interval)


def test_intervals():
    found = bootstrap(LINEAR, TWO, ONE, n_resamples=99, bca=True, random_state=0)
    assert_allclose(found.interval("coef", 0.9), np.quantile(found.coef, [0.05, 0.95], axis=0))
    assert found.interval("scores").shape == (2,)
    low, high = found.interval("coef", method="bca")
    assert (low < found.estimate["coef"]).all()
    assert (found.estimate["coef"] < high).all()
    assert found.interval("intercept", method="bca").shape == (2, 1)
    for asked, message in (
        ({"of": "nonsense"}, "There is no 'nonsense'"), ({"confidence_level": 1.0}, "confidence_level"),
        ({"method": "normal"}, "method must be"), ({"of": "scores", "method": "bca"}, "method='bca' is for"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            found.interval(**asked)
    with pytest.raises(ValueError, match="There is no 'coef'"):
        bootstrap(RBF, TWO, ONE, n_resamples=2).interval()


def test_other_estimators_are_fitted_one_by_one():
    found = assert_same_fits(LogisticRegression(), scoring="accuracy")
    assert found.coef.shape == (8, 3, 4)


def test_bagging_keeps_working():
    model = BaggingClassifier(PegasosClassifier(), n_estimators=5, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.5


def test_bad_input():
    with pytest.raises(ValueError, match="'n_resamples' parameter"):
        bootstrap(LINEAR, X, Y, n_resamples=0)
    with pytest.raises(ValueError, match="lacked one of the 60 classes"):
        bootstrap(LINEAR, X, np.arange(60), n_resamples=1, random_state=0)
    with pytest.raises(ValueError, match="at least 2 classes"):
        bootstrap(LINEAR, X, np.zeros(60), n_resamples=2)
    with pytest.warns(ConvergenceWarning, match="fits ended with a relative gap above tol"):
        bootstrap(clone(LINEAR).set_params(C=1e6, max_iter=1), X, Y, n_resamples=2, random_state=0)
