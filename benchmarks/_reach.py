"""The shortest fit that is good enough: found untimed, then timed in the race."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks._race import Contestant, absent, reason_of, say, value_of

EPOCHS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30, 50, 80, 130, 200, 300, 500, 1000)
PATIENCE = 120.0  # seconds after which no longer fit is tried


def reaching(
    make: Callable[[Any], Contestant],
    good: Callable[[dict], bool],
    goal: str,
    *,
    ladder: Sequence[Any] = EPOCHS,
    setting: str = "epochs",
    patience: float = PATIENCE,
) -> Contestant:
    """The contestant with the first value on the ladder whose facts are good; `setting` is the name of the value.

    A peer that does not get there is named as missing; ours has to.
    """
    began = time.perf_counter()
    for value in ladder:
        contestant = make(value)
        facts, reason = _tried(contestant)
        if reason is not None:
            return absent(contestant.name, reason)
        say(f"  {contestant.name}, {setting} {value}: {_shown(facts)}")
        if good(facts):
            return _noting(contestant, {setting: value})
        if time.perf_counter() - began > patience:
            break
    reason = f"it does not reach {goal} with {setting} {value}"
    if contestant.ours:
        raise RuntimeError(f"{contestant.name}: {reason}")
    return absent(contestant.name, reason)


def _noting(contestant: Contestant, more: dict) -> Contestant:
    """The contestant, with these among its facts."""
    return replace(contestant, judge=lambda result: contestant.judge(result) | more)


def _tried(contestant: Contestant) -> tuple[dict, str | None]:
    """Facts of one fit, or the reason why there are none."""
    if contestant.missing is not None:
        return {}, contestant.missing
    try:
        return contestant.judge(value_of(contestant.work())), None
    except Exception as error:
        if contestant.ours:
            raise
        return {}, reason_of(error)


def _shown(facts: dict) -> str:
    return ", ".join(f"{name} {value:.5g}" for name, value in facts.items() if isinstance(value, float))
