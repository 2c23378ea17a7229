"""Elementwise functions that one pass over a matrix in the cache computes faster than NumPy's several."""

import numpy as np

from pegasos.backends.cpu.loops import jit

LOWEST = np.float32(-80.0)  # e to a smaller power would be denormal in float32


@jit(fastmath={"contract", "reassoc"})
def rbf_values(products, x_squares, z_squares, gamma):
    """Turn float32 inner products into exp(-gamma ||x - z||²), in place."""
    twice, once = np.float32(2.0 * gamma), np.float32(gamma)
    for i in range(products.shape[0]):
        own = once * x_squares[i]
        for j in range(products.shape[1]):
            products[i, j] = exp_of_negative(twice * products[i, j] - own - once * z_squares[j])


def exp_of_negative(x):
    """e to a power in [-80, 0] in float32, to 3e-7 of itself: 2^k times a polynomial, which compilers turn into SIMD.

    The polynomial and the two parts of log 2 are those of Cephes' expf.
    """
    x = min(max(x, LOWEST), np.float32(0.0))
    k = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
    rest = x - k * np.float32(0.693359375) - k * np.float32(-2.12194440e-4)
    value = np.float32(1.9875691500e-4)
    value = value * rest + np.float32(1.3981999507e-3)
    value = value * rest + np.float32(8.3334519073e-3)
    value = value * rest + np.float32(4.1665795894e-2)
    value = value * rest + np.float32(1.6666665459e-1)
    value = value * rest + np.float32(5.0000001201e-1)
    value = value * rest * rest + rest + np.float32(1.0)
    power = (np.int32(k) + np.int32(127)) << np.int32(23)  # the bits of 2^k
    return value * np.int32(power).view(np.float32)
