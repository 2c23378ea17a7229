"""Where a fit runs, and rows that live on a GPU: arrays of CuPy and CUDA tensors of torch in, the same kind out.

What a fit leaves on an estimator is NumPy's wherever it ran, so that a model can be saved, sent and used anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from pegasos.estimators import inputs
from pegasos.estimators.solving import solved_on_cpu
from pegasos.utils.arrays import DeviceMissing, on_gpu, to_device_of, to_host
from pegasos.utils.sparse import sound

WORTH_A_GPU = 4e11  # multiplications: two cores take as long as a GPU to wake up, three seconds in a fresh process
PASSES_TO_TOL = 16  # of a fit that ends at a gap: kernels took 8 to 16 on a card, of which up to 1000 are allowed
FREE_SHARE = 0.6  # of the GPU's free memory: what `cache_size` is by default
ROWS_AT_ONCE = 8192  # of a prediction
SMALLEST_SHARE = 1e-4  # of the memory with which a fit is tried


class NumPyOut(NamedTuple):
    """Rows whose predictions are wanted as arrays of NumPy, wherever the rows are."""

    rows: Any


@cache
def missing() -> str | None:
    """What this machine lacks for device="cuda", in a sentence; None: nothing."""
    for module, package in (("cupy", "CuPy"), ("numba_cuda", "numba-cuda")):
        if find_spec(module) is None:
            return f"{package} is not installed; pip install 'pegasos[cuda]' brings it."
    try:
        import cupy
    except ImportError as error:  # a wheel may not fit the libraries of the system
        return f"CuPy cannot be imported: {error}."
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy finds no GPU it can use: {error}."
    return None if found else "CuPy finds no GPU."


def check_available(device: str) -> None:
    """Raise where the device asked for is not there."""
    if device.startswith("cuda") and missing() is not None:
        raise DeviceMissing(f"device={device!r} cannot be used here: {missing()}")


def received(X):
    """Rows or targets as we work with them: a tensor of torch as the array that shares its memory, CSR on the host.

    Raises ValueError for sparse rows whose parts do not fit together.
    """
    library = _library_of(X)
    if library == "cupyx" and hasattr(X, "indptr"):
        return sound(X.get())
    if library != "torch":
        return sound(X)
    X = X.detach()
    if X.device.type != "cuda" or missing() is not None:
        return X.cpu().numpy()
    import cupy

    return cupy.asarray(X)


def on_host(values):
    """Targets, weights or labels on the host; lists and frames as they are."""
    return to_host(received(values))


def like(result: np.ndarray, X) -> Any:
    """A result of the kind of the rows X it belongs to; labels that no GPU knows stay NumPy's."""
    if result.dtype.kind not in "biuf":
        return result
    if on_gpu(X):
        return to_device_of(result, X)
    if _library_of(X) == "torch" and X.device.type == "cuda":
        import torch

        return torch.as_tensor(result, device=X.device)
    return result


def same_kind_out(method):
    """Let a prediction, which `method` gives as an array of NumPy, be of the kind of the rows."""

    @wraps(method)
    def given_back(estimator, X):
        rows = X.rows if isinstance(X, NumPyOut) else X
        with _device_of(rows), np.errstate(under="ignore"):  # what is too small for a float is 0
            found = method(estimator, rows)
            return found if isinstance(X, NumPyOut) else like(found, X)

    return given_back


def where_rows_are(method):
    """Let a method that is given rows run on their GPU, where there are several."""

    @wraps(method)
    def there(estimator, X, *args, **kwargs):
        with _device_of(X):
            return method(estimator, X, *args, **kwargs)

    return there


def _library_of(X) -> str:
    """The library whose kind of array it is."""
    return type(X).__module__.partition(".")[0]


def _device_of(X) -> AbstractContextManager:
    """The GPU of the rows as the current one."""
    if on_gpu(X):
        return X.device
    if _library_of(X) == "torch" and X.device.type == "cuda" and missing() is None:
        import cupy

        return cupy.cuda.Device(X.device.index)
    return nullcontext()


def for_score(X, y, sample_weight):
    """What scikit-learn's `score` can be given: targets on the host, and rows whose predictions will be."""
    elsewhere = received(X) is not X or on_gpu(X)
    return NumPyOut(X) if elsewhere else X, on_host(y), on_host(sample_weight)


def checked(estimator, X, y: np.ndarray, *, reset: bool, **how):
    """Rows and targets as `fit` takes them, wherever the rows are, and sizes of the rows that were seen on the way.

    `how` is how scikit-learn checks the targets.
    """
    X = received(X)
    if on_gpu(X):
        X = checked_rows(estimator, X, reset=reset)
        y = validate_data(estimator, y=y, reset=False, **how)
        check_consistent_length(X, y)
        return X, y, None
    later = estimator.device.startswith("cuda") and isinstance(X, np.ndarray)  # looked at on the GPU, which is faster
    return inputs.checked(estimator, X, y, reset=reset, look=not later, **how)


