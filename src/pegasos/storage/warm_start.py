"""What a linear model needs to go on learning: the state of its last fit, without its rows.

Models that have to know their rows (kernels, sdca) have no state in a file. Where such a model would have gone on with
``warm_start``, the loaded one says that it cannot, instead of silently beginning anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, INT64, Tensors
from pegasos.container.values import decode, encode
from pegasos.estimators.targets import recipe_of
from pegasos.estimators.warm_start import Memory, without_rows
from pegasos.losses import names
from pegasos.rules.column import COLUMN, Average, Rule
from pegasos.rules.state import State

# The fields of a column record: as files of format 1 name and order them, and as `rules.column.COLUMN` does.
NUMBERS = {
    "lam": "lam", "n_rows": "n_rows", "epsilon": "epsilon", "zero": "zero_objective", "share": "share",
    "ahead": "step_offset", "rate": None, "radius": "radius", "shrink": "shrink", "average": "average",
    "square": "norm_squared", "mass": "dual_linear", "extra": "dual_excess",
}  # fmt: skip
COUNTS = {
    "limit": "limit", "horizon": "horizon", "steps": "steps", "since": "average_start", "window": "window_start",
    "turn": "window_end",
}  # fmt: skip
OF_NO_ROWS = ("place", "labeling", "row_set", "pass_is_feasible", "best_dual")  # what `without_rows` leaves
LOSSES = (*names("classification"), *names("regression"))
MOST_STEPS = 2**62
LEFT_OUT = "left out"
NOTHING_LEFT = (
    "This model comes from a file, which does not hold the coefficients of its training rows that a further fit would "
    "go on from; set warm_start=False and fit to begin anew."
)


class LeftOutMemory(Memory):
    """The memory of a model whose state is not in its file: whatever would go on from it raises ValueError."""

    def __init__(self):
        self.state, self.resume_key, self.rows = None, {}, None  # type: ignore[assignment]

    def state_for(self, rows: str, needs_same_rows: bool):
        """Say that there is nothing to go on from."""
        raise ValueError(NOTHING_LEFT)

    def check_resumes(self, resume_key: dict[str, Any], doing: str) -> None:
        """Say that there is nothing to go on from."""
        raise ValueError(NOTHING_LEFT)

    def as_pegasos(self) -> Memory:
        """Nothing, as before."""
        return self


def pack(model) -> tuple[Any, dict[str, np.ndarray]]:
    """The JSON and the tensors of a model's memory."""
    recipe = recipe_of(model)
    memory = recipe.memory if model.warm_start else recipe.online_memory()
    if memory is None:
        return None, {}
    resume_key = memory.resume_key
    if isinstance(memory, LeftOutMemory) or resume_key["kernel"] != "linear" or resume_key["solver"] != "pegasos":
        return LEFT_OUT, {}
    state = without_rows(memory.state)
    own = "epsilon" if "epsilon" in resume_key else "multi_class"
    entry = {
        "average": state.average.name, "loss": resume_key["loss"], own: encode(resume_key[own], own),
        "constant": encode(resume_key["the constant feature"], "constant"), "numbers": list(NUMBERS),
        "counts": list(COUNTS),
    }  # fmt: skip
    columns, unused = state.columns, np.zeros(len(state.columns))
    tensors = {
        "memory.numbers": np.array([columns[field] if field else unused for field in NUMBERS.values()]),
        "memory.counts": np.array([columns[field] for field in COUNTS.values()]),
        "memory.sums": state.sums,
        "memory.weighted": state.weighted,
        "memory.previous": state.previous,
    }
    return entry, tensors


def unpack(entry: Any, tensors: Tensors, about: dict[str, Any], steps: np.ndarray, n_features: int) -> Memory | None:
    """The memory of a model that has taken so many `steps` in its columns; `about` says what they stand for."""
    if entry is None:
        return None
    if entry == LEFT_OUT:
        return LeftOutMemory()
    fields = Record(entry, "the memory")
    average = Average[fields.take_one_of("average", Average.__members__)]
    resume_key: dict[str, Any] = {"kernel": "linear", "n_features": n_features, "solver": "pegasos"}
    resume_key["loss"] = fields.take_one_of("loss", LOSSES)
    if "_targets" in about:
        resume_key["epsilon"] = _number(decode(fields.take("epsilon", int, float, dict)))
    else:
        resume_key["multi_class"] = fields.take_one_of("multi_class", ("ovr", "ovo", "crammer_singer"))
    constant = resume_key["the constant feature"] = _number(fields.take("constant", float))
    if (fields.take_strings("numbers"), fields.take_strings("counts")) != (list(NUMBERS), list(COUNTS)):
        raise ModelFormatError("the memory has other fields than this version knows")
    fields.done()
    columns = _columns(tensors, steps)
    sums, weighted, previous = _sums(tensors, (n_features + (constant > 0), len(steps)), average)
    none = sums[:0, :0]
    state = State(columns, sums, weighted, previous, none, none, none, Rule.PEGASOS, average)
    return Memory(state, resume_key | about)


def _number(value: Any):
    if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise ModelFormatError("a number of the memory is out of range")
    return value


def _columns(tensors: Tensors, steps: np.ndarray) -> np.ndarray:
    """The column records, which have taken so many `steps`."""
    numbers = tensors.take("memory.numbers", FLOATS[1:], (len(NUMBERS), len(steps)))
    counts = tensors.take_counts("memory.counts", INT64, (len(COUNTS), len(steps)))
    columns = np.zeros(len(steps), COLUMN)
    columns["place"], columns["best_dual"] = np.arange(len(columns)), -np.inf
    for field, values in [*zip(NUMBERS.values(), numbers), *zip(COUNTS.values(), counts)]:
        if field:
            columns[field] = values
    positive = all((columns[name] > 0).all() for name in ("lam", "share", "shrink"))
    rising = all((columns[name] <= steps).all() for name in ("average_start", "window_start"))
    if not (positive and rising and (columns["steps"] == steps).all() and counts.max(initial=0) <= MOST_STEPS):
        raise ModelFormatError("the memory is none of a fit")
    return columns


def _sums(tensors: Tensors, shape: tuple[int, int], average: Average) -> list[np.ndarray]:
    """The running sum, the weighted one and that of the window before; the average decides which of them it needs."""
    sums = tensors.take("memory.sums", FLOATS, shape)
    weighted = tensors.take("memory.weighted", (sums.dtype,), shape if average != Average.LAST else (0, 0))
    previous = tensors.take("memory.previous", (sums.dtype,), shape if average == Average.WINDOW else (0, 0))
    return [sums, weighted, previous]
