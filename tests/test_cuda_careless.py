"""A GPU that nobody asked for, that is full, or that is given what it cannot take; searches that mix ways."""

from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from gpu import REAL, card, needs_any
from pegasos import Checkpoint, PegasosClassifier, PegasosRegressor, PegasosSearchCV
from pegasos.estimators import devices
from pegasos.estimators.recipe import Recipe
from pegasos.estimators.targets import recipe_of
from pegasos.problem.schedule import Schedule
from pegasos.search import cell_scoring, kernel_cache, shared_runs
from pegasos.search.results import Results
from textbook import pegasos_classifier

__all__ = ["card"]
pytestmark = [needs_any, pytest.mark.usefixtures("card")]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 4)).astype(np.float32)
Y = (X[:, 0] + 0.5 * X[:, 1] > 0) * 1
RBF = dict(kernel="rbf", gamma=0.3)


def installed(name: str) -> bool:
    """Whether a package is installed, and not only its source at hand."""
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def svm(**params):
    """An estimator with a few settings of its own."""
    return pegasos_classifier(**{"solver": "sdca", "max_iter": 2, "random_state": 0} | params)


def scores(search):
    return search.cv_results_["mean_test_score"]


@pytest.fixture
def eager(monkeypatch):
    """Everything is worth a GPU."""
    monkeypatch.setattr(devices, "WORTH_A_GPU", 0)


@pytest.fixture
def full(monkeypatch):
    """No rows fit on the GPU."""

    def refuse(estimator, X):
        raise MemoryError("full")

    monkeypatch.setattr(devices, "_uploaded", refuse)


# --- nobody has asked for a GPU -------------------------------------------------------------------


def test_auto_goes_on_with_the_cpu_where_a_gpu_is_full(eager, full):
    here = svm(device="cpu", **RBF).fit(X, Y)
    np.testing.assert_array_equal(svm(**RBF).fit(X, Y).dual_coef_, here.dual_coef_)
    found = PegasosSearchCV(svm(**RBF), {"C": [1, 5]}, cv=3).fit(X, Y)
    expected = PegasosSearchCV(svm(device="cpu", **RBF), {"C": [1, 5]}, cv=3).fit(X, Y)
    np.testing.assert_array_equal(scores(found), scores(expected))
    with pytest.raises(MemoryError):
        svm(device="cuda").fit(X, Y)


def test_auto_goes_on_with_the_cpu_where_a_solve_or_a_prediction_has_no_room(eager, monkeypatch):
    here = svm(device="cpu").fit(X, Y)
    model, rows_of = svm(), Recipe.rows

    def refusing(recipe, X, *args, **kwargs):
        if devices.on_gpu(X):
            raise MemoryError("full")
        return rows_of(recipe, X, *args, **kwargs)

    monkeypatch.setattr(Recipe, "rows", refusing)
    # Not the same bits: the GPU had added up the squares of the rows before it was found to be full.
    np.testing.assert_allclose(model.fit(X, Y).coef_, here.coef_, rtol=1e-5)

    def full(work, n_items, at_once):
        raise MemoryError("full")

    monkeypatch.setattr(devices, "in_parts", full)
    np.testing.assert_array_equal(model.predict(X), here.predict(X))
    with pytest.raises(MemoryError):
        model.set_params(device="cuda").predict(X)


def test_auto_leaves_functions_of_the_user_and_csr_rows_to_the_cpu(eager):
    model = svm(kernel=laplacian_kernel).fit(X, Y)  # of scikit-learn, which knows no arrays of CuPy
    assert model.predict(X).shape == Y.shape
    assert not devices.wants_gpu(svm(), sp.csr_array(X), 1e30)
    assert devices.wants_gpu(svm(), X, 1e30)
    assert not devices.wants_gpu(svm(n_landmarks=4, **RBF), X, 1e30)


def test_auto_leaves_linear_models_that_go_to_their_optimum_to_the_cpu():
    import cupy

    for params in (dict(), dict(solver="newton"), dict(loss="log_loss"), dict(tol=1e-2)):
        assert not devices.wants_gpu(PegasosClassifier(**params), X, 1e30)
    assert not devices.wants_gpu(PegasosRegressor(), X, 1e30)
    for params in (dict(kernel="rbf"), dict(solver="pegasos"), dict(batch_size=8), dict(multi_class="crammer_singer")):
        assert devices.wants_gpu(PegasosClassifier(**params), X, 1e30)
    here = PegasosClassifier(C=0.1).fit(X, Y)
    there = PegasosClassifier(C=0.1).fit(cupy.asarray(X), Y)  # wherever the rows are
    np.testing.assert_array_equal(there.coef_, here.coef_)
    assert type(there.predict(cupy.asarray(X))) is cupy.ndarray


