"""The GPU: whether there is one, its name, and its highest rates of copies and products."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np

from benchmarks._measure import sgemm_rate
from benchmarks._race import reason_of, seconds_of

SIDE = 8192  # of the product's matrices
COPIED, UPLOADED = 2**32, 2**30  # bytes
REPEATS, WARM_UPS = 10, 3
EXACT = 1e-5  # relative error of a product in float32; TF32 has about 3e-4


class DeviceMissing(Exception):
    """There is no GPU or no driver for it; the message says which."""


@dataclass(frozen=True)
class Ceilings:
    """The highest rates of a device, each a second."""

    product: float  # operations of a large product in float32
    copy: float  # bytes read plus written in a copy within the device's memory
    bus: float  # bytes that come from pinned memory of the host
    pageable: float  # bytes that come from ordinary memory of the host, where the rows of a user are


def missing() -> str | None:
    """Why there is no GPU to measure, or None."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed (pip install 'pegasos[cuda]')"
    except Exception as error:  # a wheel may not fit the libraries of the system
        return f"CuPy cannot be imported ({reason_of(error)})"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # no driver, or one that is too old
        return f"CuPy finds no GPU ({reason_of(error)})"
    return None if count else "CuPy finds no GPU"


def card() -> dict[str, str]:
    """The GPU's name and memory, and the versions of its driver and libraries."""
    import cupy

    runtime = cupy.cuda.runtime
    found = runtime.getDeviceProperties(cupy.cuda.Device().id)
    return {
        "name": found["name"].decode(),
        "memory": f"{found['totalGlobalMem'] / 2**30:.0f} GiB",
        "driver": _driver() or f"for CUDA {_version(runtime.driverGetVersion())}",
        "cuda": _version(runtime.runtimeGetVersion()),
        "cupy": cupy.__version__,
    }


def of_card(quick: bool) -> Ceilings:
    """Measure the GPU; a quick trial uses sizes too small to be meaningful."""
    side, copied, uploaded = (512, 2**26, 2**24) if quick else (SIDE, COPIED, UPLOADED)
    found = Ceilings(_product_rate(side), _copy_rate(copied), *_upload_rates(uploaded))
    release()
    return found


def of_host(size: int = 512) -> Ceilings:
    """The rates of the processor, for trials without a GPU; it has no bus."""
    source = np.ones(2**24, np.uint8)
    target = np.empty_like(source)
    rate = 2 * source.nbytes / seconds_of(lambda: np.copyto(target, source))[0]
    return Ceilings(sgemm_rate(size), rate, float("inf"), float("inf"))


def described(ceilings: Ceilings) -> str:
    """The ceilings as text."""
    rates = {name: rate / 1e9 for name, rate in asdict(ceilings).items()}
    upload = f", host to device {rates['bus']:.3g} GB/s pinned and {rates['pageable']:.3g} GB/s from ordinary memory"
    return (
        f"Ceilings, measured in this run: fp32 product {rates['product'] / 1e3:.3g} TFLOP/s, copy on the device "
        f"{rates['copy'] / 1e3:.3g} TB/s read plus written{upload if np.isfinite(ceilings.bus) else ''}."
    )


def wait() -> None:
    """Wait until the GPU has finished."""
    import cupy

    cupy.cuda.Device().synchronize()


def release() -> None:
    """Free the memory that CuPy keeps for reuse, since tasks differ in what they need."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


def _product_rate(side: int) -> float:
    """Operations a second of a product of square random matrices, which is checked to have the precision of float32."""
    import cupy

    rng = np.random.default_rng(0)
    A, B = (cupy.asarray(rng.random((side, side), dtype=np.float32) - np.float32(0.5)) for _ in range(2))
    out = cupy.empty_like(A)
    seconds = _on_card(lambda: cupy.matmul(A, B, out=out))
    few = A[:64].astype(cupy.float64) @ B.astype(cupy.float64)
    error = float(cupy.linalg.norm(out[:64] - few) / cupy.linalg.norm(few))
    if not error < EXACT:
        raise RuntimeError(f"a product of float32 matrices has a relative error of {error:.2g}; is CUPY_TF32 set?")
    return 2 * side**3 / seconds


def _copy_rate(size: int) -> float:
    """Bytes read plus written a second."""
    import cupy

    source, target = (cupy.ones(size, cupy.uint8) for _ in range(2))
    return 2 * size / _on_card(lambda: cupy.copyto(target, source))


def _upload_rates(size: int) -> tuple[float, float]:
    """Bytes a second from pinned and from ordinary memory of the host."""
    import cupy
    import cupyx

    target = cupy.empty(size, cupy.uint8)
    pinned, ordinary = cupyx.empty_pinned(size, np.uint8), np.ones(size, np.uint8)
    pinned[:] = ordinary
    return size / _on_card(lambda: target.set(pinned)), size / _on_card(lambda: target.set(ordinary))


def _on_card(job: Callable[[], object]) -> float:
    """Seconds of a job between two events of the GPU, the median of several."""
    import cupy

    for _ in range(WARM_UPS):
        job()
    times = []
    for _ in range(REPEATS):
        first, last = cupy.cuda.Event(), cupy.cuda.Event()
        first.record()
        job()
        last.record()
        last.synchronize()
        times.append(cupy.cuda.get_elapsed_time(first, last) / 1e3)
    return median(times)


def _driver() -> str | None:
    """The version of the driver, which CUDA does not report."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    words = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = done.stdout.split()
    return lines[0] if done.returncode == 0 and lines else None


def _version(number: int) -> str:
    """CUDA writes 13.0 as 13000."""
    return f"{number // 1000}.{number % 1000 // 10}"
