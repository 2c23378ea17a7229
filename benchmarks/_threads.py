"""The same number of threads for all: BLAS, OpenMP, Numba, and peers with their own pools."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import scipy.linalg  # noqa: F401  (its BLAS has to be there when the limits are set)
import sklearn.svm  # noqa: F401  (and scikit-learn's OpenMP)
from threadpoolctl import threadpool_info, threadpool_limits

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@contextmanager
def fixed(threads: int) -> Iterator[None]:
    """Let every library that is loaded use so many threads in here. Ours follow BLAS."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    if "daal4py" in sys.modules:
        sys.modules["daal4py"].daalinit(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        numba.set_num_threads(before)


def in_use() -> dict[str, int]:
    """Threads of each kind of pool that is loaded now."""
    found = {"Numba": numba.get_num_threads()}
    for pool in threadpool_info():
        name = {"blas": "BLAS", "openmp": "OpenMP"}.get(pool["user_api"], pool["user_api"])
        found[name] = max(found.get(name, 0), pool["num_threads"])
    if "daal4py" in sys.modules:
        found["oneDAL"] = sys.modules["daal4py"].num_threads()
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_num_threads()
    return found


def environment(threads: int, **more: str) -> dict[str, str]:
    """The variables of a fresh process that is to use so many threads; modules stay compiled, as pip leaves them."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {name: str(threads) for name in VARIABLES} | more
