"""Contestants work by turns; warm-up and evaluation are not timed."""

import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._processes import peak_from_now, peak_memory
from benchmarks._threads import fixed

LEAST_MEMORY = 0.1  # MB beyond what there was before: less says nothing, or the work was done in another process


@dataclass
class Timed:
    """The result of work that times itself, such as work in a fresh process."""

    seconds: float
    value: Any = None


@dataclass
class Contestant:
    """One way to do the work of a race.

    `judge` turns the result into facts (error, objective, ...). A peer that raises is named as missing with the reason;
    ours has to work, so its errors are errors of the run.
    """

    name: str
    work: Callable[[], Any]
    judge: Callable[[Any], dict] = lambda result: {}
    warm: Callable[[], object] | None = None
    repeats: int | None = None  # fewer than the others, for those that take minutes
    missing: str | None = None
    ours: bool = False


@dataclass
class Record:
    """The times and facts of a contestant."""

    name: str
    times: list[float] = field(default_factory=list)
    seen: list[dict] = field(default_factory=list)  # facts of each repeat
    missing: str | None = None
    result: Any = None  # of the last repeat

    @property
    def median(self) -> float:
        """The median time."""
        return median(self.times)

    @property
    def facts(self) -> dict:
        """Medians of the numbers, and the last of everything else."""
        last = self.seen[-1] if self.seen else {}
        return {name: self._usual(name) if _is_number(value) else value for name, value in last.items()}

    def _usual(self, name: str) -> float:
        values = [facts[name] for facts in self.seen]
        return values[0] if all(value == values[0] for value in values) else median(values)


def absent(name: str, reason: str) -> Contestant:
    """A peer that cannot take part."""
    return Contestant(name, lambda: None, missing=reason)


def race(contestants: Sequence[Contestant], repeats: int, threads: int, memory: float = 0.0) -> list[Record]:
    """Run all by turns `repeats` times, in reverse order in every other repeat; a record for each, in order.

    Before every turn so many bytes of memory are touched and given back: the first use of memory that a virtual machine
    has returned to its host can cost seconds, which would count for whoever comes next.
    """
    pairs = [(contestant, Record(contestant.name, missing=contestant.missing)) for contestant in contestants]
    with fixed(threads):
        for contestant, record in pairs:
            if contestant.warm is not None:
                _guarded(contestant.warm, contestant, record)
        for repeat in range(repeats):
            for contestant, record in pairs if repeat % 2 == 0 else pairs[::-1]:
                if contestant.repeats is None or repeat < contestant.repeats:
                    _guarded(partial(_turn, contestant, record, memory), contestant, record)
    return [record for _, record in pairs]


def reason_of(error: BaseException) -> str:
    """An error as text without a full stop."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def seconds_of(job: Callable[[], Any]) -> tuple[float, Any]:
    """Wall-clock seconds of a call, and what it returned."""
    gc.collect()
    start = perf_counter()
    result = job()
    seconds = perf_counter() - start
    return result.seconds if isinstance(result, Timed) else seconds, value_of(result)


def value_of(result: Any) -> Any:
    """The result of work, without its own time."""
    return result.value if isinstance(result, Timed) else result


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def _turn(contestant: Contestant, record: Record, memory: float) -> None:
    record.result = None  # two large models at a time would share the memory
    if memory:
        np.ones(int(memory), np.uint8)
    before = peak_from_now()
    seconds, record.result = seconds_of(contestant.work)
    taken = (peak_memory() - before) / 1e6
    record.seen.append(({"memory MB": taken} if taken >= LEAST_MEMORY else {}) | contestant.judge(record.result))
    record.times.append(seconds)
    shown = ", ".join(f"{name} {value:.5g}" for name, value in record.seen[-1].items() if _is_number(value))
    say(f"  {contestant.name}: {seconds:.3f} s{', ' + shown if shown else ''}")


def _guarded(job: Callable[[], object], contestant: Contestant, record: Record) -> None:
    """Run a job of a contestant unless it is missing; an error makes a peer missing."""
    if record.missing is not None:
        return
    try:
        job()
    except Exception as error:
        if contestant.ours:
            raise
        record.missing = reason_of(error)
        say(f"  {contestant.name} is missing: {record.missing}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
