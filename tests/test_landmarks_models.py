"""Models of landmarks: which rows are chosen, what is left on the estimator, storing, memory, and odd data."""

import pickle
import tracemalloc
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import pegasos
from cli_runner import check_error, quick
from nystroem import CONTAINERS, KERNELS, TARGETS, WEIGHTS, X, Y, rows_for
from pegasos import PegasosClassifier, PegasosRegressor
from textbook import pegasos_classifier, pegasos_regressor

N = len(X)
RBF = dict(kernel="rbf", gamma=0.3, lam=0.02, random_state=0)
HOWS = pytest.mark.parametrize("how", ["uniform", "k-means++"])


def classifier(**params):
    return pegasos_classifier(**(RBF | dict(n_landmarks=12) | params))


# --- which rows -----------------------------------------------------------------------------------


@HOWS
@pytest.mark.parametrize("container", CONTAINERS)
def test_landmarks_are_distinct_rows_that_follow_from_random_state(container, how):
    rows = CONTAINERS[container](X)
    one, same, other = (classifier(landmarks=how, random_state=seed).fit(rows, Y) for seed in (0, 0, 1))
    assert len(one.support_) == 12
    assert (np.diff(one.support_) > 0).all()
    assert abs(one.support_vectors_ - rows[one.support_]).max() == 0
    np.testing.assert_array_equal(one.support_, same.support_)
    np.testing.assert_array_equal(one.dual_coef_, same.dual_coef_)
    assert not np.array_equal(one.support_, other.support_)


def test_the_two_ways_of_choosing_differ_and_each_is_used():
    uniform, spread = (classifier(landmarks=how).fit(X, Y) for how in ("uniform", "k-means++"))
    assert not np.array_equal(uniform.support_, spread.support_)


def test_k_means_plus_plus_finds_clusters_that_uniform_draws_miss():
    sizes = [90] * 2 + [2] * 8
    cluster = np.repeat(np.arange(10), sizes)
    rows = 10 * np.eye(10)[cluster] + 0.1 * np.random.default_rng(0).normal(size=(len(cluster), 10))
    met = {"uniform": [], "k-means++": []}
    for how, seed in product(met, range(5)):
        model = classifier(landmarks=how, n_landmarks=10, random_state=seed, max_iter=1).fit(rows, cluster > 4)
        met[how].append(len(set(cluster[model.support_])))
    assert min(met["k-means++"]) >= 9
    assert max(met["uniform"]) <= 6


