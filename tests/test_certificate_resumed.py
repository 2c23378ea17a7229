"""Certificates of fits that go on from others hold, whatever changed in between; and what online learning keeps."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest

import naive
from pegasos.problem.sampling import Stream
from pegasos.rules.state import State
from textbook import pegasos_classifier, pegasos_regressor

RNG = np.random.default_rng(0)


def lopsided(seed=0):
    """Most rows say the same, a few say little: what a bound from uneven draws would get wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(20) % 2
    X = np.zeros((20, 3))
    X[:, 0] = np.where(y, 3, -3.0)
    X[14:] = rng.normal(size=(6, 3)) * 0.05
    return X, y


def optimum(X, y, **params):
    exact = pegasos_classifier(solver="sdca", average=False, tol=1e-9, max_iter=10**5, random_state=0, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exact.fit(X, y).objective_


def assert_certified(model, best):
    assert (model.objective_ - model.dual_gap_ <= best + 1e-8).all()


@pytest.mark.parametrize("seed", range(12))
def test_shuffled_passes_after_draws_with_replacement(seed):
    X, y = lopsided()
    shared = dict(lam=0.1, fit_intercept=False)
    model = pegasos_classifier(warm_start=True, sampling="replacement", max_iter=20, random_state=seed, **shared).fit(
        X, y
    )
    model.set_params(sampling="shuffle", max_iter=1).fit(X, y)
    assert_certified(model, optimum(X, y, **shared))


@pytest.mark.parametrize("sampling", ["cyclic", "shuffle"])
def test_pairs_that_stop_within_a_pass_again_and_again(sampling):
    X, y = lopsided()
    X, y = np.vstack([X, RNG.normal(size=(20, 3)) + 5]), np.append(y, [2] * 20)
    shared = dict(lam=0.1, fit_intercept=False, multi_class="ovo")
    model = pegasos_classifier(warm_start=True, sampling=sampling, max_steps=10, random_state=0, **shared)
    best = optimum(X, y, **shared)
    for _ in range(40):
        assert_certified(model.fit(X, y), best)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(4))
def test_any_change_between_fits_keeps_the_certificate(seed, kernel, loss):
    rng = np.random.default_rng(seed)
    X, y = lopsided(seed)
    model = pegasos_classifier(kernel=kernel, gamma=0.5, loss=loss, warm_start=True, lam=0.1, random_state=seed)
    for _ in range(10):
        length = {"max_steps": int(rng.integers(1, 60)), "max_iter": None}
        if rng.random() < 0.5:
            length = {"max_steps": None, "max_iter": int(rng.integers(1, 4))}
        model.set_params(
            lam=float(rng.choice([0.02, 0.1, 0.5])),
            sampling=str(rng.choice(["shuffle", "cyclic", "replacement"])),
            batch_size=[1, 1, 3, "all"][rng.integers(4)],
            project=bool(rng.random() < 0.3),
            average=[False, "weighted", "uniform", "suffix"][rng.integers(4)],
            **length,
        ).fit(X, y)
        assert_certified(model, optimum(X, y, kernel=kernel, gamma=0.5, loss=loss, lam=model.lam))


@pytest.mark.parametrize("lam", [0.05, 0.2])
def test_tol_is_reached_after_another_lam(lam):
    X = RNG.normal(size=(100, 4))
    y = (X[:, 0] + 0.5 * RNG.normal(size=100) > 0).astype(int)
    model = pegasos_classifier(lam=0.1, warm_start=True, tol=0.05, random_state=0, max_iter=500).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(lam=lam).fit(X, y)
    assert model.t_[0] < 100 * 100
    assert model.dual_gap_[0] <= 0.05


@pytest.mark.parametrize("sampling", ["shuffle", "replacement", "cyclic"])
def test_a_stream_goes_on_without_drawing_its_past_again(sampling):
    rows = np.arange(10, 17)
    for draws in (0, 3, 7, 10, 14):
        whole = Stream(rows, sampling, 5)
        expected = np.concatenate([whole.take(7) for _ in range(8)])
        first = Stream(rows, sampling, 5)
        for _ in range(draws // 7 + (draws % 7 > 0)):
            first.take(7)
        again = Stream(rows, sampling, 99)  # the seed plays no part: the generator is put where it was
        again.skip(draws, first.generator_before(draws))
        found = np.concatenate([again.take(7) for _ in range(4)])
        np.testing.assert_array_equal(found, expected[draws : draws + len(found)])
        assert first.generator_before(10**6) is None


def test_a_start_vector_of_integers_and_bad_lams():
    np.testing.assert_allclose(State.from_weights([1, 2, 3], 0.1).model().ravel(), [1.0, 2.0, 3.0], rtol=1e-6)
    for lam in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="lam must be positive"):
            State.from_weights([1.0], lam)


