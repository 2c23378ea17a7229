"""Fits on a Dask cluster of two processes: rounds to a certified gap, the objective reached, and what a round costs.

How rounds grow with the number of local solvers is measured with so many workers in one process, since this machine has
two cores. Sorted rows are those of covtype in the order of its file, and of RCV1 by class. The cost of a round is
modelled as ``a + bytes / bandwidth + rows · seconds a row``, each constant measured apart, on the same cluster and with
all of its workers busy: a by rounds with next to no rows, the bandwidth by rounds with a wide model, a row by rounds
over an eighth of the rows. The model is then compared with rounds as they were.
"""

import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from benchmarks import _data
from benchmarks._options import Options
from benchmarks._race import Record
from benchmarks._rows import Bar, What, alone
from pegasos import PegasosClassifier

TITLE = "Distributed: rounds to a certified gap, sorted rows, and what a round costs"
BY_DEFAULT = True

LAM = 1e-4
TOLS = (1e-2, 1e-3)  # the second is the default
PARTITIONS, SOLVERS = 4, (2, 4, 8, 16)
WIDE = 1_000_000  # features of the model by which bandwidth is measured
WORKERS = 2
COSTS = Bar(most=1.5, unit="× either way")


@dataclass(frozen=True)
class Costs:
    """The constants of a round: seconds of nothing, bytes a second, and seconds of a row by its data set."""

    empty: float
    bandwidth: float
    each: dict[str, float]

    def seconds(self, n_bytes: float, rows: float, name: str) -> float:
        """What a round should take, with so many rows on each worker."""
        return self.empty + n_bytes / self.bandwidth + rows * self.each.get(name, 0.0)


def run(options: Options) -> dict:
    """Rows for two processes, for local solvers, for sorted rows, then the model of costs."""
    tasks = [_data.digits(binary=True)] if options.quick else [_data.rcv1(), _data.covtype()]
    best = {task.name: _optimum(task) for task in tasks}
    with cluster(WORKERS) as client:
        fits = {(task.name, tol): _fitted(task, tol, PARTITIONS, client, options) for task in tasks for tol in TOLS}
        costs = _costs(tasks, client, options)
        in_order = [_in_order(task, options) for task in tasks]
        ordered = [_fitted(task, TOLS[0], WORKERS, client, options, usual=1) for task in in_order]
        peak = max(client.run(_peak_bytes).values())
    rows = [
        _row(task, fits[task.name, tol], best[task.name], tol, f"{WORKERS} processes", detail=tol != TOLS[-1])
        for task in tasks
        for tol in TOLS
    ]
    rows += [_row(*each, None, TOLS[0], f"{WORKERS} processes", detail=False) for each in zip(in_order, ordered)]
    for n in SOLVERS[:1] if options.quick else SOLVERS:
        with cluster(n, processes=False) as client:
            for task in tasks:
                for tol in TOLS:
                    fit = _fitted(task, tol, n, client, options, usual=1)
                    how = f"{n} local solvers, one process"
                    rows.append(_row(task, fit, best[task.name], tol, how, detail=True))
    rows += [_compared(task, fits[task.name, TOLS[0]], costs) for task in tasks]
    notes = [
        f"A round of nothing: {1e3 * costs.empty:.0f} ms; {costs.bandwidth / 1e6:.0f} MB/s; a row of "
        + ", ".join(f"{name} {1e6 * each:.2f} µs" for name, each in costs.each.items()),
        f"Peak memory of a worker over all of these fits: {peak / 1e6:.0f} MB",
    ]
    return {"rows": rows, "settings": {"lam": LAM, "tol": list(TOLS), "workers": WORKERS}, "notes": notes}


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
    """The optimal objective to a ten thousandth, from a fit on this machine alone."""
    model = PegasosClassifier(lam=LAM, tol=1e-4, random_state=0).fit(task.X, task.y)
    return float(model.objective_[0] - model.dual_gap_[0] / 2)


def _in_order(task: _data.Task, options: Options) -> _data.Task:
    """The rows in an order that is no random one: that of the file where it is sorted, else by class."""
    if task.name == "covtype":
        found = _data.loaded("covtype")
        X = StandardScaler().fit_transform(found.X).astype(np.float32)
        return replace(task, name="covtype as in its file", X=X, y=(found.y == 2) * 1)
    order = np.argsort(task.y, kind="stable")
    return replace(task, name=f"{task.name} by class", X=task.X[order], y=task.y[order])


