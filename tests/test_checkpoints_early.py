"""Fits that end early, by Ctrl-C, a time limit or an error, keep their checkpoint; a later fit goes on from it."""

import itertools
import os
import signal
import types
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise

from checkpointed import Killed, assert_same_bits, killed_after, quietly
from conftest import classes_problem
from pegasos import Checkpoint
from pegasos.container import file as container
from pegasos.estimators import training
from pegasos.solver.clock import Clock
from textbook import pegasos_classifier, pegasos_regressor

N = 300
X, Y = classes_problem(4, n_rows=N)
RBF = dict(kernel="rbf", gamma=0.3)
RUNS = [
    dict(),
    dict(solver="sdca", **RBF),
    dict(cache_size=0, **RBF),
    dict(batch_size="all"),
    dict(batch_size=10, average="suffix"),
    dict(multi_class="ovo", solver="sdca", average=False),
    dict(n_landmarks=20, cache_size=0, solver="sdca", **RBF),
]
IN_TURNS = [dict(multi_class="ovo", batch_size=5), dict(multi_class="ovo", batch_size=20, average=False, **RBF)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def classifier(**params):
    return pegasos_classifier(**(dict(lam=0.01, max_iter=6, random_state=0) | params))


@contextmanager
def pressed_at(look):
    """Press Ctrl-C when a solve looks at its clock for the so manieth time."""
    real, count = Clock.is_up, [0]

    def looked(clock):
        count[0] += 1
        if count[0] == look:
            os.kill(os.getpid(), signal.SIGINT)
        return real(clock)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clock, "is_up", looked)
        yield


# --- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", [2, 4])
@pytest.mark.parametrize("params", RUNS + IN_TURNS, ids=str)
def test_ctrl_c_keeps_the_file_and_a_later_fit_ends_in_the_same_bits(path, params, look):
    model, whole = classifier(checkpoint=path, **params), classifier(**params).fit(X, Y)
    with pressed_at(look), pytest.warns(ConvergenceWarning, match="Interrupted after"):
        found = clone(model).fit(X, Y)
    assert path.exists()
    assert (found.t_ < whole.t_).any()
    assert np.isfinite(found.objective_).all()
    assert_same_bits(clone(model).fit(X, Y), whole)
    assert not path.exists()


def test_ctrl_c_again_and_again(path):
    model, whole = classifier(checkpoint=path, **RBF), classifier(**RBF).fit(X, Y)
    for _ in range(4):
        with pressed_at(3), pytest.warns(ConvergenceWarning, match="Interrupted after"):
            clone(model).fit(X, Y)
    assert_same_bits(clone(model).fit(X, Y), whole)


