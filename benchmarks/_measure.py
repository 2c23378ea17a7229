"""The machine of the measurements, and the rate of its arithmetic."""

import os
import platform
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import _peers
from benchmarks._race import Timed, seconds_of
from benchmarks._threads import fixed, in_use


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sgemm_rate(size: int) -> float:
    """Floating-point operations a second of one product of two square float32 matrices."""
    rng = np.random.default_rng(0)
    A, B = (rng.random((size, size), dtype=np.float32) for _ in range(2))
    out = np.empty_like(A)
    return 2 * size**3 / seconds_of(lambda: np.matmul(A, B, out=out))[0]


def arithmetic(operations: float, size: int, extra=None) -> Timed:
    """The seconds of so many operations at the rate of a large product, measured now, and those of the job `extra`."""
    rate = sgemm_rate(size)
    return Timed((seconds_of(extra)[0] if extra else 0.0) + operations / rate, rate)


def gflops(rate: float) -> dict:
    """Facts of `arithmetic`: the rate."""
    return {"gflops": rate / 1e9}


def machine(threads: int, quick: bool) -> dict:
    """The machine, and the numbers of threads."""
    size = 512 if quick else 4096
    with fixed(threads):
        rates = [sgemm_rate(size) / 1e9 for _ in range(3)]
        pools = in_use()
    return {
        "processor": processor(),
        "cores": cores(),
        "threads": {"asked": threads, **pools},
        "sgemm_gflops": median(rates),
        "sgemm_gflops_all": rates,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": _peers.versions(),
    }


def same_machine(host: dict, threads: int) -> bool:
    """Whether figures of that machine can be compared with those of this one."""
    return (host["processor"], host["cores"], host["threads"]["asked"]) == (processor(), cores(), threads)


def processor() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
