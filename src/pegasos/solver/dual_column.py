"""One column of the dual of a kernel machine on its way to the optimum: its variables, and those of them that move."""

from __future__ import annotations

from enum import Enum

import numpy as np

from pegasos.backends.cpu import active_set, dual_columns
from pegasos.rows.row_cache import KernelRowCache
from pegasos.solver.dual_problem import Bounds, DualProblem

STEPS_TO_SHRINK = 1000  # at most, between two looks at which variables can be set aside
WORK_OF_A_ROUND = 2e7  # changes of slopes after which a column waits for the others
HALVINGS = 30  # of the interval that an intercept is searched in
SAFETY = 0.7  # of the gap that is wanted: an estimate below it is worth a look at all variables


class Status(Enum):
    """What a column waits for."""

    STEPS = "more steps"
    ROW = "a kernel row"
    LOOK = "a look at all variables"
    TURN = "another column, at whose end it begins"
    LEAVE = "leave to take more steps"
    DONE = "nothing"


class DualColumn:
    """The variables of a column, the values and slopes of those that move side by side.

    Attributes
    ----------
    beta : ndarray
        Values of all variables; those that move have theirs in `active`.
    member : ndarray of intp
        The numbers of those that move.
    segments : ndarray of shape (n_segments, 2)
        First and end of each segment among those that move.
    status : Status
    wanted : int
        The kernel row that is missing.
    shrinks : bool
        Whether variables are set aside.
    most_steps, limit : float
        Steps after which it waits for leave to take more, and after which it ends.
    """

    def __init__(self, problem: DualProblem, diagonal: np.ndarray):
        as_float = lambda values: np.ascontiguousarray(values, np.float64)
        self.rows = np.ascontiguousarray(problem.rows, np.intp)
        n = len(self.rows)
        self.linear, self.low, self.high = as_float(problem.linear), as_float(problem.low), as_float(problem.high)
        self.ridge = np.zeros(n) if problem.ridge is None else as_float(problem.ridge)
        self.curvature = diagonal[self.rows] + self.ridge
        self.epsilon = float(problem.epsilon)
        self.keeps_sums = problem.segments is not None
        self.offsets = np.array((0, n) if problem.segments is None else problem.segments, np.intp)
        self.beta = np.zeros(n) if problem.start is None else np.array(problem.start, np.float64)
        self.smooth = -self.linear + self.ridge * self.beta
        self.steps, self.since, self.status, self.wanted = 0, 0, Status.STEPS, -1
        self.violation, self.goal, self.bounds = np.inf, 0.0, Bounds(0.0, np.inf, np.inf, np.zeros(0))
        self.own = np.empty(n, np.float32)
        self.n_active, self.floor, self.steps_at_look = 0, 0.0, -1
        self.seen: Bounds | None = None
        self.most_steps = self.limit = np.inf
        self.shrinks = True

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.rows)

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.status == Status.DONE

    # --- all variables ----------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Let all variables move; `smooth` holds the slopes of all."""
        n = self.n_active = self.n_variables
        self.member, self.active_rows = np.arange(n), self.rows.copy()
        self.up, self.down, self.values = np.empty(n), np.empty(n), self.beta.copy()
        self.lows, self.highs = self.low.copy(), self.high.copy()
        self.diagonal, self.ridges = self.curvature.copy(), self.ridge.copy()
        self.segments = np.column_stack([self.offsets[:-1], self.offsets[1:]])
        rising, falling = self._kinks(self.values)
        self.up[:] = np.where(self.values >= self.high, np.inf, self.smooth + rising)
        self.down[:] = np.where(self.values <= self.low, -np.inf, self.smooth + falling)
        self._note_roots()

    def gather(self) -> None:
        """Bring `beta` and `smooth` up to date for the variables that move."""
        some = slice(0, self.n_active)
        member = self.member[some]
        self.beta[member] = self.values[some]
        up, down = self.up[some], self.down[some]
        rising, falling = self._kinks(self.values[some])
        self.smooth[member] = np.where(up < np.inf, up - rising, down - falling)

    def _kinks(self, values: np.ndarray) -> tuple[np.ndarray | float, np.ndarray | float]:
        """The slopes of ε|β| as values rise and as they fall."""
        if self.epsilon == 0.0:
            return 0.0, 0.0
        epsilon = self.epsilon
        return np.where(values >= 0.0, epsilon, -epsilon), np.where(values > 0.0, epsilon, -epsilon)

    def release(self) -> None:
        """Free what only steps need: the values and scores of all variables stay."""
        self.n_active = 0
        del self.member, self.active_rows, self.up, self.down, self.values, self.lows, self.highs
        del self.diagonal, self.ridges, self.own

    def set_aside_variables(self) -> np.ndarray:
        """Numbers of the variables that do not move."""
        mask = np.ones(self.n_variables, bool)
        mask[self.member[: self.n_active]] = False
        return np.flatnonzero(mask)

    def values_of_all(self) -> np.ndarray:
        """The values of all variables as they stand."""
        values = self.beta.copy()
        if self.n_active:
            values[self.member[: self.n_active]] = self.values[: self.n_active]
        return values

    def begin_from(self, other: DualColumn) -> None:
        """Begin at the end of a column of the same rows, whose bounds are as narrow or narrower."""
        self.beta = other.beta.copy()
        self.smooth = other.scores - self.linear + self.ridge * self.beta

    def coefficients(self, n_rows: int) -> np.ndarray:
        """Σ β of each kernel row."""
        return np.bincount(self.rows, weights=self.beta, minlength=n_rows)

    @property
    def scores(self) -> np.ndarray:
        """Kβ of each variable, when the slopes of all are up to date."""
        return self.smooth + self.linear - self.ridge * self.beta

    # --- steps ------------------------------------------------------------------------------------------------------

    def advance(self, cache: KernelRowCache, wanted_gap: float) -> None:
        """Take steps until a row is missing, a look at all variables is due, or others want to be served, too."""
        to_shrink = STEPS_TO_SHRINK
        left = WORK_OF_A_ROUND
        while left > 0:
            n_steps = int(max(0, min(to_shrink - self.since, self.most_steps - self.steps)))
            why, place, steps, self.violation = self._step(cache, n_steps)
            self.steps += steps
            self.since += steps
            left -= (steps + 1) * self.n_active
            if why == active_set.MISSING:
                self.status, self.wanted = Status.ROW, int(self.active_rows[place])
                return
            if why != active_set.OUT_OF_STEPS or self.steps >= self.limit:
                self.status = Status.LOOK
                return
            if self.since >= to_shrink:
                self.since = 0
                if self.shrinks:
                    self.shrink()
                if self.estimate() <= SAFETY * wanted_gap:
                    self.status = Status.LOOK
                    return
            if self.steps >= self.most_steps:
                self.status = Status.LEAVE
                return
        self.status = Status.STEPS

    def _step(self, cache: KernelRowCache, n_steps: int) -> tuple[int, int, int, float]:
        shared = (cache.slots, cache.cached, cache.last_use, cache.now, self.epsilon, self.goal, n_steps, self.own)
        if self.keeps_sums:
            return active_set.pair_steps(
                self.segments, self.active_rows, self.up, self.down, self.values, self.lows, self.highs, self.diagonal,
                self.ridges, *shared,
            )  # fmt: skip
        return active_set.free_steps(
            self.active_rows[: self.n_active], self.up, self.down, self.values, self.lows, self.highs, self.diagonal,
            self.inverse_root, self.ridges, *shared,
        )  # fmt: skip

    def shrink(self) -> None:
        """Set variables aside that cannot move while the violations are as they are."""
        if self.keeps_sums:
            limits = np.array([self.extremes(*segment) for segment in self.segments])
        else:
            limits = np.array([[-self.violation, self.violation]])
        self.since = 0
        dual_columns.set_aside(
            self.segments, limits, self.member, self.active_rows, self.up, self.down, self.values, self.lows,
            self.highs, self.diagonal, self.ridges, self.beta,
        )  # fmt: skip
        self.n_active = int(self.segments[-1, 1])
        self._note_roots()

    def _note_roots(self) -> None:
        if not self.keeps_sums:
            least = active_set.LEAST_CURVATURE
            self.inverse_root = 1.0 / np.sqrt(np.maximum(self.diagonal[: self.n_active], least))

    def restore_bounds(self) -> None:
        """Set what follows from which variables move."""
        some, member = slice(0, self.n_active), self.member[: self.n_active]
        self.active_rows[some], self.lows[some], self.highs[some] = (
            self.rows[member],
            self.low[member],
            self.high[member],
        )
        self.diagonal[some], self.ridges[some] = self.curvature[member], self.ridge[member]
        self._note_roots()

    def extremes(self, first: int, end: int) -> tuple[float, float]:
        """The least slope up and the largest down of some variables that move."""
        return self.up[first:end].min(initial=np.inf), self.down[first:end].max(initial=-np.inf)

    def strongest_missing(self, cache: KernelRowCache, most: int) -> np.ndarray:
        """Rows that are not in the cache, those whose variables violate most first."""
        some = slice(0, self.n_active)
        rows, up, down = self.active_rows[some], self.up[some], self.down[some]
        absent = np.flatnonzero(cache.slots[rows] < 0)
        if self.keeps_sums:
            violation = np.full(self.n_active, -np.inf)
            for first, end in self.segments:
                least, largest = self.extremes(first, end)
                violation[first:end] = np.maximum(largest - up[first:end], down[first:end] - least)
        else:
            violation = np.maximum(-up, down)
        if len(absent) > most:
            absent = absent[np.argpartition(-violation[absent], most)[:most]]
        return rows[absent[np.argsort(-violation[absent], kind="stable")]]

    # --- how far it is ----------------------------------------------------------------------------------------------

    def intercept(self, first: int, end: int) -> float:
        """The intercept of a segment: the mean of what its free variables say, else the middle of what fits all."""
        up, down = self.up[first:end], self.down[first:end]
        free = up == down
        if free.any():
            return -float(up[free].mean())
        least, most = self.extremes(first, end)
        if not np.isfinite(least) or not np.isfinite(most):
            return -float(least if np.isfinite(least) else most) if np.isfinite(least) or np.isfinite(most) else 0.0
        return -0.5 * float(least + most)

    def estimate(self) -> float:
        """The gap if those set aside have none."""
        if not self.keeps_sums:
            return self._gap(np.zeros(1))
        return self._gap(np.array([self.intercept(*segment) for segment in self.segments]))

    def present_intercept(self) -> float:
        """The intercept of the first segment: as measured at the end, or what its moving variables tell."""
        if not self.keeps_sums:
            return 0.0
        if self.done:
            return float(self.bounds.intercepts[0])
        return self.intercept(*self.segments[0]) if self.n_active else 0.0

    def _gap(self, intercepts: np.ndarray) -> float:
        return dual_columns.gap_at(
            self.segments, intercepts, self.up, self.down, self.values, self.lows, self.highs, self.ridges,
            self.epsilon,
        )[1]  # fmt: skip

    def measure(self, wanted_gap: float) -> Bounds:
        """Look at all variables, which move; the slopes have to be up to date.

        Where the intercept that the free variables tell leaves a gap above `wanted_gap`, it is the best one instead;
        minus infinity says that no gap is wanted, and the intercept is LIBSVM's.
        """
        self.gather()
        beta = self.beta
        objective = 0.5 * float(beta @ (self.smooth - self.linear)) + self.epsilon * float(np.abs(beta).sum())
        if not self.keeps_sums:
            least, most = self.extremes(0, self.n_variables)
            return Bounds(objective, self._gap(np.zeros(1)), max(0.0, -least, most), np.zeros(1))
        intercepts, violation = np.zeros(len(self.segments)), 0.0
        for s, (first, end) in enumerate(self.segments):
            least, most = self.extremes(first, end)
            violation = max(violation, most - least)
            intercepts[s] = self.intercept(first, end)
        gap = self._gap(intercepts)
        if gap > wanted_gap > -np.inf:
            best = np.array([self._best_intercept(*segment) for segment in self.segments])
            other = self._gap(best)
            if other < gap:
                gap, intercepts = other, best
        return Bounds(objective, gap, violation, intercepts)

    def _best_intercept(self, first: int, end: int) -> float:
        least, most = self.extremes(first, end)
        if not (np.isfinite(least) and np.isfinite(most)) or most <= least:
            return self.intercept(first, end)
        return dual_columns.best_intercept(
            first, end, float(self.values[first:end].sum()), -most, -least, HALVINGS, self.up, self.down, self.values,
            self.lows, self.highs, self.ridges, self.epsilon,
        )  # fmt: skip
