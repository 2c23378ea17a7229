"""Kernels: similarities of rows, computed in tiles, and Nyström features.

Each kernel is a class (`base.Kernel` says what it gives); `KERNELS` has those that go by a name. To add one: write the
class beside its like, in `product` or `distance`, and put it into the tuple below. `gamma`, `degree` and `coef0` are
scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pegasos.kernels.base import Kernel
from pegasos.kernels.distance import LaplacianKernel, RBFKernel, lowest_exponent
from pegasos.kernels.norms import (
    Sizes,
    canonical,
    largest_of,
    rows_of_entries,
    scale_gamma,
    sizes_of,
    spread,
    squared_norms,
)
from pegasos.kernels.other import CallableKernel, PrecomputedKernel
from pegasos.kernels.product import LinearKernel, PolynomialKernel, SigmoidKernel
from pegasos.kernels.tiles import inner_products

_NAMED = (
    LinearKernel,
    RBFKernel,
    PolynomialKernel,
    SigmoidKernel,
    LaplacianKernel,
    PrecomputedKernel,
)
KERNELS: dict[str, type[Kernel]] = {kind.name: kind for kind in _NAMED}


def kernel_class(given: Any) -> type[Kernel]:
    """The class that a value of the estimators' parameter `kernel` stands for; of a function where it is no name."""
    return KERNELS.get(given, CallableKernel) if isinstance(given, str) else CallableKernel


def make_kernel(given: str | Callable, params: dict | None = None, **parameters) -> Kernel:
    """The kernel of a name or a function.

    Parameters
    ----------
    given : str or callable
        As the estimators' parameter `kernel`.
    params : dict, optional
        Keyword arguments for a function.
    **parameters
        Those that the kernel does not use are ignored.
    """
    if callable(given):
        return CallableKernel(given, dict(params or {}))
    kind = KERNELS[given]
    return kind(**{name: value for name, value in parameters.items() if kind.uses(name)})


__all__ = [
    "KERNELS",
    "CallableKernel",
    "Kernel",
    "LaplacianKernel",
    "LinearKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RBFKernel",
    "SigmoidKernel",
    "Sizes",
    "canonical",
    "inner_products",
    "kernel_class",
    "largest_of",
    "lowest_exponent",
    "make_kernel",
    "rows_of_entries",
    "scale_gamma",
    "sizes_of",
    "spread",
    "squared_norms",
]
