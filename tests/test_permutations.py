"""permutation_test_score: scikit-learn's scores and p-values for the same permutations, all of them columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import model_selection as theirs
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import classes_problem
from pegasos import PegasosClassifier, PegasosRegressor, model_selection
from pegasos.model_selection import labelings, permutations
from pegasos.model_selection import wide as wide_fits
from pegasos.model_selection.splits import is_stratified, splits_of_folds, stratified_folds
from textbook import pegasos_classifier, pegasos_regressor

X, CODES = classes_problem(3, seed=3)
Y = np.array(["a", "b", "c"])[CODES]
TWO, ONE = X[CODES < 2], Y[CODES < 2]
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(Y)).astype(float)
CYCLIC = pegasos_classifier(sampling="cyclic", max_iter=2, lam=0.05)
RBF = clone(CYCLIC).set_params(kernel="rbf", gamma=0.5)
EXACT = PegasosClassifier(kernel="rbf", gamma=0.5, tol=1e-8)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def assert_same_test(estimator, X=X, Y=Y, **asked):
    """Score, scores of the permutations and p-value are scikit-learn's, to the last bit."""
    found, expected = (
        module.permutation_test_score(estimator, X, Y, **{"n_permutations": 7, "random_state": 5, "cv": 3} | asked)
        for module in (model_selection, theirs)
    )
    assert found[0] == expected[0]
    assert_array_equal(found[1], expected[1])
    assert found[2] == expected[2]


@pytest.fixture
def wide(monkeypatch):
    """Numbers of versions that were columns of one job."""
    seen = []
    scores = labelings.ManyTargets.scores
    monkeypatch.setattr(
        labelings.ManyTargets, "scores", lambda self, *given: seen.append(len(given[0])) or scores(self, *given)
    )
    return seen


@pytest.mark.parametrize("multi_class", ["ovr", "ovo", "crammer_singer"])
def test_classes(multi_class, wide):
    assert_same_test(clone(CYCLIC).set_params(multi_class=multi_class))
    assert wide == [8]


def test_kinds_of_rows(wide):
    assert_same_test(CYCLIC, TWO, ONE)
    assert_same_test(CYCLIC, sparse.csr_matrix(TWO), ONE)
    assert_same_test(RBF, TWO, ONE)
    assert_same_test(clone(RBF).set_params(gamma="scale"), TWO, ONE)
    assert_same_test(clone(CYCLIC).set_params(kernel="precomputed"), TWO @ TWO.T, ONE)
    assert wide == [8] * 5


# Under the hinge, three linear classes of shuffled labels often all score -1, and rounding decides.
LINEAR = PegasosClassifier(loss="squared_hinge", tol=1e-8)


@pytest.mark.parametrize("estimator", [EXACT, LINEAR], ids=["rbf", "linear"])
def test_fits_to_the_optimum(estimator, wide):
    assert_same_test(estimator)
    assert_same_test(estimator, TWO, ONE, scoring="roc_auc")
    assert wide == [8, 8]


@pytest.mark.parametrize(
    "cv",
    [
        theirs.StratifiedKFold(4, shuffle=True, random_state=1),
        theirs.KFold(3, shuffle=True, random_state=1),
        theirs.ShuffleSplit(3, random_state=0),
        theirs.StratifiedShuffleSplit(3, random_state=0),
        theirs.RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
        [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))],
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_splitters(cv, wide):
    assert_same_test(CYCLIC, cv=cv)
    in_order = not isinstance(cv, theirs.ShuffleSplit | theirs.StratifiedShuffleSplit)
    assert wide == [8] * in_order
    assert_same_test(EXACT, cv=cv)
    assert wide == [8] * (1 + in_order)


def test_a_splitter_that_draws_anew_each_time():
    found, expected = (
        module.permutation_test_score(
            CYCLIC,
            X,
            Y,
            n_permutations=5,
            cv=theirs.StratifiedKFold(3, shuffle=True, random_state=np.random.RandomState(0)),
        )
        for module in (model_selection, theirs)
    )
    assert_array_equal(found[1], expected[1])


