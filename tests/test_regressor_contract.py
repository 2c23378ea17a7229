"""PegasosRegressor as a scikit-learn regressor: shapes, types of data, weights, odd and bad targets, tools."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_regression
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from textbook import pegasos_regressor

KERNELS = ["linear", "rbf", "poly"]
RUNS = [
    dict(),
    dict(kernel="rbf"),
    dict(solver="sdca"),
    dict(kernel="rbf", solver="sdca", average=False),
    dict(sampling="replacement", batch_size=7, average="suffix"),
    dict(project=True, batch_size="all"),
]


@pytest.fixture(scope="module")
def data():
    """60 rows, 4 features, 3 targets of size about 1, some features zero."""
    X, Y = make_regression(60, 4, n_targets=3, noise=10.0, random_state=0)
    return np.where(np.abs(X) > 0.2, X, 0.0), Y / Y.std(axis=0)


def fitted(X, y, sample_weight=None, **params):
    params = dict(lam=0.05, random_state=0) | params
    return pegasos_regressor(**params).fit(X, y, sample_weight=sample_weight)


def numbers_of(model):
    """The numbers that make up a fitted model."""
    names = ("coef_",) if model.kernel == "linear" else ("dual_coef_", "support_")
    return [np.asarray(getattr(model, name)) for name in (*names, "intercept_", "objective_", "dual_gap_", "t_")]


def assert_same_bits(one, other):
    for a, b in zip(numbers_of(one), numbers_of(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


# --- shapes and types -----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("n_targets", [None, 1, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_attributes_and_their_shapes(data, kernel, n_targets, solver):
    X, Y = data
    y = Y[:, 0] if n_targets is None else Y[:, :n_targets]
    X = pairwise.rbf_kernel(X) if kernel == "precomputed" else X
    model, columns = fitted(X, y, kernel=kernel, solver=solver, max_iter=3), n_targets or 1
    assert model.predict(X).shape == y.shape
    assert model.intercept_.shape == (columns,)
    assert model.objective_.shape == model.dual_gap_.shape == model.t_.shape == (columns,)
    assert (model.dual_gap_ >= 0).all()
    np.testing.assert_array_equal(model.t_, 3 * len(X))
    assert model.n_iter_ == 3 * len(X)
    assert model.n_features_in_ == X.shape[1]
    if kernel == "linear":
        assert model.coef_.shape == (columns, X.shape[1])
        assert not hasattr(model, "dual_coef_")
        return
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_support_")
    assert model.dual_coef_.shape == model.violations_.shape == (columns, len(model.support_))
    if kernel != "precomputed":
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_stays_float32_whatever_the_type_of_the_targets(data, kernel, container, solver):
    X = container(data[0].astype(np.float32))
    for Y in (data[1], data[1].astype(np.float32), np.rint(data[1]).astype(int)):
        model = fitted(X, Y, kernel=kernel, solver=solver, max_iter=3)
        weights = model.coef_ if kernel == "linear" else model.dual_coef_
        assert weights.dtype == model.intercept_.dtype == model.predict(X).dtype == np.float32


def test_float32_targets_do_not_make_the_model_float32(data):
    X, Y = data
    model = fitted(X, Y.astype(np.float32))
    assert model.coef_.dtype == model.predict(X).dtype == np.float64


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca"), dict(batch_size="all")], ids=str)
def test_sparse_and_dense_give_the_same_model(data, params):
    X, Y = data
    dense, csr = fitted(X, Y, **params), fitted(sparse.csr_matrix(X), Y, **params)
    np.testing.assert_allclose(csr.predict(sparse.csr_matrix(X)), dense.predict(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(csr.objective_, dense.objective_, rtol=1e-9)
    np.testing.assert_allclose(csr.dual_gap_, dense.dual_gap_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("params", RUNS, ids=str)
def test_several_targets_in_one_fit_are_separate_fits(data, params):
    X, Y = data
    together = fitted(X, Y, **params)
    for place, y in enumerate(Y.T):
        alone = fitted(X, y, **params)
        np.testing.assert_allclose(together.predict(X)[:, place], alone.predict(X), rtol=1e-9, atol=1e-11)
        for name in ("objective_", "dual_gap_", "t_", "intercept_"):
            np.testing.assert_allclose(getattr(together, name)[place], getattr(alone, name)[0], rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("params", RUNS, ids=str)
def test_a_column_of_targets_is_a_vector_of_targets(data, params):
    X, y = data[0], data[1][:, 0]
    column, vector = fitted(X, y[:, None], **params), fitted(X, y, **params)
    assert_same_bits(column, vector)
    np.testing.assert_array_equal(column.predict(X)[:, 0], vector.predict(X))


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam_or_C", [dict(lam=0.05), dict(lam=None, C=0.5)], ids=["lam", "C"])
@pytest.mark.parametrize(
    "params",
    [dict(), dict(kernel="rbf"), dict(solver="sdca"), dict(batch_size=7), dict(batch_size="all"), dict(project=True)],
    ids=str,
)
def test_rows_of_weight_zero_might_as_well_not_be_there(data, params, lam_or_C):
    X, Y = data
    weights = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], len(X))
    kept = weights > 0
    whole = fitted(X, Y, weights, sampling="cyclic", **params, **lam_or_C)
    removed = fitted(X[kept], Y[kept], weights[kept], sampling="cyclic", **params, **lam_or_C)
    np.testing.assert_allclose(whole.predict(X), removed.predict(X), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(whole.objective_, removed.objective_, rtol=1e-9)
    np.testing.assert_allclose(whole.dual_gap_, removed.dual_gap_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(solver="sdca"), dict(project=True)], ids=str)
def test_only_the_ratios_of_weights_matter_given_lam(data, params):
    X, Y = data
    weights = np.linspace(0.5, 3.0, len(X))
    one, other = fitted(X, Y, weights, **params), fitted(X, Y, 8 * weights, **params)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9, atol=1e-11)


def test_whole_weights_are_repeated_rows_at_the_optimum(data):
    X, y = data[0], data[1][:, 0]
    times = np.random.default_rng(0).integers(1, 4, len(X))
    exact = dict(solver="sdca", average=False, max_iter=3000, tol=1e-9)
    weighted, repeated = fitted(X, y, times, **exact), fitted(X.repeat(times, axis=0), y.repeat(times), **exact)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


# --- the intercept --------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_a_kernel_model_takes_the_mean_of_the_targets_off_by_default(data, kernel, solver):
    X, Y = data
    X = pairwise.rbf_kernel(X) if kernel == "precomputed" else X
    shift, weights = np.array([8.0, -64.0, 0.5]), np.linspace(0.0, 2.0, len(X))
    params = dict(kernel=kernel, solver=solver)
    model, shifted = fitted(X, Y, weights, **params), fitted(X, Y + shift, weights, **params)
    np.testing.assert_allclose(shifted.predict(X), model.predict(X) + shift, rtol=0, atol=1e-9)
    np.testing.assert_allclose(shifted.objective_, model.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, np.average(Y, axis=0, weights=weights), rtol=1e-12)
    centred = fitted(X, Y - model.intercept_, weights, fit_intercept=False, **params)
    np.testing.assert_allclose(model.predict(X), centred.predict(X) + model.intercept_, rtol=1e-9, atol=1e-9)
    assert (centred.intercept_ == 0).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_intercept_that_is_asked_for_is_a_penalised_constant_feature(data, kernel):
    X, Y = data
    model = fitted(X, Y, kernel=kernel, gamma=0.3, fit_intercept=True, intercept_scaling=3.0)
    if kernel == "linear":
        extended = fitted(np.c_[X, np.full(len(X), 3.0)], Y, fit_intercept=False)
        np.testing.assert_allclose(model.intercept_, 3.0 * extended.coef_[:, -1], rtol=1e-9, atol=1e-12)
        assert_same_bits(model, fitted(X, Y, intercept_scaling=3.0))
    else:
        np.testing.assert_allclose(model.intercept_, 9.0 * model.dual_coef_.sum(axis=1), rtol=1e-8, atol=1e-10)


def test_a_large_mean_does_not_cost_a_float32_kernel_model_its_digits(data):
    X, y = data[0].astype(np.float32), data[1][:, 0]
    plain, shifted = fitted(X, y, kernel="rbf"), fitted(X, y + 2.0**20, kernel="rbf")
    np.testing.assert_allclose(shifted.objective_, plain.objective_, rtol=1e-4)


# --- odd targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
def test_epsilon_zero_is_the_absolute_error(data, solver, kernel):
    X, y = data[0], data[1][:, 0]
    model = fitted(X, y, epsilon=0, solver=solver, kernel=kernel, fit_intercept=False, gamma=0.3, average=False)
    if kernel == "linear":
        square = (model.coef_**2).sum()
    else:
        coefficients = model.dual_coef_[0]
        square = coefficients @ pairwise.rbf_kernel(model.support_vectors_, gamma=0.3) @ coefficients
    expected = 0.05 / 2 * square + np.abs(y - model.predict(X)).mean()
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-9)
    assert 0 <= model.dual_gap_ < expected


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("value", [0.0, 5.0, -1e6])
@pytest.mark.parametrize("kernel", KERNELS)
def test_constant_targets_give_finite_results_and_kernels_answer_the_constant(data, kernel, value, solver):
    X = data[0]
    model = fitted(X, np.full(len(X), value), kernel=kernel, solver=solver)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.dual_gap_).all()
    if kernel != "linear" or value == 0.0:
        np.testing.assert_allclose(model.predict(X), value)
        np.testing.assert_array_equal(model.objective_, 0.0)


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("params", [dict(), dict(kernel="rbf"), dict(project=True), dict(batch_size="all")], ids=str)
def test_targets_within_epsilon_are_answered_by_the_zero_model_and_tol_is_absolute(data, params, solver):
    if solver == "sdca" and params.keys() & {"project", "batch_size"}:
        pytest.skip("sdca takes neither")
    X, y = data[0], np.linspace(-0.1, 0.1, len(data[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = fitted(X, y, epsilon=0.11, tol=1e-6, solver=solver, fit_intercept=False, **params)
    np.testing.assert_array_equal(model.predict(X), 0.0)
    np.testing.assert_array_equal(model.objective_, 0.0)
    np.testing.assert_array_equal(model.dual_gap_, 0.0)
    assert model.n_iter_ <= len(X), "the first certificate ends it"


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_target_within_epsilon_leaves_the_others_as_they_are(data, kernel):
    X, Y = data
    beside = np.c_[Y[:, 0], np.full(len(X), 0.05), Y[:, 1]]
    params = dict(kernel=kernel, fit_intercept=False, solver="sdca", tol=1e-3)
    together, alone = fitted(X, beside, **params), fitted(X, Y[:, 0], **params)
    np.testing.assert_array_equal(together.predict(X)[:, 1], 0.0)
    np.testing.assert_allclose(together.predict(X)[:, 0], alone.predict(X), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solver", ["pegasos", "sdca"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_row_is_enough(kernel, solver):
    model = fitted(np.ones((1, 2)), [3.0], kernel=kernel, solver=solver, lam=0.1, average=False, max_iter=2000)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), 3.0, atol=0.2)


# --- bad targets and parameters -------------------------------------------------------------------


def with_one(y, value):
    y = y.astype(object if isinstance(value, str) else np.result_type(y, type(value)))
    y[3] = value
    return y


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("value", "match"),
    [
        (np.nan, "y contains NaN"),
        (np.inf, "y contains infinity"),
        (-np.inf, "y contains infinity"),
        (1e200, "targets y reach 1e\\+200"),
        ("many", "(?i)could not convert|numeric|string"),
        (1j, "(?i)complex"),
    ],
)
def test_targets_that_are_no_finite_numbers_are_refused(data, value, match, kernel):
    X, Y = data
    for y in (Y[:, 0], Y):
        y = y.copy()
        bad = with_one(y, value) if y.ndim == 1 else np.c_[with_one(y[:, 0], value), y[:, 1]]
        with pytest.raises(ValueError, match=match):
            fitted(X, bad, kernel=kernel)


def test_targets_too_large_for_float32_are_refused_by_name(data):
    X, y = data[0].astype(np.float32), data[1][:, 0].copy()
    y[3] = 1e16
    with pytest.raises(ValueError, match=r"targets y.*float32"):
        fitted(X, y)
    assert np.isfinite(fitted(X.astype(np.float64), y).predict(X)).all()


def test_targets_of_the_wrong_shape_are_refused(data):
    X, Y = data
    for y, match in [
        (Y[:-1], "inconsistent numbers of samples"),
        (np.empty(0), "(?i)inconsistent|empty|0 sample"),
        (np.empty((len(X), 0)), "(?i)0 feature|no targets|at least one target|empty"),
        (Y[:, :, None], "(?i)dim"),
    ]:
        with pytest.raises(ValueError, match=match):
            fitted(X, y)
    with pytest.raises(ValueError, match="0 sample"):
        fitted(np.empty((0, 3)), np.empty(0))


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, "wide", None])
def test_epsilon_out_of_range_is_named(data, value):
    with pytest.raises(ValueError, match=r"\bepsilon\b"):
        fitted(*data, epsilon=value)


def test_predicting_before_fitting(data):
    with pytest.raises(NotFittedError, match="fitted"):
        pegasos_regressor().predict(data[0])


def test_a_fit_that_fails_leaves_the_model_whole(data):
    X, Y = data
    model = fitted(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(len(X), np.nan))
    np.testing.assert_array_equal(model.predict(X), before)


# --- tools of scikit-learn ------------------------------------------------------------------------


def test_it_is_a_regressor_of_one_or_more_targets():
    assert is_regressor(pegasos_regressor())
    assert not is_classifier(pegasos_regressor())
    tags = get_tags(pegasos_regressor(kernel="precomputed"))
    assert tags.input_tags.pairwise
    assert not tags.input_tags.sparse
    assert tags.target_tags.multi_output
    assert tags.target_tags.required
    assert get_tags(pegasos_regressor()).input_tags.sparse


def test_clone_and_parameters_round_trip():
    params = dict(kernel="rbf", gamma=0.3, C=2.0, epsilon=0.5, solver="sdca", average=False, random_state=3)
    model = pegasos_regressor(**params)
    copy = clone(model)
    assert {name: copy.get_params()[name] for name in params} == params
    with pytest.raises(ValueError, match="class_weight"):
        copy.set_params(class_weight="balanced")


@pytest.mark.parametrize("mmap_mode", [None, "r"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_stored_and_loaded_model_answers_the_same(data, tmp_path, kernel, mmap_mode):
    X, Y = data
    model = fitted(X, Y, kernel=kernel)
    joblib.dump(model, tmp_path / "model.joblib")
    for loaded in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib", mmap_mode=mmap_mode)):
        assert_same_bits(model, loaded)
        np.testing.assert_array_equal(model.predict(X), loaded.predict(X))


def test_pipeline_equals_the_steps_by_hand(data):
    X, Y = data[0] * [1, 2, 3, 4], data[1]
    pipeline = make_pipeline(StandardScaler(), pegasos_regressor(lam=0.05, random_state=0)).fit(X, Y)
    assert_same_bits(pipeline[-1], fitted(StandardScaler().fit_transform(X), Y))
    assert pipeline.score(X, Y) > 0.5


def test_grid_search_cuts_a_precomputed_matrix_in_rows_and_columns(data):
    X, Y = data
    grid, settings = {"lam": [1e-3, 1e-2, 1.0], "epsilon": [0.0, 0.3]}, dict(max_iter=5, random_state=0)
    K = pairwise.rbf_kernel(X, gamma=0.3)
    direct = GridSearchCV(pegasos_regressor(kernel="rbf", gamma=0.3, **settings), grid, cv=3).fit(X, Y)
    precomputed = GridSearchCV(pegasos_regressor(kernel="precomputed", **settings), grid, cv=3).fit(K, Y)
    scores = direct.cv_results_["mean_test_score"]
    assert len(set(scores)) == 6, "the parameters reach the model"
    np.testing.assert_allclose(precomputed.cv_results_["mean_test_score"], scores, atol=1e-9)
    np.testing.assert_allclose(precomputed.predict(K), direct.predict(X), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_transformed_targets_are_those_of_a_fit_by_hand(data, kernel):
    X, Y = data[0], 100 + 50 * data[1]
    model = pegasos_regressor(kernel=kernel, lam=1e-2, random_state=0)
    for y in (Y, Y[:, 0]):
        scaler = StandardScaler().fit(y.reshape(len(y), -1))
        transformed = TransformedTargetRegressor(clone(model), transformer=StandardScaler()).fit(X, y)
        by_hand = clone(model).fit(X, scaler.transform(y.reshape(len(y), -1)))
        expected = scaler.inverse_transform(by_hand.predict(X)).reshape(y.shape)
        np.testing.assert_allclose(transformed.predict(X), expected, rtol=1e-9)
