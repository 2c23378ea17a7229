"""PegasosClassifier as a scikit-learn classifier: common checks, the tools around it, types of data, attributes."""

import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import _ovr_decision_function

from conftest import expected_failed_checks
from pegasos import PegasosClassifier
from textbook import pegasos_classifier

# A row twice and a row of weight 2 give the same model only where the order of the rows does not matter.
ORDER_FREE = [
    PegasosClassifier(batch_size="all"),
    PegasosClassifier(solver="sdca", tol=1e-10, average=False, max_iter=2_000),
]
# One check (check_class_weight_classifiers) asks for a good bias after 1000 single steps at lam = 4e-5 on raw features
# of size 50. The last iterate, Pegasos as it is written, gets there; the average over its first 1000 steps does not,
# and a precomputed linear kernel needs an intercept to.
ORDER_BOUND = [
    PegasosClassifier(),
    PegasosClassifier(average=False),
    PegasosClassifier(multi_class="ovo", average=False),
    PegasosClassifier(kernel="rbf"),
    PegasosClassifier(kernel="poly"),
    PegasosClassifier(kernel="precomputed", fit_intercept=True),
    PegasosClassifier(solver="sdca"),
    PegasosClassifier(solver="newton"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the checks set max_iter as they please
@pytest.mark.filterwarnings("ignore:.*positive semi-definite")
@parametrize_with_checks(ORDER_FREE + ORDER_BOUND, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# --- tools of scikit-learn ------------------------------------------------------------------------

KERNELS = ["linear", "rbf", "poly"]


def fitted(X, y, **params):
    return pegasos_classifier(**(dict(lam=0.05, random_state=0) | params)).fit(X, y)


def parameters_of(model):
    """The numbers that make up a fitted model."""
    names = ("coef_",) if model.kernel == "linear" else ("dual_coef_", "support_")
    return [np.asarray(getattr(model, name)) for name in (*names, "intercept_", "objective_", "dual_gap_", "t_")]


def assert_same_bits(one, other):
    for a, b in zip(parameters_of(one), parameters_of(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_it_is_a_classifier_and_declares_pairwise_input_only_for_precomputed():
    assert is_classifier(pegasos_classifier())
    assert get_tags(pegasos_classifier(kernel="precomputed")).input_tags.pairwise
    assert not get_tags(pegasos_classifier(kernel="rbf")).input_tags.pairwise
    assert get_tags(pegasos_classifier()).input_tags.sparse


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_calibrated_probabilities(digits, kernel):
    X, y = digits
    base = pegasos_classifier(kernel=kernel, gamma=0.1, lam=1e-3, random_state=0)
    calibrated = CalibratedClassifierCV(base, cv=3).fit(X[::2], y[::2])
    probabilities = calibrated.predict_proba(X[1::2])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert calibrated.score(X[1::2], y[1::2]) > 0.9


@pytest.mark.parametrize("kernel", KERNELS)
def test_pipeline_equals_the_steps_by_hand(multiclass, kernel):
    X, y = multiclass
    model = pegasos_classifier(kernel=kernel, lam=0.05, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X * [1, 2, 3, 4], y)
    scaler = StandardScaler().fit(X * [1, 2, 3, 4])
    by_hand = clone(model).fit(scaler.transform(X * [1, 2, 3, 4]), y)
    assert_same_bits(pipeline[-1], by_hand)
    np.testing.assert_array_equal(pipeline.predict(X), by_hand.predict(scaler.transform(X)))


def test_grid_search_over_lam_and_gamma(digits):
    X, y = digits[0][:400], digits[1][:400]
    grid = {"lam": [1e-4, 1e-1, 10.0], "gamma": [1e-4, 0.1]}
    search = GridSearchCV(pegasos_classifier(kernel="rbf", max_iter=3, random_state=0), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert search.best_params_["gamma"] == 0.1
    assert len(set(search.cv_results_["mean_test_score"])) > 2, "the parameters reach the model"
    assert search.predict(X).shape == y.shape


def test_grid_search_cuts_a_precomputed_matrix_in_rows_and_columns(multiclass):
    X, y = multiclass
    K = pairwise.rbf_kernel(X, gamma=0.3)
    grid = {"lam": [1e-3, 1e-2, 1.0]}
    settings = dict(fit_intercept=False, random_state=0)
    direct = GridSearchCV(pegasos_classifier(kernel="rbf", gamma=0.3, **settings), grid, cv=3).fit(X, y)
    precomputed = GridSearchCV(pegasos_classifier(kernel="precomputed", **settings), grid, cv=3).fit(K, y)
    np.testing.assert_allclose(
        precomputed.cv_results_["mean_test_score"], direct.cv_results_["mean_test_score"], atol=1e-12
    )
    np.testing.assert_array_equal(precomputed.predict(K), direct.predict(X))


def test_cross_val_score_with_two_jobs_equals_one_job(multiclass):
    X, y = multiclass
    model = pegasos_classifier(kernel="rbf", random_state=0)
    np.testing.assert_array_equal(cross_val_score(model, X, y, cv=3, n_jobs=2), cross_val_score(model, X, y, cv=3))


def test_clone_and_parameters_round_trip():
    params = dict(kernel="rbf", gamma=0.3, C=2.0, solver="sdca", average=False, max_iter=7, random_state=3)
    model = pegasos_classifier(**params)
    assert {name: model.get_params()[name] for name in params} == params
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(lam=0.1, C=None).get_params()["lam"] == 0.1
    with pytest.raises(ValueError, match="not_a_parameter"):
        copy.set_params(not_a_parameter=1)


def test_fit_leaves_the_parameters_as_given(binary):
    for kernel in KERNELS:
        model = pegasos_classifier(kernel=kernel)
        before = dict(model.get_params())
        assert model.fit(*binary) is model
        assert model.get_params() == before


def pickled(model, folder):
    return pickle.loads(pickle.dumps(model))


def dumped(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


def memory_mapped(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib", mmap_mode="r")


@pytest.mark.parametrize("through", [pickled, dumped, memory_mapped])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_stored_and_loaded_model_answers_the_same(multiclass, tmp_path, kernel, multi_class, through):
    X, y = multiclass
    model = fitted(X, y, kernel=kernel, multi_class=multi_class)
    loaded = through(model, tmp_path)
    assert_same_bits(model, loaded)
    np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))


def test_score_is_the_weighted_accuracy(multiclass):
    X, y = multiclass
    model, weights = fitted(X, y), np.arange(1.0, len(y) + 1)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    expected = np.average(model.predict(X) == y, weights=weights)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(expected)


def test_predict_is_the_class_of_the_largest_score(multiclass):
    X, y = multiclass
    for params in (dict(), dict(multi_class="ovo"), dict(kernel="rbf")):
        model = fitted(X, y + 10, **params)
        np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


def test_binary_predict_is_the_later_class_where_the_score_is_positive(binary):
    X, y = binary
    model = fitted(X, np.where(y == 1, "yes", "no"))
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "yes", "no"))


# --- repeatability --------------------------------------------------------------------------------

RUNS = [
    dict(),
    dict(kernel="rbf"),
    dict(kernel="rbf", multi_class="ovo"),
    dict(solver="sdca"),
    dict(kernel="poly", solver="sdca", average=False),
    dict(sampling="replacement", batch_size=7, average="suffix"),
    dict(project=True, batch_size="all"),
]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("params", RUNS, ids=str)
def test_the_same_seed_gives_the_same_bits(multiclass, params, container):
    X, y = container(multiclass[0]), multiclass[1]
    assert_same_bits(fitted(X, y, **params), fitted(X, y, **params))


@pytest.mark.parametrize("params", RUNS, ids=str)
def test_fitting_twice_is_fitting_anew(multiclass, params):
    X, y = multiclass
    once = fitted(X, y, **params)
    twice = fitted(X[::-1] + 1.0, y, **params).fit(X, y)
    assert_same_bits(once, twice)


def test_seeds_differ_and_a_random_state_object_is_accepted(multiclass):
    X, y = multiclass
    assert not np.array_equal(fitted(X, y, random_state=1).coef_, fitted(X, y, random_state=2).coef_)
    one = fitted(X, y, random_state=np.random.RandomState(5))
    other = fitted(X, y, random_state=np.random.RandomState(5))
    assert_same_bits(one, other)


# --- types of data --------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_model_has_the_precision_of_the_data(multiclass, dtype, kernel, container, solver):
    X, y = container(multiclass[0].astype(dtype)), multiclass[1]
    model = fitted(X, y, kernel=kernel, solver=solver)
    weights = model.coef_ if kernel == "linear" else model.dual_coef_
    assert weights.dtype == dtype
    assert model.decision_function(X).dtype == dtype
    assert np.mean(model.predict(X) == y) > 0.5


def test_float32_precomputed_matrix_is_computed_in_float32(binary):
    K = pairwise.rbf_kernel(binary[0]).astype(np.float32)
    model = fitted(K, binary[1], kernel="precomputed")
    assert model.dual_coef_.dtype == np.float32
    assert model.decision_function(K).dtype == np.float32


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_float32_and_float64_models_agree(multiclass, kernel):
    # The full batch has no order and few tests near their threshold, so rounding stays rounding.
    X, y = multiclass
    double = fitted(X, y, kernel=kernel, batch_size="all", lam=0.1)
    single = fitted(X.astype(np.float32), y, kernel=kernel, batch_size="all", lam=0.1)
    np.testing.assert_allclose(single.objective_, double.objective_, rtol=1e-3)


def test_integer_data_is_computed_in_float64(multiclass):
    X, y = np.rint(3 * multiclass[0]).astype(np.int32), multiclass[1]
    assert_same_bits(fitted(X, y), fitted(X.astype(np.float64), y))


def int64_indices(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted_indices(X):
    X = sparse.csr_matrix(X)
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:end] = X.indices[start:end][::-1].copy()
        X.data[start:end] = X.data[start:end][::-1].copy()
    X.has_sorted_indices = False
    return X


CSR_FORMS = [
    sparse.csr_array,
    int64_indices,
    lambda X: sparse.csr_array(int64_indices(X)),
    sparse.csc_matrix,
    sparse.coo_array,
]


@pytest.mark.parametrize("form", CSR_FORMS, ids=["csr_array", "int64", "int64 csr_array", "csc", "coo_array"])
@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca")], ids=str)
def test_every_sparse_form_gives_the_model_of_csr(multiclass, form, params):
    X, y = np.where(np.abs(multiclass[0]) > 0.4, multiclass[0], 0.0), multiclass[1]
    plain = fitted(sparse.csr_matrix(X), y, **params)
    other = fitted(form(X), y, **params)
    assert_same_bits(plain, other)
    np.testing.assert_array_equal(plain.decision_function(form(X)), other.decision_function(sparse.csr_matrix(X)))


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca")], ids=str)
def test_unsorted_sparse_indices_are_understood(multiclass, params):
    X, y = np.where(np.abs(multiclass[0]) > 0.4, multiclass[0], 0.0), multiclass[1]
    plain, other = fitted(sparse.csr_matrix(X), y, **params), fitted(unsorted_indices(X), y, **params)
    np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(kernel="poly"), dict(solver="sdca")], ids=str)
def test_sparse_and_dense_give_the_same_model(multiclass, params):
    X, y = np.where(np.abs(multiclass[0]) > 0.4, multiclass[0], 0.0), multiclass[1]
    dense, csr = fitted(X, y, **params), fitted(sparse.csr_matrix(X), y, **params)
    np.testing.assert_allclose(csr.decision_function(X), dense.decision_function(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(csr.objective_, dense.objective_, rtol=1e-9)


@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda X: np.repeat(X, 2, axis=0)[::2]], ids=["fortran", "strided"]
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_memory_layout_gives_the_same_model(multiclass, kernel, layout):
    X, y = multiclass
    plain, other = fitted(X, y, kernel=kernel), fitted(layout(X), y, kernel=kernel)
    np.testing.assert_allclose(other.decision_function(layout(X)), plain.decision_function(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_memory_mapped_read_only_input(multiclass, tmp_path, kernel, solver):
    X, y = multiclass
    weights = np.linspace(0.5, 2.0, len(y))
    joblib.dump((X, y, weights, sparse.csr_matrix(X)), tmp_path / "data.joblib")
    X_map, y_map, weights_map, csr_map = joblib.load(tmp_path / "data.joblib", mmap_mode="r")
    assert not X_map.flags.writeable
    assert not csr_map.data.flags.writeable
    model = pegasos_classifier(kernel=kernel, solver=solver, lam=0.05, random_state=0)
    for given, mapped in ((X, X_map), (sparse.csr_matrix(X), csr_map)):
        in_memory = clone(model).fit(given, y, sample_weight=weights)
        from_map = clone(model).fit(mapped, y_map, sample_weight=weights_map)
        np.testing.assert_allclose(
            from_map.decision_function(mapped), in_memory.decision_function(given), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("params", [*RUNS, dict(kernel="precomputed")], ids=str)
@pytest.mark.parametrize("container", [np.array, sparse.csr_matrix], ids=["dense", "csr"])
def test_the_data_is_untouched(multiclass, container, params):
    X, y = container(multiclass[0]), multiclass[1].copy()
    if params.get("kernel") == "precomputed":
        X = pairwise.rbf_kernel(multiclass[0])
    weights = np.linspace(0.0, 2.0, len(y))
    arrays = [y, weights, *((X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,))]
    before = [array.copy() for array in arrays]
    model = pegasos_classifier(**params, class_weight="balanced", random_state=0).fit(X, y, sample_weight=weights)
    model.predict(X)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def wide_dense():
    return np.random.default_rng(0).normal(size=(2000, 1500)).astype(np.float32)


def wide_sparse():
    return int64_indices(sparse.random(2000, 5000, density=0.3, format="csr", dtype=np.float32, random_state=0))


@pytest.mark.parametrize(
    "params",
    [dict(solver="pegasos", max_steps=500), dict(solver="sdca", max_steps=500), dict(batch_size="all", max_steps=3)],
)
@pytest.mark.parametrize("make", [wide_dense, wide_sparse])
def test_a_linear_fit_makes_no_copy_of_the_data(make, params):
    X = make()
    y = np.arange(X.shape[0]) % 2
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes
    model = pegasos_classifier(**params, lam=0.01, random_state=0).fit(X, y)  # compiles what it needs
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 2


# --- types of labels ------------------------------------------------------------------------------


def categorical(codes):
    pandas = pytest.importorskip("pandas")
    return pandas.Series(pandas.Categorical.from_codes(codes, categories=["ash", "elm", "oak"]))


def series(codes):
    return pytest.importorskip("pandas").Series(np.array([-3, 4, 40])[codes], index=np.arange(len(codes)) + 7)


def string_series(codes):
    return pytest.importorskip("pandas").Series(np.array(["ash", "elm", "oak"])[codes])


THREE_CLASSES = {
    "str": lambda codes: np.array(["ash", "elm", "oak"])[codes],
    "object": lambda codes: np.array(["ash", "elm", "oak"], dtype=object)[codes],
    "negative and gaps": lambda codes: np.array([-7, 0, 100])[codes],
    "int8": lambda codes: np.array([-128, 0, 127], dtype=np.int8)[codes],
    "uint8": lambda codes: np.array([0, 1, 255], dtype=np.uint8)[codes],
    "whole floats": lambda codes: np.array([-1.0, 2.0, 5.0])[codes],
    "list of str": lambda codes: [["ash", "elm", "oak"][code] for code in codes],
    "Series": series,
    "Series of str": string_series,
    "Categorical": categorical,
}


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(multi_class="ovo")], ids=str)
@pytest.mark.parametrize("labels", THREE_CLASSES.values(), ids=THREE_CLASSES.keys())
def test_labels_only_name_the_classes(labels, params):
    X, codes = np.random.default_rng(0).normal(size=(45, 3)), np.arange(45) % 3
    X[np.arange(45), codes] += 2.0
    y = labels(codes)
    model, by_code = fitted(X, y, **params), fitted(X, codes, **params)
    assert_same_bits(model, by_code)
    expected = np.asarray(y)
    np.testing.assert_array_equal(model.classes_, np.unique(expected))
    np.testing.assert_array_equal(model.predict(X), model.classes_[by_code.predict(X)])
    assert model.predict(X).dtype == model.classes_.dtype
    assert np.mean(model.predict(X) == expected) > 0.7


@pytest.mark.parametrize(
    "pair",
    [[False, True], [0, 1], [-1, 1], [1, 2], ["a", "b"], [-1.0, 1.0]],
    ids=lambda pair: f"{pair[0]!r} {pair[1]!r}",
)
def test_two_labels_of_any_kind_give_the_later_one_the_positive_side(binary, pair):
    X, codes = binary
    model, by_code = fitted(X, np.array(pair)[codes]), fitted(X, codes)
    assert_same_bits(model, by_code)
    np.testing.assert_array_equal(model.classes_, pair)
    np.testing.assert_array_equal(model.predict(X), np.array(pair)[by_code.predict(X)])
    assert model.score(X, np.array(pair)[codes]) > 0.7


def test_feature_names_of_a_frame_are_kept_and_checked(multiclass):
    pandas = pytest.importorskip("pandas")
    X, y = multiclass
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = fitted(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c", "d"])
    np.testing.assert_allclose(model.decision_function(frame), fitted(X, y).decision_function(X), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


def test_a_pipeline_that_outputs_frames_feeds_the_classifier(multiclass):
    pandas = pytest.importorskip("pandas")
    X, y = multiclass
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    pipeline = make_pipeline(StandardScaler(), pegasos_classifier(random_state=0)).set_output(transform="pandas")
    pipeline.fit(frame, y)
    np.testing.assert_array_equal(pipeline[-1].feature_names_in_, ["a", "b", "c", "d"])
    assert pipeline.score(frame, y) > 0.5


# --- what a fitted model says about itself --------------------------------------------------------


def n_columns(n_classes, multi_class):
    if n_classes == 2:
        return 1
    return n_classes if multi_class == "ovr" else n_classes * (n_classes - 1) // 2


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "precomputed"])
def test_attributes_and_their_shapes(request, kernel, n_classes, multi_class, solver):
    X, y = request.getfixturevalue("binary" if n_classes == 2 else "multiclass")
    X = pairwise.rbf_kernel(X) if kernel == "precomputed" else X
    columns = n_columns(n_classes, multi_class)
    model = fitted(X, y, kernel=kernel, multi_class=multi_class, solver=solver, max_iter=3)
    np.testing.assert_array_equal(model.classes_, np.arange(n_classes))
    assert model.n_features_in_ == X.shape[1]
    assert model.intercept_.shape == (columns,)
    assert model.objective_.shape == model.dual_gap_.shape == model.t_.shape == (columns,)
    assert np.all(np.isfinite(model.objective_))
    assert np.all(model.dual_gap_ > -1e-9)
    assert model.n_iter_ == model.t_.max()
    assert model.history_[-1].keys() >= {"step", "objective", "gap", "seconds"}
    scores = model.decision_function(X)
    assert scores.shape == ((len(X),) if n_classes == 2 else (len(X), n_classes))
    if kernel == "linear":
        assert model.coef_.shape == (columns, X.shape[1])
        assert not hasattr(model, "dual_coef_")
        return
    assert not hasattr(model, "coef_")
    n_support = len(model.support_)
    assert model.dual_coef_.shape == (columns, n_support)
    assert np.all(np.diff(model.support_) > 0)
    assert model.violations_.shape == (columns, n_support)
    assert model.violations_.dtype.kind == "i"
    assert np.all(model.violations_.any(axis=0)), "every support row has changed some column"
    assert not np.any(model.dual_coef_[model.violations_ == 0]), "what never changed a column has no coefficient in it"
    np.testing.assert_array_equal(model.n_support_, np.bincount(y[model.support_], minlength=n_classes))
    if kernel != "precomputed":
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("max_iter", [1, 3])
@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca")], ids=str)
def test_steps_count_the_passes_over_each_columns_own_rows(multiclass, params, max_iter):
    X, y = multiclass
    ovr = fitted(X, y, max_iter=max_iter, **params)
    np.testing.assert_array_equal(ovr.t_, np.full(4, max_iter * len(y)))
    ovo = fitted(X, y, max_iter=max_iter, multi_class="ovo", **params)
    sizes = np.bincount(y)
    np.testing.assert_array_equal(ovo.t_, [max_iter * (sizes[a] + sizes[b]) for a in range(4) for b in range(a + 1, 4)])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_sooner_of_max_steps_and_max_iter_ends(binary, kernel):
    X, y = binary
    n = len(y)
    assert fitted(X, y, kernel=kernel, max_steps=n + 5, max_iter=2).n_iter_ == n + 5
    assert fitted(X, y, kernel=kernel, max_steps=10 * n, max_iter=2).n_iter_ == 2 * n
    assert fitted(X, y, kernel=kernel, max_steps=7).n_iter_ == 7
    assert fitted(X, y, kernel=kernel).n_iter_ == 20 * n


KERNEL_FUNCTIONS = {
    "rbf": (dict(gamma=0.3), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3)),
    "laplacian": (dict(gamma=0.3), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.3)),
    "poly": (
        dict(gamma=0.5, degree=2, coef0=0.7),
        lambda A, B: pairwise.polynomial_kernel(A, B, gamma=0.5, degree=2, coef0=0.7),
    ),
    "sigmoid": (dict(gamma=0.1, coef0=0.2), lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.1, coef0=0.2)),
}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS)
def test_kernel_scores_are_the_dual_expansion(multiclass, kernel, container, fit_intercept):
    X, y = container(multiclass[0]), multiclass[1]
    params, function = KERNEL_FUNCTIONS[kernel]
    model = fitted(X, y, kernel=kernel, fit_intercept=fit_intercept, intercept_scaling=2.0, **params)
    X_new = container(multiclass[0][::-1] + 0.1)
    expected = function(X_new, model.support_vectors_) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X_new), expected, rtol=1e-8, atol=1e-10)
    bias = 4.0 * model.dual_coef_.sum(axis=1) if fit_intercept else np.zeros(4)
    np.testing.assert_allclose(model.intercept_, bias, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("average", [False, "weighted"])
@pytest.mark.parametrize("batch_size", [1, 7, "all"])
@pytest.mark.parametrize("lam", [1e-4, 1e-2])
def test_projection_scales_the_bias_with_the_other_coefficients(binary, lam, batch_size, average):
    X, y = binary
    run = dict(lam=lam, batch_size=batch_size, average=average, max_steps=30, project=True, fit_intercept=True)
    model = fitted(X, y, kernel="rbf", gamma=2.0, **run)
    np.testing.assert_allclose(model.intercept_, model.dual_coef_.sum(axis=1), rtol=1e-8, atol=1e-10)
    expected = pairwise.rbf_kernel(X, model.support_vectors_, gamma=2.0) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("lam", [1e-6, 1e-2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_batch_of_all_rows_is_a_batch_as_large_as_the_data(binary, kernel, lam, project):
    X, y = binary
    run = dict(kernel=kernel, lam=lam, project=project, max_steps=20, sampling="cyclic")
    every, counted = fitted(X, y, batch_size="all", **run), fitted(X, y, batch_size=len(y), **run)
    np.testing.assert_allclose(every.objective_, counted.objective_, rtol=1e-8)
    np.testing.assert_allclose(every.decision_function(X), counted.decision_function(X), rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*positive semi-definite")
@pytest.mark.parametrize("kernel", KERNEL_FUNCTIONS)
def test_precomputed_and_callable_kernels_equal_the_named_one(multiclass, kernel):
    X, y = multiclass
    params, function = KERNEL_FUNCTIONS[kernel]
    X_new = X[::-1] + 0.1
    named = fitted(X, y, kernel=kernel, **params).decision_function(X_new)
    called = fitted(X, y, kernel=function).decision_function(X_new)
    np.testing.assert_allclose(called, named, rtol=1e-8, atol=1e-10)
    if kernel != "sigmoid":  # indefinite: a precomputed one is warned about
        precomputed = fitted(function(X, X), y, kernel="precomputed").decision_function(function(X_new, X))
        np.testing.assert_allclose(precomputed, named, rtol=1e-8, atol=1e-10)


def test_kernel_params_reach_a_callable_kernel(binary):
    X, y = binary
    called = fitted(X, y, kernel=pairwise.rbf_kernel, kernel_params={"gamma": 0.3})
    np.testing.assert_allclose(
        called.decision_function(X), fitted(X, y, kernel="rbf", gamma=0.3).decision_function(X), rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
@pytest.mark.parametrize("name", ["scale", "auto"])
def test_gamma_by_name_is_that_of_scikit_learn(binary, kernel, name):
    X, y = binary[0] * 1.7 + 0.3, binary[1]
    gamma = 1 / (X.shape[1] * X.var()) if name == "scale" else 1 / X.shape[1]
    for data in (X, sparse.csr_matrix(X)):
        by_name, by_value = fitted(data, y, kernel=kernel, gamma=name), fitted(data, y, kernel=kernel, gamma=gamma)
        np.testing.assert_allclose(by_name.decision_function(X), by_value.decision_function(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
def test_a_kernel_matrix_beyond_the_cache_gives_the_same_model(digits, solver):
    X, y = digits[0][:400], digits[1][:400]
    params = dict(kernel="rbf", gamma=0.1, solver=solver, max_iter=3)
    cached, computed = fitted(X, y, **params), fitted(X, y, cache_size=0.1, **params)
    np.testing.assert_allclose(computed.decision_function(X), cached.decision_function(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_vs_one_scores_are_the_votes_of_all_pairs(multiclass, kernel):
    X, y = multiclass
    model = fitted(X, y, kernel=kernel, gamma=0.3, multi_class="ovo")
    if kernel == "linear":
        pairs = X @ model.coef_.T + model.intercept_
    else:
        pairs = pairwise.rbf_kernel(X, model.support_vectors_, gamma=0.3) @ model.dual_coef_.T + model.intercept_
    scores = model.decision_function(X)
    assert scores.shape == (len(X), 4)
    np.testing.assert_allclose(scores, _ovr_decision_function(pairs > 0, pairs, 4), rtol=1e-9, atol=1e-12)


def test_two_classes_one_vs_one_is_one_vs_rest(binary):
    X, y = binary
    one, rest = fitted(X, y, multi_class="ovo"), fitted(X, y)
    assert one.decision_function(X).shape == (len(X),)
    assert_same_bits(one, rest)


def test_intercept_is_fitted_for_linear_and_not_for_kernels_by_default(binary):
    X, y = binary[0] + 1.0, binary[1]
    assert np.all(fitted(X, y).intercept_ != 0)
    assert np.all(fitted(X, y, fit_intercept=False).intercept_ == 0)
    assert np.all(fitted(X, y, kernel="rbf").intercept_ == 0)
    assert np.all(fitted(X, y, kernel="rbf", fit_intercept=True).intercept_ != 0)


def test_linear_bias_is_a_penalised_constant_feature(binary):
    X, y = binary
    scaling = 3.0
    with_bias = fitted(X, y, fit_intercept=True, intercept_scaling=scaling)
    extended = fitted(np.hstack([X, np.full((len(X), 1), scaling)]), y, fit_intercept=False)
    np.testing.assert_allclose(with_bias.coef_, extended.coef_[:, :-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(with_bias.intercept_, scaling * extended.coef_[:, -1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(with_bias.objective_, extended.objective_, rtol=1e-9)


def test_C_is_one_by_default_and_lam_is_its_inverse_over_the_weights(binary):
    X, y = binary
    weights = np.linspace(0.5, 3.0, len(y))
    fits = [
        pegasos_classifier(random_state=0, **params).fit(X, y, sample_weight=weights)
        for params in (dict(), dict(C=1.0), dict(lam=1.0 / weights.sum()))
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other.coef_, fits[0].coef_, rtol=1e-9)


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam_or_C", [dict(lam=0.05), dict(C=0.5)], ids=["lam", "C"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize(
    "params",
    [
        dict(),
        dict(kernel="rbf"),
        dict(multi_class="ovo"),
        dict(solver="sdca"),
        dict(batch_size=7, class_weight="balanced"),
        dict(batch_size="all", kernel="poly"),
    ],
    ids=str,
)
def test_rows_of_weight_zero_might_as_well_not_be_there(multiclass, params, container, lam_or_C):
    X, y = container(multiclass[0]), multiclass[1]
    weights = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], len(y))
    keep = np.flatnonzero(weights)
    # The rows are drawn in the same order with and without the others; a shuffle of more rows is another shuffle.
    model = pegasos_classifier(**params, **lam_or_C, sampling="cyclic")
    whole = clone(model).fit(X, y, sample_weight=weights)
    removed = clone(model).fit(X[keep], y[keep], sample_weight=weights[keep])
    np.testing.assert_allclose(whole.decision_function(X), removed.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole.objective_, removed.objective_, rtol=1e-9)
    if "kernel" in params:
        np.testing.assert_array_equal(whole.support_, keep[removed.support_])


def test_precomputed_rows_of_weight_zero_keep_their_column_at_prediction(binary):
    X, y = binary
    K = pairwise.rbf_kernel(X, gamma=0.5)
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    precomputed = pegasos_classifier(kernel="precomputed", lam=0.05, random_state=0).fit(K, y, sample_weight=weights)
    direct = pegasos_classifier(kernel="rbf", gamma=0.5, lam=0.05, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(precomputed.decision_function(K), direct.decision_function(X), rtol=1e-9, atol=1e-12)


def test_a_class_of_weight_zero_is_no_class(multiclass):
    X, y = multiclass
    model = pegasos_classifier(lam=0.05, random_state=0).fit(X, y, sample_weight=(y != 2).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 1, 3])
    assert model.coef_.shape == (3, X.shape[1])
    assert not np.any(model.predict(X) == 2)


def test_only_the_ratios_of_weights_matter_given_lam(multiclass):
    X, y = multiclass
    weights = np.linspace(0.5, 3.0, len(y))
    one, other = (
        pegasos_classifier(lam=0.05, random_state=0).fit(X, y, sample_weight=factor * weights) for factor in (1.0, 8.0)
    )
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


def test_unit_weights_are_no_weights(multiclass):
    X, y = multiclass
    assert_same_bits(
        fitted(X, y), pegasos_classifier(lam=0.05, random_state=0).fit(X, y, sample_weight=np.ones(len(y)))
    )
