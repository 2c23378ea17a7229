"""Many labels a row: a column for each, as scikit-learn's OneVsRestClassifier has them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier

import pegasos
from pegasos import PegasosClassifier, PegasosSearchCV, model_selection
from pegasos.estimators import multilabel

X, Y = make_multilabel_classification(80, 6, n_classes=5, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0)
WEIGHTS = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
LINEAR = PegasosClassifier(tol=1e-10)
RBF = PegasosClassifier(kernel="rbf", tol=1e-8)
CYCLIC = PegasosClassifier(solver="pegasos", sampling="cyclic", max_iter=2, tol=None)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def assert_same(estimator, X=X, Y=Y, atol=1e-4, **given):
    found = clone(estimator).fit(X, Y, **given)
    scores = np.column_stack([
        clone(estimator).fit(X, np.asarray(Y[:, [k]].todense() if sparse.issparse(Y) else Y[:, [k]]).ravel(), **given)
        .decision_function(X)
        for k in range(Y.shape[1])
    ])  # fmt: skip
    assert_allclose(found.decision_function(X), scores, atol=atol)
    predicted = found.predict(X)
    assert type(predicted) is type(Y)
    assert_array_equal(predicted.toarray() if sparse.issparse(predicted) else predicted, scores > 0)
    return found


@pytest.mark.parametrize("estimator", [LINEAR, RBF, CYCLIC, clone(LINEAR).set_params(loss="log_loss")], ids=str)
def test_each_label_is_a_fit_of_its_own(estimator):
    model = assert_same(estimator)
    assert_array_equal(model.classes_, np.arange(5))
    assert model.relative_gap_.shape == model.t_.shape == (5,)


def test_kinds_of_targets_and_rows():
    assert_same(LINEAR, Y=sparse.csr_matrix(Y))
    assert_same(LINEAR, sparse.csr_matrix(X), sparse.csr_matrix(Y))
    assert_same(LINEAR, sample_weight=WEIGHTS)
    assert_same(CYCLIC, sample_weight=WEIGHTS)
    names = np.array(["ant", "bee", "cat", "dog", "elk"])
    sets = [set(names[row > 0].tolist()) for row in Y]
    model = clone(LINEAR).fit(X, sets)
    assert_array_equal(model.classes_, names)
    assert model.predict(X) == [set(names[row > 0].tolist()) for row in clone(LINEAR).fit(X, Y).predict(X)]
    zeros = sparse.csr_matrix((np.r_[np.ones(80), 0], (np.r_[np.arange(80), 3], np.r_[np.arange(80) % 5, 0])))
    assert_array_equal(clone(LINEAR).fit(X, zeros).coef_, clone(LINEAR).fit(X, zeros.toarray()).coef_)


def test_slabs_change_nothing(monkeypatch):
    whole = clone(LINEAR).fit(X, Y)
    monkeypatch.setattr(multilabel, "_slabs", lambda recipe, rows, labels: np.array_split(labels, 3))
    monkeypatch.setattr(multilabel, "BYTES_PER_PREDICTION", 400)
    cut = clone(LINEAR).fit(X, Y)
    assert_array_equal(cut.coef_, whole.coef_)
    assert_array_equal(cut.predict(X), whole.predict(X))
    assert_array_equal(cut.top_labels(X, 2)[0], whole.top_labels(X, 2)[0])


def test_the_cache_bounds_slabs(monkeypatch):
    seen = []
    slabs = multilabel._slabs
    monkeypatch.setattr(multilabel, "_slabs", lambda *given: seen.append(slabs(*given)) or seen[-1])
    many = np.tile(Y, 8)
    clone(LINEAR).set_params(cache_size=0.01, n_jobs=1, tol=1e-3).fit(X, many)
    assert len(seen[0]) > 1
    assert_array_equal(np.concatenate(seen[0]), np.arange(40))


def test_constant_labels_are_as_in_scikit_learn():
    constant = Y.copy()
    constant[:, 1], constant[:, 3] = 0, 1
    found = clone(LINEAR)
    for model in (found, OneVsRestClassifier(clone(LINEAR))):
        with pytest.warns(UserWarning, match="Label not 1 is present in all training examples"):
            model.fit(X, constant)
        assert_array_equal(model.predict(X)[:, [1, 3]], constant[:, [1, 3]])
    assert_array_equal(found.coef_[[1, 3]], 0)


def test_top_labels_and_sparse_weights():
    model = clone(LINEAR).fit(X, Y)
    labels, scores = model.top_labels(X, 3)
    values = model.decision_function(X)
    assert_array_equal(labels, np.argsort(-values, axis=1, kind="stable")[:, :3])
    assert_allclose(scores, -np.sort(-values, axis=1)[:, :3])
    before = model.predict(X)
    assert_array_equal(model.sparsify().predict(X), before)
    assert sparse.issparse(model.coef_)
    assert model.sparsify(0.1).coef_.nnz < model.densify().coef_.size
    with pytest.raises(ValueError, match="top_labels needs"):
        model.top_labels(X, 6)


def test_searches_and_cross_validation():
    asked = dict(cv=3, scoring="f1_micro")
    for targets in (Y, sparse.csr_matrix(Y)):
        found = PegasosSearchCV(CYCLIC, {"lam": [0.01, 0.1]}, **asked).fit(X, targets)
        expected = GridSearchCV(CYCLIC, {"lam": [0.01, 0.1]}, **asked).fit(X, targets)
        assert_allclose(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    assert_allclose(model_selection.cross_val_score(CYCLIC, X, Y, **asked), cross_val_score(CYCLIC, X, Y, **asked))


@pytest.mark.parametrize("estimator", [LINEAR, RBF], ids=["linear", "rbf"])
@pytest.mark.parametrize("kind", ["dense", "csr", "sets"])
def test_model_files(estimator, kind, tmp_path):
    targets = {"dense": Y, "csr": sparse.csr_matrix(Y), "sets": [set(np.flatnonzero(row).tolist()) for row in Y]}[kind]
    model = clone(estimator).set_params(tol=1e-3).fit(X, targets)
    model.save(tmp_path / "model.safetensors")
    loaded = pegasos.load(tmp_path / "model.safetensors")
    found, expected = loaded.predict(X), model.predict(X)
    assert type(found) is type(expected)
    if kind == "sets":
        assert found == expected
    else:
        assert (found != expected).sum() == 0


def test_bad_input():
    for params, error in (
        ({"multi_class": "ovo"}, "multi_class='ovr'"), ({"class_weight": "balanced"}, "class_weight=None"),
        ({"probability": "sigmoid"}, "probability=None"), ({"warm_start": True}, "warm_start=False"),
    ):  # fmt: skip
        with pytest.raises((ValueError, NotImplementedError), match=error):
            clone(LINEAR).set_params(**params).fit(X, Y)
    with pytest.raises(ValueError, match="0 and 1 only"):
        clone(LINEAR).fit(X, sparse.csr_matrix(2 * Y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(LINEAR).fit(X, Y[:-1])
    with pytest.raises(ValueError, match="0 and 1 only"):
        clone(LINEAR).fit(X, 1 + 2 * Y)
    with pytest.raises(ValueError, match="1d array"):
        clone(LINEAR).fit(X, Y + np.arange(5))
    with pytest.raises(ValueError, match="NaN"):
        clone(LINEAR).fit(np.where(X > 2, np.nan, X), Y)
    again = clone(LINEAR).fit(X, Y).fit(X, Y[:, 0])
    assert_array_equal(again.predict(X), clone(LINEAR).fit(X, Y[:, 0]).predict(X))
