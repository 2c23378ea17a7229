"""`solver="smo"`: estimators with an active set, beside scikit-learn's classes and in all that a fit is."""

import signal
import threading
import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

import pegasos
from pegasos import Checkpoint, PegasosClassifier, PegasosRegressor
from pegasos.solver.checkpoint_file import SnapshotFile

SMO = {"kernel": "rbf", "solver": "smo"}


@pytest.fixture(scope="module")
def blobs():
    """Two classes that overlap, and weights."""
    X, y = make_classification(700, 8, n_informative=5, flip_y=0.1, random_state=0)
    return X, y, np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))


@pytest.fixture(scope="module")
def digits():
    """Ten classes."""
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_default_model_is_that_of_svc(blobs, C):
    X, y, weights = blobs
    ours = PegasosClassifier(**SMO, C=C, tol=1e-7).fit(X, y, sample_weight=weights)
    theirs = SVC(C=C, tol=1e-7).fit(X, y, sample_weight=weights)
    # gamma="scale" is weighted in ours
    theirs = SVC(C=C, tol=1e-7, gamma=ours._kernel.gamma).fit(X, y, sample_weight=weights)
    assert ours.converged_.all()
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_pairs_of_classes_are_those_of_svc(digits):
    X, y = digits
    ours = PegasosClassifier(**SMO, multi_class="ovo", tol=1e-6).fit(X, y)
    theirs = SVC(decision_function_shape="ovo", tol=1e-6).fit(X, y)
    assert np.allclose(-ours.intercept_, theirs.intercept_, atol=1e-3)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert set(ours.support_) == set(theirs.support_)


def test_regression_is_that_of_svr():
    X, y = make_regression(300, 5, noise=5.0, random_state=0)
    y = y / y.std()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    ours = PegasosRegressor(**SMO, C=3.0, epsilon=0.05, tol=1e-7).fit(X, y, sample_weight=weights)
    theirs = SVR(C=3.0, epsilon=0.05, tol=1e-7, gamma=ours._kernel.gamma).fit(X, y, sample_weight=weights)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_without_an_intercept_it_is_the_optimum_of_sdca(digits, loss, multi_class):
    X, y = digits
    given = {"kernel": "rbf", "loss": loss, "multi_class": multi_class, "tol": 1e-6, "fit_intercept": False}
    smo = PegasosClassifier(solver="smo", **given).fit(X, y)
    sdca = PegasosClassifier(solver="sdca", **given, random_state=0).fit(X, y)
    assert np.allclose(smo.objective_, sdca.objective_, atol=3e-6)
    assert (smo.intercept_ == 0).all()
    assert smo.converged_.all()
    assert (smo.predict(X) == sdca.predict(X)).mean() > 0.998


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression_without_an_intercept_is_the_optimum_of_sdca(loss):
    X, y = make_regression(300, 5, noise=5.0, random_state=0)
    Y = np.column_stack([y, -0.5 * y + X[:, 0]]) / y.std()
    given = {"kernel": "rbf", "loss": loss, "tol": 1e-6, "fit_intercept": False}
    smo = PegasosRegressor(solver="smo", **given).fit(X, Y)
    sdca = PegasosRegressor(solver="sdca", **given, random_state=0).fit(X, Y)
    assert np.allclose(smo.objective_, sdca.objective_, rtol=1e-4)
    assert np.allclose(smo.predict(X), sdca.predict(X), atol=2e-2)


def test_the_certificate_holds(blobs):
    X, y, weights = blobs
    best = PegasosClassifier(**SMO, C=10.0, tol=1e-9).fit(X, y, sample_weight=weights)
    for tol in (0.3, 1e-2, 1e-4):
        model = PegasosClassifier(**SMO, C=10.0, tol=tol).fit(X, y, sample_weight=weights)
        suboptimality = (model.objective_ - best.objective_)[0]
        assert -1e-9 <= suboptimality <= model.dual_gap_[0] + 1e-9
        assert model.relative_gap_[0] <= tol
        f, used = model.decision_function(X), weights > 0
        K = rbf_kernel(X[model.support_], gamma=model._kernel.gamma)
        lam = 1.0 / (10.0 * weights.sum())
        losses = weights @ np.maximum(0, 1 - np.where(y == 1, f, -f)) / weights[used].sum()
        objective = 0.5 * lam * model.dual_coef_[0] @ K @ model.dual_coef_[0] + losses
        assert np.isclose(objective, model.objective_[0], rtol=1e-5)


