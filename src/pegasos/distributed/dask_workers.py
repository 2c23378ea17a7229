"""Local solvers on the workers of a Dask client, one a worker over all partitions it holds.

Rows never come to the driver. What a round asks is one task for each local solver, tied to the worker that has its
rows. A worker that is lost takes the coefficients of its rows with it: its partitions are computed again by Dask from
their graph, on a worker that lives, and begin with coefficients of 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future as Waiting
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pegasos.backends.threads import blas_raised
from pegasos.distributed import local_solver
from pegasos.distributed.clients import is_lost, lost_scheduler, scheduler_address
from pegasos.distributed.local_solver import Local
from pegasos.distributed.plan import Plan
from pegasos.distributed.workers import Interrupted, WorkersLost, evened

if TYPE_CHECKING:
    from distributed import Client, Future

POLL = 0.2  # seconds between two looks at whether to go on waiting
LOOK = 1.0  # seconds between two questions to the scheduler which workers live
WAIT_FOR_WORKERS = 60.0  # seconds without any worker before a fit gives up
WAIT_FOR_ANOTHER = 10.0  # seconds for a worker that takes the place of a lost one: a nanny starts it anew
MOST_LOSSES = 5  # of one local solver in a row, without a round between
FAN_IN = 8  # results that one task adds up ...
ALL_HERE = 16  # ... where there are more local solvers than this; else they are added up on the driver
SENT_WITH_TASKS = 4e6  # bytes of orders that may go along with the tasks themselves, one copy each

_turn = Lock()  # after a loss a worker may have two local solvers: one at a time has all of its threads


@dataclass
class Solver:
    """A local solver: its partitions, the worker that has it, and how often it was lost in a row."""

    number: int
    parts: list[int]
    n_rows: int
    address: str
    future: Future | None = None
    attempt: int = 0
    losses: int = 0


class ClientWorkers:
    """Local solvers on the workers of `client`."""

    def __init__(self, client: Client):
        self.client, self.token = client, uuid4().hex
        self.address = scheduler_address(client)
        self.takes: list = []
        self.parts: list[Future] = []  # until the local solvers have them
        self.solvers: list[Solver] = []
        self.plan: Plan | None = None
        self.looked = 0.0

    @property
    def n_solvers(self) -> int:
        """Number of local solvers."""
        return len(self.solvers)

    # --- set-up ----------------------------------------------------------------------------------------------------

    def load(self, takes) -> None:
        """Have the partitions computed; a worker that is lost meanwhile is Dask's own business."""
        self.takes = takes
        self._living()
        self.parts = self._computed(range(len(takes)))

    def over_parts(self, function, given):
        """A function of each partition, where it is."""
        asked = [
            self.client.submit(function, part, *more, pure=False) for part, more in zip(self.parts, given, strict=True)
        ]
        return self._wait(lambda: self.client.gather(asked))

    def place(self, plan, sizes) -> None:
        """One local solver for each worker that has rows."""
        self.plan = plan
        living = sorted(self._living())
        holders = self._wait(lambda: self.client.who_has(self.parts))
        homes = [min(holders.get(part.key) or [None]) for part in self.parts]
        homes = evened(homes, sizes, living)
        for address in living:
            own = [number for number, home in enumerate(homes) if home == address and sizes[number]]
            if own:
                n_rows = sum(sizes[number] for number in own)
                self.solvers.append(Solver(len(self.solvers), own, n_rows, address))
        self.recover()
        self.parts = []

    # --- rounds ------------------------------------------------------------------------------------------------------

    def total(self, function, order, stop):
        """The sum over all local solvers."""
        sent = order if self.n_solvers * order.model.nbytes <= SENT_WITH_TASKS else self._given(order)
        asked = [self._asked(solver, function, sent) for solver in self.solvers]
        added = asked if self.n_solvers <= ALL_HERE else self._added(asked)
        with self._cancelled_on_error([*asked, *added]):
            found = self._wait(lambda: self.client.gather(added), self._addresses(), stop)
            missing = [solver for solver, one in zip(self.solvers, found) if one is None]
            if None in found and added is not asked:
                lost = self._wait(lambda: self.client.gather([self._task(_is_none, one) for one in asked]))
                missing = [solver for solver, gone in zip(self.solvers, lost) if gone]
        for solver in missing:
            self._lose(solver)
        if missing:
            raise WorkersLost
        for solver in self.solvers:
            solver.losses = 0
        return _sum(*found)

    def recover(self) -> None:
        """Make the local solvers that are not there, on workers that live."""
        while missing := self._missing():
            self._move(missing)
            parts = self._parts_of(missing)
            plan = self._given(self.plan)
            for solver in missing:
                solver.attempt += 1
                name = f"pegasos-rows-{self.token}-{solver.number}-{solver.attempt}"
                own = [parts[number] for number in solver.parts]
                solver.future = self._task(Local, own, plan, solver.number, at=solver.address, key=name)
            begun = [self._asked(solver, local_solver.begin, None) for solver in missing]
            try:
                with self._cancelled_on_error(begun):
                    self._check(missing, self._gathered(begun))
            except WorkersLost:
                pass  # once more

    def _missing(self) -> list[Solver]:
        """Local solvers that are not there, or not any more."""
        living = self._living()
        for solver in self.solvers:
            if solver.future is not None and solver.address not in living:
                self._lose(solver)
        return [solver for solver in self.solvers if solver.future is None]

    def _lose(self, solver: Solver) -> None:
        """Note that a local solver is gone; an error if it happens again and again."""
        solver.future = None
        solver.losses += 1
        if solver.losses >= MOST_LOSSES:
            raise RuntimeError(
                f"Worker after worker was lost ({solver.losses} times) with partitions {solver.parts}; see their logs, "
                "and whether they have enough memory for these rows."
            )

    def _move(self, missing: list[Solver]) -> None:
        """Give local solvers whose worker is gone another one: one that has none, or the one with the fewest rows."""
        living = self._living(wanted=len({solver.address for solver in self.solvers}))
        loads = dict.fromkeys(sorted(living), 0)
        for solver in self.solvers:
            if solver.address in living:
                loads[solver.address] += solver.n_rows
        for solver in missing:
            if solver.address not in living:
                solver.address = min(loads, key=lambda address: loads[address])
                loads[solver.address] += solver.n_rows

    def _parts_of(self, solvers: list[Solver]) -> dict[int, Future]:
        """The partitions of local solvers, computed again unless they are still there."""
        numbers = sorted(number for solver in solvers for number in solver.parts)
        if self.parts:
            return {number: self.parts[number] for number in numbers}
        return dict(zip(numbers, self._computed(numbers)))

    def _computed(self, numbers: Iterable[int]) -> list[Future]:
        """Partitions on the workers; data without a graph cannot be computed again once they are lost."""
        from distributed import CancelledError

        try:
            futures = self.client.compute([self.takes[number] for number in numbers])
            self._wait(lambda: self._done(futures))
        except CancelledError as error:
            if is_lost(self.client, error):
                raise lost_scheduler(self.address) from error
            raise RuntimeError(
                "Partitions were lost with their worker and cannot be computed again: they were put on the workers "
                "without a graph, as client.scatter does; make them of delayed functions, files or arrays instead."
            ) from error
        return futures

    def _done(self, futures: list[Future]) -> None:
        """Wait until all futures are there; raise what any of them raised."""
        from distributed import wait

        with self.client.as_current():
            wait(futures)
        for future in futures:
            if future.status in ("error", "cancelled"):
                future.result()

    def _check(self, solvers: list[Solver], n_rows: list[int]) -> None:
        for solver, found in zip(solvers, n_rows):
            if found != solver.n_rows:
                raise RuntimeError(
                    f"Partitions {solver.parts} have {found} rows now and had {solver.n_rows} at first; data that "
                    "change from one reading to the next cannot be trained on."
                )

    def close(self) -> None:
        """Let the rows and their coefficients go; nobody waits for it."""
        if self.client.status == "running":
            from distributed import fire_and_forget

            for address in {solver.address for solver in self.solvers if solver.future is not None}:
                with suppress(Exception):
                    fire_and_forget(self._task(local_solver.forget, self.token, at=address))
        self.solvers, self.parts, self.takes = [], [], []

    # --- tasks -------------------------------------------------------------------------------------------------------

    def _task(self, function: Callable, *given, at: str | None = None, key: str | None = None) -> Future:
        """A task, at one worker and no other if it is named."""
        where: dict[str, Any] = {} if at is None else {"workers": [at], "allow_other_workers": False}
        name = key or f"pegasos-{getattr(function, '__name__', 'task')}-{uuid4().hex}"
        return self.client.submit(function, *given, key=name, pure=False, **where)

    def _asked(self, solver: Solver, function: Callable, order: Any) -> Future:
        key = (self.token, solver.number, solver.attempt)
        return self._task(on_worker, function, solver.future, key, order, at=solver.address)

    def _given(self, value: Any) -> Future:
        """A value on some worker, from where the others fetch it."""
        return self._task(_itself, value)

    def _added(self, futures: list[Future]) -> list[Future]:
        """Sums of sums, until one is left; in a fixed order, so that rounding is the same each time."""
        while len(futures) > 1:
            futures = [self._task(_sum, *futures[i : i + FAN_IN]) for i in range(0, len(futures), FAN_IN)]
        return futures

    # --- waiting -----------------------------------------------------------------------------------------------------

    def _addresses(self) -> set[str]:
        return {solver.address for solver in self.solvers}

    def _gathered(self, futures: list[Future]) -> list:
        """What local solvers return, unless one of their workers is gone."""
        return self._wait(lambda: self.client.gather(futures), self._addresses())

    def _wait(
        self, call: Callable, addresses: Collection[str] = (), stop: Callable[[], bool] = lambda: False
    ) -> Any:  # fmt: skip
        """What a call that waits for the cluster returns; never waits for what cannot come any more.

        Tasks tied to a worker that is gone stay pending for ever, and so would the call.
        """
        waiting = _in_background(call)
        while not wait_for([waiting], timeout=POLL).done:
            if self.client.status != "running":
                raise lost_scheduler(self.address)
            if stop():
                raise Interrupted
            if addresses and time.monotonic() - self.looked > LOOK and set(addresses) - self._now():
                raise WorkersLost
        return waiting.result()

    def _now(self) -> set[str]:
        """Workers that the scheduler knows now."""
        found = set(self.client.nthreads())
        self.looked = time.monotonic()
        return found

    def _living(self, wanted: int = 1) -> set[str]:
        """Workers that live; waits for the first for a while, and a little for as many as are wanted."""
        began = time.monotonic()
        while True:
            if self.client.status != "running":
                raise lost_scheduler(self.address)
            living, waited = self._now(), time.monotonic() - began
            if len(living) >= wanted or (living and waited > WAIT_FOR_ANOTHER):
                return living
            if waited > WAIT_FOR_WORKERS:
                raise RuntimeError(
                    f"The Dask cluster at {self.address} had no worker for {WAIT_FOR_WORKERS:g} seconds; start some, "
                    "and fit again."
                )
            time.sleep(POLL)

    @contextmanager
    def _cancelled_on_error(self, futures: list[Future]):
        """Let nobody go on with what nobody waits for any more."""
        from distributed import CancelledError, KilledWorker

        try:
            yield
        except BaseException as error:
            if self.client.status == "running":
                with suppress(Exception):
                    self.client.cancel(futures)
            if isinstance(error, CancelledError | KilledWorker) and not is_lost(self.client, error):
                raise WorkersLost from error
            raise


def on_worker(function: Callable, rows: Local, key: Any, order: Any) -> Any:
    """Ask a local solver, with the threads its worker has: Dask keeps BLAS to one, expecting many tasks at once."""
    from distributed import get_worker

    worker = get_worker()
    if worker.nanny is None:  # others in this process have threads of their own
        return function(rows, key, order)
    with _turn, blas_raised(worker.state.nthreads):
        return function(rows, key, order)


def _in_background(call: Callable) -> Waiting:
    """The result of a call in a thread of its own, which may never end."""
    waiting: Waiting = Waiting()

    def run():
        try:
            waiting.set_result(call())
        except BaseException as error:
            waiting.set_exception(error)

    Thread(target=run, daemon=True, name="pegasos-waiting").start()
    return waiting


def _itself(value):
    return value


def _is_none(value) -> bool:
    return value is None


def _sum(*values):
    """The sum, or None where a part of it is missing."""
    total = values[0]
    for value in values[1:]:
        total = None if total is None or value is None else total + value
    return total
