"""Kernel models of fewer support vectors, and support vectors of fewer bytes."""

import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pegasos
import pegasos.svm
from pegasos import ModelFormatError, PegasosClassifier, PegasosRegressor
from pegasos.compression.selection import Selection
from pegasos.container import file as container
from pegasos.kernels import make_kernel

X, y = load_digits(return_X_y=True)
X = X / 16
X, V, y = X[:500], X[500:900], y[:500]
D, T = load_diabetes(return_X_y=True)
D, T = (D / D.std())[:300], ((T - T.mean()) / T.std())[:300]
LABELS = np.c_[y > 4, y % 2, y == 3].astype(int)
MODELS = {
    "ovr": (PegasosClassifier(kernel="rbf", C=5, tol=0.1), X, y),
    "ovo": (PegasosClassifier(kernel="rbf", C=5, tol=0.1, multi_class="ovo"), X, np.array(list("abcdefghij"))[y]),
    "crammer_singer": (PegasosClassifier(kernel="poly", tol=0.1, multi_class="crammer_singer"), X, y),
    "binary": (PegasosClassifier(kernel="laplacian", tol=0.1), X.astype(np.float32), y > 4),
    "landmarks": (PegasosClassifier(kernel="rbf", n_landmarks=200, tol=0.1, random_state=0), X, y),
    "multilabel": (PegasosClassifier(kernel="rbf", tol=0.1), X, LABELS),
    "sparse": (PegasosClassifier(kernel="rbf", tol=0.1), csr_array(X), y),
    "regression": (PegasosRegressor(kernel="rbf", tol=0.1), D, T),
    "targets": (PegasosRegressor(kernel="rbf", tol=0.1), D, np.c_[T, -T, T**2]),
    "SVC": (pegasos.svm.SVC(C=5), X, y),
    "SVC binary": (pegasos.svm.SVC(C=5, kernel="poly"), X, y > 4),
    "SVC sparse": (pegasos.svm.SVC(C=5), csr_array(X), y),
    "NuSVC": (pegasos.svm.NuSVC(kernel="sigmoid", gamma=0.01, nu=0.1), X, y),
    "SVR": (pegasos.svm.SVR(), D, T),
    "NuSVR": (pegasos.svm.NuSVR(), D, T),
    "OneClassSVM": (pegasos.svm.OneClassSVM(), D, None),
}


@pytest.fixture(scope="module")
def fitted():
    """Each model once."""
    return {name: clone(model).fit(rows, targets) for name, (model, rows, targets) in MODELS.items()}


def scores_of(model, rows):
    """Scores that are continuous: of pairs those themselves."""
    if hasattr(model, "decision_function_shape"):
        model = pegasos.to_sklearn(model).set_params(decision_function_shape="ovo", break_ties=False)
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.mark.parametrize("name", MODELS)
def test_fewer_support_vectors_predict_alike(fitted, tmp_path, name):
    model = fitted[name]
    rows = D if MODELS[name][1] is D else V
    before = model.predict(rows)
    smaller = model.compress(tol=0.1, X_valid=rows)
    said = smaller.compression_
    assert type(smaller) is type(model)
    assert said["n_support_before"] == model.dual_coef_.shape[1]
    assert said["n_support"] == smaller.support_vectors_.shape[0] < said["n_support_before"]
    assert said["rms_change"] <= 0.1
    if name != "ovo":  # whose scores are votes
        change = scores_of(smaller, rows) - scores_of(model, rows)
        largest = 1e-5 if name == "binary" else 1e-9
        np.testing.assert_allclose(np.abs(change).max(), said["largest_change"], rtol=1e-4, atol=largest)
    assert (said["changed_labels"] is None) == (not is_classifier(model))
    if is_classifier(model):
        assert said["changed_labels"] == np.mean(smaller.predict(rows) != before) < 0.1
    np.testing.assert_array_equal(model.predict(rows), before)  # the model that was given stays

    path = tmp_path / "model.safetensors"
    smaller.save(path)
    again = pegasos.load(path)
    assert again.compression_ == said == pegasos.storage.describe(path)["compression"]
    np.testing.assert_array_equal(again.predict(rows), smaller.predict(rows))
    if name not in ("binary", "targets", "multilabel"):  # laplacian; several targets; several labels
        theirs = smaller.to_sklearn().predict(csr_array(rows) if "sparse" in name else rows)
        if is_classifier(model):
            np.testing.assert_array_equal(theirs, smaller.predict(rows))
        else:
            np.testing.assert_allclose(theirs, smaller.predict(rows), atol=1e-12)


