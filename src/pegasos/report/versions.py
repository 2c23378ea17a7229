"""The packages and the time that a result was made with."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("pegasos", "numpy", "scipy", "scikit-learn", "numba")
OTHERS = (
    "llvmlite", "safetensors", "joblib", "threadpoolctl", "psutil", "platformdirs", "typer", "rich",
    "matplotlib", "jinja2", "h5py", "pyarrow", "pandas", "dask", "distributed", "onnx", "skl2onnx", "onnxruntime",
    "cupy-cuda12x", "cupy-cuda13x", "numba-cuda",
)  # fmt: skip
MISSING = "not installed"


def versions() -> dict[str, str]:
    """Versions of Python and the packages that compute, the platform and the number of processors."""
    found = {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}
    found["platform"] = platform.platform()
    found["CPUs"] = str(os.cpu_count() or "unknown")
    return found


def environment() -> dict[str, str]:
    """All that a report of a fault should say: versions of what is used, threads, memory, caches and settings."""
    from threadpoolctl import threadpool_info

    from pegasos.backends.compiled import interpreted
    from pegasos.utils.memory import available_memory

    found = versions() | {"executable": sys.executable}
    found |= {name: _version(name) for name in OTHERS if _version(name) != MISSING}
    for pool in threadpool_info():
        found[f"threads of {pool['prefix']}"] = f"{pool['num_threads']} ({pool['internal_api']} {pool['version']})"
    found["memory available"] = f"{available_memory() / 1e9:.1f} GB"
    found["loops"] = "interpreted" if interpreted() else "compiled"
    settings = ("NUMBA_CACHE_DIR", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PEGASOS_DATA")
    return found | {name: os.environ[name] for name in settings if name in os.environ}


def show_versions() -> None:
    """Print the versions of Python and of all packages that are used, the threads, and the memory that is available.

    For reports of faults; `pegasos info --versions` prints the same.

    Examples
    --------
    >>> import pegasos
    >>> pegasos.show_versions()  # doctest: +ELLIPSIS
    python: ...
    pegasos: ...
    """
    for name, value in environment().items():
        print(f"{name}: {value}")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return MISSING


def now() -> str:
    """The date and time in UTC, or SOURCE_DATE_EPOCH if it is set, for reproducible files."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