def checked_rows(estimator, X, *, reset: bool):
    """Rows on the GPU as `fit` takes them, with scikit-learn's errors for what it does not take."""
    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape X to (n_samples, n_features).")
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    for count, what in zip(X.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={X.shape}) while {name} requires a minimum of 1.")
    _check_finite(X, name)
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def _check_finite(X, name: str) -> None:
    import cupy

    if not cupy.isfinite(X).all():
        kind = "NaN" if cupy.isnan(X).any() else f"infinity or a value too large for {X.dtype!r}"
        raise ValueError(f"Input X contains {kind}.\n{name} does not accept missing values or infinities.")


def wants_gpu(estimator, X, multiplications: float = 0.0) -> bool:
    """Whether to work on a GPU: asked for, or where the rows are, or where the work is large enough to win there."""
    if estimator.device.startswith("cuda"):
        return True
    if estimator.device == "cpu" or estimator.n_landmarks is not None or solved_on_cpu(estimator):
        return False
    # A function of the user is made for the rows that the user has, and CSR rows would become dense.
    suits = on_gpu(X) or not (callable(estimator.kernel) or hasattr(X, "indptr"))
    return suits and (on_gpu(X) or multiplications > WORTH_A_GPU) and missing() is None


def asked_for(estimator, X) -> bool:
    """Whether a GPU was asked for, by name or by where the rows are; where it was not, the CPU will do as well."""
    return estimator.device != "auto" or on_gpu(X)


def place_of(estimator, X, multiplications: float) -> tuple[bool, ...]:
    """What `placed` rows, and products of them, depend on."""
    gpu = wants_gpu(estimator, X, multiplications)
    densified = hasattr(X, "indptr") and estimator.kernel == "linear"
    return gpu, gpu and densified, gpu and estimator.device == "cuda:tf32"


def placed(estimator, X, multiplications: float = 0.0):
    """The rows where the work is to be done."""
    if not wants_gpu(estimator, X, multiplications):
        return to_host(X)
    if on_gpu(X):
        return X
    try:
        return _uploaded(estimator, X)
    except MemoryError:
        if asked_for(estimator, X):
            raise
    free()
    return X


def _uploaded(estimator, X):
    """The rows on the GPU; CSR rows of a linear model become dense there block by block."""
    import cupy

    from pegasos.backends.cuda.sparse import Densified

    if not hasattr(X, "indptr"):
        there = cupy.asarray(X, order="C")  # rows are gathered
        _check_finite(there, type(estimator).__name__)
        return there
    if estimator.kernel == "linear":
        return Densified(X)
    n_bytes, room = float(X.shape[0]) * X.shape[1] * X.dtype.itemsize, FREE_SHARE * free_bytes()
    if n_bytes > room:
        raise ValueError(
            f"A kernel needs the CSR rows as dense ones on the GPU, {n_bytes / 1e9:.1f} GB, and there is room for "
            f"{room / 1e9:.1f} GB; use device='cpu'."
        )
    return cupy.asarray(X.toarray())


def backend_of(X) -> dict[str, Any]:
    """The backend for the device of the rows, as a keyword argument."""
    if not on_gpu(X):
        return {}
    from pegasos.backends import cuda

    return {"backend": cuda}


def multiplications(estimator, X, problems, schedule) -> float:
    """About how many a fit takes."""
    columns_per_row = problems.n_rows.sum() / max(1, X.shape[0])
    return multiplications_of(estimator, X, schedule.draws(X.shape[0]), columns_per_row, schedule.tol)


def multiplications_of(estimator, X, draws: float, columns_per_row: float, tol: float | None = None) -> float:
    """The same by the draws, and the columns that a row belongs to; of kernels' draws about a tenth pull.

    A fit that ends at a gap takes a part of the draws it may take.
    """
    n_rows, n_features = X.shape
    if tol is not None:
        draws = min(draws, PASSES_TO_TOL * float(n_rows))
    if estimator.kernel == "linear":
        return float(draws) * columns_per_row * n_features
    return float(n_rows) ** 2 * n_features / 2 + 0.1 * float(draws) * columns_per_row * n_rows


def with_less_memory(work, there, otherwise=None):
    """``work(rows, share)`` on the rows `there` with all of the memory; where a GPU has not enough, with ever less.

    At last the rows `otherwise` serve, of the host, where there are such.
    """
    share = 1.0
    while True:
        try:
            return work(there, share)
        except MemoryError:
            share /= 4
            if not on_gpu(there) or (share < SMALLEST_SHARE and otherwise is None):
                raise
        if share < SMALLEST_SHARE:
            there, share = otherwise, 1.0
        free()  # here: the error no longer holds on to arrays


def in_parts(work, n_items: int, at_once: int) -> None:
    """``work(slice)`` over ``range(n_items)``, so many at once; fewer where a GPU has not enough memory for it."""
    first = 0
    while first < n_items:
        try:
            work(slice(first, min(first + at_once, n_items)))
            first += at_once
            continue
        except MemoryError:
            if at_once == 1:
                raise
            at_once = -(-at_once // 2)
        free()


def free() -> None:
    """Give back what the pool of the GPU's memory holds and nobody uses."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


@contextmanager
def precision(device: str) -> Iterator[None]:
    """Let products of float32 on the GPU round their factors to TF32 in here if the device says so."""
    if device != "cuda:tf32":
        yield
        return
    from pegasos.backends.cuda.tf32 import tf32

    with tf32():
        yield


def free_bytes() -> float:
    """Memory of the GPU that nobody uses."""
    import cupy

    return float(cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes())