# --- online ---------------------------------------------------------------------------------------


def test_a_call_after_a_warm_started_fit_is_one_pass_over_its_rows():
    settings = dict(lam=1.0, epsilon=0, fit_intercept=False, average=False, max_steps=7, random_state=0)
    model = pegasos_regressor(warm_start=True, **settings).fit(np.eye(10), np.full(10, 1e6))
    before = model.coef_ * model.t_[0]
    model.partial_fit(np.eye(10)[:5], np.full(5, 1e6))
    np.testing.assert_allclose(model.coef_ * model.t_[0] - before, [[1] * 5 + [0] * 5], atol=1e-9)


def test_pairs_in_batches_meet_each_of_their_rows_once():
    y = np.repeat([0, 1, 2], [4, 3, 5])
    model = pegasos_classifier(
        lam=1e6, multi_class="ovo", batch_size=2, average=False, fit_intercept=False, random_state=0
    ).partial_fit(np.eye(12), y, classes=[0, 1, 2])
    for pair, coefficients in zip([(0, 1), (0, 2), (1, 2)], model.coef_, strict=True):
        np.testing.assert_array_equal(coefficients != 0, np.isin(y, pair))


def test_small_targets_do_not_shrink_the_ball_of_a_projected_stream():
    X = RNG.normal(size=(200, 3))
    model = pegasos_regressor(lam=0.01, project=True, average=False, random_state=0).partial_fit(X, X @ [1, 2, 3.0])
    model.partial_fit(X[:3], np.zeros(3))
    assert np.linalg.norm(model.coef_) > 2


def test_weights_as_given_widen_the_ball():
    X = RNG.normal(size=(100, 2))
    y = (X[:, 0] > 0).astype(int)
    heavy = dict(classes=[0, 1], sample_weight=np.full(100, 100.0))
    free = pegasos_classifier(lam=1.0, random_state=0).partial_fit(X, y, **heavy)
    held = pegasos_classifier(lam=1.0, random_state=0, project=True).partial_fit(X, y, **heavy)
    np.testing.assert_allclose(held.coef_[0, 0], free.coef_[0, 0], rtol=0.5)  # the other feature means nothing
    assert np.linalg.norm(held.coef_ - free.coef_) < 0.5 * np.linalg.norm(free.coef_)
    assert np.linalg.norm(held.coef_) > 1.5


def test_ctrl_c_interrupts_a_stream_and_the_model_is_the_one_before():
    X = RNG.normal(size=(300_000, 20))
    y = (X[:, 0] > 0).astype(int)
    model = pegasos_classifier(lam=0.01, random_state=0).partial_fit(X[:100], y[:100], classes=[0, 1])
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stream_for_ever(model, X, y)
    timer.join()
    assert (model.t_[0] - 100) % 300_000 == 0, "whole calls only"
    assert np.isfinite(model.coef_).all()


def stream_for_ever(model, X, y):
    while True:
        model.partial_fit(X, y)


def test_sums_in_float64_stay_so_from_call_to_call():
    X = np.full((1000, 1), 1.0, np.float32)
    model = pegasos_regressor(lam=1.0, epsilon=0, fit_intercept=False, average=False, random_state=0)
    model.partial_fit(X, np.full(1000, 1e6))
    model._memory.state.widen()
    model._memory.state.sums[:] = 2e7
    for _ in range(5):
        model.partial_fit(0.013 * X, np.full(1000, 1e9))
    assert model._memory.state.sums[0, 0] == pytest.approx(2e7 + 65, abs=1e-3)
    assert model.coef_.dtype == np.float32


# --- small things ---------------------------------------------------------------------------------


def test_warnings_point_to_the_user_s_line():
    X, y = lopsided()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pegasos_classifier(tol=1e-12, max_iter=1).fit(X * [1, 1e6, 1], y)
    assert {os.path.basename(warning.filename) for warning in caught} == {os.path.basename(__file__)}


def test_the_last_line_of_verbose_is_printed_once(capsys):
    X, y = lopsided()
    pegasos_classifier(verbose=1, max_iter=4, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3


def test_sparse_targets_are_refused():
    sp = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="targets y are a sparse matrix"):
        pegasos_regressor().fit(np.eye(4), sp.csr_matrix(np.ones((4, 1))))


def test_naive_start_vector():
    """The oracle's own start vector is what `State.from_weights` is judged by."""
    K = np.eye(3)
    iterates, _, _ = naive.pegasos(K, np.ones(3), np.ones(3), 1.0, [0], 1, start=np.full(3, 0.5), t_start=1)
    np.testing.assert_allclose(iterates[-1], [0.75, 0.25, 0.25])
