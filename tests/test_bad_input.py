"""Bad input ends in a sentence that names the offending thing; odd input in a warning and finite results."""

import inspect
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from pegasos import PegasosClassifier, PegasosSearchCV
from pegasos.estimators import devices
from textbook import pegasos_classifier


def assert_refused(match, X, y, error=ValueError, *, sample_weight=None, **params):
    with pytest.raises(error, match=match):
        pegasos_classifier(**params).fit(X, y, sample_weight=sample_weight)


def warnings_of(X, y, **params):
    """The fitted model and the texts of the UserWarnings its fit gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = pegasos_classifier(**(dict(random_state=0) | params)).fit(X, y)
    return model, [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def assert_finite(model, X):
    for name in ("coef_", "dual_coef_", "intercept_", "objective_"):
        if hasattr(model, name):
            assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isin(model.predict(X), model.classes_).all()


# --- parameters -----------------------------------------------------------------------------------

OUT_OF_RANGE = [
    ("lam", 0),
    ("lam", 0.0),
    ("lam", -1e-3),
    ("lam", np.nan),
    ("lam", np.inf),
    ("lam", "small"),
    ("C", 0.0),
    ("C", -1.0),
    ("C", np.nan),
    ("max_steps", 0),
    ("max_steps", -5),
    ("max_steps", 2.5),
    ("max_iter", 0),
    ("max_iter", -1),
    ("batch_size", 0),
    ("batch_size", -3),
    ("batch_size", 1.5),
    ("tol", -1e-3),
    ("tol", np.nan),
    ("max_time", -1.0),
    ("cache_size", -1),
    ("intercept_scaling", 0.0),
    ("intercept_scaling", -1.0),
    ("project", "yes"),
    ("verbose", "loud"),
    ("verbose", -1),
    ("random_state", "seed"),
]
UNKNOWN_NAMES = [
    "kernel",
    "loss",
    "multi_class",
    "solver",
    "sampling",
    "average",
    "batch_size",
    "device",
    "class_weight",
    "fit_intercept",
]
KERNEL_OUT_OF_RANGE = [
    ("rbf", "gamma", -1.0),
    ("rbf", "gamma", np.nan),
    ("rbf", "gamma", "wide"),
    ("poly", "degree", -1),
    ("poly", "degree", np.nan),
    ("poly", "coef0", np.nan),
    ("poly", "coef0", "one"),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE, ids=lambda part: str(part))
def test_parameter_out_of_range_is_named(binary, name, value):
    assert_refused(rf"\b{name}\b", *binary, **{name: value})


@pytest.mark.parametrize("name", UNKNOWN_NAMES)
def test_unknown_name_is_named_with_its_parameter(binary, name):
    assert_refused(rf"(?s)\b{name}\b.*frobnicate", *binary, **{name: "frobnicate"})


@pytest.mark.parametrize(("kernel", "name", "value"), KERNEL_OUT_OF_RANGE, ids=lambda part: str(part))
def test_kernel_parameter_out_of_range_is_named(binary, kernel, name, value):
    assert_refused(rf"\b{name}\b", *binary, kernel=kernel, **{name: value})


def test_average_true_is_not_a_kind_of_average(binary):
    assert_refused(r"\baverage\b", *binary, average=True)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_batch_larger_than_the_data(binary, kernel):
    X, y = binary
    assert_refused(rf"(?s)batch_size.*{len(y) + 1}.*{len(y)}", X, y, kernel=kernel, batch_size=len(y) + 1)
    assert_finite(pegasos_classifier(kernel=kernel, batch_size=len(y)).fit(X, y), X)


def test_batch_larger_than_the_rows_of_a_pair(multiclass):
    X, y = multiclass
    smallest_pair = np.sort(np.bincount(y))[:2].sum()
    assert_refused("batch_size", X, y, multi_class="ovo", batch_size=int(smallest_pair) + 1)


@pytest.mark.parametrize("batch_size", [2, "all"])
def test_sdca_takes_one_row_a_step(binary, batch_size):
    assert_refused(r"(?s)sdca.*batch_size|batch_size.*sdca", *binary, solver="sdca", batch_size=batch_size)


def test_sdca_does_not_project(binary):
    assert_refused(r"(?s)sdca.*project|project.*sdca", *binary, solver="sdca", project=True)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_kernel_params_without_a_callable_kernel(binary, kernel):
    X, y = binary
    X = rbf_kernel(X) if kernel == "precomputed" else X
    assert_refused("kernel_params", X, y, kernel=kernel, kernel_params={"gamma": 0.3})


def test_kernel_that_is_neither_a_name_nor_callable(binary):
    assert_refused(r"\bkernel\b", *binary, kernel=3)


def test_parameters_are_keywords():
    with pytest.raises(TypeError):
        pegasos_classifier("rbf")
    with pytest.raises(TypeError, match="lambda_"):
        pegasos_classifier(lambda_=0.1)


# --- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("value", "match"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_features_that_are_not_finite(binary, value, match, kernel, container):
    X, y = binary
    fitted = pegasos_classifier(kernel=kernel).fit(container(X), y)
    X = X.copy()
    X[3, 1] = value
    assert_refused(match, container(X), y, kernel=kernel)
    with pytest.raises(ValueError, match=match):
        fitted.predict(container(X))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_precomputed_matrix_that_is_not_finite(binary, value):
    K = rbf_kernel(binary[0])
    K[2, 5] = K[5, 2] = value
    assert_refused("NaN|infinity", K, binary[1], kernel="precomputed")


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_no_rows(kernel):
    assert_refused(r"0 sample|empty|no rows", np.empty((0, 3)), np.empty(0), kernel=kernel)


def test_no_features():
    assert_refused(r"0 feature|no features", np.empty((6, 0)), np.arange(6) % 2)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_row(kernel):
    assert_refused(r"(?i)\b(1|one) (sample|row|class)|n_samples\s?=\s?1\b", np.ones((1, 3)), [1], kernel=kernel)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("label", [1, "a", True])
def test_one_class(binary, label, kernel):
    X, _ = binary
    assert_refused(r"(?i)\b(1|one|single)\b.*class|class.*\b(1|one|single)\b", X, [label] * len(X), kernel=kernel)


@pytest.mark.parametrize("as_given", [list, lambda y: np.array(y, dtype=object)], ids=["list", "object array"])
def test_labels_of_mixed_type(binary, as_given):
    X, _ = binary
    y = as_given([1, "a"] * (len(X) // 2))
    assert_refused("(?i)label", X, y, (ValueError, TypeError))


def test_labels_that_are_not_classes(binary):
    X, _ = binary
    assert_refused("(?i)label|continuous", X, np.linspace(0.1, 0.9, len(X)))


@pytest.mark.parametrize("value", [np.nan, None])
def test_missing_label(binary, value):
    X, codes = binary
    y = np.array(["no", "yes"], dtype=object)[codes] if value is None else codes.astype(float)
    y[3] = value
    assert_refused("(?i)NaN|label|missing|None", X, y, (ValueError, TypeError))


def test_labels_of_the_wrong_shape(binary):
    X, y = binary
    assert_refused("inconsistent numbers of samples", X, y[:-1])
    outputs = np.c_[y, y + 1]  # columns of 0 and 1 would be two labels a row
    assert_refused("(?i)1d array|shape|multilabel|multi-output|label", X, outputs)


def test_features_of_the_wrong_shape(binary):
    X, y = binary
    assert_refused("2D array", X[:, 0], y)
    with pytest.raises(ValueError, match="features"):
        pegasos_classifier().fit(X, y).predict(X[:, :2])


def test_complex_features(binary):
    assert_refused("(?i)complex", binary[0] + 1j, binary[1])


def test_predicting_before_fitting(binary):
    with pytest.raises(NotFittedError, match="fitted"):
        pegasos_classifier().predict(binary[0])
    with pytest.raises(NotFittedError, match="fitted"):
        pegasos_classifier(kernel="rbf").decision_function(binary[0])


# --- weights --------------------------------------------------------------------------------------


def test_negative_sample_weight(binary):
    X, y = binary
    weights = np.ones(len(y))
    weights[3] = -0.5
    assert_refused("(?si)sample.weight.*negative|negative.*sample.weight", X, y, sample_weight=weights)


def test_all_sample_weights_zero(binary):
    X, y = binary
    match = "(?si)sample.weight.*(zero|0)|(zero|0).*sample.weight"
    assert_refused(match, X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_sample_weight_that_is_not_finite(binary, value):
    X, y = binary
    weights = np.ones(len(y))
    weights[3] = value
    assert_refused("(?s)sample_weight.*(NaN|infinity)|(NaN|infinity).*sample_weight", X, y, sample_weight=weights)


def test_sample_weight_of_the_wrong_length(binary):
    X, y = binary
    assert_refused("sample_weight", X, y, sample_weight=np.ones(len(y) - 1))


def test_one_class_left_by_weights_of_zero(binary):
    X, y = binary
    assert_refused("(?i)class", X, y, sample_weight=(y == 1).astype(float))


def test_class_weight_that_is_negative(binary):
    assert_refused("class_weight", *binary, class_weight={0: -1.0, 1: 1.0})


def test_class_weight_of_other_classes(binary):
    assert_refused("class_weight", *binary, class_weight={0: 1.0, 7: 2.0})


# --- kernels --------------------------------------------------------------------------------------


def test_precomputed_matrix_that_is_not_square(binary):
    X, y = binary
    assert_refused("(?i)square", rbf_kernel(X)[:, :-1], y, kernel="precomputed")


def test_precomputed_matrix_of_the_wrong_shape_at_prediction(binary):
    X, y = binary
    K = rbf_kernel(X)
    model = pegasos_classifier(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match=f"(?s){len(y) - 1}.*{len(y)}"):
        model.predict(K[:, :-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_matrix_that_is_not_symmetric(binary, dtype):
    X, y = binary
    K = rbf_kernel(X).astype(dtype)
    K[0, 5] += 0.1
    assert_refused("(?i)symmetric", K, y, kernel="precomputed")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_does_not_make_a_matrix_asymmetric(binary, dtype):
    X, y = binary
    K = rbf_kernel(X).astype(dtype)
    K[np.triu_indices_from(K, 1)] *= 1 + 2 * np.finfo(dtype).eps
    model, texts = warnings_of(K, y, kernel="precomputed")
    assert texts == []
    assert np.isfinite(model.dual_gap_).all()


def test_precomputed_matrix_that_is_not_positive_semi_definite(binary):
    X, y = binary
    K = rbf_kernel(X) - 0.9 * np.eye(len(y))
    model, texts = warnings_of(K, y, kernel="precomputed", lam=0.1)
    assert sum("positive semi-definite" in text for text in texts) == 1
    assert np.isnan(model.dual_gap_).all()
    assert_finite(model, K)


@pytest.mark.parametrize(
    "kernel",
    [
        lambda A, B: np.ones((len(A), len(B) + 1)),
        lambda A, B: np.ones(len(A)),
        lambda A, B: np.full((len(A), len(B)), np.nan),
        lambda A, B: np.full((len(A), len(B)), np.inf),
        lambda A, B: None,
    ],
    ids=["too wide", "one dimension", "nan", "inf", "None"],
)
def test_callable_kernel_that_returns_no_kernel_matrix(binary, kernel):
    assert_refused(r"\bkernel\b", *binary, kernel=kernel)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernel_values_that_all_underflow(binary, kernel, dtype):
    X, y = binary[0].astype(dtype), binary[1]
    model, texts = warnings_of(X, y, kernel=kernel, gamma=1e8)
    (text,) = [text for text in texts if "underflow" in text]
    assert "gamma" in text
    assert_finite(model, X)
    assert_finite(model, X + 1)


def test_kernel_values_that_overflow(binary):
    X, y = binary[0].astype(np.float32), binary[1]
    assert_refused(r"(?s)\bkernel\b|poly|degree", X, y, kernel="poly", gamma=1e6, degree=20)


# --- scale ----------------------------------------------------------------------------------------

KERNELS = ["linear", "rbf", "poly"]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("factor", [1e20, 1e-20])
def test_float32_features_beyond_its_range_are_refused(binary, factor, kernel, container):
    X = container((binary[0] * factor).astype(np.float32))
    assert_refused("(?si)float32.*scale|scale.*float32", X, binary[1], kernel=kernel)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("factor", [1e20, 1e-20])
def test_float64_features_of_extreme_scale_are_warned_about_and_stay_finite(binary, factor, kernel, solver, container):
    X = container(binary[0] * factor)
    model, texts = warnings_of(X, binary[1], kernel=kernel, solver=solver)
    assert sum("scale" in text for text in texts) == 1, texts
    assert_finite(model, X)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_feature_of_extreme_scale_is_warned_about_and_stays_finite(binary, kernel):
    X = binary[0] * [1e20, 1.0, 1.0, 1e-20]
    model, texts = warnings_of(X, binary[1], kernel=kernel)
    assert sum("scale" in text for text in texts) == 1, texts
    assert_finite(model, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
def test_dense_features_of_very_different_scale_give_one_hint(multiclass, kernel, dtype, solver):
    X = (multiclass[0] * [1.0, 1.0, 1.0, 2e4]).astype(dtype)
    model, texts = warnings_of(X, multiclass[1], kernel=kernel, solver=solver)
    assert sum("scale" in text for text in texts) == 1, texts
    assert_finite(model, X)


def test_hint_compares_the_largest_absolute_values_with_a_thousand(binary):
    X, y = binary
    X = X / np.abs(X).max(axis=0)
    assert not warnings_of(X * [1, 1, 1, 990], y, lam=1e3)[1]
    (text,) = warnings_of(X * [1, 1, 1, -1010], y, lam=1e3)[1]
    assert "scale" in text
    assert np.isfinite(warnings_of(np.c_[X, np.zeros(len(X))], y)[0].coef_).all()


def test_ordinary_data_gives_no_warning(digits, breast_cancer):
    # Blank pixels of the digits are constant zero: no scale, so nothing to hint at.
    for X, y in (digits, breast_cancer):
        for kernel in KERNELS:
            assert warnings_of(X[:200], y[:200], kernel=kernel, max_iter=2)[1] == []


def test_precomputed_matrix_is_not_judged_by_its_features(binary):
    X, y = binary
    lengths = np.geomspace(1e-3, 1e3, len(X))
    K = rbf_kernel(X) * np.outer(lengths, lengths)
    assert warnings_of(K, y, kernel="precomputed", lam=1.0, solver="auto", tol=1e-3)[1] == []


# --- odd but right --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize(
    "X",
    [np.zeros((8, 3)), np.ones((8, 3)), np.repeat([[1.0, 2.0], [3.0, 4.0]], 4, axis=0), np.eye(8)[:, :1]],
    ids=["zeros", "constant", "repeated", "one feature"],
)
def test_degenerate_features_give_finite_results(X, solver, kernel):
    y = np.arange(8) % 2
    model, _ = warnings_of(X, y, kernel=kernel, solver=solver)
    assert_finite(model, X)
    assert np.isfinite(model.dual_gap_).all()


@pytest.mark.parametrize("lam", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_extreme_lam_gives_finite_results(binary, kernel, solver, lam):
    X, y = binary
    model, _ = warnings_of(X, y, kernel=kernel, solver=solver, lam=lam)
    assert_finite(model, X)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_two_rows_are_enough(kernel):
    X, y = np.array([[-1.0, 0.0], [1.0, 0.5]]), np.array(["no", "yes"])
    model = pegasos_classifier(kernel=kernel, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)


# --- a GPU that is not there ----------------------------------------------------------------------


@pytest.mark.skipif(devices.missing() is None, reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:tf32"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_gpu_that_is_missing_is_asked_for_in_vain(multiclass, kernel, device):
    message = f"device='{device}' cannot be used here: (CuPy|numba-cuda) .*"
    assert_refused(message, *multiclass, RuntimeError, kernel=kernel, device=device)
    search = PegasosSearchCV(pegasos_classifier(kernel=kernel), {"device": ["cpu", device]}, cv=2)
    with pytest.raises(RuntimeError, match=message):
        search.fit(*multiclass)


# --- no parameter is accepted and ignored ---------------------------------------------------------

CHANGES_THE_MODEL = {
    "kernel": (dict(kernel="rbf"), dict(kernel="laplacian")),
    "gamma": (dict(kernel="rbf", gamma=0.1), dict(kernel="rbf", gamma=0.2)),
    "degree": (dict(kernel="poly", degree=2), dict(kernel="poly", degree=3)),
    "coef0": (dict(kernel="poly", coef0=1.0), dict(kernel="poly", coef0=0.5)),
    "kernel_params": (
        dict(kernel=rbf_kernel, kernel_params={"gamma": 0.1}),
        dict(kernel=rbf_kernel, kernel_params={"gamma": 0.2}),
    ),
    "lam": (dict(lam=0.1), dict(lam=0.2)),
    "C": (dict(C=0.1), dict(C=0.2)),
    "loss": (dict(loss="hinge"), dict(loss="squared_hinge")),
    "loss log": (dict(loss="hinge"), dict(loss="log_loss")),
    "multi_class": (dict(multi_class="ovr"), dict(multi_class="ovo")),
    "multi_class crammer": (dict(multi_class="ovr"), dict(multi_class="crammer_singer")),
    "solver": (dict(solver="pegasos"), dict(solver="sdca")),
    "max_steps": (dict(max_steps=10), dict(max_steps=20)),
    "max_iter": (dict(max_iter=1), dict(max_iter=2)),
    "tol": (dict(lam=1.0, solver="sdca", max_iter=500), dict(lam=1.0, solver="sdca", max_iter=500, tol=0.1)),
    "batch_size": (dict(batch_size=1), dict(batch_size=2)),
    "sampling": (dict(sampling="shuffle"), dict(sampling="replacement")),
    "sampling cyclic": (dict(sampling="shuffle"), dict(sampling="cyclic")),
    "average": (dict(average=False), dict(average="weighted")),
    "average uniform": (dict(average="weighted"), dict(average="uniform")),
    "average suffix": (dict(average="weighted"), dict(average="suffix")),
    "project": (dict(lam=1e-3, max_steps=20, average=False), dict(lam=1e-3, max_steps=20, average=False, project=True)),
    "fit_intercept": (dict(fit_intercept=True), dict(fit_intercept=False)),
    "intercept_scaling": (dict(intercept_scaling=1.0), dict(intercept_scaling=2.0)),
    "class_weight": (dict(class_weight=None), dict(class_weight={0: 1, 1: 2, 2: 3, 3: 4})),
    "n_landmarks": (dict(kernel="rbf", n_landmarks=5), dict(kernel="rbf", n_landmarks=6)),
    "landmarks": (dict(kernel="rbf", n_landmarks=5), dict(kernel="rbf", n_landmarks=5, landmarks="k-means++")),
    "random_state": (dict(random_state=0), dict(random_state=1)),
}
# each has a test
CHANGES_SOMETHING_ELSE = {
    "max_time", "cache_size", "verbose", "device", "warm_start", "checkpoint", "n_jobs", "probability",
    "probability_cv", "break_ties",
}  # fmt: skip


def test_every_parameter_is_accounted_for():
    parameters = set(inspect.signature(PegasosClassifier).parameters)
    tested = {name.split()[0] for name in CHANGES_THE_MODEL} | CHANGES_SOMETHING_ELSE
    assert tested == parameters == set(pegasos_classifier().get_params())


@pytest.mark.parametrize("name", CHANGES_THE_MODEL)
def test_parameter_changes_the_model(multiclass, name):
    X, y = multiclass
    one, other = (
        pegasos_classifier(**(dict(random_state=0) | params)).fit(X, y).decision_function(X)
        for params in CHANGES_THE_MODEL[name]
    )
    assert not np.allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca")], ids=str)
def test_max_time_ends_the_fit(binary, params):
    X, y = binary
    model = pegasos_classifier(max_iter=10**9, max_time=0.2, lam=0.05, random_state=0, **params).fit(X, y)
    assert 0 < model.n_iter_ < 10**9 * len(y)
    assert_finite(model, X)


def test_verbose_prints_progress_and_silence_is_the_default(binary, capfd):
    X, y = binary
    pegasos_classifier(lam=0.05, random_state=0).fit(X, y)
    assert capfd.readouterr() == ("", "")
    pegasos_classifier(lam=0.05, random_state=0, verbose=1).fit(X, y)
    assert "".join(capfd.readouterr())


def test_verbose_does_not_change_the_model(binary):
    X, y = binary
    quiet, loud = (pegasos_classifier(lam=0.05, random_state=0, verbose=verbose).fit(X, y) for verbose in (0, 1))
    np.testing.assert_array_equal(quiet.coef_, loud.coef_)


def test_cpu_is_a_device(binary):
    X, y = binary
    auto, cpu = (pegasos_classifier(lam=0.05, random_state=0, device=device).fit(X, y) for device in ("auto", "cpu"))
    np.testing.assert_array_equal(auto.coef_, cpu.coef_)
