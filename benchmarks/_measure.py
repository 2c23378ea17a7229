"""Measuring, and showing what was measured: shared by the benchmarks."""

import gc
import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info


def seconds_of(job: Callable[[], object]) -> float:
    """Wall-clock seconds of a call."""
    gc.collect()
    start = perf_counter()
    job()
    return perf_counter() - start


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sgemm_rate(size: int) -> float:
    """Floating-point operations a second of one product of two square float32 matrices."""
    rng = np.random.default_rng(0)
    A, B = (rng.random((size, size), dtype=np.float32) for _ in range(2))
    out = np.empty_like(A)
    return 2 * size**3 / seconds_of(lambda: np.matmul(A, B, out=out))


def machine(rates: list[float]) -> dict:
    """What was measured on, with the rates of `sgemm_rate`."""
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "processor": processor(),
        "cores": cores(),
        "blas": sorted({pool["internal_api"] for pool in blas}),
        "blas_threads": max((pool["num_threads"] for pool in blas), default=None),
        "sgemm_gflops": median(rates) / 1e9,
        "sgemm_gflops_all": [rate / 1e9 for rate in rates],
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scikit-learn", "numba")},
    }


def processor() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def row(what: str, ours: list[float], peer: list[float], *, note: str = "", **judged) -> dict:
    """One line of the table. `judged` may hold ratio, target (text) and met (bool)."""
    empty = {"ratio": None, "target": None, "met": None}
    return {"what": what, "ours": ours, "peer": peer, "note": note, **empty, **judged}


def render(title: str, results: dict) -> None:
    """Show the rows as a table, and the machine below it."""

    def time(values: list[float]) -> str:
        return f"{median(values):.3f} s\n[dim]{min(values):.3f}–{max(values):.3f}[/dim]"

    host = results["machine"]
    table = Table(title=title + (" (quick trial: not judged)" if results["quick"] else ""), show_lines=True)
    for name in ("what", "ours\n(min–max)", "peer or limit\n(min–max)", "ratio", "target", "met", "note"):
        table.add_column(name, justify="right" if "min" in name or name == "ratio" else "left")
    for line in results["rows"]:
        ratio = "–" if line["ratio"] is None else f"{line['ratio']:.2f}"
        met = {None: "–", True: "yes", False: "NO"}[line["met"]]
        table.add_row(
            line["what"], time(line["ours"]), time(line["peer"]), ratio, line["target"] or "–", met, line["note"]
        )
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    console.print(
        f"{host['processor']}, {host['cores']} cores, {host['blas_threads']} threads of {' '.join(host['blas'])}, "
        f"sgemm {host['sgemm_gflops']:.0f} GFLOP/s "
        f"({min(host['sgemm_gflops_all']):.0f}–{max(host['sgemm_gflops_all']):.0f}), Python {host['python']}, "
        f"numpy {host['numpy']}, scikit-learn {host['scikit-learn']}, numba {host['numba']}; "
        f"medians of {results['repeats']} repeats unless noted.",
        highlight=False,
    )


def write(path: Path, results: dict) -> None:
    """Every measurement as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
