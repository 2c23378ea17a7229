"""Kernels that fits launch on an emulated GPU are compiled by numba-cuda, for a card that need not be there."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from gpu import COMPILER, REAL, emulated
from textbook import pegasos_classifier, pegasos_regressor

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed, which compiles kernels")
pytestmark = [
    pytest.mark.skipif(REAL, reason="there is a GPU: other tests compile and run all kernels"),
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler to emulate a GPU"),
]

HOPPER = (9, 0)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(24, 3)), np.arange(24) % 3
KERNEL = dict(kernel="rbf", gamma=0.5)
SETTINGS = [
    dict(),
    dict(solver="sdca", average=False),
    dict(loss="log_loss", solver="sdca"),
    dict(loss="squared_hinge", tol=0.5),
    dict(multi_class="crammer_singer"),
    dict(batch_size=4, project=True),
    dict(batch_size="all", max_steps=2),
    KERNEL,
    KERNEL | dict(solver="sdca", average="suffix", cache_size=0),
    KERNEL | dict(batch_size="all", max_steps=2, loss="squared_hinge"),
    KERNEL | dict(kernel="laplacian", sampling="replacement"),
]


def launched():
    """What fits of the settings compile: kernels, as the names and arguments to find them by, and types."""
    import emulated_cuda

    before = len(emulated_cuda._compiled)
    with emulated():
        for settings, dtype in [(settings, dtype) for settings in SETTINGS for dtype in (np.float32, np.float64)]:
            pegasos_classifier(**{"max_iter": 1, "random_state": 0} | settings, device="cuda").fit(X.astype(dtype), Y)
        pegasos_regressor(max_iter=1, random_state=0, solver="sdca", device="cuda").fit(X, X[:, 0])
    found = {}
    for function, signature in emulated_cuda._compiled[before:]:
        constants = getattr(function, "constants", None)  # of a kernel that is made for them
        family = function.__name__ if constants is None else function.__name__.rpartition("_")[0]
        name = f"{function.__module__.rpartition('.')[2]}.{family}"
        found[name, function.__name__, signature] = function.__module__, family, constants, signature
    return list(found.values())


def test_every_kernel_compiles_for_a_card(monkeypatch):
    kernels = launched()
    assert {f"{module.rpartition('.')[2]}.{name}" for module, name, *_ in kernels} >= {
        "steps.single_steps", "steps.group_steps", "batches.batch_pulls", "batches.batch_account",
        "batches.close_columns", "batches.scatter_rows", "gathering.gather", "gathering.add_rows",
        "scoring.add_losses", "scoring.dual_terms", "values._manhattan",
    }  # fmt: skip
    from numba import cuda, types
    from numba.cuda import dispatcher

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=HOPPER))
    with emulated(compiled=True):
        for module, name, constants, signature in kernels:
            kernel = getattr(import_module(module), name)
            if constants is not None:
                kernel = kernel(**constants)
            code, _ = cuda.compile(
                kernel.py_func, types.void(*signature), cc=HOPPER, output="ptx", device=False, abi="numba"
            )
            assert b".target sm_90" in (code if isinstance(code, bytes) else code.encode()), name
