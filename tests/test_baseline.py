"""Online gradient descent with projection, the baseline of the convergence study (A16)."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from pegasos.kernels import make_kernel
from pegasos.problem.columns import one_vs_rest
from pegasos.problem.sampling import Stream
from pegasos.problem.schedule import Schedule
from pegasos.rows import DenseRows, KernelRows, KernelStorage, SparseRows
from pegasos.rules.column import Rule
from reference import hinge_optimum
from solving import solve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
CODES = (X[:, 0] + 0.5 * RNG.normal(size=50) > 0).astype(int)
Y = np.where(CODES == 1, 1.0, -1.0)
RBF = make_kernel("rbf", gamma=0.5)
ROWS = {
    "dense": DenseRows(X),
    "dense blocks": DenseRows(np.asfortranarray(X)),
    "csr": SparseRows(sp.csr_array(X)),
    "rbf": KernelRows(X, RBF),
    "rbf uncached": KernelRows(X, RBF, storage=KernelStorage(cache_bytes=0)),
}
LAM = 0.05


def order_of(sampling, seed, steps):
    stream = Stream(np.arange(50), sampling, seed)
    return np.concatenate([stream.take(50) for _ in range(steps // 50 + 1)])


@pytest.mark.parametrize("radius", [0.7, 20.0])
@pytest.mark.parametrize("average", [False, "uniform", "weighted", "suffix"])
@pytest.mark.parametrize("sampling", ["shuffle", "replacement"])
@pytest.mark.parametrize("kind", ROWS)
def test_equals_the_textbook_loop(kind, sampling, average, radius):
    steps, rate = 120, 0.9
    schedule = Schedule(
        sampling=sampling, seed=2, max_steps=steps, max_passes=np.inf, average=average, rate=rate, radius=radius
    )
    rows = ROWS[kind]
    found = solve(rows, one_vs_rest(CODES, 2).with_lam(LAM), Rule.OGD, schedule)
    K = RBF(X, X) if rows.dual else X @ X.T
    iterates = naive.online_gradient_descent(K, Y, order_of(sampling, 2, steps), steps, rate, radius)
    a = naive.average_of(iterates, average)
    np.testing.assert_allclose(found.model[:, 0], a if rows.dual else X.T @ a, rtol=1e-9, atol=1e-11)
    objective = naive.primal(K, Y, np.ones(50), LAM, a)
    assert found.certificate.objective[0] == pytest.approx(objective, rel=1e-9)
    optimum = hinge_optimum(K, Y, LAM)
    assert found.certificate.gap[0] >= objective - optimum.objective - 1e-9


def test_by_default_the_ball_holds_the_optimum_and_the_first_step_crosses_it():
    found = solve(
        DenseRows(X), one_vs_rest(CODES, 2).with_lam(LAM), Rule.OGD, Schedule(max_passes=400, average="uniform")
    )
    assert found.state.columns["radius"][0] == pytest.approx(1 / np.sqrt(LAM))
    assert found.state.columns["rate"][0] == pytest.approx(1 / np.sqrt(LAM) / np.linalg.norm(X, axis=1).max())
    assert np.linalg.norm(found.model) <= 1 / np.sqrt(LAM) + 1e-9


def test_batches_average_their_pulls():
    """A batch of all rows is the gradient of the mean loss."""
    schedule = Schedule(batch=None, max_steps=3, max_passes=np.inf, rate=0.5, radius=100.0)
    found = solve(DenseRows(X), one_vs_rest(CODES, 2).with_lam(LAM), Rule.OGD, schedule)
    w = np.zeros(3)
    for t in (1, 2, 3):
        w = w + 0.5 / np.sqrt(t) * np.mean((Y * (X @ w) < 1)[:, None] * Y[:, None] * X, axis=0)
    np.testing.assert_allclose(found.model[:, 0], w, rtol=1e-12)