def test_kinds_of_rows_and_kernels_agree(blobs):
    X, y, _ = blobs
    X = np.where(np.abs(X) < 1.2, 0.0, X)
    of_function = lambda A, B: rbf_kernel(A.toarray() if hasattr(A, "toarray") else A, B, gamma=0.1)
    given = {"solver": "smo", "gamma": 0.1, "tol": 1e-6}
    dense = PegasosClassifier(kernel="rbf", **given).fit(X, y).decision_function(X)
    for kernel, rows in (
        ("rbf", X.astype(np.float32)), ("rbf", csr_array(X)), ("rbf", np.asfortranarray(X)),
        ("precomputed", rbf_kernel(X, gamma=0.1)), ("precomputed", rbf_kernel(X, gamma=0.1).astype(np.float32)),
        (of_function, X),
    ):  # fmt: skip
        model = PegasosClassifier(kernel=kernel, **given).fit(rows, y)
        assert np.allclose(model.decision_function(rows), dense, atol=5e-3)
    for kernel in ("poly", "laplacian"):
        model = PegasosClassifier(kernel=kernel, **given).fit(csr_array(X), y)
        other = PegasosClassifier(kernel=kernel, **given).fit(X, y)
        assert np.allclose(model.decision_function(X), other.decision_function(X), atol=5e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_losses_of_an_indefinite_kernel_stay_finite(blobs, fit_intercept):
    X, y, _ = blobs
    given = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1.0, "fit_intercept": fit_intercept}
    model = PegasosClassifier(solver="smo", loss="squared_hinge", **given).fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.objective_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_indefinite_kernel_ends_without_a_gap(blobs):
    X, y, _ = blobs
    model = PegasosClassifier(kernel="sigmoid", gamma=0.1, coef0=0.0, solver="smo").fit(X, y)
    theirs = SVC(kernel="sigmoid", gamma=0.1, coef0=0.0).fit(X, y)
    assert np.isnan(model.dual_gap_).all()
    assert np.isfinite(model.objective_).all()
    assert np.isfinite(model.dual_coef_).all()
    assert model.score(X, y) >= theirs.score(X, y) - 0.05


def test_warm_starts_go_on(blobs):
    X, y, _ = blobs
    cold = PegasosClassifier(**SMO, C=1.0, tol=1e-6, warm_start=True).fit(X, y)
    steps = cold.n_iter_
    again = cold.fit(X, y)
    assert again.n_iter_ - steps <= steps / 50
    for C in (2.0, 0.5):
        moved = cold.set_params(C=C).fit(X, y)
        fresh = PegasosClassifier(**SMO, C=C, tol=1e-6).fit(X, y)
        assert np.isclose(moved.objective_[0], fresh.objective_[0], atol=2e-6)
        assert np.allclose(moved.decision_function(X), fresh.decision_function(X), atol=5e-3)


def test_model_files(blobs, tmp_path):
    X, y, _ = blobs
    model = PegasosClassifier(**SMO, warm_start=True).fit(X, y)
    model.save(tmp_path / "model")
    loaded = pegasos.load(tmp_path / "model")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.get_params() == model.get_params()


def test_time_ends_a_fit(blobs):
    X, y, _ = blobs
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PegasosClassifier(**SMO, C=1e7, gamma=0.01, tol=1e-13, max_time=0.05).fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    assert not model.converged_.any()


def test_passes_end_a_fit(blobs):
    X, y, _ = blobs
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = PegasosClassifier(**SMO, C=1e4, tol=1e-6, max_iter=0.5).fit(X, y)
    assert model.n_iter_ == len(y) // 2
    assert model.relative_gap_[0] > 1e-6
    with pytest.warns(ConvergenceWarning):
        assert PegasosClassifier(**SMO, C=1e4, tol=1e-6, max_steps=7).fit(X, y).n_iter_ == 7


