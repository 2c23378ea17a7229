"""The functions of `pegasos.backends.api.Backend` on a GPU: arrays in, kernels launched.

Nothing is waited for but what the host has to know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pegasos.backends.cuda import batches, gathering, scoring, steps
from pegasos.backends.cuda.launching import Records, launch, xp
from pegasos.backends.cuda.sparse import Densified
from pegasos.backends.cuda.sums import LANES, THREADS

ROWS_AT_ONCE = 8192
BLOCK_LENGTH = 1024  # threads of a thread block
WAITS_TO_LOOK = True


def to_device(values) -> Any:
    """An array of the host on the GPU."""
    return xp.asarray(values)


def columns_to_read(columns: np.ndarray) -> Any:
    """The records of the columns on the GPU, for kernels to read."""
    there = xp.empty(columns.nbytes, np.uint8)
    there.set(np.ascontiguousarray(columns).view(np.uint8))
    return Records(there, columns.dtype)


@contextmanager
def columns_to_change(columns: np.ndarray) -> Iterator[Any]:
    """The records of the columns on the GPU, for kernels to change; they come back at the end."""
    there = columns_to_read(columns)
    yield there
    columns[...] = there.there.get().view(columns.dtype)


def block_steps(part, shared, scores, gram, draws, pulled, k, rules) -> None:
    """Take the steps of a block, all at once: a thread for each draw, which finds draws of the same row itself."""
    given = (
        shared.columns, scores, gram.values, draws.index, shared.labelings, shared.weights, shared.alpha,
        shared.violations, pulled.pulls, pulled.weighted,
    )  # fmt: skip
    threads = -(-len(draws.index) // steps.LANES) * steps.LANES
    n_groups = len(pulled.pulls) // shared.size
    if k == shared.size == 1 and not rules.project:
        launch(steps.single_steps(rule=rules.rule, loss=rules.loss), n_groups, threads, *given, rules.average)
    else:
        kernel = steps.group_steps(size=shared.size, **rules.constants)
        launch(kernel, n_groups, threads, *given, pulled.folds, k, rules.average)


def earlier_draws(index):
    """The kernels find earlier draws of the same row by themselves."""
    return index


def gathered(X, index, constant):
    """The rows `index` of a dense matrix or a `Densified` one; `constant`, an array of one or none, is put behind."""
    shape = (len(index), X.shape[1] + constant.size)
    if isinstance(X, Densified):
        values = xp.zeros(shape, X.dtype)
        launch(gathering.spread, len(index), THREADS, X.ends, X.places, X.entries, index, constant, values)
    else:
        values = xp.empty(shape, X.dtype)
        launch(gathering.gather, len(index), THREADS, X, index, constant, values)
    return values


def product(left, right):
    """left @ right in one call, as a C-contiguous array."""
    if left.dtype != right.dtype:
        return left @ right
    out = xp.empty((left.shape[0], right.shape[1]), left.dtype)
    return cublas().gemm("N", "N", left, right, out=out)


def add_product(target, left, right) -> None:
    """target += left @ right in one call."""
    if target.dtype != left.dtype or not (target.flags.c_contiguous or target.flags.f_contiguous):
        target += left @ right
    else:
        cublas().gemm("N", "N", left, right, out=target, beta=1.0)


def open_columns(columns, scales, rules) -> None:
    """Begin one step of every unfinished column."""
    kernel = batches.open_columns(rule=rules.rule)
    launch(kernel, -(-len(scales) // THREADS), THREADS, columns, scales, rules.average)


def batch_pulls(shared, scales, scores, index, pulls, rules) -> None:
    """Pulls of the rows `index`, all against the same model."""
    grid = (len(pulls) // shared.size, -(-len(index) // THREADS))  # of the second dimension there can be 65535
    kernel = batches.batch_pulls(size=shared.size, rule=rules.rule, loss=rules.loss)
    launch(kernel, grid, THREADS, shared.columns, scales, scores, index, shared.labelings, shared.weights, pulls)


def batch_account(shared, pulls, index, before, after, rules) -> None:
    """Follow ||S||² and the dual mass over a batch."""
    kernel = batches.batch_account(size=shared.size, loss=rules.loss)
    launch(kernel, len(pulls), THREADS, shared.columns, pulls, index, shared.labelings, before, after)


def close_columns(shared, sums, weighted_sums, rules) -> bool:
    """End one step of every unfinished column; whether any state was folded."""
    any_fold = xp.zeros(1, np.int32)
    kernel = batches.close_columns(size=shared.size, rule=rules.rule, project=rules.project)
    groups = sums.shape[1] // shared.size
    launch(kernel, groups, THREADS, shared.columns, sums, weighted_sums, shared.alpha, any_fold)
    return bool(rules.project and any_fold[0])


def scatter_rows(target, index, pulls) -> None:
    """target[index] += pulls.T; rows may repeat."""
    later = xp.empty(len(index), np.int32)
    launch(batches.later_draws, -(-len(index) * LANES // THREADS), THREADS, index, later)
    launch(batches.scatter_rows, *_over(pulls), target, index, later, pulls)


def count_violations(violations, index, pulls) -> None:
    """Count each row that pulls."""
    launch(batches.count_violations, *_over(pulls), violations, index, pulls)


def add_losses(totals, shared, scores, index, loss) -> None:
    """totals[p] += Σ s·loss over the rows `index`; `scores` (P, B) are those of the model itself."""
    kernel = scoring.add_losses(size=shared.size, loss=loss)
    groups = len(scores) // shared.size
    launch(kernel, groups, THREADS, totals, shared.columns, scores, index, shared.labelings, shared.weights)


def dual_terms(totals, shared, factors, point, loss) -> None:
    """totals[p] += Σ dual term of the dual point `factors * alpha`, moved into its domain."""
    kernel = scoring.dual_terms(size=shared.size, loss=loss)
    given = (shared.columns, factors, shared.alpha, shared.labelings, shared.weights, totals, point)
    launch(kernel, len(totals) // shared.size, THREADS, *given)


def gram_of(matrix, rows, bias: float):
    """Inner products of some rows of a kernel matrix, complete: (values, known) as `block_steps` takes them."""
    values = xp.empty((len(rows), len(rows)), matrix.dtype)
    launch(gathering.gather_square, *_over(values), matrix, rows, values)
    if bias > 0:
        values += matrix.dtype.type(bias**2)
    return values, rows


def follow(products, matrix, rows, strip, pulls) -> None:
    """products += matrix[rows].T @ pulls.T; which rows pulled is known on the GPU only, so all take part."""
    n_columns = len(pulls)
    if n_columns <= gathering.FEW:
        grid = -(-matrix.shape[1] // THREADS)
        launch(gathering.add_rows(n_columns=n_columns), grid, THREADS, products, matrix, rows, pulls)
        return
    strip = gathered(matrix, rows, pulls[0, :0]) if strip is None else strip
    add_product(products, strip.T, pulls.T)


def cublas() -> Any:
    """CuPy's functions of cuBLAS, which need the library."""
    from cupy import cublas

    return cublas


def _over(pulls) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid and threads for one thread for each number of (P, B): columns side by side are neighbours in memory."""
    n_columns, n_rows = pulls.shape
    return (-(-n_columns // 32), -(-n_rows // 8)), (32, 8)