def test_a_fit_that_ends_at_a_gap_is_not_taken_for_all_the_passes_it_may_take():
    fit = PegasosClassifier(kernel="rbf")
    recipe = recipe_of(fit)
    targets = recipe.encoded(Y, None, X.dtype)
    found = devices.multiplications(fit, X, targets.problems, recipe.schedule())
    assert found < devices.multiplications_of(fit, X, 20.0 * len(X), 1.0)


def test_landmarks_of_rows_on_the_gpu_are_worked_on_by_the_cpu():
    import cupy

    rows, params = cupy.asarray(X), dict(n_landmarks=8, **RBF)
    here = svm(**params).fit(X, Y)
    model = svm(**params).fit(rows, Y)
    np.testing.assert_array_equal(model.dual_coef_, here.dual_coef_)
    np.testing.assert_array_equal(model.predict(rows).get(), here.predict(X))
    found = PegasosSearchCV(svm(**params), {"C": [1, 5]}, cv=3).fit(rows, Y)
    np.testing.assert_array_equal(scores(found), scores(PegasosSearchCV(svm(**params), {"C": [1, 5]}, cv=3).fit(X, Y)))


def test_rows_of_cupy_without_what_compiles_for_them_go_to_the_cpu(monkeypatch):
    import cupy

    monkeypatch.setattr(devices, "missing", lambda: "numba-cuda is not installed.")
    torch = pytest.importorskip("torch")
    here = svm(device="cpu").fit(X, Y)
    np.testing.assert_array_equal(svm().fit(cupy.asarray(X), Y).coef_, here.coef_)
    tensor = torch.as_tensor(X).cuda()
    model = svm().fit(tensor, Y)
    np.testing.assert_array_equal(model.coef_, here.coef_)
    assert type(model.predict(tensor)) is type(tensor)


@pytest.mark.parametrize("batch", [1, 8, None])
def test_draws_are_those_of_the_steps_or_the_passes(batch):
    schedule = Schedule(batch=batch, max_passes=3)
    assert schedule.draws(100) == 300
    assert Schedule(batch=batch, max_steps=2, max_passes=3).draws(100) == {1: 2, 8: 16, None: 200}[batch]


# --- searches -------------------------------------------------------------------------------------


def test_csr_rows_are_searched_with_and_without_a_kernel():
    grid = {"kernel": ["linear", "rbf"], "C": [1.0]}
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    there = PegasosSearchCV(svm(device="cuda", gamma=0.3), grid, cv=3, refit=False).fit(rows, Y)
    here = PegasosSearchCV(svm(device="cpu", gamma=0.3), grid, cv=3, refit=False).fit(rows, Y)
    np.testing.assert_allclose(scores(there), scores(here), atol=0.03)


@pytest.mark.parametrize("devices", [["cuda", "cuda:tf32"], ["cuda:tf32", "cuda"]])
def test_precisions_of_one_grid_do_not_mix(devices, monkeypatch):
    seen = {}
    add = cell_scoring.CellColumns.add

    def noting(cell, columns, values, steps):
        seen.setdefault(len(seen), values["test"].copy())
        add(cell, columns, values, steps)

    monkeypatch.setattr(cell_scoring.CellColumns, "add", noting)
    monkeypatch.setattr(cell_scoring.CellScoring, "_score_by_accuracy", lambda *args: False)
    one = [(np.arange(24), np.arange(24, 48))]
    together = PegasosSearchCV(svm(**RBF), {"device": devices}, cv=one, refit=False).fit(X, Y)
    for device in devices:
        PegasosSearchCV(svm(device=device, **RBF), {"C": [1]}, cv=one, refit=False).fit(X, Y)
    assert np.isfinite(scores(together)).all()
    np.testing.assert_array_equal(seen[0], seen[2])
    np.testing.assert_array_equal(seen[1], seen[3])
    assert (seen[0] != seen[1]).any()


