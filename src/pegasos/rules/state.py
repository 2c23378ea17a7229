"""The state of a solve, as a value: scalar records per column and the sums they scale.

`columns` holds one record of `COLUMN` per column; everything a step needs to know or change about a column is there,
and NumPy selects, copies and stores it like any array. The large arrays are the running sum of pulls S, the sum U that
turns it into an average, and what each row has added (see `pegasos.rules.step` for the algebra).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pegasos.rules.column import COLUMN, Average, Rule
from pegasos.utils.arrays import to_device_of, to_host

LAID_OUT = ("sums", "weighted", "previous", "alpha", "violations")  # arrays that the kind of rows gives their order


class Position(NamedTuple):
    """How far the columns are in a stream of draws; `sampling.Stream` goes on from here."""

    sampling: str
    seed: int
    draws: int
    exact: bool  # whether all columns have met all draws up to here
    generator: Mapping | None = None  # see `Stream.skip`


@dataclass
class State:
    """Where a solve stands.

    Attributes
    ----------
    columns : ndarray of COLUMN, shape (P,)
    sums : ndarray of shape (n_state, P)
        S, the running sum of pulls; for kernels one row per training row. A last row belongs to the constant feature.
    weighted : ndarray of shape (n_state, P) or (0, 0)
        U, the same pulls weighted for the average; empty without an average.
    previous : ndarray of shape (n_state, P) or (0, 0)
        Mean over the window before the present one; empty without windows.
    alpha : ndarray of shape (n_rows, P) or (0, 0)
        What each row has added to S. For kernels a view of `sums`; for linear models kept only where it is needed.
    violations : ndarray of int32, shape (n_rows, P) or (0, 0)
        How often each row pulled.
    products : ndarray of shape (n_rows, P) or (0, 0)
        <S, x> of all rows, where the rows keep it.
    rule : Rule
    average : Average
    position : Position or None
        Where a later solve over the same rows goes on in the stream; None: it begins a new one.
    """

    columns: np.ndarray
    sums: np.ndarray
    weighted: np.ndarray
    previous: np.ndarray
    alpha: np.ndarray
    violations: np.ndarray
    products: np.ndarray
    rule: Rule
    average: Average
    position: Position | None = None

    @classmethod
    def from_weights(cls, weights, lam, *, steps: int | np.ndarray = 1) -> State:
        """A state whose model is `weights`, to start from (pegasos).

        Parameters
        ----------
        weights : array-like of shape (n_state,) or (n_state, P)
            The start vector of each column: one number a feature, and one for the constant feature if there is one,
            the model's weight of it; for kernels one a training row.
        lam : float or array-like of shape (P,)
        steps : int or ndarray of shape (P,)
            Steps that the vector counts for. With 0 it is the w₁ of the very first step, which tests its rows against
            it and then multiplies it by 0.
        """
        weights = np.asarray(weights)
        weights = weights.astype(np.result_type(weights, np.float32), copy=False)
        weights = weights[:, None] if weights.ndim == 1 else weights
        if not (np.isfinite(lam) & (np.asarray(lam) > 0)).all():
            raise ValueError(f"lam must be positive and finite, got {lam}.")
        if np.min(steps) < 0:
            raise ValueError(f"steps must be at least 0, got {steps}.")
        columns = np.zeros(weights.shape[1], COLUMN)
        columns["place"] = np.arange(len(columns))
        columns["lam"], columns["steps"], columns["shrink"] = lam, steps, 1.0
        columns["best_dual"], columns["norm_squared"] = -np.inf, np.nan  # the rows will tell the norm
        none = np.zeros((0, 0), weights.dtype)
        scales = (columns["lam"] * np.maximum(steps, 1)).astype(weights.dtype)
        return cls(columns, weights * scales, none, none, none, none, none, Rule.PEGASOS, Average.LAST)

    @classmethod
    def from_duals(cls, sums, alpha, lam) -> State:
        """A state of sdca to start from: the running sum of each column, and what each row has added so far.

        The sum may hold more than these rows have added, as it does where others had a part in the model.
        """
        columns = np.zeros(sums.shape[1], COLUMN)
        columns["place"] = np.arange(len(columns))
        columns["lam"], columns["shrink"] = lam, 1.0
        columns["best_dual"], columns["norm_squared"] = -np.inf, np.nan  # the rows will tell the norm
        none = np.zeros((0, 0), sums.dtype)
        return cls(columns, sums, none, none, alpha, none, none, Rule.SDCA, Average.LAST)

    @property
    def alpha_in_sums(self) -> bool:
        """Whether the sums are the rows' own coefficients, as for kernels."""
        return np.may_share_memory(self.alpha, self.sums)

    @property
    def finished(self) -> np.ndarray:
        """Which columns have taken all their steps."""
        return self.columns["steps"] >= self.columns["limit"]

    @property
    def scales(self) -> np.ndarray:
        """w = scales * S."""
        columns = self.columns
        if self.rule == Rule.SDCA:
            return 1.0 / (columns["lam"] * columns["n_rows"])
        steps = columns["steps"]
        ahead = np.maximum(steps, 1) + columns["step_offset"]
        return np.where(steps > 0, columns["shrink"] / (columns["lam"] * ahead), 0.0)

    def model(self) -> np.ndarray:
        """Coefficients of the reported model, shape (n_state, P): the last iterate or the average asked for."""
        columns, steps = self.columns, self.columns["steps"]
        dtype = self.sums.dtype
        if self.average == Average.LAST:
            return self.sums * to_device_of(self.scales.astype(dtype), self.sums)
        # The present iterate is not yet in the average: `uniform` leaves it out, the others end with it.
        since = columns["window_start"] if self.average == Average.WINDOW else columns["average_start"]
        begun = steps > since
        if self.average == Average.UNIFORM:
            total, count = columns["average"], steps - since
        elif self.average == Average.WEIGHTED:
            total, count = columns["average"] + steps * self.scales, (steps * (steps + 1) - since * (since + 1)) / 2
        else:
            total, count = columns["average"] + self.scales, steps - since
        count = np.maximum(count, 1)
        mean = self.sums * to_device_of(np.where(begun, total / count, self.scales).astype(dtype), self.sums)
        mean -= self.weighted * to_device_of((1.0 / count).astype(dtype), self.sums)
        if self.average == Average.WINDOW:
            young = 2 * (steps - columns["window_start"]) < columns["window_end"] - columns["window_start"]
            young &= columns["window_start"] > columns["average_start"]
            if young.any():
                places = to_device_of(np.flatnonzero(young), self.sums)
                mean[:, places] = self.previous[:, places]
        return mean

    def select(self, keep: np.ndarray) -> State:
        """The state of some of the columns; `alpha` stays a view of `sums` where it is one."""
        places = np.flatnonzero(keep)
        there = to_device_of(places, self.sums)

        def pick(array):
            if not array.size:
                return array
            return array.T[there].T if array.flags.f_contiguous else array.take(there, axis=1)

        sums = pick(self.sums)
        alpha = sums[: self.alpha.shape[0]] if self.alpha_in_sums else pick(self.alpha)
        return replace(
            self,
            columns=self.columns[places],
            sums=sums,
            weighted=pick(self.weighted),
            previous=pick(self.previous),
            alpha=alpha,
            violations=pick(self.violations),
            products=pick(self.products),
        )

    def store(self, part: State) -> None:
        """Write the columns of `part` to their places in this state, which holds all columns."""
        places = part.columns["place"]
        self.columns[places] = part.columns
        places = to_device_of(places, self.sums)
        for name in ("sums", "weighted", "previous", "alpha", "violations", "products"):
            target = getattr(self, name)
            if target.size:
                target[:, places] = getattr(part, name)

    def turn_windows(self) -> None:
        """Begin a new window in the columns whose present one is complete; its mean becomes the previous one."""
        columns = self.columns
        due = (columns["steps"] == columns["window_end"]) & ~self.finished
        if self.average != Average.WINDOW or not due.any():
            return
        if due.all():
            self.previous[...] = self.model()
            self.weighted[...] = 0.0
        else:
            places = to_device_of(np.flatnonzero(due), self.sums)
            self.previous[:, places] = self.select(due).model()
            self.weighted[:, places] = 0.0
        columns["average"][due] = 0.0
        columns["window_start"][due] = columns["window_end"][due]
        columns["window_end"][due] = next_turn(columns[due], self.rule)

    def rescale(self, factors: np.ndarray, moved: np.ndarray | None = None) -> None:
        """Multiply S by `factors`; U loses `moved` times the old S."""
        if (factors == 1.0).all() and (moved is None or not moved.any()):
            return
        if moved is not None and self.weighted.size:
            self.weighted -= self.sums * to_device_of(moved.astype(self.sums.dtype), self.sums)
        factors = to_device_of(factors.astype(self.sums.dtype), self.sums)
        self.sums *= factors
        if self.products.size:
            self.products *= factors
        if not self.alpha_in_sums:
            self.alpha *= factors[: self.alpha.shape[1]]

    def to_device_of(self, array) -> State:
        """The same state where `array` is: this very one, or a copy on its device."""
        return self._moved(lambda own: to_device_of(own, array))

    def to_host(self) -> State:
        """The same state on the host: this very one, or a copy."""
        return self._moved(to_host)

    def in_order_of(self, like: State) -> State:
        """The same state, its arrays in the order in memory of another's: this very one where they are."""
        found: dict[str, Any] = {}
        for name in LAID_OUT:
            rows_first = getattr(like, name).flags.c_contiguous
            found[name] = np.asarray(getattr(self, name), order="C" if rows_first else "F")
        if found["sums"] is not self.sums and self.alpha_in_sums:
            found["alpha"] = found["sums"][: self.alpha.shape[0]]
        return replace(self, **found)

    def _moved(self, move) -> State:
        sums = move(self.sums)
        if sums is self.sums:
            return self
        alpha = sums[: self.alpha.shape[0]] if self.alpha_in_sums else move(self.alpha)
        others = {name: move(getattr(self, name)) for name in ("weighted", "previous", "violations", "products")}
        return replace(self, sums=sums, alpha=alpha, **others)

    def widen(self) -> None:
        """Go on in float64: in a long run single pulls would be lost in the rounding of float32 sums."""
        in_sums = self.alpha_in_sums
        for name in ("sums", "weighted", "previous", "alpha", "products"):
            setattr(self, name, getattr(self, name).astype(np.float64))  # keeps the memory order
        if in_sums:
            self.alpha = self.sums[: self.alpha.shape[0]]


def next_turn(columns: np.ndarray, rule: Rule) -> np.ndarray:
    """The step after which each column's present window is complete.

    Under sdca a window is a pass over the column's rows. Under pegasos the last window is the second half of all steps
    and each earlier one the second half of what comes before it, so that an early stop finds a window of a good size.
    """
    if rule == Rule.SDCA:
        return columns["window_start"] + columns["n_rows"].astype(np.int64)
    ends = columns["horizon"].copy()
    while (later := (ends // 2 > columns["window_start"]) & (ends // 2 >= columns["steps"])).any():
        ends[later] //= 2
    return ends
