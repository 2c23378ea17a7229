"""What the documents prove holds on runs: sequential averages, norms, online bounds, and the maximum margin."""

import numpy as np
import pytest

from pegasos import textbook
from pegasos.studies.theorems import MARGIN_LAMS, hinge, margins, separable, sequential_averages, sequential_risk

RNG = np.random.default_rng(5)
N, LAM, STEPS = 80, 0.02, 600
X = np.column_stack([RNG.normal(size=(N, 3)), np.ones(N)])
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)


@pytest.mark.parametrize("k", [1, 7, N])
def test_sequential_averages_stay_below_lemma_2_1_and_equation_6_for_every_u(k):
    rng = np.random.default_rng(k)
    draws = np.array([rng.choice(N, k, replace=False) for _ in range(STEPS)])
    others = {f"u {n}": rng.normal(size=4) * scale for n, scale in enumerate([0.0, 0.3, 1.0, 5.0])}
    path = sequential_averages(X, Y, LAM, draws, others)
    for name in others:
        assert (path["w"] <= path[name] + path["slack"] + 1e-12).all()
        assert (path["w"] <= path[name] + path["by R"] + 1e-12).all()
    assert (path["slack"] <= path["by R"] + 1e-12).all(), "no gradient is longer than 2R"


def test_sequential_averages_are_what_they_say():
    draws = RNG.integers(N, size=(50, 3))
    path = sequential_averages(X, Y, LAM, draws, {"u": np.ones(4)})
    met = [LAM / 2 * w @ w + hinge(X[rows], Y[rows], w).mean()
           for rows, w in zip(draws, textbook.pegasos(X, Y, LAM, draws))]  # fmt: skip
    np.testing.assert_allclose(path["w"], np.cumsum(met) / np.arange(1, 51), rtol=1e-12)


def test_iterates_are_no_longer_than_R_over_lam():
    R = np.linalg.norm(X, axis=1).max()
    norms = [np.linalg.norm(w) for w in textbook.pegasos(X, Y, LAM, RNG.integers(N, size=STEPS))]
    assert max(norms) <= R / LAM * (1 + 1e-12)


def test_the_sequential_risk_of_online_gradient_descent_is_bounded():
    radius = 2.0
    draws = RNG.integers(N, size=STEPS)
    for _ in range(20):
        u = RNG.normal(size=4)
        u *= radius * RNG.random() / np.linalg.norm(u)
        path = sequential_risk(X, Y, draws, radius, u)
        assert (path["OGD"] <= path["u"] + path["slack"]).all()


def test_the_strongly_convex_bound_holds_with_one_plus_the_logarithm_and_fails_as_printed():
    """One row with ‖x‖² = λ: the regret of the first step is 1/2, as large as the bound that the proof gives."""
    x, y, lam = np.array([[np.sqrt(0.5)]]), np.array([1.0]), 0.5
    best = np.array([1 / x[0, 0]])  # its margin is 1, and its objective λ/2·‖x‖⁻² = 1/2
    path = sequential_averages(x, y, lam, [[0]], {"u": best})
    regret, gradient = path["w"][0] - path["u"][0], path["G"][0]
    assert regret == pytest.approx(0.5)
    assert regret <= gradient**2 * (1 + np.log(1)) / (2 * lam) + 1e-12
    assert regret > gradient**2 * np.log(2) / (2 * lam) + 0.1, "ln(T + 1) is too small"


@pytest.mark.parametrize("seed", [0, 1])
def test_the_largest_margin_is_one_over_the_length_of_the_shortest_separator(seed):
    X, y = separable(seed)
    found = margins(X, y, MARGIN_LAMS[-3:])
    np.testing.assert_allclose(found["margin"], found["best"], rtol=1e-4)
    np.testing.assert_allclose(found["inverse"], found["best"], rtol=1e-4)
    np.testing.assert_allclose(found["angle"], 1.0, atol=1e-6)  # u* = γ* w*
    angles = np.linspace(0, 2 * np.pi, 20_000)
    every = (y * (np.column_stack([np.cos(angles), np.sin(angles)]) @ X.T)).min(axis=1)
    assert every.max() == pytest.approx(found["best"], rel=1e-3), "no direction has a larger margin"
