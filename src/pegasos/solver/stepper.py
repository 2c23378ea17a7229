"""Taking steps: the ways in which a stretch of draws, or a large batch, moves a state on.

Each way runs the same scalar steps (`pegasos.rules.step`); they differ in how scores are obtained and pulls applied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import zip_longest

import numpy as np

from pegasos.backends import cpu
from pegasos.backends.api import Draws, Pulled, Rules, SharedArrays
from pegasos.backends.products import product
from pegasos.backends.threads import in_parallel
from pegasos.problem.job import Job
from pegasos.problem.schedule import readable
from pegasos.rows import Block, Way
from pegasos.rules.column import Rule
from pegasos.rules.state import State

KERNEL_BLOCK = 128
WIDE_COLUMNS = 64  # from so many columns on blocks go in parts
LONG_KERNEL_BLOCK = 512  # of many columns with the matrix at hand; of few columns where rows are computed
STRETCH = 8192  # draws between two looks at columns that are on a GPU
PART = 64  # draws of a wide block whose pulls correct the scores of later ones one by one
DIRECT_PULL_RATE = 0.1
OPERATIONS_PER_CALL = 3e8  # of compiled loops between two looks at the clock
SECONDS_PER_CALL = 0.05  # where there is a time limit
NOTHING = np.empty(0)


class Stepper:
    """Takes the steps of one job."""

    def __init__(self, job: Job):
        self.job, self.rows, self.schedule, self.backend = job, job.rows, job.schedule, job.rows.backend
        self.size = job.problems.group
        self.project = job.schedule.project
        self.way = self.rows.way(job.columns_per_row)
        self.squares = self.rows.squares if self.way != Way.BLOCKS else None
        self.single = self.size == 1 == job.schedule.batch
        self.rules = Rules(job.rule, job.loss, job.average, job.schedule.project)
        self.pull_rate = 1.0  # of the rows and columns of the latest steps
        self.pace = 0.0  # draws a second of the latest steps

    def length(self, n_columns: int) -> int:
        """Draws of the next stretch, a multiple of the batch size."""
        schedule = self.schedule
        batch = schedule.batch or 1
        if self.backend.BLOCK_LENGTH is not None:
            length = self.block_length * (1 if schedule.block else max(1, STRETCH // self.block_length))
        elif schedule.block is not None:
            length = schedule.block
        elif self.way in (Way.DIRECT, Way.SPARSE) or (self.way == Way.EITHER and self._few_pull()):
            # Long enough for threads to be worth starting, short enough to look at the clock between two calls.
            columns = n_columns if self.way == Way.SPARSE else min(n_columns, self.job.columns_per_row)
            draws = OPERATIONS_PER_CALL / (self.rows.width * columns)
            if schedule.max_time is not None:
                draws = min(draws, self.pace * SECONDS_PER_CALL)
            length = int(np.clip(draws, 64, 65536))
        elif self.rows.dual:
            wide = n_columns >= WIDE_COLUMNS and not self.project
            computed = self.rows.prefers_long_blocks and n_columns < WIDE_COLUMNS
            long = wide if self.way == Way.EITHER else computed
            length = min(LONG_KERNEL_BLOCK if long else KERNEL_BLOCK, self.rows.at_once)
        elif self.rows.block_length is not None:
            length = self.rows.block_length
        else:  # the Gram matrix costs B per row where scores and update cost 2P
            length = int(np.clip(32 * round(2 * n_columns / 32), 32, 128))
        return max(1, length // batch) * batch

    def over(self, state: State, index: np.ndarray) -> None:
        """Take all steps of the draws `index`."""
        began = time.perf_counter()
        if self.way == Way.SPARSE:
            self._sparse_steps(state, index)
        elif self.way == Way.DIRECT or (self.way == Way.EITHER and self._few_pull()):
            self._direct(state, index)
        elif self.backend.BLOCK_LENGTH is not None:  # to look at the columns is to wait for them: they stay there
            with self.backend.columns_to_change(state.columns) as columns:
                index = self.backend.to_device(index)
                for first in range(0, len(index), self.block_length):
                    self._block(state, columns, index[first : first + self.block_length])
        else:  # a matrix product spreads many pulls faster
            self._block(state, state.columns, index)
        self.pace = len(index) / max(time.perf_counter() - began, 1e-9)

    def _few_pull(self) -> bool:
        return self.pull_rate <= DIRECT_PULL_RATE

    @property
    def block_length(self) -> int:
        """Draws of one look-ahead block where the backend decides, a multiple of the batch size."""
        longest = self.backend.BLOCK_LENGTH or self.rows.at_once
        wanted = longest if self.schedule.block is None else self.schedule.block
        batch = self.schedule.batch or 1
        return max(1, min(wanted, longest, self.rows.at_once) // batch) * batch

    def _block(self, state: State, columns, index: np.ndarray) -> None:
        """Take the steps of one look-ahead block; `columns` are the state's, where the rows are."""
        rows, backend, xp, n_columns = self.rows, self.backend, self.rows.xp, len(state.columns)
        whole = backend.BLOCK_LENGTH is not None  # whose threads take all steps of a block, and write every pull
        wide = n_columns >= WIDE_COLUMNS and not self.project and not whole  # a fold would reach back into parts
        block = rows.block(index, full_rows=wide)
        room = xp.empty if whole else xp.zeros
        pulls = room((n_columns, len(index)), rows.dtype)
        weighted = room(pulls.shape, rows.dtype) if state.weighted.size else pulls[:0, :0]
        folds = xp.empty((n_columns, 2))
        scores, gram = rows.scores_now(block, state), rows.gram(block)
        draws = Draws(index, backend.earlier_draws(index) if self.job.rule == Rule.SDCA else index)
        shared, pulled = self._shared(state, columns), Pulled(pulls, weighted, folds)
        for first, last in self._parts(len(index), wide):
            backend.block_steps((first, last), shared, scores, gram, draws, pulled, self.schedule.batch, self.rules)
            if last < len(index):
                scores[:, last:] += product(pulls[:, first:last], gram.values[first:last, last:])
        if self.project:
            state.rescale(*backend.to_host(folds).T)
        rows.add_both(block, pulls, weighted, state)
        self._add_alpha(state, block, pulls)
        if rows.bounded:
            state.columns["norm_squared"] = rows.square_norms(state.sums)
        rows.follow(block, pulls, state)
        if not backend.WAITS_TO_LOOK:
            self.pull_rate = np.count_nonzero(pulls) / pulls.size

    def _shared(self, state: State, columns) -> SharedArrays:
        """What loops share; `columns` are the state's, where the rows are."""
        return SharedArrays(columns, *self.job.on_device, state.alpha, state.violations, self.size)

    def _parts(self, length: int, wide: bool) -> list[tuple[int, int]]:
        """Parts of a block: between them one product brings the scores of all later draws up to date.

        Within a part each pull does so by itself, which many columns cannot afford over a long block.
        """
        batch = self.schedule.batch or 1
        part = max(1, PART // batch) * batch if wide else length
        return [(first, min(first + part, length)) for first in range(0, length, part)]

    def _direct(self, state: State, index: np.ndarray) -> None:
        rows, size, batch, pulled = self.rows, self.size, self.schedule.batch or 1, []

        def steps(first, last):
            count = cpu.direct_steps(
                first * size, last * size, size, state.columns, state.sums, state.weighted, state.products, index,
                rows.direct_values, self.squares, rows.bias, self.job.problems.labelings, self.job.weights, state.alpha,
                state.violations, batch, int(self.rules.average), *cpu.direct_room(batch, size, self.single),
                **self.rules.constants, single=self.single, kernel=state.products.size > 0,
            )  # fmt: skip
            pulled.append(count)

        n_columns = len(state.columns)
        in_parallel(steps, n_columns // size, len(index) * n_columns * rows.width)
        self.pull_rate = sum(pulled) / (len(index) * n_columns)

    def _sparse_steps(self, state: State, index: np.ndarray) -> None:
        rows, X = self.rows, self.rows.X
        if len(state.columns) == 1 and self.single and not self.project and self.job.rule == Rule.PEGASOS:
            cpu.column_steps(
                readable(state.columns), state.sums[:, 0], state.weighted[:, 0] if state.weighted.size else NOTHING,
                index, X.indptr, X.indices, X.data, self.squares, rows.bias, self.job.problems.labelings,
                self.job.weights, state.alpha[:, 0] if state.alpha.size else NOTHING, loss=self.job.loss,
                average=self.rules.average,
            )  # fmt: skip
            return
        cpu.row_steps(
            self.size, state.columns, state.sums, state.weighted, index, X.indptr, X.indices, X.data, self.squares,
            rows.bias, self.job.problems.labelings, self.job.weights, state.alpha, self.schedule.batch,
            int(self.rules.average), **self.rules.constants,
        )  # fmt: skip

    def batch(self, state: State, index: np.ndarray | None, scores: list[np.ndarray] | None) -> list[np.ndarray]:
        """One step on the rows `index` (None: all); `scores` are theirs if known. Returns the scores after the step.

        The products fill the machine by themselves.
        """
        rows, backend = self.rows, self.backend
        index = None if index is None else backend.to_device(index)
        blocks: Callable = partial(rows.blocks, index)  # made anew each time: all blocks of CSR rows are a copy of X
        if index is not None and len(index) <= rows.at_once:
            blocks = partial(iter, list(blocks()))
        before = scores or [rows.scores(block, state.sums) for block in blocks()]
        pulls = []
        with backend.columns_to_change(state.columns) as columns:
            scales = rows.xp.zeros(len(state.columns))
            backend.open_columns(columns, scales, self.rules)
            for block, known in zip(blocks(), before, strict=True):
                part = rows.xp.empty_like(known)
                backend.batch_pulls(self._shared(state, columns), scales, known, block.rows, part, self.rules)
                pulls.append(part)
                if state.violations.size:
                    backend.count_violations(state.violations, block.rows, part)
        self._add_batch(state, zip(blocks(), pulls, strict=True))
        after: list = []
        if index is None or rows.dual:
            after = [rows.scores(block, state.sums) for block in blocks()]
        with backend.columns_to_change(state.columns) as columns:
            for block, part, old, new in zip_longest(blocks(), pulls, before, after):
                shared, new = self._shared(state, columns), old if new is None else new
                backend.batch_account(shared, part, block.rows, old, new, self.rules)
        if not after:  # other rows follow, and the norm of a linear state is known without their scores
            state.columns["norm_squared"] = rows.square_norms(state.sums)
        with backend.columns_to_change(state.columns) as columns:
            shared = self._shared(state, columns)
            if state.alpha_in_sums:
                shared = shared._replace(alpha=state.alpha[:0])
            folded = backend.close_columns(shared, state.sums, state.weighted, self.rules)
        return [] if folded else after

    def _add_batch(self, state: State, parts: Iterable[tuple[Block, np.ndarray]]) -> None:
        """Add the pulls of a batch, which all count alike in the average."""
        rows, weights = self.rows, self.backend.to_device(state.columns["average"].astype(self.rows.dtype))
        if rows.dual or not state.weighted.size:
            for block, pulls in parts:
                rows.add_both(block, pulls, pulls * weights[:, None] if state.weighted.size else pulls, state)
                self._add_alpha(state, block, pulls)
            return
        moved = rows.xp.zeros_like(state.sums)
        for block, pulls in parts:
            rows.add(block, pulls, moved)
            self._add_alpha(state, block, pulls)
        state.sums += moved
        state.weighted += moved * weights

    def _add_alpha(self, state: State, block: Block, pulls: np.ndarray) -> None:
        if state.alpha.size and not state.alpha_in_sums:
            self.backend.scatter_rows(state.alpha, block.rows, pulls)