@pytest.mark.parametrize("refused", [1, 2, 3])
def test_a_search_that_runs_out_of_memory_on_the_way_scores_each_cell_once(monkeypatch, refused):
    grid = {"C": [0.1, 1.0, 5.0], "max_iter": [1, 2]}
    expected = PegasosSearchCV(svm(device="cuda", **RBF), grid, cv=2, refit=False).fit(X, Y)
    score_fold, store, calls, kept = cell_scoring.CellScoring._score_fold, Results._store, [], []

    def refusing(self, state, which):
        calls.append(1)
        if len(calls) == refused:
            raise MemoryError("full")
        score_fold(self, state, which)

    def counting(results, candidate, fold, result):
        kept.append((candidate, fold.number))
        store(results, candidate, fold, result)

    monkeypatch.setattr(cell_scoring.CellScoring, "_score_fold", refusing)
    monkeypatch.setattr(Results, "_store", counting)
    found = PegasosSearchCV(svm(device="cuda", **RBF), grid, cv=2, refit=False).fit(X, Y)
    assert len(calls) > refused
    assert sorted(kept) == [(candidate, fold) for candidate in range(6) for fold in range(2)]
    np.testing.assert_allclose(scores(found), scores(expected), atol=0.03)


def test_an_inner_product_without_room_leaves_the_kernels_to_be_computed_on_the_fly(monkeypatch):
    def refuse(X, go_on):
        raise MemoryError("full")

    grid = {"gamma": [0.1, 0.3]}
    expected = PegasosSearchCV(svm(kernel="rbf", device="cuda"), grid, cv=2, refit=False).fit(X, Y)
    monkeypatch.setattr(kernel_cache, "inner_products", refuse)
    found = PegasosSearchCV(svm(kernel="rbf", device="cuda"), grid, cv=2, refit=False).fit(X, Y)
    np.testing.assert_allclose(scores(found), scores(expected), atol=0.03)


def test_a_search_nobody_asked_a_gpu_for_goes_on_with_the_cpu(eager, monkeypatch):
    solve = shared_runs.solve

    def refusing(job, **kwargs):
        if devices.on_gpu(job.rows.zeros(1)):
            raise MemoryError("full")
        return solve(job, **kwargs)

    monkeypatch.setattr(shared_runs, "solve", refusing)
    found = PegasosSearchCV(svm(**RBF), {"C": [1, 5]}, cv=2, refit=False).fit(X, Y)
    expected = PegasosSearchCV(svm(device="cpu", **RBF), {"C": [1, 5]}, cv=2, refit=False).fit(X, Y)
    np.testing.assert_allclose(scores(found), scores(expected), atol=0.03)
    with pytest.raises(ValueError, match="fits failed"):
        PegasosSearchCV(svm(device="cuda", **RBF), {"C": [1, 5]}, cv=2, refit=False).fit(X, Y)


def test_a_scorer_of_the_user_gets_the_rows_themselves():
    import cupy

    seen = []

    def scorer(model, rows, y):
        seen.append(type(rows))
        return float((model.predict(rows).get() == y).mean())

    rows = cupy.asarray(X)
    found = PegasosSearchCV(svm(), {"C": [1]}, cv=2, scoring=scorer).fit(rows, Y)
    assert found.score(rows, Y) > 0.8
    assert set(seen) == {cupy.ndarray}


def test_scorers_of_scikit_learn_on_rows_of_the_gpu():
    import cupy

    rows = cupy.asarray(X)
    found = PegasosSearchCV(svm(), {"C": [1, 5]}, cv=3, scoring="accuracy").fit(rows, cupy.asarray(Y))
    assert found.score(rows, cupy.asarray(Y)) == pytest.approx((found.best_estimator_.predict(X) == Y).mean())
    assert type(found.predict(rows)) is cupy.ndarray
    same = make_pipeline(FunctionTransformer(), svm())
    piped = PegasosSearchCV(same, {"pegasosclassifier__C": [1, 5]}, cv=3, scoring="accuracy").fit(rows, Y)
    np.testing.assert_allclose(scores(piped), scores(found), atol=0.03)
    assert piped.score(rows, Y) > 0.8


# --- what comes in and goes out -------------------------------------------------------------------


