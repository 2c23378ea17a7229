"""ONNX graphs beside our own predictions, run by onnxruntime."""

import os
from pathlib import Path

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pegasos
import pegasos.svm
from pegasos import PegasosClassifier, PegasosRegressor
from pegasos.datasets import load
from tests.cli_runner import check_error, quick

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
T = load_diabetes(return_X_y=True)[1][:150] / 100
NAMES = np.array(["setosa", "versicolor", "virginica"])


def run(proto, rows, dtype=np.float64):
    """The outputs of a graph by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    given = proto if isinstance(proto, str | bytes) else proto.SerializeToString()
    session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(rows, dtype)})))


def check(model, rows, dtype=None, atol=1e-5):
    """Compare a graph with its model, on all rows and on one."""
    proto = model.to_onnx(dtype=dtype)
    kind = dtype or np.float64
    rows = rows.astype(kind)
    for some in (rows, rows[:1]):
        found = run(proto, some, kind)
        if "predictions" in found:
            np.testing.assert_allclose(found["predictions"], model.predict(some), atol=atol, rtol=1e-5)
            continue
        wanted = model.predict(some)
        np.testing.assert_array_equal(found["label"], wanted)
        assert found["label"].dtype.kind == wanted.dtype.kind or wanted.dtype.kind == "U"
        assert found["scores"].dtype == kind
        np.testing.assert_allclose(found["scores"], model.decision_function(some), atol=atol, rtol=1e-5)
        if hasattr(model, "predict_proba") and len(model.classes_) == 2:
            coupled = 1e-5 if isinstance(model, PegasosClassifier) else 5e-3  # LIBSVM's end at 0.005 / 2
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(some), atol=coupled)


MACHINES = {
    "SVC": sklearn.svm.SVC(),
    "SVC ties": sklearn.svm.SVC(kernel="poly", degree=2, coef0=0.5, C=0.01, break_ties=True),
    "SVC ovo": sklearn.svm.SVC(kernel="linear", decision_function_shape="ovo"),
    "SVC precomputed": sklearn.svm.SVC(kernel="precomputed"),
    "NuSVC": sklearn.svm.NuSVC(kernel="sigmoid", gamma=0.05),
    "LinearSVC": sklearn.svm.LinearSVC(),
    "LinearSVC grouped": sklearn.svm.LinearSVC(multi_class="crammer_singer", fit_intercept=False),
    "SVR": sklearn.svm.SVR(),
    "NuSVR": sklearn.svm.NuSVR(kernel="linear"),
    "LinearSVR": sklearn.svm.LinearSVR(),
    "OneClassSVM": sklearn.svm.OneClassSVM(nu=0.2),
}


@pytest.mark.parametrize("dtype", [None, np.float32])
@pytest.mark.parametrize("name", MACHINES)
def test_machines(name, dtype):
    machine = clone(MACHINES[name])
    rows = (X @ X.T if name.endswith("precomputed") else X).astype(np.float32)
    check(pegasos.from_sklearn(machine.fit(rows, T if "SVR" in name else y)), rows, dtype)
    if is_classifier(machine) and not name.endswith("precomputed"):
        two = y > 0
        check(pegasos.from_sklearn(clone(machine).fit(rows[two], y[two])), rows, dtype)


LABELS = {
    "int": np.array([-5, 3, 900]), "string": NAMES, "object": NAMES.astype(object), "float": np.array([0.5, 1.0, 2.5]),
    "int32": np.array([1, 2, 3], np.int32), "bool": np.array([False, True, True]),
}  # fmt: skip


@pytest.mark.parametrize("name", LABELS)
def test_labels(name):
    labels = LABELS[name][y]
    if name != "float":
        check(pegasos.from_sklearn(sklearn.svm.LinearSVC().fit(X, labels)), X)
        check(pegasos.from_sklearn(sklearn.svm.SVC().fit(X, labels)), X)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities_of_two_classes():
    machine = sklearn.svm.SVC(probability=True, random_state=0).fit(X[y > 0], y[y > 0])
    check(pegasos.from_sklearn(machine), X)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classifiers(kernel, scheme, dtype):
    if kernel == "sigmoid" and scheme != "ovr":
        pytest.skip("one scheme for this kernel")
    tol = None if kernel == "sigmoid" else 0.1
    model = PegasosClassifier(kernel=kernel, multi_class=scheme, gamma=0.1, tol=tol, max_iter=20, random_state=0)
    check(clone(model).fit(X.astype(dtype), NAMES[y]), X, dtype)
    check(clone(model).fit(X[y > 0].astype(dtype), y[y > 0] == 2), X, dtype)


@pytest.mark.parametrize("how", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_calibrated_probabilities(how, scheme, dtype):
    rows = X.astype(dtype)
    for labels in (NAMES[y], y > 0):
        model = PegasosClassifier(kernel="rbf", multi_class=scheme, probability=how, tol=0.1, random_state=0)
        found = run(model.fit(rows, labels).to_onnx(), rows, dtype)
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-5)
        np.testing.assert_array_equal(found["label"], model.predict(rows))


def test_a_row_that_no_class_claims_is_shared_out():
    model = PegasosClassifier(probability="isotonic", tol=0.1, random_state=0).fit(X, y)
    for part in model.calibration_.parts:
        part[1] = np.maximum(part[1] - 0.5, 0)
    found = run(model.to_onnx(), np.r_[X, 100 * X])
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(np.r_[X, 100 * X]), atol=1e-9)
    assert (found["probabilities"] == 1 / 3).all(axis=1).any()


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_several_labels_a_row(tmp_path, loss, n_labels):
    labels = np.c_[y == 0, X[:, 0] > 0, X[:, 1] > 0].astype(int)[:, :n_labels]
    for given in (labels, [{"ABC"[place] for place in np.flatnonzero(row)} for row in labels]):
        model = PegasosClassifier(kernel="rbf", loss=loss, tol=0.1).fit(X, given)
        for some in (X, X[:1]):
            found = run(model.to_onnx(), some)
            wanted = model.predict(some)
            if isinstance(wanted, list):
                wanted = np.array([[name in names for name in model.classes_] for names in wanted], int)
            np.testing.assert_array_equal(found["label"], wanted)
            np.testing.assert_allclose(found["scores"], model.decision_function(some), atol=1e-9)
            if loss == "log_loss":
                np.testing.assert_allclose(found["probabilities"], model.predict_proba(some), atol=1e-9)
    for save in (pegasos.save_libsvm, pegasos.save_liblinear):
        with pytest.raises(ValueError, match="one label a row|support vectors"):
            save(model, tmp_path / "x.model")
    with pytest.raises(ValueError, match="have one label a row; this PegasosClassifier gives several"):
        model.to_sklearn()


def test_probabilities_only_where_the_model_has_them():
    model = PegasosClassifier(loss="log_loss", multi_class="ovo", tol=0.1).fit(X, y > 0)
    assert not hasattr(model, "predict_proba")
    assert set(run(model.to_onnx(), X)) == {"label", "scores"}


def test_log_loss_landmarks_and_targets():
    for labels in (y, y > 0):
        model = PegasosClassifier(loss="log_loss", tol=0.1).fit(X, labels)
        check(model, X)
        found = run(model.to_onnx(), X)
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-9)
    check(PegasosClassifier(kernel="rbf", gamma=0.5, n_landmarks=20, multi_class="ovo", random_state=0).fit(X, y), X)
    for targets in (T, np.c_[T, -T]):
        check(PegasosRegressor(tol=0.1).fit(X, targets), X)
    check(PegasosRegressor(kernel="rbf", tol=0.1).fit(X, T), X)


@pytest.mark.parametrize("name", ["digits", "usps", "a9a"])
def test_data(name):
    folder = os.environ.get("PEGASOS_DATA")
    if name == "digits":
        rows, labels = load_digits(return_X_y=True)
    elif folder is None or not Path(folder).exists():
        pytest.skip("needs PEGASOS_DATA")
    else:
        data = load(name if name == "usps" else "adult")
        rows, labels = data.X[:1500], data.y[:1500]
        rows = rows.toarray() if hasattr(rows, "indptr") else rows
    rows = np.asarray(rows, np.float64) / max(1.0, np.abs(rows).max())
    half = len(rows) // 2
    for machine in (sklearn.svm.SVC(C=5), sklearn.svm.LinearSVC()):
        check(pegasos.from_sklearn(machine.fit(rows[:half], labels[:half])), rows)
    for params in ({}, {"kernel": "rbf"}, {"kernel": "poly", "multi_class": "ovo"}):
        check(PegasosClassifier(**params, tol=0.1, random_state=0).fit(rows[:half], labels[:half]), rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_diabetes(dtype):
    rows, targets = load_diabetes(return_X_y=True)
    rows, targets = (rows / rows.std()).astype(dtype), (targets - targets.mean()) / targets.std()
    for model in (PegasosRegressor(), PegasosRegressor(kernel="rbf"), pegasos.svm.SVR(), pegasos.svm.LinearSVR()):
        check(model.fit(rows, targets), rows, dtype)
        check(model, rows, np.float32)


def test_pipelines_and_column_transformers(tmp_path):
    pytest.importorskip("skl2onnx")
    rows = X.astype(np.float32)
    models = [PegasosClassifier(kernel="rbf", gamma=0.2, tol=0.1), pegasos.svm.LinearSVC(), pegasos.svm.OneClassSVM()]
    for last in models:
        columns = ColumnTransformer([("scaled", StandardScaler(), [0, 2, 3]), ("as they are", "passthrough", [1])])
        model = make_pipeline(columns, last).fit(rows, NAMES[y])
        found = run(pegasos.to_onnx(model, tmp_path / "pipeline.onnx"), rows, np.float32)
        assert run((tmp_path / "pipeline.onnx").read_bytes(), rows[:1], np.float32)["label"].shape == (1,)
        np.testing.assert_array_equal(found["label"], model.predict(rows))
        np.testing.assert_allclose(found["scores"], model.decision_function(rows), atol=1e-5, rtol=1e-5)
    model = make_pipeline(StandardScaler(), PegasosRegressor(tol=0.1)).fit(X, T)
    found = run(pegasos.to_onnx(model, dtype=np.float64), X)
    np.testing.assert_allclose(found["predictions"], model.predict(X), atol=1e-9)


def test_the_command(tmp_path):
    model = pegasos.from_sklearn(sklearn.svm.SVC().fit(X, NAMES[y]))
    model.save(tmp_path / "model.safetensors")
    quick("export", "model.safetensors", "model.onnx", cwd=tmp_path).fine()
    found = run((tmp_path / "model.onnx").read_bytes(), X)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    check_error(quick("export", "model.safetensors", "model.bin", cwd=tmp_path), "--format")


def test_what_has_no_operators(tmp_path):
    with pytest.raises(ValueError, match="no kernel 'laplacian'"):
        PegasosClassifier(kernel="laplacian", tol=0.5).fit(X, y).to_onnx(tmp_path / "x.onnx")
    model = pegasos.from_sklearn(sklearn.svm.LinearSVC().fit(X, y))
    with pytest.raises(ValueError, match="float32 or float64"):
        model.to_onnx(dtype=np.int32)
    model.classes_ = np.array([b"a", b"b", b"c"])
    with pytest.raises(ValueError, match="numbers, truth values or strings"):
        model.to_onnx()
    assert not list(tmp_path.iterdir())