@pytest.mark.parametrize("name", ["ovr", "ovo", "crammer_singer", "multilabel", "SVC", "NuSVC", "SVR", "OneClassSVM"])
def test_compressed_models_are_exported(fitted, tmp_path, name):
    onnxruntime = pytest.importorskip("onnxruntime")
    smaller = fitted[name].compress(max_support=100)
    rows = D if MODELS[name][1] is D else V
    session = onnxruntime.InferenceSession(smaller.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    found = dict(zip([one.name for one in session.get_outputs()], session.run(None, {"X": rows})))
    if is_classifier(smaller) or name == "OneClassSVM":
        np.testing.assert_array_equal(found["label"], smaller.predict(rows))
        np.testing.assert_allclose(found["scores"], smaller.decision_function(rows), atol=1e-5)
    else:
        np.testing.assert_allclose(found["predictions"], smaller.predict(rows), atol=1e-5)
    if name not in ("ovo", "multilabel"):  # ovo: its labels are letters here
        pegasos.save_libsvm(smaller, tmp_path / "small.model")
        again = pegasos.load_libsvm(tmp_path / "small.model", n_features=rows.shape[1])
        np.testing.assert_allclose(again.predict(rows), smaller.predict(rows), atol=1e-9)


def test_a_fit_of_a_compressed_model_begins_anew(fitted):
    smaller = fitted["ovr"].compress(max_support=50)
    assert not hasattr(smaller, "objective_")
    assert not hasattr(smaller.fit(X, y), "compression_")
    np.testing.assert_array_equal(smaller.predict(V), fitted["ovr"].predict(V))
    machine = fitted["SVR"].compress(max_support=50)
    assert not hasattr(machine.fit(D, T), "compression_")


def naive_order(kernel, Z, A, count):
    """The same choice, each candidate by a projection of its own."""
    G, taken = kernel(Z, Z), []
    for _ in range(count):
        left = []
        for i in range(len(Z)):
            some = [*taken, i]
            B = np.linalg.lstsq(G[np.ix_(some, some)], G[some] @ A, rcond=1e-12)[0]
            left.append(np.inf if i in taken else np.trace(A.T @ G @ A) - np.trace(B.T @ G[some] @ A))
        taken.append(int(np.argmin(left)))
    return taken


def test_the_choice_is_the_best_at_each_step():
    rng = np.random.default_rng(0)
    Z, A = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    for kernel in (make_kernel("rbf", gamma=0.3), make_kernel("laplacian", gamma=0.2), make_kernel("poly", degree=2)):
        selection = Selection(kernel, Z, A)
        selection.first(8)
        assert selection.order == naive_order(kernel, Z, A, 8)


def test_sizes_and_tolerances(fitted):
    model = fitted["SVC"]
    sizes = [model.compress(max_support=size, X_valid=V).compression_ for size in (40, 80, 160)]
    assert [said["n_support"] for said in sizes] == [40, 80, 160]
    assert sizes[0]["rms_change"] > sizes[1]["rms_change"] > sizes[2]["rms_change"]
    whole = model.compress(max_support=10**6)
    assert whole.compression_["largest_change"] == 0
    np.testing.assert_array_equal(whole.decision_function(V), model.decision_function(V))
    with pytest.warns(UserWarning, match="20 support vectors change scores by .*, more than tol=0.001"):
        assert model.compress(max_support=20, tol=1e-3).compression_["n_support"] == 20


def test_support_vectors_that_span_all_others():
    rows, targets = X[:200, 20:23], y[:200]  # polynomials of degree 2 in three features: ten of them
    model = PegasosClassifier(kernel="poly", degree=2, tol=0.5).fit(rows, targets)
    assert model.compress(tol=1e-6).compression_["n_support"] <= 10
    machine = pegasos.svm.SVC(kernel="poly", degree=2, coef0=1).fit(rows, targets)
    assert machine.compress(tol=1e-6).compression_["rms_change"] <= 1e-6  # each pair has its own support vectors


def test_pipelines_searches_and_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, 20:30], columns=list("abcdefghij"))
    pipeline = make_pipeline(StandardScaler(), PegasosClassifier(kernel="rbf", tol=0.1)).fit(frame, y)
    smaller = pegasos.compress(pipeline, max_support=100, X_valid=frame)
    assert smaller[-1].compression_["n_rows"] == len(frame)
    assert np.mean(smaller.predict(frame) == pipeline.predict(frame)) > 0.9
    search = pegasos.PegasosSearchCV(PegasosClassifier(kernel="rbf", tol=0.1), {"C": [1, 10]}, cv=2).fit(frame, y)
    smaller = pegasos.compress(search, max_support=100, X_valid=frame)
    assert list(smaller.feature_names_in_) == list(frame.columns)
    assert smaller.compression_["changed_labels"] < 0.1
    search = pegasos.PegasosSearchCV(pipeline, {"pegasosclassifier__C": [1, 10]}, cv=2).fit(frame, y)
    assert pegasos.compress(search, tol=0.2, X_valid=frame)[-1].compression_["rms_change"] <= 0.2


def test_a_model_without_support_vectors():
    model = pegasos.svm.SVR(epsilon=10).fit(D, T)
    smaller = model.compress(tol=0.1, max_support=5)
    assert smaller.compression_["n_support"] == 0
    np.testing.assert_array_equal(smaller.predict(D), model.predict(D))


