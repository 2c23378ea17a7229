"""Estimators and searches on a GPU: the models of the CPU, the same kind of arrays out, and careless users.

Where there is no GPU, on an emulated one, with few rows.
"""

import pickle
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from gpu import REAL, card, needs_any
from pegasos import Checkpoint, PegasosSearchCV, load
from pegasos.estimators import devices
from pegasos.solver import stream
from textbook import pegasos_classifier, pegasos_regressor

__all__ = ["card"]
pytestmark = [needs_any, pytest.mark.usefixtures("card")]

ALL, LABELS = load_digits(return_X_y=True)
ALL = (ALL / 16).astype(np.float32)
few = slice(None) if REAL else np.flatnonzero(LABELS < 3)[:60]
X, Y = ALL[few], LABELS[few]
PASSES = 20 if REAL else 2
LINEAR = dict(lam=1e-3, max_iter=PASSES, random_state=0)
RBF = dict(kernel="rbf", gamma=0.05, C=5, max_iter=PASSES, random_state=0)
SETTINGS = {
    "linear": LINEAR,
    "linear pairs": LINEAR | dict(multi_class="ovo"),
    "linear crammer-singer": LINEAR | dict(multi_class="crammer_singer"),
    "linear log loss": LINEAR | dict(loss="log_loss"),
    "rbf": RBF,
    "rbf sdca": RBF | dict(solver="sdca", max_iter=3),
    "rbf sdca mean": RBF | dict(solver="sdca", max_iter=3, average="suffix"),
    "rbf on the fly": RBF | dict(solver="sdca", max_iter=3, cache_size=0),
    "rbf balanced": RBF | dict(class_weight="balanced", sampling="replacement"),
    "poly": RBF | dict(kernel="poly", gamma="scale", degree=2, C=1),
    "sigmoid": RBF | dict(kernel="sigmoid", gamma=0.01, C=1),
    "laplacian": RBF | dict(kernel="laplacian"),
    "batches": LINEAR | dict(batch_size=16, project=True),
    "all rows": dict(lam=1e-2, batch_size="all", max_steps=PASSES, random_state=0),
    "within tol": RBF | dict(solver="sdca", tol=1e-2, max_iter=1000),
}


def scores_of(model):
    return model.decision_function(X)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_model_is_the_cpu_s_to_rounding(name):
    there = pegasos_classifier(**SETTINGS[name], device="cuda").fit(X, Y)
    here = pegasos_classifier(**SETTINGS[name], device="cpu").fit(X, Y)
    size = np.abs(scores_of(here)).max()
    np.testing.assert_array_equal(there.t_, here.t_)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=2e-3)
    # A margin within rounding of its threshold sends the two on different ways of the same worth.
    assert np.median(np.abs(scores_of(there) - scores_of(here))) < 1e-3 * size
    assert (there.predict(X) == here.predict(X)).mean() > 0.995
    assert type(there.intercept_) is np.ndarray