def _fitted(task: _data.Task, tol: float, n_partitions: int, client, options: Options, usual: int = 3) -> Record:
    """Fits on the cluster; the first is not counted, it loads what the workers need."""
    record = Record("pegasos.distributed")
    rows = collection(task.X, task.y, n_partitions)
    _fit(rows, client, max_rounds=2)
    for _ in range(options.times(usual)):
        began = time.perf_counter()
        model = _fit(rows, client, seed=options.seed, tol=tol)
        record.times.append(time.perf_counter() - began)
        record.seen.append(
            {
                "objective": float(model.objective_[0]),
                "gap": float(model.dual_gap_[0]),
                "rounds": model.n_rounds_,
                "shuffles": model.n_shuffles_,
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
        return OnDask(lam=LAM, **limits, random_state=seed, client=client).fit(*rows)


def client_size(client) -> int:
    """Workers of a client."""
    return len(client.nthreads())


def _peak_bytes() -> int:
    """The most memory that this process has had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _seconds_of_rounds(model) -> np.ndarray:
    """The seconds of the rounds but for the first, which places rows, and the last, which only evaluates."""
    seconds = np.diff([record["seconds"] for record in model.history_])
    return seconds[1:-1] if len(seconds) > 2 else seconds


def _row(task: _data.Task, fit: Record, best: float | None, tol: float, how: str, *, detail: bool) -> dict:
    """Rounds and time; the figure is the objective over the optimum, or over the proven bound of it."""
    facts = fit.facts
    rounds, gap = int(facts["rounds"]), facts["gap"]
    what = What(f"linear, λ {LAM:g}, tol {tol:g}, {how}", task.data, f"{rounds} rounds")
    note = f"gap {gap:.2g}, {facts['bytes'] / 1e3:.1f} kB a round, rows dealt out {int(facts['shuffles'])} times"
    lowest = facts["objective"] - gap if best is None else best
    bar = Bar(most=1.01 if best is not None else 1 / (1 - tol), unit="× the optimum")
    return alone(what, fit, facts["objective"] / lowest, bar=bar, note=note, detail=detail)


def _costs(tasks: list[_data.Task], client, options: Options) -> Costs:
    """Each constant by itself."""
    limits: dict[str, Any] = dict(tol=1e-12, max_rounds=3 if options.quick else 12, shuffle=False)
    few = np.random.default_rng(0).normal(size=(64, 4))
    labels = np.arange(64) % 2
    model = _fit(collection(few, labels, WORKERS), client, **limits)
    empty = float(np.median(_seconds_of_rounds(model)))
    width = 64 if options.quick else WIDE
    wide = sparse.csr_matrix((np.ones(64), (np.arange(64), np.arange(64))), shape=(64, width))
    model = _fit(collection(wide, labels, WORKERS), client, **limits)
    more = float(np.median(_seconds_of_rounds(model))) - empty
    costs = Costs(empty, model.history_[-1]["bytes"] / max(more, 1e-6), {})
    for task in tasks:
        n_rows = len(task.y) // 8
        model = _fit(collection(task.X[:n_rows], task.y[:n_rows], WORKERS), client, **limits)
        known = costs.seconds(model.history_[-1]["bytes"], 0, task.name)
        seconds = float(np.median(_seconds_of_rounds(model)))
        costs.each[task.name] = max(seconds - known, 0.0) / (n_rows / WORKERS)
    return costs


def _compared(task: _data.Task, fit: Record, costs: Costs) -> dict:
    """The model beside measured rounds."""
    facts = fit.facts
    expected = costs.seconds(facts["bytes"], facts["rows"], task.name)
    measured = Record(fit.name, [seen["round"] for seen in fit.seen], [{}])
    what = What(f"linear, λ {LAM:g}, {WORKERS} processes", task.data, "one round, measured and modelled")
    ratio = measured.median / expected
    note = f"the model says {1e3 * expected:.0f} ms"
    return alone(what, measured, max(ratio, 1 / ratio), bar=COSTS, note=note)
