"""Prediction: the short way for rows that need no check, in bounded memory, by many threads at a time; and copies."""

import io
import pickle
import threading
import tracemalloc

import joblib
import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import _ovr_decision_function

import pegasos
import pegasos.svm
from pegasos import PegasosClassifier, PegasosRegressor
from pegasos.estimators import inputs
from pegasos.problem.columns import confident_votes
from pegasos.svm import layout

X, y = load_digits(return_X_y=True)
X, V, y = X[:400] / 16, X[400:700] / 16, y[:400]
T = X[:, 20] - X[:, 30]
MODELS = {
    "linear": PegasosClassifier(tol=0.1),
    "linear ovo": PegasosClassifier(tol=0.1, multi_class="ovo"),
    "rbf": PegasosClassifier(kernel="rbf", tol=0.1, probability="sigmoid"),
    "rbf ovo": PegasosClassifier(kernel="rbf", tol=0.1, multi_class="ovo"),
    "grouped": PegasosClassifier(kernel="poly", tol=0.1, multi_class="crammer_singer"),
    "regression": PegasosRegressor(kernel="rbf", tol=0.1),
    "SVC": pegasos.svm.SVC(C=5),
    "SVC ties": pegasos.svm.SVC(C=0.01, break_ties=True),
    "SVC raw": pegasos.svm.SVC(kernel="poly", decision_function_shape="ovo"),
    "NuSVC": pegasos.svm.NuSVC(nu=0.1),
    "LinearSVC": pegasos.svm.LinearSVC(),
    "SVR": pegasos.svm.SVR(),
    "LinearSVR": pegasos.svm.LinearSVR(),
    "OneClassSVM": pegasos.svm.OneClassSVM(nu=0.2),
}


@pytest.fixture(scope="module")
def fitted():
    """Each model of all classes, and of two."""
    found = {}
    for name, model in MODELS.items():
        regression = name in ("regression", "SVR", "LinearSVR")
        found[name] = sklearn.base.clone(model).fit(X, T if regression else y)
        if sklearn.base.is_classifier(model):
            found[f"{name}, two classes"] = sklearn.base.clone(model).fit(X, y > 4)
    return found


def outputs(model, rows):
    """All that a model says of rows."""
    found = [model.predict(rows)]
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            found.append(getattr(model, method)(rows))
    return found


def same(ours, others, **how):
    for one, other in zip(ours, others, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, **how)
        else:
            np.testing.assert_array_equal(one, other)


def test_the_short_way_says_what_the_long_way_says(fitted, monkeypatch):
    def said():
        return {name: [outputs(model, rows) for rows in (V, V[:1])] for name, model in fitted.items()}

    short = said()
    monkeypatch.setattr(inputs, "is_plain", lambda *given: False)
    for module in ("estimators.predict", "svm.base", "svm.linear"):
        monkeypatch.setattr(f"pegasos.{module}.is_plain", lambda *given: False)
    long = said()
    for name in fitted:
        for ours, others in zip(short[name], long[name], strict=True):
            same(ours, others, rtol=0, atol=0)


def test_one_row_is_predicted_as_among_others(fitted):
    for model in fitted.values():
        of_all = outputs(model, V)
        for rows in (V[:1].copy(), V[:1].tolist(), csr_array(V[:1])):
            if not hasattr(rows, "indptr") or model.__module__.startswith("pegasos.estimators"):
                same(outputs(model, rows), [part[:1] for part in of_all], rtol=1e-9, atol=1e-9)


