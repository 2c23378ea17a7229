"""Operations on arrays larger than a thread block, beside NumPy; and what the emulated GPU does not let pass."""

import numpy as np
import pytest
import scipy.sparse as sp

from gpu import REAL, card, needs_any

__all__ = ["card"]
pytestmark = needs_any

RNG = np.random.default_rng(0)
N, D, P = 300, 270, 3


@pytest.fixture(scope="module")
def cuda(card):
    """The backend."""
    from pegasos.backends import cuda

    return cuda


def draws(size):
    """Rows with repetitions."""
    return RNG.integers(0, N, size)


def few_pulls(n_columns, size):
    """Pulls of which most are 0."""
    return np.where(RNG.random((n_columns, size)) < 0.2, RNG.normal(size=(n_columns, size)), 0.0)


@pytest.mark.parametrize("n_columns", [P, 17])
def test_kept_scores_follow_the_rows_that_pull(cuda, n_columns):
    matrix, rows, pulls = RNG.normal(size=(N, N)), draws(600), few_pulls(n_columns, 600)
    before = np.asfortranarray(RNG.normal(size=(N, n_columns)))
    products = cuda.to_device(before)
    cuda.follow(products, cuda.to_device(matrix), cuda.to_device(rows), None, cuda.to_device(pulls))
    np.testing.assert_allclose(cuda.to_host(products), before + matrix[rows].T @ pulls.T, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("constant", [[], [0.5]])
@pytest.mark.parametrize("kind", ["dense", "turned", "csr"])
def test_rows_are_gathered_with_their_constant(cuda, kind, constant):
    from pegasos.backends.cuda.sparse import Densified

    X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.1)
    rows, constant = draws(40), np.array(constant)
    there = (
        Densified(sp.csr_array(X)) if kind == "csr" else cuda.to_device(X if kind == "dense" else np.asfortranarray(X))
    )
    found = cuda.to_host(cuda.gathered(there, cuda.to_device(rows), cuda.to_device(constant)))
    np.testing.assert_array_equal(found, np.hstack([X[rows], np.tile(constant, (40, 1))]))


def test_rows_that_repeat_are_added_each_time(cuda):
    rows, pulls, counts = draws(500) // 3, few_pulls(P, 500), np.zeros((N, P), np.int32)
    target, violations = cuda.to_device(np.zeros((N, P))), cuda.to_device(counts)
    cuda.scatter_rows(target, cuda.to_device(rows), cuda.to_device(pulls))
    cuda.count_violations(violations, cuda.to_device(rows), cuda.to_device(pulls))
    expected = np.zeros((N, P))
    np.add.at(expected, rows, pulls.T)
    np.add.at(counts, rows, (pulls.T != 0).astype(np.int32))
    np.testing.assert_allclose(cuda.to_host(target), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(cuda.to_host(violations), counts)


@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_inner_products_of_a_block_are_read_off_the_matrix(cuda, bias):
    matrix, rows = RNG.normal(size=(N, N)), draws(70)
    values, _ = cuda.gram_of(cuda.to_device(matrix), cuda.to_device(rows), bias)
    np.testing.assert_allclose(cuda.to_host(values), matrix[rows][:, rows] + bias**2, rtol=1e-14)


def test_products_in_tf32_are_off_as_much_as_is_said(cuda):
    from pegasos.backends.cuda.tf32 import tf32

    A, B = (RNG.normal(size=shape).astype(np.float32) for shape in ((64, 512), (512, 48)))
    exact, sizes = A.astype(np.float64) @ B, np.abs(A).astype(np.float64) @ np.abs(B)
    left, right = cuda.to_device(A), cuda.to_device(B)
    with tf32():
        rounded = [cuda.to_host(cuda.product(left, right)), cuda.to_host(left @ right)]
    for found in rounded:
        assert (np.abs(found - exact) <= 2e-3 * sizes).all()
        assert 1e-5 < np.linalg.norm(found - exact) / np.linalg.norm(exact) < 1.5e-3
    assert np.linalg.norm(cuda.to_host(cuda.product(left, right)) - exact) < 1e-6 * np.linalg.norm(exact)


@pytest.mark.skipif(REAL, reason="there is a real GPU")
class TestEmulation:
    """An emulated GPU is no use if it forgives what a real one does not."""

    @staticmethod
    def run(function, n_threads, *arrays):
        """Launch a kernel of one block."""
        from pegasos.backends.cuda.launching import launch

        launch(function, 1, n_threads, *arrays)

    def test_arrays_of_the_host_are_refused(self, cuda):
        import cupy

        array = cupy.asarray(np.ones(3))
        for mixed in (
            lambda: array + np.ones(3),
            lambda: np.ones(3) * array,
            lambda: np.asarray(array),
            lambda: cupy.concatenate([array, np.ones(3)]),
            lambda: array.__setitem__(slice(None), np.ones(3)),
        ):
            with pytest.raises(TypeError):
                mixed()
        assert type(array.sum()) is cupy.ndarray

    def test_a_race_shows(self, cuda):
        from numba import cuda as device

        @device.jit()
        def shift(values):
            r = device.threadIdx.x
            here = device.shared.array(64, values.dtype)
            here[r] = values[r]
            values[r] = here[(r + 1) % 64]  # without a barrier

        before = np.arange(64.0)
        values = cuda.to_device(before)
        self.run(shift, 64, values)
        assert (cuda.to_host(values) != np.roll(before, -1)).any()

    def test_a_barrier_that_some_never_come_to_is_an_error(self, cuda):
        from numba import cuda as device

        @device.jit()
        def some_wait(values):
            if device.threadIdx.x < 32:
                device.syncthreads()

        with pytest.raises(RuntimeError, match="32 of 64 threads wait for ever"):
            self.run(some_wait, 64, cuda.to_device(np.zeros(1)))

    def test_memory_ends(self, cuda):
        import cupy

        with pytest.raises(MemoryError):
            cupy.zeros(2**29, np.uint8)
