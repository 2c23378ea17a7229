"""Model files: what is saved comes back, bit for bit, and goes on learning where it can."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import pegasos
from conftest import classes_problem
from pegasos import PegasosSearchCV
from pegasos.kernels import KERNELS
from pegasos.storage import describe
from textbook import pegasos_classifier, pegasos_regressor

ATTRIBUTES = (
    "coef_", "intercept_", "support_", "support_vectors_", "dual_coef_", "violations_", "n_support_", "objective_",
    "dual_gap_", "t_", "n_iter_", "history_", "classes_", "n_features_in_", "feature_names_in_", "_scheme", "_targets",
    "_kernel",
)  # fmt: skip
LABELS = {
    "int64": np.array([-3, 5, 9]),
    "int8": np.array([-3, 5, 9], np.int8),
    "uint8": np.array([3, 5, 9], np.uint8),
    "int16": np.array([3, 5, 9], np.int16),
    "uint64": np.array([3, 5, 2**63 + 1], np.uint64),
    "float64": np.array([1.0, 2.0, 3.0]),
    "float32": np.array([1.0, 2.0, 3.0], np.float32),
    "big-endian": np.array([1, 2, 300], ">i4"),
    "str": np.array(["a", "é", "wörter"]),
    "wide str": np.array(["a", "b", "c"], "<U9"),
    "odd str": np.array(["", 'say "x"\\', "\ud800 [{,"]),
    "objects": np.array(["red", "green", "blue"], object),
    "bytes": np.array([b"a", b"b\xff", b"c"]),
    "dates": np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]"),
    "times": np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[ns]"),
    "spans": np.array([1, 2, 3], "m8[25s]"),
}


def round_trip(model, tmp_path, about=None):
    path = tmp_path / "model.safetensors"
    pegasos.save(model, path, about)
    return pegasos.load(path)


def assert_identical(found, expected):
    """Equal in type, dtype, memory order and bits."""
    if sparse.issparse(expected):
        assert type(found) is type(expected)
        for name in ("data", "indices", "indptr"):
            assert_identical(getattr(found, name), getattr(expected, name))
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.dtype.str == expected.dtype.str
        assert found.flags.f_contiguous == expected.flags.f_contiguous
        np.testing.assert_array_equal(found, expected)
    else:
        assert type(found) is type(expected)
        assert repr(found) == repr(expected)  # nan is nan


def assert_same_model(found, expected, X):
    assert type(found) is type(expected)
    assert_identical(found.predict(X), expected.predict(X))
    for method in ("decision_function", "predict_proba"):
        assert hasattr(found, method) == hasattr(expected, method)
        if hasattr(expected, method):
            assert_identical(getattr(found, method)(X), getattr(expected, method)(X))
    if isinstance(expected, Pipeline):
        assert_same_scaler(found[0], expected[0], X)
        found, expected = found[-1], expected[-1]
    for name in ATTRIBUTES:
        assert hasattr(found, name) == hasattr(expected, name), name
        if hasattr(expected, name):
            assert_identical(getattr(found, name), getattr(expected, name))
    assert repr(found.get_params()) == repr(expected.get_params())


def assert_same_scaler(found, expected, X):
    assert set(vars(found)) == set(vars(expected))
    for name, value in vars(expected).items():
        assert_identical(vars(found)[name], value)
    assert_identical(np.asarray(found.transform(X)), np.asarray(expected.transform(X)))


def as_rows(X, layout, dtype):
    X = X.astype(dtype)
    return {"dense": X, "fortran": np.asfortranarray(X), "csr": sparse.csr_array(X * (X > 0))}[layout]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["dense", "fortran", "csr"])
@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "precomputed"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_kernel_comes_back_bit_for_bit(kernel, layout, dtype, n_classes, tmp_path):
    X, y = classes_problem(n_classes)
    X = as_rows(X, layout, dtype)
    model = pegasos_classifier(kernel=kernel, random_state=0, coef0=np.float64(0.3)).fit(X, y)
    assert_same_model(round_trip(model, tmp_path), model, X)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_scheme_comes_back(multi_class, kernel, n_classes, tmp_path):
    X, y = classes_problem(n_classes)
    X = X @ X.T if kernel == "precomputed" else X
    model = pegasos_classifier(kernel=kernel, multi_class=multi_class, lam=0.01, random_state=0).fit(X, y)
    assert_same_model(round_trip(model, tmp_path), model, X)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_come_back(kernel, n_classes, tmp_path):
    X, y = classes_problem(n_classes)
    model = pegasos_classifier(kernel=kernel, loss="log_loss", random_state=0).fit(X, y)
    found = round_trip(model, tmp_path)
    assert_same_model(found, model, X)
    assert found.score(X, y) == model.score(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False, "auto"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("n_targets", [None, 1, 3])
def test_regressors_come_back(n_targets, kernel, fit_intercept, tmp_path):
    X, _ = classes_problem(2)
    y = X[:, 0] + 5 if n_targets is None else X[:, :n_targets] + 5
    X = X @ X.T if kernel == "precomputed" else X
    model = pegasos_regressor(kernel=kernel, fit_intercept=fit_intercept, random_state=0).fit(X, y)
    assert_same_model(round_trip(model, tmp_path), model, X)


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_every_type_come_back(name, n_classes, tmp_path):
    X, y = classes_problem(3)
    X, y = X[y < n_classes], y[y < n_classes]
    model = pegasos_classifier(random_state=0).fit(X, LABELS[name][y])
    found = round_trip(model, tmp_path)
    assert_same_model(found, model, X)
    np.testing.assert_array_equal(describe(tmp_path / "model.safetensors")["classes"], model.classes_)


def test_truth_values_come_back_as_labels(binary, tmp_path):
    X, y = binary
    model = pegasos_classifier(random_state=0).fit(X, y == 1)
    assert_same_model(round_trip(model, tmp_path), model, X)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_support_vectors_keep_their_kind_and_indices(kind, index, multiclass, tmp_path):
    X, y = multiclass
    rows = kind(X * (X > 0))
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    model = pegasos_classifier(kernel="rbf", random_state=0).fit(rows, y)
    model.support_vectors_.indices = model.support_vectors_.indices.astype(index)
    model.support_vectors_.indptr = model.support_vectors_.indptr.astype(index)
    assert_same_model(round_trip(model, tmp_path), model, rows)


def test_feature_names_come_back(binary, tmp_path):
    X, y = binary
    frame = pd.DataFrame(X, columns=["a", "b", "größe", 'the "last"'])
    model = pegasos_classifier(random_state=0).fit(
        frame, pd.Series(y, dtype="category").cat.rename_categories(["n", "j"])
    )
    found = round_trip(model, tmp_path)
    assert_same_model(found, model, frame)
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame.rename(columns={"a": "c"}))


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        StandardScaler(with_mean=False, with_std=False),
        MaxAbsScaler(),
        MinMaxScaler((-1, 2), clip=True),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pipelines_with_a_scaler_come_back(scaler, dtype, multiclass, tmp_path):
    X, y = multiclass
    X = (X * 3 + 1).astype(dtype)
    model = make_pipeline(clone(scaler), pegasos_classifier(kernel="rbf", random_state=0)).fit(X, y)
    assert_same_model(round_trip(model, tmp_path), model, X)


def test_a_pipeline_keeps_its_step_names_and_the_output_it_was_set_to(binary, tmp_path):
    X, y = binary
    X = pd.DataFrame(X, columns=list("abcd"))
    steps = [("scale", StandardScaler().set_output(transform="pandas")), ("svm", pegasos_regressor(random_state=0))]
    model = Pipeline(steps).fit(X, y)
    found = round_trip(model, tmp_path)
    assert list(found.named_steps) == ["scale", "svm"]
    assert_identical(found.predict(X), model.predict(X))


def test_a_scaler_that_met_missing_values_comes_back(binary, tmp_path):
    X, y = binary
    model = make_pipeline(StandardScaler(), pegasos_classifier(random_state=0)).fit(X, y)
    X[0, 0] = np.nan
    model[0].fit(X)
    assert isinstance(model[0].n_samples_seen_, np.ndarray)
    assert_same_scaler(round_trip(model, tmp_path)[0], model[0], X)


def test_of_a_search_the_best_estimator_is_stored(binary, tmp_path):
    X, y = binary
    search = PegasosSearchCV(pegasos_classifier(random_state=0), {"lam": np.logspace(-3, -1, 3)}, cv=2).fit(X, y)
    found = round_trip(search, tmp_path)
    assert_same_model(found, search.best_estimator_, X)
    assert isinstance(found.lam, np.float64)
    search = PegasosSearchCV(pegasos_classifier(), {"lam": [0.1]}, refit=False, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="no best_estimator_"):
        pegasos.save(search, tmp_path / "other")


def test_parameters_that_are_no_plain_numbers_come_back(binary, tmp_path):
    X, y = binary
    weights = {np.int64(0): 1.0, 1: np.float32(2.5)}
    model = pegasos_classifier(class_weight=weights, max_iter=np.int64(2)).fit(X, y)
    found = round_trip(model, tmp_path)
    assert_same_model(found, model, X)
    assert isinstance(found.class_weight[1], np.float32)
    model.class_weight = {None: [np.inf, -np.inf, np.nan], (1, b"\xff"): np.datetime64("2020-01-01"), "a": np.str_("é")}
    assert repr(round_trip(model, tmp_path).class_weight) == repr(model.class_weight)


def test_a_random_state_that_is_an_object_is_left_out(binary, tmp_path):
    model = pegasos_classifier(random_state=np.random.RandomState(0)).fit(*binary)
    assert round_trip(model, tmp_path).random_state is None


def test_a_model_without_support_rows_comes_back(binary, tmp_path):
    X, y = binary
    model = pegasos_regressor(kernel="rbf", epsilon=100.0, random_state=0).fit(X, y)
    assert model.support_.size == 0
    assert_same_model(round_trip(model, tmp_path), model, X)


# --- going on after loading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, "uniform", "weighted", "suffix"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_partial_fit_goes_on_after_loading_as_if_nothing_had_happened(average, dtype, multiclass, tmp_path):
    X, y = multiclass
    X = X.astype(dtype)
    model = pegasos_classifier(lam=0.01, average=average, project=True, multi_class="ovo", random_state=0)
    model.partial_fit(X[:20], y[:20], classes=np.unique(y))
    found = round_trip(round_trip(model, tmp_path), tmp_path)
    for part in (slice(20, 40), slice(40, 60)):
        model.partial_fit(X[part], y[part])
        found.partial_fit(X[part], y[part])
    assert_identical(found.coef_, model.coef_)
    assert_identical(found.t_, model.t_)


def test_partial_fit_of_a_regressor_goes_on_after_fit_and_loading(binary, tmp_path):
    X, _ = binary
    model = pegasos_regressor(lam=0.01, random_state=0).fit(X, X[:, :2])
    found = round_trip(model, tmp_path)
    assert_identical(found.partial_fit(X, X[:, :2]).coef_, model.partial_fit(X, X[:, :2]).coef_)
    with pytest.raises(ValueError, match="epsilon"):
        found.set_params(epsilon=0.2).partial_fit(X, X[:, :2])


def test_a_linear_warm_start_goes_on_after_loading(binary, tmp_path):
    X, y = binary
    model = pegasos_classifier(C=1.0, warm_start=True, random_state=0, max_iter=2).fit(X, y)
    found = round_trip(model, tmp_path)
    assert found.fit(X, y).n_iter_ == 2 * model.n_iter_


@pytest.mark.parametrize("parameters", [{"kernel": "rbf"}, {"solver": "sdca"}])
def test_a_warm_start_that_needs_the_rows_says_so_after_loading(parameters, binary, tmp_path):
    X, y = binary
    model = pegasos_classifier(**parameters, lam=0.1, warm_start=True, random_state=0).fit(X, y)
    found = round_trip(round_trip(model, tmp_path), tmp_path)
    with pytest.raises(ValueError, match="comes from a file.*set warm_start=False"):
        found.fit(X, y)
    with pytest.raises(ValueError, match="comes from a file"):
        found.set_params(kernel="linear", solver="pegasos").partial_fit(X, y)
    assert_identical(found.predict(X), model.predict(X))
    assert found.set_params(warm_start=False).fit(X, y)._memory is not found