@pytest.mark.parametrize("name", ["linear", "rbf sdca", "rbf on the fly", "batches"])
def test_float64_is_the_cpu_s_to_many_digits(name):
    wide = X.astype(np.float64)
    there = pegasos_classifier(**SETTINGS[name], device="cuda").fit(wide, Y)
    here = pegasos_classifier(**SETTINGS[name], device="cpu").fit(wide, Y)
    np.testing.assert_allclose(there.decision_function(wide), here.decision_function(wide), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(there.dual_gap_, here.dual_gap_, rtol=1e-6, atol=1e-10)


def test_arrays_of_cupy_and_torch_go_in_and_the_same_kind_comes_out():
    import cupy

    torch = pytest.importorskip("torch")
    here = pegasos_classifier(**RBF, device="cpu").fit(X, Y)
    for rows, labels in (
        (cupy.asarray(X), cupy.asarray(Y)),
        (torch.as_tensor(X).cuda(), torch.as_tensor(Y).cuda()),
        (cupy.asarray(X), Y),
    ):
        model = pegasos_classifier(**RBF).fit(rows, labels)  # device="auto": where the rows are
        found = model.predict(rows)
        assert type(found) is type(rows)
        assert type(model.decision_function(rows)) is type(rows)
        numbers = found.get() if hasattr(found, "get") else found.cpu().numpy()
        assert (numbers == here.predict(X)).mean() > 0.995
        assert model.score(rows, labels) == pytest.approx((numbers == Y).mean())
        assert type(model.predict(X)) is np.ndarray
        assert type(model.support_vectors_) is np.ndarray


@pytest.mark.parametrize("params", [LINEAR, RBF, RBF | dict(solver="sdca", cache_size=0), LINEAR | dict(project=True)])
def test_float32_goes_on_in_float64_when_pulls_would_get_lost(monkeypatch, params):
    """In earnest after eight million steps."""
    monkeypatch.setattr(stream, "WIDE_FROM", 10)
    models = [pegasos_classifier(**params, device=device).fit(X, Y) for device in ("cuda", "cpu")]
    there, here = (model.decision_function(X) for model in models)
    assert there.dtype == np.float32
    # A margin within rounding of its threshold sends a column on another way of the same worth.
    near = (np.abs(there - here) <= 1e-3 * np.abs(here).max()).all(axis=0)
    assert near.all() or (REAL and near.mean() >= 0.9)
    np.testing.assert_allclose(models[0].objective_, models[1].objective_, rtol=2e-3)


def test_rows_on_the_gpu_can_be_worked_on_by_the_cpu_and_labels_may_be_words():
    import cupy

    words = np.array([f"digit {label}" for label in Y])
    model = pegasos_classifier(**RBF, device="cpu").fit(cupy.asarray(X), words)
    assert type(model.predict(cupy.asarray(X))) is np.ndarray
    assert (model.predict(X) == words).mean() > 0.99


def test_regression_on_the_gpu_is_the_cpu_s():
    import cupy

    wide = X.astype(np.float64)
    targets = np.column_stack([wide @ np.arange(64) / 64, wide[:, 20]])
    for settings in (LINEAR, RBF | dict(epsilon=0.05)):
        there = pegasos_regressor(**settings, device="cuda").fit(wide, targets)
        here = pegasos_regressor(**settings, device="cpu").fit(wide, targets)
        np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-6)
        found = there.predict(cupy.asarray(wide))
        np.testing.assert_allclose(found.get(), here.predict(wide), rtol=1e-6, atol=1e-8)
        assert there.score(cupy.asarray(wide), cupy.asarray(targets)) == pytest.approx(here.score(wide, targets))


def test_csr_rows_are_those_of_the_dense_matrix():
    rows = sp.csr_array(X)
    there = pegasos_classifier(**LINEAR, device="cuda").fit(rows, Y)
    here = pegasos_classifier(**LINEAR, device="cpu").fit(rows, Y)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=2e-3 * np.abs(here.coef_).max())
    kernel = pegasos_classifier(**RBF, device="cuda").fit(rows, Y)
    assert kernel.score(rows, Y) == pytest.approx(pegasos_classifier(**RBF).fit(X, Y).score(X, Y), abs=5e-3)


def test_a_precomputed_kernel_and_a_function_of_arrays_of_cupy():
    K = (1 + X @ X.T) ** 2
    settings = dict(C=1, max_iter=PASSES, random_state=0, device="cuda")
    matrix = pegasos_classifier(kernel="precomputed", **settings).fit(K, Y)
    called = pegasos_classifier(kernel=lambda A, B: (1 + A @ B.T) ** 2, **settings).fit(X, Y)
    assert (matrix.predict(K) == called.predict(X)).mean() > 0.995


@pytest.mark.parametrize("average", [False, "weighted"])
def test_a_search_finds_the_scores_of_the_cpu(average):
    grid = {"lam": [1e-4, 1e-2], "gamma": [0.02, 0.1], "max_steps": [500, 2000] if REAL else [20, 60]}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found = []
    for device in ("cuda", "cpu"):
        svm = pegasos_classifier(kernel="rbf", average=average, random_state=0, device=device)
        found.append(PegasosSearchCV(svm, grid, cv=folds, return_train_score=True).fit(X, Y))
    for side in ("test", "train"):
        there, here = (search.cv_results_[f"mean_{side}_score"] for search in found)
        np.testing.assert_allclose(there, here, atol=6e-3)
    assert found[0].best_estimator_.score(X, Y) > 0.95


def test_a_search_over_rows_on_the_gpu_and_over_linear_pairs():
    import cupy

    svm = pegasos_classifier(multi_class="ovo", max_iter=PASSES, random_state=0)
    search = PegasosSearchCV(svm, {"lam": [1e-3, 1e-2]}, cv=3).fit(cupy.asarray(X), cupy.asarray(Y))
    here = PegasosSearchCV(svm, {"lam": [1e-3, 1e-2]}, cv=3).fit(X, Y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], atol=6e-3)


