"""Rows of the tables: our time beside that of a peer, or a figure by itself, and whether the bar is met."""

from dataclasses import asdict, dataclass
from typing import Any

from benchmarks._race import Record


@dataclass(frozen=True)
class Bar:
    """The bar: a bound that a figure has to meet."""

    least: float | None = None
    most: float | None = None
    unit: str = "×"

    @property
    def number(self) -> float:
        """The number of the bar."""
        return self.least if self.least is not None else self.most if self.most is not None else float("nan")

    @property
    def text(self) -> str:
        """The bar as text in the tables."""
        return f"{'≥' if self.least is not None else '≤'} {self.number:g} {self.unit}".strip()

    def holds(self, figure: float) -> bool:
        """Whether a figure meets the bar."""
        return figure >= self.number if self.least is not None else figure <= self.number


@dataclass(frozen=True)
class What:
    """What is measured: the problem, the rows, and what is done with them."""

    task: str
    data: str
    what: str = "fit"


def against(
    what: What,
    ours: Record,
    peer: Record,
    *,
    bar: Bar | None = None,
    slack: float | None = None,
    also: dict[str, bool] | None = None,
    note: str = "",
) -> dict:
    """Ours beside a peer: the ratio is the peer's median over ours.

    With `slack` our error may be so much above the peer's and no more; `also` has further conditions, text and whether
    it holds.
    """
    conditions = dict(also or {})
    row = _row(what, ours, note) | {"peer": peer.name, "peer_times": peer.times, "missing": peer.missing}
    if peer.missing is not None:
        return row | {"bar": _bar(bar, conditions)}
    if slack is not None:
        text = "error no worse" if slack == 0 else f"error ≤ peer's + {100 * slack:g} points"
        conditions[text] = ours.facts["error"] <= peer.facts["error"] + slack + 1e-12
    ratio = peer.median / ours.median
    met = None if bar is None else bool(bar.holds(ratio) and all(conditions.values()))
    return row | {"ratio": ratio, "peer_facts": peer.facts, "bar": _bar(bar, conditions), "met": met}


def alone(
    what: What,
    ours: Record,
    value: float,
    *,
    bar: Bar | None = None,
    unit: str = "",
    beside: Record | None = None,
    also: dict[str, bool] | None = None,
    note: str = "",
    detail: bool = False,
) -> dict:
    """A figure of ours that is judged by itself; `beside` is what it came from, such as the arithmetic alone.

    `also` has further conditions, as in `against`. Details stay out of the README.
    """
    conditions = dict(also or {})
    row = _row(what, ours, note)
    if beside is not None:
        row |= {"peer": beside.name, "peer_times": beside.times, "peer_facts": beside.facts}
    met = None if bar is None else bool(bar.holds(value) and all(conditions.values()))
    unit = bar.unit if bar is not None else unit
    return row | {"value": float(value), "unit": unit, "bar": _bar(bar, conditions), "met": met, "detail": detail}


def _row(what: What, ours: Record, note: str) -> dict[str, Any]:
    return {
        **asdict(what),
        "ours": ours.times,
        "facts": ours.facts,
        "peer": None,
        "peer_times": [],
        "peer_facts": {},
        "missing": None,
        "ratio": None,
        "value": None,
        "unit": "",
        "bar": None,
        "met": None,
        "note": note,
        "detail": False,
    }


def _bar(bar: Bar | None, conditions: dict[str, bool]) -> dict | None:
    if bar is None:
        return None
    return {"text": ", ".join([bar.text, *conditions]), "number": bar.number, "conditions": conditions}