@HOWS
def test_repeated_rows_give_no_more_landmarks_than_rows_and_a_finite_model(how):
    rows = np.repeat(X[:10], 6, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = classifier(landmarks=how, n_landmarks=20).fit(rows, Y)
    assert 10 <= len(model.support_) <= 20
    assert np.isfinite(model.dual_coef_).all()
    exact = clone(model).set_params(n_landmarks=None).fit(rows, Y)
    if len(np.unique(model.support_ // 6)) == 10:  # all that there is to be spanned
        np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-9)


@HOWS
@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_of_weight_zero_are_never_landmarks(container, how):
    rows = CONTAINERS[container](X)
    weights = np.where(np.arange(N) % 3 == 0, 1.0, 0.0)
    for seed in range(4):
        model = classifier(landmarks=how, random_state=seed).fit(rows, Y, sample_weight=weights)
        assert (model.support_ % 3 == 0).all()
        alone = classifier(landmarks=how, random_state=seed).fit(rows[::3], Y[::3])
        np.testing.assert_array_equal(model.support_ // 3, alone.support_)
        np.testing.assert_allclose(model.decision_function(rows), alone.decision_function(rows), rtol=1e-9, atol=1e-9)


def test_rows_of_a_class_of_weight_zero_are_never_landmarks(tmp_path):
    model = classifier(class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, Y)
    assert (Y[model.support_] < 2).all()
    assert model.n_support_.shape == (2,)
    model.save(tmp_path / "model")


def test_more_landmarks_than_rows_warn_and_use_all():
    with pytest.warns(UserWarning, match="n_landmarks=100 is more than the 60 rows: all of them are landmarks"):
        model = classifier(n_landmarks=100).fit(X, Y)
    np.testing.assert_array_equal(model.support_, np.arange(N))
    with pytest.warns(UserWarning, match="n_landmarks=60 is more than the 51 rows"):
        model = classifier(n_landmarks=60).fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(WEIGHTS))


def test_a_linear_kernel_needs_no_landmarks():
    for make, targets in ((PegasosClassifier, Y), (PegasosRegressor, TARGETS)):
        with pytest.raises(ValueError, match="n_landmarks=5 is for kernels; kernel='linear' needs none"):
            make(n_landmarks=5).fit(X, targets)


@pytest.mark.parametrize("params", [dict(n_landmarks=0), dict(n_landmarks=2.5), dict(landmarks="random")], ids=str)
def test_other_values_are_refused_by_name(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        classifier(**params).fit(X, Y)


# --- what is left on the estimator ----------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
def test_predicting_needs_the_landmarks_only(kernel, multi_class):
    params, rows, function = rows_for(kernel)
    model = classifier(multi_class=multi_class, fit_intercept=True, **params).fit(rows, Y)
    assert model.dual_coef_.shape == (3, 12)
    assert model.n_support_.sum() == len(model.support_) == 12
    np.testing.assert_array_equal(model.n_support_, np.bincount(Y[model.support_], minlength=3))
    assert not hasattr(model, "violations_")
    if kernel != "precomputed":
        assert model.support_vectors_.shape == (12, 4)
    scores = function(X, X[model.support_]) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model._scores(rows), scores, rtol=1e-9, atol=1e-9)
    assert model.score(rows, Y) > 0.7


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_stored_model_predicts_the_same_to_the_last_bit(tmp_path, container, dtype):
    rows = CONTAINERS[container](X.astype(dtype))
    regressor = pegasos_regressor(kernel="poly", n_landmarks=7, lam=0.1, random_state=0)
    for model in (classifier(landmarks="k-means++").fit(rows, Y), regressor.fit(rows, TARGETS)):
        model.save(tmp_path / "model")
        for again in (pegasos.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            for name in ("dual_coef_", "intercept_", "support_", "objective_", "dual_gap_"):
                np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
            np.testing.assert_array_equal(again._scores(rows), model._scores(rows))
            np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
            assert again.get_params() == model.get_params()


def test_precomputed_and_pipelines_can_be_stored(tmp_path):
    params, rows, _ = rows_for("precomputed")
    model = classifier(**params).fit(rows, Y)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(pegasos.load(tmp_path / "model").predict(rows[:7]), model.predict(rows[:7]))
    pipeline = make_pipeline(StandardScaler(), classifier()).fit(3 * X + 1, Y)
    pegasos.save(pipeline, tmp_path / "pipeline")
    found = pegasos.load(tmp_path / "pipeline")
    np.testing.assert_array_equal(found.decision_function(3 * X + 1), pipeline.decision_function(3 * X + 1))


def test_a_clone_has_the_parameters_and_no_landmarks():
    model = clone(classifier(landmarks="k-means++").fit(X, Y))
    assert (model.n_landmarks, model.landmarks) == (12, "k-means++")
    assert not hasattr(model, "support_")


@pytest.mark.parametrize("params", [dict(), dict(batch_size=64), dict(solver="sdca", tol=0.5), dict(tol=0.9)], ids=str)
def test_features_of_all_rows_never_exist_at_once(params):
    n_rows, n_landmarks = 20_000, 200
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 3))
    labels = (rows[:, 0] + 0.1 * rng.normal(size=n_rows) > 0).astype(int)
    model = classifier(n_landmarks=n_landmarks, cache_size=0, max_iter=2, **params)
    clone(model).set_params(n_landmarks=5).fit(rows[:600], labels[:600])  # compiled
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tol is missed
            model.fit(rows, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.7 * n_rows * n_landmarks * 8, f"{peak / 1e6:.1f} MB"


def test_the_memory_a_kept_matrix_of_features_takes_is_seen():
    """The judge of the test before: with room in the cache, the features of all rows are kept."""
    rows = np.random.default_rng(0).normal(size=(5_000, 3))
    tracemalloc.start()
    try:
        classifier(n_landmarks=200, max_iter=2, batch_size=64).fit(rows, (rows[:, 0] > 0).astype(int))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak > 5_000 * 200 * 8


@pytest.mark.parametrize("params", [dict(), dict(batch_size=64), dict(solver="sdca")], ids=str)
@pytest.mark.parametrize("cache_size", [None, 0])
def test_no_result_depends_on_the_number_of_threads(cache_size, params):
    rows = np.random.default_rng(0).normal(size=(1500, 10))
    model = classifier(n_landmarks=300, max_iter=2, cache_size=cache_size, **params)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(clone(model).fit(rows, rows[:, 0] * rows[:, 1] > 0))
    for name in ("dual_coef_", "objective_", "dual_gap_"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


# --- odd data -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:n_landmarks=.* is more than")
@pytest.mark.parametrize("cache_size", [None, 0])
def test_one_row_is_enough_for_a_regressor_and_two_for_a_classifier(cache_size):
    model = pegasos_regressor(kernel="rbf", n_landmarks=3, lam=0.1, cache_size=cache_size).fit(X[:1], [2.0])
    np.testing.assert_allclose(model.predict(X[:2]), 2.0)
    model = classifier(n_landmarks=1, cache_size=cache_size).fit([[-1.0, 0.0], [1.0, 0.5]], ["no", "yes"])
    assert np.isfinite(model.decision_function([[0.0, 0.0]])).all()
    model = classifier(n_landmarks=2, cache_size=cache_size).fit([[-1.0, 0.0], [1.0, 0.5]], ["no", "yes"])
    np.testing.assert_array_equal(model.predict([[-1.0, 0.0], [1.0, 0.5]]), ["no", "yes"])


@pytest.mark.parametrize("params", [dict(), dict(solver="sdca"), dict(batch_size=20)], ids=str)
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.5])
def test_constant_features_give_the_model_of_a_constant(gamma, params):
    for cache_size in (None, 0):
        # Scores of all rows are alike: a lam that makes no margin exactly 1, where rounding would decide.
        model = classifier(gamma=gamma, cache_size=cache_size, lam=0.0217, **params).fit(np.ones((N, 4)), Y)
        exact = clone(model).set_params(n_landmarks=None).fit(np.ones((N, 4)), Y)
        np.testing.assert_allclose(model.decision_function(X[:3]), exact.decision_function(X[:3]), atol=1e-9)
        np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-9)