def test_too_little_memory_makes_smaller_slabs_and_the_same_model():
    import cupy

    some = slice(None) if REAL else np.flatnonzero(LABELS < 2)[:300]  # far more than are looked at to begin with
    rows, labels = ALL[some, 20:36], LABELS[some]
    settings = RBF | dict(solver="sdca", max_iter=1, device="cuda")
    svm = pegasos_classifier(**settings, cache_size=2000)
    search = PegasosSearchCV(svm, {"C": [1, 5]}, cv=2, refit=False)
    whole, scores = clone(svm).fit(rows, labels), clone(search).fit(rows, labels).cv_results_["mean_test_score"]
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + len(rows) ** 2 * rows.itemsize)  # the kernel matrix fits, and nothing else
    try:
        svm.fit(rows, labels)
        found = svm.decision_function(cupy.asarray(rows))
        search.fit(rows, labels)
    finally:
        pool.set_limit(size=0)
    assert REAL or pool.refused > 0
    np.testing.assert_allclose(found.get(), whole.decision_function(rows), atol=2e-3)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, atol=6e-3)


def test_what_makes_no_sense_is_refused_and_loses_nothing():
    import cupy

    model = pegasos_classifier(**RBF, device="cuda").fit(X, Y)
    before = model.dual_coef_
    bad = X.copy()
    bad[3, 4] = np.nan
    for rows in (bad, cupy.asarray(bad)):
        with pytest.raises(ValueError, match="contains NaN"):
            model.fit(rows, Y)
        with pytest.raises(ValueError, match="contains NaN"):
            model.predict(rows)
    for rows, message in (
        (cupy.asarray(X[0]), "2D array"),
        (cupy.asarray(X[:, :3]), "features"),
        (cupy.zeros((0, 64)), "0 sample"),
        (cupy.asarray(X) * 1j, "Complex"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(rows)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(cupy.asarray(X), Y[:-1])
    with pytest.raises(ValueError, match="n_landmarks"):
        pegasos_classifier(kernel="rbf", n_landmarks=20, device="cuda").fit(X, Y)
    with pytest.raises(NotFittedError):
        pegasos_classifier().predict(cupy.asarray(X))
    assert model.dual_coef_ is before


def test_models_are_saved(tmp_path):
    try:
        version("pegasos")
    except PackageNotFoundError:
        pytest.skip("a file names the version, which a source tree that is not installed does not know")
    model = pegasos_classifier(**RBF | dict(max_iter=2), device="cuda").fit(X, Y)
    model.save(tmp_path / "model.pegasos")
    np.testing.assert_array_equal(load(tmp_path / "model.pegasos").predict(X), model.predict(X))
    kept = Checkpoint(tmp_path / "fit.ck", every=1e-6)
    again = pegasos_classifier(**RBF | dict(max_iter=2), device="cuda", checkpoint=kept).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_models_travel_and_fits_go_on():
    model = pegasos_classifier(**RBF | dict(max_iter=2), device="cuda", warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    steps = model.t_.copy()
    assert (model.fit(X, Y).t_ == 2 * steps).all()
    online = pegasos_classifier(lam=1e-3, random_state=0, device="cuda")
    for first in range(0, len(X), len(X) // 3):
        online.partial_fit(X[first : first + len(X) // 3], Y[first : first + len(X) // 3], classes=np.unique(Y))
    assert online.score(X, Y) > 0.9


def test_a_model_of_a_gpu_predicts_where_there_is_none(monkeypatch):
    model = pegasos_classifier(**RBF, device="cuda").fit(X, Y)
    there = model.decision_function(X)
    monkeypatch.setattr(devices, "missing", lambda: "There is no GPU.")
    np.testing.assert_allclose(model.decision_function(X), there, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="There is no GPU"):
        model.fit(X, Y)


def test_tf32_rounds_and_says_so_in_its_parameter():
    exact = pegasos_classifier(**RBF | dict(solver="sdca", max_iter=3), device="cuda").fit(X, Y)
    rounded = pegasos_classifier(**RBF | dict(solver="sdca", max_iter=3), device="cuda:tf32").fit(X, Y)
    assert (rounded.predict(X) == exact.predict(X)).mean() > 0.99
    np.testing.assert_allclose(rounded.objective_, exact.objective_, rtol=0.02)