def test_classes_of_partial_fit_and_names_of_features_before():
    import cupy

    pd = pytest.importorskip("pandas")
    model = pegasos_classifier(lam=0.1, random_state=0)
    model.partial_fit(cupy.asarray(X), cupy.asarray(Y), classes=cupy.asarray([0, 1]))
    assert model.classes_.tolist() == [0, 1]
    model.fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert not hasattr(model.fit(cupy.asarray(X[:, :2]), Y), "feature_names_in_")


@pytest.mark.parametrize("params", [{}, RBF])
def test_the_cpu_predicts_rows_of_cupy_where_it_was_asked_for(monkeypatch, params):
    import cupy

    model = svm(**params).fit(X, Y)

    def nowhere(X):
        raise AssertionError("not on the GPU")

    monkeypatch.setattr(model, "_scores_on_gpu", nowhere)
    expected = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(device="cpu").decision_function(cupy.asarray(X)).get(), expected)
    monkeypatch.setattr(devices, "missing", lambda: "numba-cuda is not installed.")
    np.testing.assert_array_equal(model.set_params(device="auto").decision_function(cupy.asarray(X)).get(), expected)


def test_scores_are_of_the_type_of_the_cpu():
    wide_rows = X.astype(np.float64)
    for params in ({}, RBF):
        model = svm(device="cuda", **params).fit(X, Y)
        assert (
            model.decision_function(wide_rows).dtype
            == model.set_params(device="cpu").decision_function(wide_rows).dtype
        )


def test_partial_fit_rounds_where_it_is_said_to_and_finds_room(monkeypatch):
    from pegasos.solver import online

    entered, one_pass = [], online.one_pass

    def refusing(rows, *args):
        from cupy import _core

        entered.append(_core.get_compute_type(np.float32))
        if len(entered) == 1:
            raise MemoryError("full")
        return one_pass(rows, *args)

    monkeypatch.setattr(online, "one_pass", refusing)
    model = pegasos_classifier(lam=0.1, random_state=0, device="cuda:tf32").partial_fit(X, Y, classes=[0, 1])
    from cupy import _core

    assert len(entered) == 2
    assert set(entered) != {_core.get_compute_type(np.float32)}
    assert model.score(X, Y) > 0.7


@pytest.mark.skipif(not installed("pegasos"), reason="a file names the version, which a mere source tree does not know")
def test_a_checkpoint_of_the_cpu_is_none_of_a_gpu(eager, tmp_path, monkeypatch):
    kept = Checkpoint(tmp_path / "fit.ck", every=1e-6, keep=True)
    svm(checkpoint=kept).fit(X, Y)
    svm(checkpoint=kept).fit(X, Y)
    monkeypatch.setattr(devices, "WORTH_A_GPU", np.inf)
    with pytest.raises(ValueError, match="the device changed"):
        svm(checkpoint=kept).fit(X, Y)


def test_states_come_home_in_the_order_they_had():
    import cupy

    from pegasos.utils.arrays import to_host

    assert to_host(cupy.asarray(np.ones((3, 2))).T).flags.f_contiguous
    assert to_host(cupy.asarray(np.ones((3, 2)))).flags.c_contiguous


def test_tf32_ends_with_the_last_that_wants_it():
    from cupy import _core
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    from pegasos.backends.cuda.tf32 import tf32

    def settings():
        return _core.get_compute_type(np.float32), cublas.getMathMode(device.get_cublas_handle())

    before = settings()
    first, second = tf32(), tf32()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert all(now != then for now, then in zip(settings(), before, strict=True))
    second.__exit__(None, None, None)
    assert settings() == before


@pytest.mark.skipif(REAL, reason="a real GPU is not made to fail")
def test_a_launch_without_memory_is_a_lack_of_memory(monkeypatch):
    import emulated_cuda

    def refuse(*given):
        raise emulated_cuda.DriverError(status)

    monkeypatch.setattr(emulated_cuda.DRIVER, "launchKernel", refuse)
    monkeypatch.setattr(emulated_cuda.DriverError, "status", property(lambda error: error.args[0]), raising=False)
    status = 2
    with pytest.raises(MemoryError):
        svm(device="cuda").fit(X, Y)
    status = 700
    with pytest.raises(emulated_cuda.DriverError):
        svm(device="cuda").fit(X, Y)