def test_votes_are_counted_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    for n_classes in (3, 4, 7, 12, 30):
        for dtype in (np.float32, np.float64):
            scores = rng.standard_normal((40, n_classes * (n_classes - 1) // 2)).astype(dtype)
            scores[:, ::3] = np.round(scores[:, ::3])
            for n_rows in (1, 2, 40):
                some = scores[:n_rows]
                found = confident_votes(some > 0, some, n_classes)
                np.testing.assert_array_equal(found, _ovr_decision_function(some > 0, some, n_classes))
            wins = np.zeros((40, n_classes))
            for number, i, j in layout.pairs(n_classes):
                wins[np.arange(40), np.where(scores[:, number] > 0, i, j)] += 1
            np.testing.assert_array_equal(layout.votes(scores, n_classes), wins.argmax(axis=1))


@pytest.mark.parametrize("name", ["linear", "rbf", "SVC", "LinearSVC", "SVR", "LinearSVR", "OneClassSVM"])
def test_what_is_wrong_with_rows_is_said(fitted, name):
    model = fitted[name]
    missing, infinite = V.copy(), V.copy()
    missing[3, 5], infinite[3, 5] = np.nan, np.inf
    for rows, sentence in (
        (missing, "contains NaN"),
        (infinite, "contains infinity"),
        (V[:, :5], "expecting 64 features"),
        (V[0], "Expected 2D array"),
        (V[:0], "0 sample"),
        (V + 1j, "Complex data"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.predict(rows)
    with pytest.raises(NotFittedError):
        sklearn.base.clone(model).predict(V)
    large = np.full((2, 64), 1e308)  # whose sum is no number, and which are fine
    with np.errstate(all="ignore"):
        assert model.predict(large).shape == (2,)


@pytest.mark.parametrize("name", ["linear", "rbf", "regression", "SVC, two classes", "OneClassSVM", "precomputed"])
def test_memory_does_not_grow_with_the_rows(fitted, name):
    if name == "precomputed":
        model, width = PegasosClassifier(kernel="precomputed", tol=0.1).fit(X @ X.T, y), len(X)
    else:
        model, width = fitted[name], X.shape[1]
    peaks = []
    for n_rows in (10_000, 60_000):
        rows = np.zeros((n_rows, width))
        model.predict(rows[:4096])
        tracemalloc.start()
        model.predict(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    columns = len(np.atleast_1d(model.intercept_))
    scores = 50_000 * 8 * (3 * columns + 3)  # and what is made of them, and labels
    assert peaks[1] - peaks[0] < scores + 8e6  # tiles of several threads, or of one


@pytest.mark.parametrize("name", ["linear", "rbf", "rbf ovo", "SVC", "LinearSVC", "OneClassSVM"])
def test_threads_predict_alike(fitted, name):
    model, wrong = fitted[name], []
    many = np.tile(V, (8, 1))
    wanted = [outputs(model, rows) for rows in (V[:1], V, many)]

    def work(number):
        try:
            for turn in range(8):
                which = (number + turn) % 3
                same(outputs(model, (V[:1], V, many)[which]), wanted[which], rtol=0, atol=0)
        except AssertionError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(model):
    skops = pytest.importorskip("skops.io")
    held = skops.dumps(model)
    return skops.loads(held, trusted=skops.get_untrusted_types(data=held))


@pytest.mark.parametrize("through", [through_joblib, through_skops, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_predict_the_same(fitted, through):
    models = {
        name: fitted[name] for name in ("linear", "rbf", "rbf ovo, two classes", "SVC", "LinearSVC", "OneClassSVM")
    }
    models["compressed"] = fitted["rbf"].compress(max_support=50)
    models["in a pipeline"] = sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), fitted["SVC"])
    models["in a pipeline"][0].fit(X)
    for model in models.values():
        again = through(model)
        assert type(again) is type(model)
        same(outputs(again, V), outputs(model, V), rtol=0, atol=0)


def test_skops_names_our_own_types_only(fitted):
    skops = pytest.importorskip("skops.io")
    for name in ("linear", "rbf", "SVC", "LinearSVC", "OneClassSVM"):
        untrusted = skops.get_untrusted_types(data=skops.dumps(fitted[name]))
        assert all(one.startswith("pegasos.") for one in untrusted)
