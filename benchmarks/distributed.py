"""Fits on a Dask cluster of two processes: rounds to a certified gap, the objective reached, and what a round costs.

Rows are cut into 2, 4, 8 and 16 partitions; each worker has one local solver over all of its own. How rounds grow with
the number of local solvers is measured with so many workers in one process. The cost of a round is modelled as
``a + bytes / bandwidth + rows / rate``, each constant measured apart: a by rounds with next to no rows, the bandwidth
by rounds with a wide model, the rate by the local solver alone on an eighth of the rows. The model is then compared
with rounds as they were.
"""

import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks import _data
from benchmarks._options import Options
from benchmarks._race import Record
from benchmarks._rows import Bar, What, alone
from pegasos import PegasosClassifier

TITLE = "Distributed: rounds to a certified gap of 0.002, and what a round costs"
BY_DEFAULT = True

LAM, TOL = 1e-4, 2e-3
PARTITIONS, SOLVERS = (2, 4, 8, 16), (2, 4, 8, 16)
SHOWN = 4  # partitions whose rows the README shows
OBJECTIVE = Bar(most=1.01, unit="× the optimum")
WIDE = 1_000_000  # features of the model by which bandwidth is measured
WORKERS = 2


@dataclass(frozen=True)
class Costs:
    """The constants of a round: seconds of nothing, bytes a second, and seconds of a row by its data set."""

    empty: float
    bandwidth: float
    each: dict[str, float]

    def seconds(self, n_bytes: float, rows: float, name: str) -> float:
        """What a round should take, with so many rows on each worker."""
        return self.empty + n_bytes / self.bandwidth + rows * self.each[name]


def run(options: Options) -> dict:
    """Rows for each data set and number of partitions, then for local solvers, then the model of costs."""
    tasks = [_data.digits(binary=True)] if options.quick else [_data.rcv1(), _data.covtype()]
    solvers = SOLVERS[:1] if options.quick else SOLVERS
    best = {task.name: _optimum(task) for task in tasks}
    rows: list[dict] = []
    with cluster(WORKERS) as client:
        fits = {(task.name, n): _fitted(task, n, client, options) for task in tasks for n in PARTITIONS}
        costs = _costs(tasks, client, options)
    for task in tasks:
        for n in PARTITIONS:
            rows.append(_row(task, fits[task.name, n], best[task.name], f"{n} partitions", detail=n != SHOWN))
    for n in solvers:
        with cluster(n, processes=False) as client:
            for task in tasks:
                fit = _fitted(task, n, client, options)
                rows.append(_row(task, fit, best[task.name], f"{n} local solvers, one process", detail=True))
    rows += [_compared(task, fits[task.name, SHOWN], costs) for task in tasks]
    notes = [
        f"Rounds to the gap at {', '.join(map(str, PARTITIONS))} partitions on {WORKERS} workers: "
        + "; ".join(f"{t.name} " + ", ".join(str(_rounds(fits[t.name, n])) for n in PARTITIONS) for t in tasks),
        f"A round of nothing: {1e3 * costs.empty:.0f} ms; {costs.bandwidth / 1e6:.0f} MB/s; a row of "
        + ", ".join(f"{name} {1e6 * each:.2f} µs" for name, each in costs.each.items()),
    ]
    return {"rows": rows, "settings": {"lam": LAM, "tol": TOL, "workers": WORKERS}, "notes": notes}


@contextmanager
def cluster(n_workers: int, processes: bool = True) -> Iterator:
    """The client of a cluster on this machine, one thread a worker."""
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=processes, dashboard_address=None,
            local_directory=folder, silence_logs=50,
        ) as found,
        Client(found) as client,
    ):  # fmt: skip
        yield client


def collection(X, y, n_partitions: int):
    """Rows and labels as Dask arrays of so many chunks, dense or CSR."""
    import dask
    import dask.array as da

    edges = np.linspace(0, X.shape[0], n_partitions + 1).astype(int)
    blocks = [X[first:last] for first, last in pairwise(edges)]
    parts = [da.from_delayed(dask.delayed(part), part.shape, dtype=part.dtype, meta=part[:0]) for part in blocks]
    return da.concatenate(parts), da.from_array(y, chunks=tuple(np.diff(edges)))


