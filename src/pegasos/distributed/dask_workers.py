"""Local solvers on the workers of a Dask client, one a worker over all partitions it holds.

Rows never come to the driver. A round is one task for each local solver, tied to the worker that has its rows. A worker
that is lost takes the dual variables of its rows with it: Dask computes its partitions again from their graph, on a
worker that lives, and their dual variables start at 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from pegasos.distributed import exchange, local_solver
from pegasos.distributed.clients import is_lost, lost_scheduler, scheduler_address
from pegasos.distributed.dask_tasks import identity, in_background, is_none, on_worker, sum_of
from pegasos.distributed.local_solver import LocalSolver, Plan
from pegasos.distributed.partitions import MOST_ROWS
from pegasos.distributed.workers import Interrupted, WorkersLost, balanced_placement

if TYPE_CHECKING:
    from distributed import Client, Future

POLL_INTERVAL = 0.2  # seconds between two checks whether to go on waiting
WORKERS_INTERVAL = 1.0  # seconds between two questions to the scheduler which workers live
WAIT_FOR_WORKERS = 60.0  # seconds without any worker before a fit gives up
WAIT_FOR_ANOTHER = 10.0  # seconds for a worker that takes the place of a lost one: its nanny restarts it
MOST_LOSSES = 5  # of one local solver in succession, without a completed round between
FAN_IN = 8  # results that one task adds up where workers add them ...
MOST_ADDED_BY_DRIVER = 16  # ... which they do for more local solvers than this; else the driver adds
MOST_SENT_WITH_TASKS = 4e6  # bytes of requests that go along with the tasks themselves, one copy each


@dataclass
class WorkerSlot:
    """A local solver as the driver knows it: its partitions, its worker, and how often it was lost in succession."""

    number: int
    partitions: list[int]
    n_rows: int
    address: str
    future: Future | None = None  # of the `LocalSolver`; None: it has to be made
    attempt: int = 0
    losses: int = 0
    dealt: int | None = None  # rows it has since rows were dealt out anew; None: those of its partitions


class ClientWorkers:
    """Local solvers on the workers of `client`."""

    def __init__(self, client: Client):
        self.client, self.token = client, uuid4().hex
        self.address = scheduler_address(client)
        self.n_blocks = max(1, len(client.nthreads()))
        self.delayed: list = []  # the partitions, to be computed again where they are lost
        self.partitions: list[Future] = []  # until the local solvers have them
        self.slots: list[WorkerSlot] = []
        self.plan: Plan | None = None
        self.last_checked = 0.0  # when the scheduler was last asked which workers live

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self.delayed)

    @property
    def n_solvers(self) -> int:
        """Number of local solvers."""
        return len(self.slots)

    # --- set-up ----------------------------------------------------------------------------------------------------

    def load(self, partitions) -> None:
        """Compute the partitions on the workers; Dask itself replaces those of a worker that is lost meanwhile."""
        self.delayed = partitions
        self._live_workers()
        self.partitions = self._computed(range(len(partitions)))

    def map_partitions(self, function, arguments):
        """A function of each partition, on the worker that has it."""
        futures = [
            self.client.submit(function, partition, *more, pure=False)
            for partition, more in zip(self.partitions, arguments, strict=True)
        ]
        return self._wait(lambda: self.client.gather(futures))

    def place(self, plan, sizes) -> None:
        """One local solver for each worker that has rows."""
        self.plan = plan
        workers = sorted(self._live_workers())
        who_has = self._wait(lambda: self.client.who_has(self.partitions))
        holders = [min(who_has.get(partition.key) or [None]) for partition in self.partitions]
        placement = balanced_placement(holders, sizes, workers)
        for address in workers:
            own = [number for number, worker in enumerate(placement) if worker == address and sizes[number]]
            if own:
                n_rows = sum(sizes[number] for number in own)
                self.slots.append(WorkerSlot(len(self.slots), own, n_rows, address))
        self.recover()
        self.partitions = []

    # --- rounds ------------------------------------------------------------------------------------------------------

    def total(self, function, request, stop):
        """The sum over all local solvers."""
        small = self.n_solvers * request.model.nbytes <= MOST_SENT_WITH_TASKS
        sent = request if small else self._on_some_worker(request)
        results = [self._submit(slot, function, sent) for slot in self.slots]
        sums = results if self.n_solvers <= MOST_ADDED_BY_DRIVER else self._added(results)
        with self._cancelled_on_error([*results, *sums]):
            values = self._wait(lambda: self.client.gather(sums), self._addresses(), stop)
            missing = [slot for slot, value in zip(self.slots, values) if value is None]
            if None in values and sums is not results:
                is_missing = self._wait(lambda: self.client.gather([self._task(is_none, one) for one in results]))
                missing = [slot for slot, lost in zip(self.slots, is_missing) if lost]
        for slot in missing:
            self._mark_lost(slot)
        if missing:
            raise WorkersLost
        for slot in self.slots:
            slot.losses = 0
        return sum_of(*values)

    def recover(self) -> None:
        """Make the local solvers that are missing, on workers that live.

        Where rows were dealt out anew, those of a lost worker are from all partitions: then all rows go back to where
        they came from, and dual variables of rows that are not lost go with them.
        """
        found = self._recalled() if self._missing() else []
        self._make_missing()
        if found:
            with suppress(WorkersLost):  # what is not restored begins at 0
                self._restored({slot.number: found for slot in self.slots}, 0)

    def _recalled(self) -> list[Future]:
        """Dual variables of the rows that workers still have; all local solvers are to be made again."""
        if not any(slot.dealt is not None for slot in self.slots):
            return []
        assert self.plan is not None
        undone = np.zeros(self.plan.n_columns)
        found = [self._submit(slot, exchange.export, undone) for slot in self.slots if slot.future is not None]
        for slot in self.slots:
            slot.future, slot.dealt = None, None
        return found

    def _make_missing(self) -> None:
        while missing := self._missing():
            self._reassign(missing)
            partitions = self._partitions_of(missing)
            plan = self._on_some_worker(self.plan)
            for slot in missing:
                slot.attempt += 1
                name = f"pegasos-rows-{self.token}-{slot.number}-{slot.attempt}"
                own = [partitions[number] for number in slot.partitions]
                slot.future = self._task(LocalSolver, own, plan, slot.number, at=slot.address, key=name)
            begun = [self._submit(slot, local_solver.begin, None) for slot in missing]
            try:
                with self._cancelled_on_error(begun):
                    self._check_rows(missing, self._gathered(begun))
            except WorkersLost:
                pass  # the loop tries again

    def deal(self, request, stop):
        """Cut the rows on each worker, and join the parts to new local solvers on others of its group."""
        if not exchange.worth_dealing([slot.dealt or slot.n_rows for slot in self.slots]):
            return False
        plan, dealt, made, adopted = self._on_some_worker(self.plan), [], [], []
        for group in exchange.groups_of(self.n_solvers, request.seed):
            slots = [self.slots[number] for number in group]
            dealt += slots
            cuts = [self._submit(slot, exchange.cut, request, len(group)) for slot in slots]
            for place, slot in enumerate(slots):
                parts = [
                    self._task(exchange.part_of, each, place, at=other.address) for each, other in zip(cuts, slots)
                ]
                made.append(self._task(exchange.joined, plan, slot.number, *parts, at=slot.address))
                key, at = (self.token, slot.number, slot.attempt + 1), slot.address
                adopted.append(self._task(on_worker, exchange.adopt, made[-1], key, request, *parts, at=at))
        with self._cancelled_on_error([*made, *adopted]):
            sizes = self._wait(lambda: self.client.gather(adopted), self._addresses(), stop)
        if None in sizes:
            raise WorkersLost
        for slot, future, size in zip(dealt, made, sizes):
            self._forget((self.token, slot.number, slot.attempt), slot.address)
            slot.future, slot.dealt, slot.attempt = future, size, slot.attempt + 1
        return True

    def export(self, step_size, stop):
        """The dual variables of all local solvers, gathered on the driver."""
        futures = [self._submit(slot, exchange.export, step_size) for slot in self.slots]
        with self._cancelled_on_error(futures):
            found = self._wait(lambda: self.client.gather(futures), self._addresses(), stop)
        if None in found:
            raise WorkersLost
        ids, alpha = zip(*found)
        return np.concatenate(ids), np.concatenate(alpha)

    def restore(self, ids, alpha, round):
        """Send each local solver the dual variables of its partitions."""
        own = {slot.number: np.isin(ids // MOST_ROWS, slot.partitions) for slot in self.slots}
        return self._restored({number: [(ids[rows], alpha[rows])] for number, rows in own.items()}, round)

    def _restored(self, found: dict[int, list], round: int) -> int:
        """Give each slot what was found for it; the number of rows whose dual variables were among it."""
        tasks = [self._submit(slot, exchange.restore, round, *found[slot.number]) for slot in self.slots]
        with self._cancelled_on_error(tasks):
            return sum(self._gathered(tasks))

    def _missing(self) -> list[WorkerSlot]:
        """Slots whose local solver was never made, or was lost with its worker."""
        workers = self._live_workers()
        for slot in self.slots:
            if slot.future is not None and slot.address not in workers:
                self._mark_lost(slot)
        return [slot for slot in self.slots if slot.future is None]

    def _mark_lost(self, slot: WorkerSlot) -> None:
        """Note that a local solver is lost; an error if it happens again and again."""
        slot.future = None
        slot.losses += 1
        if slot.losses >= MOST_LOSSES:
            raise RuntimeError(
                f"Worker after worker was lost ({slot.losses} times) with partitions {slot.partitions}; see their "
                "logs, and whether they have enough memory for these rows."
            )

    def _reassign(self, missing: list[WorkerSlot]) -> None:
        """Give slots whose worker is gone another one: one that has no slot, or the one with the fewest rows."""
        workers = self._live_workers(wanted=len(self._addresses()))
        loads = dict.fromkeys(sorted(workers), 0)
        for slot in self.slots:
            if slot.address in workers:
                loads[slot.address] += slot.n_rows
        for slot in missing:
            if slot.address not in workers:
                slot.address = min(loads, key=lambda address: loads[address])
                loads[slot.address] += slot.n_rows

    def _partitions_of(self, slots: list[WorkerSlot]) -> dict[int, Future]:
        """The partitions of some slots, computed again unless they are still there."""
        numbers = sorted(number for slot in slots for number in slot.partitions)
        if self.partitions:
            return {number: self.partitions[number] for number in numbers}
        return dict(zip(numbers, self._computed(numbers)))

    def _computed(self, numbers: Iterable[int]) -> list[Future]:
        """Partitions on the workers; data without a graph cannot be computed again once they are lost."""
        from distributed import CancelledError

        try:
            futures = self.client.compute([self.delayed[number] for number in numbers])
            self._wait(lambda: self._completed(futures))
        except CancelledError as error:
            if is_lost(self.client, error):
                raise lost_scheduler(self.address) from error
            raise RuntimeError(
                "Partitions were lost with their worker and cannot be computed again: they were put on the workers "
                "without a graph, as client.scatter does; make them of delayed functions, files or arrays instead."
            ) from error
        return futures

    def _completed(self, futures: list[Future]) -> None:
        """Wait until all futures are done; raise what any of them raised."""
        from distributed import wait

        with self.client.as_current():
            wait(futures)
        for future in futures:
            if future.status in ("error", "cancelled"):
                future.result()

    def _check_rows(self, slots: list[WorkerSlot], n_rows: list[int]) -> None:
        """Raise where partitions that were computed again have another number of rows."""
        for slot, found in zip(slots, n_rows):
            if found != slot.n_rows:
                raise RuntimeError(
                    f"Partitions {slot.partitions} have {found} rows now and had {slot.n_rows} at first; data that "
                    "change from one reading to the next cannot be trained on."
                )

    def close(self) -> None:
        """Drop rows and dual variables, without waiting for the workers."""
        if self.client.status == "running":
            for address in {slot.address for slot in self.slots if slot.future is not None}:
                self._forget((self.token,), address)
        self.slots, self.partitions, self.delayed = [], [], []

    # --- tasks -------------------------------------------------------------------------------------------------------

    def _task(self, function: Callable, *arguments, at: str | None = None, key: str | None = None) -> Future:
        """A task; where an address is given, on that worker and no other."""
        where: dict[str, Any] = {} if at is None else {"workers": [at], "allow_other_workers": False}
        name = key or f"pegasos-{getattr(function, '__name__', 'task')}-{uuid4().hex}"
        return self.client.submit(function, *arguments, key=name, pure=False, **where)

    def _submit(self, slot: WorkerSlot, function: Callable, *arguments: Any) -> Future:
        """A task of the local solver of a slot, on its worker."""
        key = (self.token, slot.number, slot.attempt)
        return self._task(on_worker, function, slot.future, key, *arguments, at=slot.address)

    def _forget(self, key: Any, address: str) -> None:
        """Drop dual variables on a worker, without waiting for it."""
        from distributed import fire_and_forget

        with suppress(Exception):
            fire_and_forget(self._task(local_solver.forget, key, at=address))

    def _on_some_worker(self, value: Any) -> Future:
        """A value sent to one worker, from which the others fetch it."""
        return self._task(identity, value)

    def _added(self, futures: list[Future]) -> list[Future]:
        """One sum, added by the workers as a tree; in a fixed order, so that rounding is the same each time."""
        while len(futures) > 1:
            futures = [self._task(sum_of, *futures[i : i + FAN_IN]) for i in range(0, len(futures), FAN_IN)]
        return futures

    # --- waiting -----------------------------------------------------------------------------------------------------

    def _addresses(self) -> set[str]:
        return {slot.address for slot in self.slots}

    def _gathered(self, futures: list[Future]) -> list:
        """Results of tasks of local solvers; WorkersLost where one of their workers is gone."""
        return self._wait(lambda: self.client.gather(futures), self._addresses())

    def _wait(
        self, call: Callable, addresses: Collection[str] = (), stop: Callable[[], bool] = lambda: False
    ) -> Any:  # fmt: skip
        """The result of a call that waits for the cluster.

        Raises ConnectionError where the scheduler is lost, Interrupted once ``stop()`` is true, and WorkersLost where a
        worker of these `addresses` is gone: tasks tied to it stay pending for ever, and so would the call.
        """
        result = in_background(call)
        while not wait_for([result], timeout=POLL_INTERVAL).done:
            if self.client.status != "running":
                raise lost_scheduler(self.address)
            if stop():
                raise Interrupted
            check = bool(addresses) and time.monotonic() - self.last_checked > WORKERS_INTERVAL
            if check and set(addresses) - self._known_workers():
                raise WorkersLost
        return result.result()

    def _known_workers(self) -> set[str]:
        """Workers that the scheduler knows now."""
        workers = set(self.client.nthreads())
        self.last_checked = time.monotonic()
        return workers

    def _live_workers(self, wanted: int = 1) -> set[str]:
        """Workers that live; waits up to a minute for the first of them, and some seconds for as many as are wanted."""
        began = time.monotonic()
        while True:
            if self.client.status != "running":
                raise lost_scheduler(self.address)
            workers, waited = self._known_workers(), time.monotonic() - began
            if len(workers) >= wanted or (workers and waited > WAIT_FOR_ANOTHER):
                return workers
            if waited > WAIT_FOR_WORKERS:
                raise RuntimeError(
                    f"The Dask cluster at {self.address} had no worker for {WAIT_FOR_WORKERS:g} seconds; start some, "
                    "and fit again."
                )
            time.sleep(POLL_INTERVAL)

    @contextmanager
    def _cancelled_on_error(self, futures: list[Future]):
        """Cancel these tasks if an error ends the wait for them, so that workers do not compute them in vain."""
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