def test_ctrl_c_gives_the_model_reached(blobs):
    X, y, _ = blobs
    PegasosClassifier(**SMO).fit(X, y)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        model = PegasosClassifier(**SMO, C=1e6, gamma=0.01, tol=1e-13).fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    timer.join()
    assert np.isfinite(model.relative_gap_).all()


def test_progress_is_shown(blobs, capsys):
    X, y, _ = blobs
    loud = PegasosClassifier(**SMO, C=10.0, tol=1e-6, verbose=1).fit(X, y)
    assert "largest gap" in capsys.readouterr().out
    assert len(loud.history_) > 2
    gaps = [record["gap"] for record in loud.history_]
    assert gaps[-1] == loud.dual_gap_.max()
    assert gaps[0] > gaps[-1]
    quiet = PegasosClassifier(**SMO, C=10.0, tol=1e-6).fit(X, y)
    assert np.array_equal(quiet.dual_coef_, loud.dual_coef_)  # to look changes nothing


class Cut(Exception):
    """The end of a run that is killed."""


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_fit_that_goes_on_ends_in_the_same_bits(digits, tmp_path, monkeypatch, loss, multi_class):
    X, y = digits
    X, y = np.vstack([X, X + 0.5]), np.r_[y, y]  # more rows than are computed at once
    given = SMO | {"loss": loss, "multi_class": multi_class, "tol": 1e-6, "C": 5.0}
    whole = PegasosClassifier(**given).fit(X, y)
    keep, path = SnapshotFile.keep, tmp_path / "fit"
    for cuts in range(2, 30, 9):
        kept = []

        def keep_and_die(store, snapshot, cuts=cuts, kept=kept):
            keep(store, snapshot)
            kept.append(1)
            if len(kept) == cuts:
                raise Cut

        monkeypatch.setattr(SnapshotFile, "keep", keep_and_die)
        monkeypatch.setattr(SnapshotFile, "due", lambda store: True)
        model = PegasosClassifier(**given, checkpoint=Checkpoint(path))
        try:
            model.fit(X, y)
        except Cut:
            monkeypatch.setattr(SnapshotFile, "keep", keep)
            assert path.exists()
            model.fit(X, y)
        assert not path.exists()
        assert np.array_equal(model.dual_coef_, whole.dual_coef_)
        assert np.array_equal(model.intercept_, whole.intercept_)
        assert model.n_iter_ == whole.n_iter_
        assert np.array_equal(model.dual_gap_, whole.dual_gap_)


def test_time_leaves_a_checkpoint_to_go_on_from(blobs, tmp_path):
    X, y, _ = blobs
    given = SMO | {"C": 1e3, "tol": 1e-6}
    whole = PegasosClassifier(**given).fit(X, y)
    model = PegasosClassifier(**given, checkpoint=tmp_path / "fit", max_time=0.02)
    for _ in range(200):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        if not (tmp_path / "fit").exists():
            break
        model.max_time += 0.05
    assert np.array_equal(model.dual_coef_, whole.dual_coef_)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kernel": "linear"}, "kernel='linear'"),
        ({"loss": "log_loss"}, "log_loss"),
        ({"multi_class": "crammer_singer"}, "crammer_singer"),
        ({"n_landmarks": 5}, "landmarks"),
        ({"batch_size": 8}, "batch_size"),
        ({"project": True}, "project"),
    ],
)
def test_what_it_cannot_do_is_an_error(blobs, given, said):
    X, y, _ = blobs
    with pytest.raises(ValueError, match=said):
        PegasosClassifier(**SMO | given).fit(X, y)


def test_a_small_fit_takes_little_time(digits):
    X, y = digits
    model = PegasosClassifier(**SMO)
    few, labels = X[:150], y[:150] % 3
    model.fit(few, labels)
    took = []
    for _ in range(5):
        began = time.perf_counter()
        model.fit(few, labels)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.1