def _optimum(task: _data.Task) -> float:
    """The optimal objective to a thousandth, from a fit on this machine alone."""
    model = PegasosClassifier(lam=LAM, solver="sdca", tol=1e-4, random_state=0).fit(task.X, task.y)
    return float(model.objective_[0] - model.dual_gap_[0] / 2)


def _fitted(task: _data.Task, n_partitions: int, client, options: Options) -> Record:
    """Fits on the cluster; the first is not counted, it loads what the workers need."""
    record = Record("pegasos.distributed")
    rows = collection(task.X, task.y, n_partitions)
    _fit(rows, client, max_rounds=2)
    for _ in range(options.times()):
        began = time.perf_counter()
        model = _fit(rows, client, seed=options.seed)
        record.times.append(time.perf_counter() - began)
        record.seen.append(
            {
                "objective": float(model.objective_[0]),
                "gap": float(model.dual_gap_[0]),
                "rounds": model.n_rounds_,
                "bytes": model.history_[-1]["bytes"],
                "round": float(np.median(_seconds_of_rounds(model))),
                "rows": len(task.y) / client_size(client),
            }
        )
    return record


def _fit(rows, client, seed: int = 0, **limits):
    from pegasos.distributed import PegasosClassifier as OnDask

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of those that only measure rounds
        return OnDask(lam=LAM, **{"tol": TOL, **limits}, random_state=seed, client=client).fit(*rows)


def client_size(client) -> int:
    """Workers of a client."""
    return len(client.nthreads())


def _seconds_of_rounds(model) -> np.ndarray:
    """The seconds of the rounds but for the first, which places rows, and the last, which only evaluates."""
    seconds = np.diff([record["seconds"] for record in model.history_])
    return seconds[1:-1] if len(seconds) > 2 else seconds


def _rounds(record: Record) -> int:
    return int(record.facts["rounds"])


def _row(task: _data.Task, fit: Record, best: float, how: str, *, detail: bool) -> dict:
    facts = fit.facts
    what = What(f"linear, λ {LAM:g}, to a gap of {TOL:g}, {how}", task.data, f"{_rounds(fit)} rounds")
    note = f"gap {facts['gap']:.2g}, {facts['bytes'] / 1e3:.1f} kB a round"
    return alone(what, fit, facts["objective"] / best, bar=OBJECTIVE, note=note, detail=detail)


def _costs(tasks: list[_data.Task], client, options: Options) -> Costs:
    """Each constant by itself."""
    limits: dict[str, Any] = dict(tol=1e-12, max_rounds=3 if options.quick else 12)
    few = np.random.default_rng(0).normal(size=(64, 4))
    labels = np.arange(64) % 2
    model = _fit(collection(few, labels, WORKERS), client, **limits)
    empty = float(np.median(_seconds_of_rounds(model)))
    width = 64 if options.quick else WIDE
    wide = sparse.csr_matrix((np.ones(64), (np.arange(64), np.arange(64))), shape=(64, width))
    model = _fit(collection(wide, labels, WORKERS), client, **limits)
    more = float(np.median(_seconds_of_rounds(model))) - empty
    bandwidth = model.history_[-1]["bytes"] / max(more, 1e-6)
    return Costs(empty, bandwidth, {task.name: _seconds_a_row(task, limits) for task in tasks})


def _seconds_a_row(task: _data.Task, limits: dict) -> float:
    """The local solver alone, one thread, on an eighth of the rows."""
    from benchmarks._threads import fixed

    n_rows = len(task.y) // 8
    with fixed(1):
        rows = collection(task.X[:n_rows], task.y[:n_rows], 1)
        seconds = [float(np.median(_seconds_of_rounds(_fit(rows, None, **limits)))) for _ in range(2)]
    return min(seconds) / n_rows


def _compared(task: _data.Task, fit: Record, costs: Costs) -> dict:
    """The model beside measured rounds."""
    facts = fit.facts
    expected = costs.seconds(facts["bytes"], facts["rows"], task.name)
    measured = Record(fit.name, [seen["round"] for seen in fit.seen], [{}])
    what = What(f"linear, λ {LAM:g}, {SHOWN} partitions", task.data, "one round, measured over modelled")
    note = f"the model says {1e3 * expected:.0f} ms"
    return alone(what, measured, measured.median / expected, unit="× the model", note=note)