def test_landmarks_that_span_nothing_are_an_error_that_says_so():
    with pytest.raises(ValueError, match="kernel values among the landmarks are all 0"):
        classifier(kernel="poly", coef0=0.0, gamma=1.0).fit(np.zeros((N, 4)), Y)
    model = classifier(kernel="poly", coef0=0.0, gamma=1.0, n_landmarks=N).fit(
        np.vstack([X[:1], np.zeros((N - 1, 4))]), Y
    )
    assert np.isfinite(model.dual_coef_).all()


def test_sparse_models_take_dense_rows_and_the_other_way_round():
    for fitted, others in ((X, sparse.csr_matrix(X)), (sparse.csr_array(X), X)):
        for kernel in KERNELS:
            model = classifier(**KERNELS[kernel][0]).fit(fitted, Y)
            np.testing.assert_allclose(model.decision_function(others), model.decision_function(fitted), atol=1e-9)


# --- the command line -----------------------------------------------------------------------------


def test_the_command_line_trains_on_landmarks(tmp_path):
    words = ("train", "digits", "--kernel", "rbf", "--gamma", "0.25", "--lam", "1e-4")
    quick(*words, "--n-landmarks", "100", "-o", "model", cwd=tmp_path).fine()
    model = pegasos.load(tmp_path / "model")
    assert model.dual_coef_.shape == (10, 100)
    quick(*words, "--n-landmarks", "100", "--landmarks", "k-means++", "-o", "other", cwd=tmp_path).fine()
    assert not np.array_equal(pegasos.load(tmp_path / "other").support_, model.support_)
    found = quick("predict", "model", "digits", "--json", cwd=tmp_path)
    assert found.status == 0, found.err
    check_error(quick("train", "digits", "--n-landmarks", "5", cwd=tmp_path), "n_landmarks=5", "linear")
    check_error(quick(*words, "--n-landmarks", "0", cwd=tmp_path), "n_landmarks")
    check_error(quick(*words, "--n-landmarks", "many", cwd=tmp_path), "--n-landmarks")
