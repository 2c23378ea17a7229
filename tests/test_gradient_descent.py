"""Online gradient descent with projection, the baseline of the convergence study."""

import numpy as np
import pytest

import naive
from pegasos.problem.sampling import Stream
from pegasos.studies.convergence import objective_and_gap
from pegasos.textbook.gradient_descent import online_gradient_descent, rate_and_radius
from reference import hinge_optimum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=50) > 0, 1.0, -1.0)
LAM = 0.05


def draws_of(sampling, seed, steps):
    stream = Stream(np.arange(50), sampling, seed)
    return np.concatenate([stream.take(50) for _ in range(steps // 50 + 1)])[:steps]


def written_out(K, y, order, rate, radius):
    """Coefficients of the iterates, from the kernel matrix: w ← Π(w + rate/√t · pull)."""
    a, iterates = np.zeros(len(y)), []
    for t, i in enumerate(order, start=1):
        new = a.copy()
        new[i] += rate / np.sqrt(t) * (y[i] if y[i] * (K[i] @ a) < 1 else 0.0)
        norm = np.sqrt(new @ K @ new)
        a = new * min(1.0, radius / norm) if norm > 0 else new
        iterates.append(a)
    return iterates


@pytest.mark.parametrize("radius", [0.7, 20.0])
@pytest.mark.parametrize("sampling", ["shuffle", "replacement"])
def test_equals_the_textbook_loop(sampling, radius):
    steps, rate, K = 120, 0.9, X @ X.T
    draws = draws_of(sampling, 2, steps)
    found = [(w.copy(), a.copy()) for w, a in online_gradient_descent(X, Y, draws, rate, radius)]
    expected = written_out(K, Y, draws, rate, radius)
    assert len(found) == steps
    optimum = hinge_optimum(K, Y, LAM)
    for (w, a), coefficients in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, coefficients, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(w, X.T @ coefficients, rtol=1e-9, atol=1e-11)
        objective, gap = objective_and_gap(X, Y, LAM, w, a)
        assert objective == pytest.approx(naive.primal(K, Y, np.ones(50), LAM, coefficients), rel=1e-9)
        beta = np.clip(LAM * 50 * Y * coefficients, 0, 1)
        assert objective - gap == pytest.approx(max(0, naive.dual(K, Y, np.ones(50), LAM, beta)), abs=1e-9)
        assert gap >= objective - optimum.objective - 1e-9


def test_by_default_the_ball_holds_the_optimum_and_the_first_step_crosses_it():
    rate, radius = rate_and_radius(X, LAM)
    assert radius == pytest.approx(1 / np.sqrt(LAM))
    assert rate == pytest.approx(1 / np.sqrt(LAM) / np.linalg.norm(X, axis=1).max())
    iterates = np.array(
        [w.copy() for w, _ in online_gradient_descent(X, Y, draws_of("shuffle", 0, 20000), rate, radius)]
    )
    assert (np.linalg.norm(iterates, axis=1) <= radius * (1 + 1e-12)).all()


def test_rows_of_zeros_teach_nothing():
    zeros, y = np.zeros((4, 2)), np.array([-1.0, 1, -1, 1])
    *_, (w, a) = online_gradient_descent(zeros, y, [0, 1, 2, 3] * 2, *rate_and_radius(zeros, 0.1))
    assert not w.any()
    objective, gap = objective_and_gap(zeros, y, 0.1, w, a)
    assert objective == 1.0
    assert gap == pytest.approx(0.0, abs=1e-12), "nothing can be learned: 1 is the optimum"