def test_what_cannot_be_compressed():
    with pytest.raises(ValueError, match="PegasosClassifier is linear: it predicts by one weight for each feature"):
        PegasosClassifier(tol=0.5).fit(X, y).compress(max_support=3)
    with pytest.raises(ValueError, match="LinearSVC is linear"):
        pegasos.svm.LinearSVC().fit(X, y > 4).compress(max_support=3)
    with pytest.raises(ValueError, match="precomputed kernel does not have its support vectors"):
        pegasos.svm.SVC(kernel="precomputed").fit(X @ X.T, y).compress(max_support=3)
    with pytest.raises(ValueError, match="Python function cannot be compressed"):
        pegasos.svm.SVC(kernel=lambda A, B: A @ B.T).fit(X, y).compress(max_support=3)
    with pytest.raises(TypeError, match="got SVC"):
        pegasos.compress(sklearn.svm.SVC().fit(X, y), max_support=3)
    model = pegasos.svm.SVC().fit(X, y > 4)
    for wrong, sentence in (
        ({}, "compress needs max_support, tol, or both"),
        ({"max_support": 0}, "whole number of at least 1, got 0"),
        ({"max_support": 2.5}, "whole number of at least 1, got 2.5"),
        ({"tol": -1}, "not negative, got -1"),
        ({"tol": np.nan}, "not negative, got nan"),
        ({"tol": 0.1, "X_valid": V[:, :3]}, "expecting 64 features"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.compress(**wrong)


# --- support vectors of fewer bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", np.float32])
@pytest.mark.parametrize("name", ["ovr", "sparse", "SVC", "SVC sparse", "SVR"])
def test_support_vectors_in_a_smaller_type(fitted, tmp_path, name, dtype):
    model, path, plain = fitted[name], tmp_path / "small.safetensors", tmp_path / "plain.safetensors"
    rows = np.asarray(MODELS[name][1].todense()) if "sparse" in name else MODELS[name][1]
    model = pegasos.load(path) if model.save(path) else model
    said, nothing = model.save(path, dtype=dtype), model.save(plain)
    assert nothing is None
    assert said["dtype"] == np.dtype(dtype).name
    assert said["restored"] == "float64"
    assert pegasos.storage.describe(path)["stored"] == said
    assert "stored" not in pegasos.storage.describe(plain)
    assert path.stat().st_size < plain.stat().st_size
    small = pegasos.load(path)
    values = small.support_vectors_
    assert values.dtype == np.float64
    own = model.support_vectors_
    wanted = (own.data if hasattr(own, "data") and "sparse" in name else own).astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(values.data if "sparse" in name else values, wanted)
    if name not in ("SVC", "SVC sparse"):
        change = np.abs(scores_of(small, own) - scores_of(model, own))
        np.testing.assert_allclose(change.max(), said["largest_change"], rtol=1e-3, atol=1e-12)
    if name != "SVR":
        assert np.mean(small.predict(rows) == model.predict(rows)) > 0.99
    small.save(plain)  # and stays what it is
    np.testing.assert_array_equal(pegasos.load(plain).predict(rows), small.predict(rows))


def test_smaller_types_that_cannot_be(fitted, tmp_path):
    path = tmp_path / "x.safetensors"
    linear = PegasosClassifier(tol=0.5).fit(X, y)
    with pytest.raises(ValueError, match="support vectors of kernel models; this PegasosClassifier stores none"):
        linear.save(path, dtype="float16")
    with pytest.raises(ValueError, match="'float16' or 'float32', got 'float64'"):
        fitted["ovr"].save(path, dtype="float64")
    with pytest.raises(ValueError, match="are float32 already"):
        fitted["binary"].save(path, dtype="float32")
    wide = pegasos.svm.SVC(gamma=1e-12).fit(1e6 * X, y)
    with pytest.raises(ValueError, match="reach 1e\\+06, more than float16 can hold"):
        wide.save(path, dtype="float16")
    assert not path.exists()


@pytest.mark.parametrize("change", [
    lambda document: document["stored"].update(dtype="float32"),
    lambda document: document["stored"].update(restored="float16", dtype="float64"),
    lambda document: document["stored"].update(rms_change=-1.0),
    lambda document: document["stored"].pop("largest_change"),
    lambda document: document.pop("stored"),
    lambda document: document["compression"].update(n_support=-3),
    lambda document: document["compression"].update(changed_labels=2.0),
    lambda document: document["compression"].update(more=1),
    lambda document: document.pop("compression"),
])  # fmt: skip
def test_forged_files(fitted, tmp_path, change):
    path = tmp_path / "model.safetensors"
    fitted["ovr"].compress(max_support=30).save(path, dtype="float16")
    header, arrays = container.read(path)
    change(header.document)
    container.write(path, header.document, arrays)
    with pytest.raises(ModelFormatError, match="no model file that can be loaded"):
        pegasos.load(path)
