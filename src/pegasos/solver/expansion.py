"""What Newton's method asks of all rows: sums and gradients at a model, sums along a line, and weighted Gram matrices.

The rows are cut into parts, whose number depends on the problem alone; each sums for itself, threads take part after
part, and so no result depends on the number of threads. All columns meet a part while it is in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.cpu.expansion import SMOOTHED
from pegasos.backends.cpu.gathering import Gather
from pegasos.backends.threads import WORTH_A_THREAD, blas_limited, share_out
from pegasos.problem.job import Job
from pegasos.problem.schedule import readable

MOST_PARTS = 16
MOST_BYTES = 2**28  # of the parts' Gram matrices, and of what columns keep of the rows
BUFFER_BYTES = 2**20  # of gathered rows: what a core's own cache holds
DOUBLE_BELOW = 1e7  # multiplications of a Gram matrix in float64 that are not worth its rounding in float32
DENSE_FROM = 1 / 20  # of the products of two features that a CSR row has: from there on rows are filled up with zeros


@dataclass
class Trial:
    """The columns at some models: what one reading of the rows says of them.

    `gradients` (P, features + 1) are Σ s·pull·x, and `sums` (P, 5) those of `backends.cpu.expansion`.
    """

    gradients: np.ndarray
    sums: np.ndarray


class Expansion:
    """The rows of a job in some of its columns, with the scores of their present models.

    Parameters
    ----------
    job : Job
        Of dense or CSR rows under a linear model.
    columns : ndarray of COLUMN
        The columns, a record each.

    Attributes
    ----------
    widths : ndarray of shape (P,)
        Over which each column's loss is smoothed, where it has a kink.
    scores, products : ndarray of float64, shape (P, n)
        Scores of the present models, and what the last directions add to them.
    """

    def __init__(self, job: Job, columns: np.ndarray):
        rows = job.rows
        self.job, self.columns, self.rows = job, readable(columns), rows
        self.given = rows.bias, job.problems.labelings, job.weights
        n_columns, self.n_rows = len(columns), rows.n_rows
        self.n_features = rows.X.shape[1]
        self.size = self.n_features + (rows.bias > 0)
        self.widths = np.ones(n_columns)
        self.scores = np.zeros((n_columns, self.n_rows))
        self.products = np.zeros((n_columns, self.n_rows))
        self.curvatures = np.zeros((n_columns, self.n_rows), np.float32)  # at the last trial of each column
        self.inside = np.zeros((n_columns, self.n_rows), bool)
        self.grams: list[np.ndarray | None] = [None] * n_columns
        self.sparse = hasattr(rows.X, "indptr")
        self.width = rows.width
        by_memory = MOST_BYTES // (8 * n_columns * self.size**2)
        by_work = self.width * self.n_rows * n_columns / (WORTH_A_THREAD / 8)
        self.parts = np.linspace(0, self.n_rows, int(max(1, min(MOST_PARTS, by_memory, by_work))) + 1).astype(int)

    @staticmethod
    def columns_at_once(job: Job) -> int:
        """How many columns fit into memory side by side."""
        return max(1, int(4 * MOST_BYTES // (21 * job.rows.n_rows + 16 * job.rows.n_state**2)))

    # --- sums over all rows ---------------------------------------------------------------------------------------

    def trial(self, places: np.ndarray, directions: np.ndarray | None) -> Trial:
        """The columns `places` at the present models, or a step of length 1 along `directions` (P, features + 1)."""
        n_columns, moves = len(self.columns), directions is not None
        shape = len(self.parts) - 1, n_columns
        gradients, sums = np.zeros((*shape, self.n_features + 1)), np.zeros((*shape, 5))
        if directions is None:
            directions = gradients[0]
        loop: Callable = cpu.sparse_expansion if self.sparse else cpu.dense_expansion
        given = places, self.columns, self.widths, directions, *self._values(), *self.given
        state = self.scores, self.products, self.curvatures, self.inside

        def look(part: int) -> None:
            own = gradients[part], sums[part]
            loop(self.parts[part], self.parts[part + 1], *given, *state, *own, moves, loss=self.job.loss)

        self._for_parts(look, 2 * self.width * len(places) * self.n_rows)
        return Trial(gradients.sum(axis=0), sums.sum(axis=0))

    def along(self, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Σ s·(smoothed loss, first and second derivative) at so long a step along the last directions, (P, 3)."""
        sums = np.zeros((len(self.parts) - 1, len(self.columns), 3))
        _, *about = self.given
        given = places, self.columns, self.widths, lengths, *about, self.scores, self.products

        def look(part: int) -> None:
            cpu.line_sums(self.parts[part], self.parts[part + 1], *given, sums[part], loss=self.job.loss)

        self._for_parts(look, 10 * len(places) * self.n_rows)
        return sums.sum(axis=0)

    def step(self, places: np.ndarray, lengths: np.ndarray) -> None:
        """Take a step along the last directions."""
        for p in places:
            if lengths[p] != 1.0:
                self.products[p] *= lengths[p]
            self.scores[p] += self.products[p]

    def coefficients(self, p: int, alpha: np.ndarray) -> None:
        """alpha (n,): what each row adds to S at the dual point that the scores of a column give."""
        _, *about = self.given
        given = self.columns[p], self.widths[p], *about, self.scores[p], alpha
        cpu.coefficients(*given, loss=self.job.loss)

    # --- Gram matrices --------------------------------------------------------------------------------------------

    def follow(self, places: np.ndarray, sums: np.ndarray, single: np.ndarray, go_on=None) -> bool:
        """Bring the Gram matrices of the columns `places` up to date with their scores.

        Parameters
        ----------
        places : ndarray of int
        sums : ndarray of shape (P, 5)
            Of a `Trial` at the present models.
        single : ndarray of bool, shape (P,)
            Whether float32 will do.
        go_on : callable, optional
            Asked between parts of the work; False ends it.

        Returns
        -------
        bool
            Whether all is done. Otherwise the matrices are not to be used any more.
        """
        wanted, same = self._plan(places, sums)
        parts = range(len(self.parts) - 1)
        items = [(part, p, which) for part in parts for p, each in wanted.items() for which in each]
        found: dict[tuple, np.ndarray] = {}

        def gather(item) -> None:
            part, p, which = item
            edges = self.parts[part], self.parts[part + 1]
            found[item] = self._gathered(*edges, p, which, bool(single[p]) and self._is_worth_single)

        work = float(self.size) ** 2 * self.n_rows * len(wanted)
        threads = None if work > WORTH_A_THREAD else 1
        with blas_limited(1) if threads == 1 else nullcontext():  # shared out, BLAS is limited there
            if not share_out(gather, items, go_on, threads):
                return False
        for p, each in wanted.items():
            total = np.zeros((self.size, self.size)) if Gather.CURVED in each else self.grams[p]
            for which in each:
                for part in parts:
                    total += found.pop((part, p, which))
            self.grams[p] = total
        for p, other in same.items():
            gram = self.grams[other]
            assert gram is not None
            self.grams[p] = gram.copy()
            self.inside[p] = self.inside[other]
        return True

    @property
    def _is_worth_single(self) -> bool:
        return float(self.size) ** 2 * self.n_rows > DOUBLE_BELOW

    def _plan(self, places: np.ndarray, sums: np.ndarray) -> tuple[dict[int, list[Gather]], dict[int, int]]:
        """Which rows to gather for each column, and columns whose matrix is that of another one."""
        wanted: dict[int, list[Gather]] = {}
        same: dict[int, int] = {}
        first: dict[int, int] = {}
        constant = self.job.loss.curvature is not None
        for p in places:
            *_, curved, changed = sums[p]
            if constant and self.grams[p] is not None and changed < curved:
                if changed:
                    wanted[p] = [Gather.ENTERING, Gather.LEAVING]
                continue
            if constant and curved == self.columns[p]["n_rows"]:  # all rows: as in any column of this row set
                other = first.setdefault(int(self.columns[p]["row_set"]), p)
                if other != p:
                    same[p] = other
                    continue
            wanted[p] = [Gather.CURVED]
        return wanted, same

    def _gathered(self, first: int, last: int, p: int, which: Gather, single: bool) -> np.ndarray:
        """Σ weight·x·xᵀ of the rows that are wanted among first..last-1, below the diagonal at least."""
        total, weights = np.zeros((self.size, self.size)), self.job.weights[:, self.columns[p]["row_set"]]
        equal = self.job.loss.curvature is not None
        given = p, *self._values(), self.rows.bias, weights, self.curvatures, self.inside, int(which), equal
        sign = -1.0 if which == Gather.LEAVING else 1.0
        if self.sparse and self.width**2 < DENSE_FROM * self.size**2:
            cpu.sparse_gram(first, last, *given, total)
            return sign * total
        dtype = np.dtype(np.float32 if single else np.float64)
        n_held = min(last - first, max(64, BUFFER_BYTES // (dtype.itemsize * self.size)))
        buffer = np.empty((n_held, self.size), dtype)
        gather: Callable = cpu.sparse_gather if self.sparse else cpu.dense_gather
        while first < last:
            filled, first = gather(first, last, *given, buffer)
            if filled:
                total += buffer[:filled].T @ buffer[:filled]
        return sign * total

    # --- helpers --------------------------------------------------------------------------------------------------

    def objectives(self, losses: np.ndarray, models: np.ndarray) -> np.ndarray:
        """lam/2 ||w||² + Σ s·loss / n of each column."""
        columns = self.columns
        return columns["lam"] / 2 * np.einsum("pj,pj->p", models, models) + losses / columns["n_rows"]

    def smoothed(self, trial: Trial, models: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and values of the smoothed objectives."""
        lam, n_rows = self.columns["lam"], self.columns["n_rows"]
        gradients = lam[:, None] * models - trial.gradients / n_rows[:, None]
        return gradients, self.objectives(trial.sums[:, SMOOTHED], models)

    def hessian(self, p: int) -> np.ndarray:
        """The second derivative of a column's smoothed objective, below the diagonal at least."""
        loss, column, gram = self.job.loss, self.columns[p], self.grams[p]
        assert gram is not None
        factor = 1.0 if loss.curvature is None else loss.curvature / (self.widths[p] if loss.has_kink else 1.0)
        matrix = gram * (factor / column["n_rows"])
        matrix.flat[:: self.size + 1] += column["lam"]
        return matrix

    def _values(self) -> tuple:
        X = self.rows.X
        return (X.indptr, X.indices, X.data) if self.sparse else (X,)

    def _for_parts(self, look: Callable, operations: float) -> None:
        share_out(look, range(len(self.parts) - 1), threads=None if operations > WORTH_A_THREAD else 1)
