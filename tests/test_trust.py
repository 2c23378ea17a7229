"""Bad days: long runs in float32, both precisions kept apart, the same bits again, other numbers of threads."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from pegasos.kernels import make_kernel
from pegasos.losses import Loss
from pegasos.problem.columns import one_vs_rest, regression
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, KernelRows, SparseRows
from pegasos.rules.column import Rule
from pegasos.solver import stream
from solving import solve
from textbook import pegasos_classifier, pegasos_regressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
CODES = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
MORE = RNG.normal(size=(1000, 3))
MORE_CODES = (MORE[:, 0] + RNG.normal(size=1000) > 0).astype(int)


def long_run(dtype, rows, rule=Rule.PEGASOS, steps=10**8, average="weighted", lam=0.1, X=MORE, codes=MORE_CODES):
    kinds = {
        "dense": lambda X: DenseRows(X, 1.0),
        "csr": lambda X: SparseRows(sp.csr_array(X), 1.0),
        "rbf": lambda X: KernelRows(X, make_kernel("rbf", gamma=0.5)),
    }
    schedule = Schedule(max_steps=steps, max_passes=np.inf, average=average, seed=1)
    return solve(kinds[rows](X.astype(dtype)), one_vs_rest(codes, 2).with_lam(lam), rule, schedule)


def test_a_hundred_million_steps_lose_no_digits():
    """At the end S is 10⁷ times as large as the model: a float32 sum would take in no pull any more."""
    many = np.random.default_rng(3).normal(size=(20_000, 3))
    data = dict(X=many, codes=(many[:, 0] > 0.3 * many[:, 1]).astype(int))
    short, full = (long_run(dtype, "dense", **data) for dtype in (np.float32, np.float64))
    assert short.steps[0] == full.steps[0] == 10**8
    assert short.model.dtype == np.float32
    size = np.abs(full.model).max()
    np.testing.assert_allclose(short.model, full.model, rtol=0, atol=2e-4 * size)
    last = [found.state.sums * found.state.scales for found in (short, full)]
    np.testing.assert_allclose(*last, rtol=0, atol=2e-4 * size)
    np.testing.assert_allclose(short.state.columns["average"], full.state.columns["average"], rtol=1e-12)
    np.testing.assert_allclose(short.certificate.objective, full.certificate.objective, rtol=1e-5)
    assert short.certificate.gap[0] < 1e-5 * full.certificate.zero[0]


@pytest.mark.parametrize("rule", [Rule.PEGASOS, Rule.SDCA])
@pytest.mark.parametrize("rows", ["dense", "csr", "rbf"])
def test_long_runs_of_every_kind_of_rows(rows, rule):
    short, full = (long_run(dtype, rows, rule, steps=10**6, lam=1.0) for dtype in (np.float32, np.float64))
    size = np.abs(full.model).max()
    np.testing.assert_allclose(short.model, full.model, atol=1e-3 * size)
    np.testing.assert_allclose(short.certificate.objective, full.certificate.objective, rtol=1e-5)


@pytest.mark.parametrize("rows", ["dense", "csr", "rbf"])
def test_sums_that_went_on_in_float64_give_the_same_model(monkeypatch, rows):
    narrow = long_run(np.float32, rows, steps=2000)
    monkeypatch.setattr(stream, "WIDE_FROM", 100)
    wide = long_run(np.float32, rows, steps=2000)
    assert narrow.state.sums.dtype == np.float32
    assert wide.state.sums.dtype == np.float64
    assert wide.model.dtype == np.float32
    np.testing.assert_allclose(wide.model, narrow.model, rtol=2e-3, atol=2e-3 * np.abs(wide.model).max())


def test_a_sum_much_larger_than_a_pull_goes_on_in_float64():
    assert long_run(np.float32, "dense", steps=2 * 10**6, lam=20.0).state.sums.dtype == np.float64
    assert long_run(np.float32, "dense", steps=2 * 10**5, lam=0.01).state.sums.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_precisions_are_kept_apart(dtype, loss, kernel):
    for average in (False, "weighted", "suffix"):
        for multi_class in ("ovr", "crammer_singer"):
            if multi_class == "crammer_singer" and loss != "hinge":
                continue
            model = pegasos_classifier(
                kernel=kernel, loss=loss, multi_class=multi_class, average=average, lam=0.05, random_state=0
            )
            model.fit(X.astype(dtype), CODES)
            assert model.decision_function(X.astype(dtype)).dtype == dtype
            assert model.intercept_.dtype == dtype


def test_a_float32_model_of_float64_data_is_not_made_and_vice_versa():
    with_64 = pegasos_regressor(lam=0.1, random_state=0).fit(X, X[:, 0].astype(np.float32))
    with_32 = pegasos_regressor(lam=0.1, random_state=0).fit(X.astype(np.float32), X[:, 0])
    assert with_64.coef_.dtype == np.float64
    assert with_32.coef_.dtype == np.float32
    assert with_32.predict(X.astype(np.float32)).dtype == np.float32


WIDE = RNG.normal(size=(400, 30))
MANY = RNG.integers(0, 12, 400)
FITS = {
    "pairs": dict(multi_class="ovo", lam=0.01),
    "log loss": dict(loss="log_loss", lam=0.01),
    "crammer singer": dict(multi_class="crammer_singer", lam=0.01, solver="sdca"),
    "rbf": dict(kernel="rbf", lam=1e-3),
    "uncached": dict(kernel="rbf", lam=1e-3, cache_size=0),
}


def scores_of(params):
    return pegasos_classifier(random_state=3, **params).fit(WIDE, MANY).decision_function(WIDE)


@pytest.mark.parametrize("params", FITS.values(), ids=FITS.keys())
def test_the_same_seed_gives_the_same_bits(params):
    np.testing.assert_array_equal(scores_of(params), scores_of(params))


@pytest.mark.parametrize("params", FITS.values(), ids=FITS.keys())
def test_another_number_of_threads_gives_the_same_model_to_rounding(params):
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(scores_of(params))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-7, atol=1e-7)


def test_the_same_bits_in_another_process(capsys):
    script = (
        "import numpy as np; from pegasos import PegasosClassifier; rng = np.random.default_rng(5)\n"
        "X, y = rng.normal(size=(300, 6)), rng.integers(0, 3, 300)\n"
        "model = PegasosClassifier(lam=0.01, solver='pegasos', loss='log_loss', random_state=0).fit(X, y)\n"
        "print(model.coef_.tobytes().hex(), model.dual_gap_.tobytes().hex())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ)
    exec(script, {})
    assert run.stdout == capsys.readouterr().out != ""


def test_rows_without_features_or_of_zeros_only():
    """K(x, x) = 0 in every loss under sdca: the dual variable goes to its bound, nothing is divided by zero."""
    zeros = np.zeros((20, 2))
    for loss, problems in [
        (Loss.HINGE, one_vs_rest(CODES[:20], 2)),
        (Loss.SQUARED_HINGE, one_vs_rest(CODES[:20], 2)),
        (Loss.LOG_LOSS, one_vs_rest(CODES[:20], 2)),
        (Loss.EPSILON_INSENSITIVE, regression(RNG.normal(size=(20, 1)), 0.1)),
    ]:
        for rule in (Rule.PEGASOS, Rule.SDCA):
            found = solve(DenseRows(zeros), problems.with_lam(0.1), rule, Schedule(max_passes=3), loss=loss)
            assert not found.model.any()
            assert found.certificate.gap[0] == pytest.approx(0.0, abs=1e-12) or rule == Rule.PEGASOS
