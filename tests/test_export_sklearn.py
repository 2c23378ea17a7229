"""Models to and from `sklearn.svm`."""

import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes, load_iris

import pegasos
from pegasos import PegasosClassifier, PegasosRegressor

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
T = load_diabetes(return_X_y=True)[1][:150] / 100
BINARY = y[y > 0]
MACHINES = {
    "SVC": sklearn.svm.SVC(),
    "SVC poly": sklearn.svm.SVC(kernel="poly", coef0=0.5, degree=2, break_ties=True),
    "SVC linear": sklearn.svm.SVC(kernel="linear", decision_function_shape="ovo"),
    "SVC precomputed": sklearn.svm.SVC(kernel="precomputed"),
    "NuSVC": sklearn.svm.NuSVC(kernel="sigmoid", gamma=0.05),
    "LinearSVC": sklearn.svm.LinearSVC(),
    "LinearSVC without intercept": sklearn.svm.LinearSVC(fit_intercept=False, multi_class="crammer_singer"),
    "SVR": sklearn.svm.SVR(),
    "NuSVR": sklearn.svm.NuSVR(kernel="linear"),
    "LinearSVR": sklearn.svm.LinearSVR(),
    "OneClassSVM": sklearn.svm.OneClassSVM(nu=0.2),
}


def rows_for(model, rows):
    return rows @ X.T if model.kernel == "precomputed" else rows


def scores_of(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("sparse", [False, True])
def test_machines_of_scikit_learn_come_stay_and_go(tmp_path, name, sparse):
    machine = sklearn.base.clone(MACHINES[name])
    pre = getattr(machine, "kernel", None) == "precomputed"
    if pre and sparse:
        pytest.skip("scikit-learn has no sparse kernel matrices")
    rows = X @ X.T if pre else csr_array(X) if sparse else X
    machine.fit(rows, T if "SVR" in name else y)
    ours = pegasos.from_sklearn(machine)
    assert type(ours) is getattr(pegasos.svm, name.split()[0])
    path = tmp_path / "model.safetensors"
    ours.save(path)
    for other in (ours, pegasos.load(path), ours.to_sklearn(), pegasos.load(path).to_sklearn()):
        if "SVR" not in name:
            np.testing.assert_array_equal(other.predict(rows), machine.predict(rows))
        np.testing.assert_allclose(scores_of(other, rows), scores_of(machine, rows), rtol=1e-9, atol=1e-9)
    assert type(ours.to_sklearn()) is type(machine)
    assert not hasattr(ours, "dual_gap_")


def test_two_classes_and_probabilities():
    with pytest.warns(FutureWarning):
        machine = sklearn.svm.SVC(probability=True, random_state=0).fit(X[y > 0], np.array(["a", "b"])[BINARY - 1])
    ours = pegasos.from_sklearn(machine)
    for other in (ours, ours.to_sklearn()):
        np.testing.assert_array_equal(other.predict(X), machine.predict(X))
        np.testing.assert_allclose(other.predict_proba(X), machine.predict_proba(X), atol=1e-9)


CLASSIFIERS = {
    f"{kernel} {scheme}": PegasosClassifier(kernel=kernel, multi_class=scheme, gamma=0.2, random_state=0, max_iter=20)
    for kernel in ("linear", "rbf", "poly", "sigmoid")
    for scheme in ("ovr", "ovo", "crammer_singer")
    if not (kernel == "sigmoid" and scheme == "crammer_singer")
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_our_classifiers_predict_the_same_there(name):
    for rows, labels in ((X, y), (X[y > 0], BINARY)):
        model = sklearn.base.clone(CLASSIFIERS[name]).fit(rows, labels)
        theirs = model.to_sklearn()
        assert type(theirs).__module__.startswith("sklearn.svm")
        np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
        if name == "rbf ovo":
            np.testing.assert_allclose(theirs.decision_function(X), model.decision_function(X), atol=1e-9)
        assert sklearn.base.clone(theirs).fit(X, y).score(X, y) > 0.8  # a machine like any other


def test_landmarks_and_regression():
    model = PegasosClassifier(kernel="rbf", gamma=0.5, n_landmarks=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))
    for kernel in ("linear", "rbf", "poly"):
        regressor = PegasosRegressor(kernel=kernel, gamma=0.5, C=0.1, tol=0.1, random_state=0).fit(X, T)
        np.testing.assert_allclose(regressor.to_sklearn().predict(X), regressor.predict(X), atol=1e-9)


def test_what_has_no_counterpart():
    with pytest.raises(ValueError, match="laplacian"):
        PegasosClassifier(kernel="laplacian").fit(X, y).to_sklearn()
    with pytest.raises(ValueError, match="one target"):
        PegasosRegressor().fit(X, np.c_[T, T]).to_sklearn()
    with pytest.raises(TypeError, match="of sklearn.svm; got LogisticRegression"):
        pegasos.from_sklearn(sklearn.linear_model.LogisticRegression())
    with pytest.raises(sklearn.exceptions.NotFittedError):
        pegasos.from_sklearn(sklearn.svm.SVC())
    with pytest.raises(TypeError, match="Python function"):
        pegasos.from_sklearn(sklearn.svm.SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