def test_ctrl_c_in_a_later_group_of_columns(path):
    for params in IN_TURNS:
        model, whole = classifier(checkpoint=path, **params), classifier(**params).fit(X, Y)
        with killed_after(None) as count:
            clone(model).fit(X, Y)
        for look in (count[0] // 3, 2 * count[0] // 3):
            with pressed_at(look), pytest.warns(ConvergenceWarning, match="Interrupted after"):
                clone(model).fit(X, Y)
            assert_same_bits(clone(model).fit(X, Y), whole)


def test_ctrl_c_before_the_first_step(path):
    model = classifier(checkpoint=path)
    with pressed_at(1), pytest.raises(KeyboardInterrupt):
        clone(model).fit(X, Y)
    assert_same_bits(clone(model).fit(X, Y), classifier().fit(X, Y))


# --- time limits ----------------------------------------------------------------------------------


class Ticking:
    """Seconds that pass whenever somebody looks, whatever the machine."""

    def __init__(self, monkeypatch, tick=0.1):
        self.now, self.tick = 0.0, tick
        fake = types.SimpleNamespace(perf_counter=self.perf_counter)
        modules = ("solver.clock", "solver.stepper", "solver.certificate", "estimators.classifier")
        for module in [f"pegasos.{name}" for name in (*modules, "estimators.regressor", "rows.kernel")]:
            monkeypatch.setattr(f"{module}.time", fake)

    def perf_counter(self):
        self.now += self.tick
        return self.now


@pytest.mark.parametrize("params", RUNS + IN_TURNS, ids=str)
def test_max_time_keeps_the_file_and_a_later_fit_goes_on(path, params, monkeypatch):
    Ticking(monkeypatch)
    model, whole = classifier(checkpoint=path, max_iter=30, **params), classifier(max_iter=30, **params).fit(X, Y)
    found = quietly(clone(model).set_params(max_time=2.0).fit, X, Y)
    assert (found.t_ < whole.t_).any()
    assert path.exists()
    assert_same_objectives(clone(model).fit(X, Y), whole)
    assert not path.exists()


@pytest.mark.parametrize("params", [dict(), dict(batch_size="all"), RBF], ids=str)
def test_time_counts_over_all_runs(path, params, monkeypatch):
    Ticking(monkeypatch)
    model = classifier(checkpoint=path, max_iter=100, **params)
    steps = [quietly(clone(model).set_params(max_time=limit).fit, X, Y).t_.max() for limit in (2.0, 2.0, 6.0)]
    assert steps[1] == steps[0] < steps[2]
    assert path.exists()


EASY = (X[:, 0] > 0).astype(int)  # few rows pull, which steps that read the kernel matrix directly are for
MATRIX = pytest.mark.parametrize("params", [RBF, dict(solver="sdca", **RBF), dict(batch_size=7, **RBF)], ids=str)


def without_matrix(model, monkeypatch):
    """The model under a time limit that leaves none for its kernel matrix."""
    monkeypatch.setattr(training, "MATRIX_TIME", -1e9)
    return clone(model).set_params(max_time=1e6)


@MATRIX
def test_a_fit_that_had_no_time_for_its_kernel_matrix_goes_on_with_it(path, params, monkeypatch):
    model = classifier(lam=1e-3, max_iter=20, **params)
    whole = clone(model).fit(X, EASY)
    model.set_params(checkpoint=path)
    with killed_after(8), pytest.raises(Killed), monkeypatch.context() as patch:
        without_matrix(model, patch).fit(X, EASY)
    assert_same_objectives(model.fit(X, EASY), whole)


@MATRIX
def test_a_fit_that_had_its_kernel_matrix_goes_on_without_it(path, params, monkeypatch):
    model = classifier(lam=1e-3, max_iter=20, **params)
    whole = clone(model).fit(X, EASY)
    model.set_params(checkpoint=path)
    with killed_after(8), pytest.raises(Killed):
        clone(model).fit(X, EASY)
    assert_same_objectives(without_matrix(model, monkeypatch).fit(X, EASY), whole)


def assert_same_objectives(found, expected):
    np.testing.assert_array_equal(found.t_, expected.t_)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-6)
    np.testing.assert_allclose(found.dual_gap_, expected.dual_gap_, rtol=1e-3, atol=1e-6)


# --- errors ---------------------------------------------------------------------------------------


def test_an_error_keeps_the_file(path):
    calls = itertools.count()

    def failing(A, B):
        if next(calls) == 25 and len(A):
            raise RuntimeError("a fault of the user's kernel")
        return pairwise.rbf_kernel(A, B, gamma=0.3)

    model = classifier(kernel=failing, cache_size=0, checkpoint=path)
    with killed_after(None), pytest.raises(RuntimeError, match="a fault"):
        clone(model).fit(X, Y)
    assert path.exists()
    expected = classifier(kernel=failing, cache_size=0).fit(X, Y)
    assert_same_bits(clone(model).fit(X, Y), expected)


def test_kept_files_stay_after_every_end(path):
    model = classifier(checkpoint=Checkpoint(path, keep=True))
    with pressed_at(3), pytest.warns(ConvergenceWarning, match="Interrupted after"):
        clone(model).fit(X, Y)
    with killed_after(None):
        clone(model).fit(X, Y)
    assert path.exists()
    assert container.read(path)[0].document["checkpoint"] == "fit"


def test_regressors_end_early_too(path):
    model = pegasos_regressor(lam=0.01, max_iter=6, random_state=0)
    whole = clone(model).fit(X, X @ [1.0, 0.5, 0.0, 2.0])
    with pressed_at(3), pytest.warns(ConvergenceWarning, match="Interrupted after"):
        clone(model).set_params(checkpoint=path).fit(X, X @ [1.0, 0.5, 0.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        later = clone(model).set_params(checkpoint=path).fit(X, X @ [1.0, 0.5, 0.0, 2.0])
    assert_same_bits(later, whole)