def test_what_has_to_be_trained_by_itself(wide):
    unordered = [(np.arange(40)[::-1], np.arange(40, 60)), (np.r_[20:60, 25:40], np.arange(20))]
    assert_same_test(CYCLIC, cv=unordered, n_permutations=3)
    assert_same_test(clone(CYCLIC).set_params(class_weight="balanced"), n_permutations=3)
    assert_same_test(make_pipeline(StandardScaler(), CYCLIC), n_permutations=3)
    assert_same_test(CYCLIC, scoring=lambda svm, X, y: float(svm.score(X, y)), n_permutations=3)
    assert not wide


def test_groups_and_weights(wide):
    assert_same_test(CYCLIC, groups=np.arange(60) % 5, cv=theirs.GroupKFold(3))
    assert_same_test(CYCLIC, params={"sample_weight": WEIGHTS})
    assert_same_test(EXACT, params={"sample_weight": WEIGHTS}, scoring="f1_macro")
    assert wide == [8] * 3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_regression(kernel, wide):
    for estimator in (
        pegasos_regressor(sampling="cyclic", max_iter=2, kernel=kernel, gamma=0.5),
        PegasosRegressor(kernel=kernel, gamma=0.5, tol=1e-10),
    ):
        asked = dict(n_permutations=4, random_state=0, scoring="neg_mean_squared_error")
        found, expected = (
            module.permutation_test_score(estimator, X[:, 1:], X[:, 0], **asked) for module in (model_selection, theirs)
        )
        assert_allclose(found[0], expected[0], rtol=1e-5 if estimator.tol else 1e-9)
        assert_allclose(found[1], expected[1], rtol=1e-5 if estimator.tol else 1e-9)
        assert found[2] == expected[2]
    assert wide == [5, 5]


def test_chunks_change_nothing(monkeypatch, wide):
    monkeypatch.setattr(wide_fits, "BYTES_PER_ENTRY", 2_000_000)
    assert_same_test(EXACT)
    assert max(wide) < 8
    assert sum(wide) == 8


def test_single_precision():
    assert_same_test(CYCLIC, X.astype(np.float32))


def test_bad_input_is_refused_as_scikit_learn_does():
    few = np.array([0] * 58 + [1] * 2)
    for module in (model_selection, theirs):
        with pytest.raises(ValueError, match="'n_permutations' parameter"):
            module.permutation_test_score(CYCLIC, X, Y, n_permutations=0)
        with pytest.raises(ValueError, match="at least 2 classes"):
            module.permutation_test_score(CYCLIC, X, np.zeros(60), n_permutations=2)
        with pytest.raises(ValueError, match="at least 2 classes"):
            module.permutation_test_score(CYCLIC, X, few, n_permutations=20, cv=theirs.KFold(2))
        with pytest.warns(UserWarning, match="The least populated class"):
            module.permutation_test_score(CYCLIC, X, few, n_permutations=2, cv=5)
        with pytest.raises(ValueError, match="NaN"):
            module.permutation_test_score(CYCLIC, np.where(X > 2, np.nan, X), Y, n_permutations=2)


def test_stratified_folds_are_scikit_learns():
    rng = np.random.default_rng(0)
    for n_classes, shuffle in ((2, False), (2, True), (4, True)):
        codes = rng.integers(0, n_classes, 47)
        codes[:n_classes] = np.arange(n_classes)
        versions = np.array([rng.permutation(codes) for _ in range(20)])
        cv = theirs.StratifiedKFold(3, shuffle=shuffle, random_state=7 if shuffle else None)
        assert is_stratified(cv)
        for version, folds in zip(versions, stratified_folds(cv, versions), strict=True):
            for own, other in zip(splits_of_folds(folds), cv.split(versions.T, version), strict=True):
                assert_array_equal(own[0], other[0])
                assert_array_equal(own[1], other[1])


def test_progress_is_shown(capsys):
    model_selection.permutation_test_score(EXACT, X, Y, n_permutations=3, verbose=1)
    assert "permutation_test_score" in capsys.readouterr().out
    assert permutations.NAME == "permutation_test_score"
