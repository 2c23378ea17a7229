"""Steps of many rows each, whose products the caller makes, and what adds pulls to a state."""

from __future__ import annotations

from numba import cuda, float64

from pegasos.backends.cuda.launching import jit_kernel
from pegasos.backends.cuda.sums import ALL, LANES, THREADS, added_up
from pegasos.rules.step import close_step, dual_sign, folded, open_step, pulls_of


@jit_kernel()
def open_columns(columns, scales, average, *, rule):
    """Begin one step of every unfinished column, a thread each."""
    p = cuda.grid(1)
    if p < columns.size and columns[p].steps < columns[p].limit:
        scales[p] = open_step(columns[p], rule, average)


@jit_kernel()
def batch_pulls(columns, scales, scores, index, labelings, weights, pulls, *, size, rule, loss):
    """The kernel for pulls of the rows `index` in groups of `size` columns: a thread for each group and row."""
    lead, b = cuda.blockIdx.x * size, cuda.blockIdx.y * THREADS + cuda.threadIdx.x
    if b >= index.size:
        return
    f = cuda.local.array(size, float64)
    held = cuda.local.array(size, float64)
    found = cuda.local.array(size, float64)
    leader, i = columns[lead], index[b]
    s = float(weights[i, leader.row_set])
    for q in range(size):
        f[q] = scales[lead + q] * scores[lead + q, b]
        held[q] = found[q] = 0.0
    if s != 0.0 and leader.steps < leader.limit:
        pulls_of(leader, rule, loss, labelings[i, leader.labeling], s, f, held, 0.0, found)
    for q in range(size):
        pulls[lead + q, b] = found[q]


@jit_kernel()
def batch_account(columns, pulls, index, labelings, before, after, *, size, loss):
    """Follow ||S||² and the dual mass over a batch: a thread block for each column."""
    p, r = cuda.blockIdx.x, cuda.threadIdx.x
    labeling = columns[p].labeling
    square, mass = 0.0, 0.0
    for b in range(r, index.size, THREADS):
        v = float(pulls[p, b])
        if v != 0.0:
            square += v * (float(before[p, b]) + float(after[p, b]))
            mass += v * dual_sign(loss, labelings[index[b], labeling], p % size)
    square = added_up(square)
    mass = added_up(mass)
    if r == 0:
        columns[p].norm_squared += square
        columns[p].dual_linear += mass


@jit_kernel()
def close_columns(columns, sums, weighted_sums, alpha, any_fold, *, size, rule, project):
    """End one step of every unfinished group, a thread block each; `any_fold` tells of folded states."""
    lead, r = cuda.blockIdx.x * size, cuda.threadIdx.x
    folding = cuda.shared.array(1, float64)
    if columns[lead].steps >= columns[lead].limit:
        return
    cuda.syncthreads()
    if r == 0:
        folding[0] = close_step(columns, lead, size, rule, project)
    cuda.syncthreads()
    if folding[0] == 0.0:
        return
    for p in range(lead, lead + size):
        shrink, average = columns[p].shrink, columns[p].average
        for j in range(r, sums.shape[0], THREADS):
            if weighted_sums.size:
                weighted_sums[j, p] -= average * sums[j, p]
            sums[j, p] *= shrink
        for i in range(r, alpha.shape[0], THREADS):
            alpha[i, p] *= shrink
    cuda.syncthreads()
    if r == 0:
        any_fold[0] = 1
        for p in range(lead, lead + size):
            folded(columns[p])


@cuda.jit(cache=True)
def later_draws(index, later):
    """Where the same row is drawn next, -1 where it is not; of a row drawn before, -3 minus that. A warp a draw."""
    b, lane = cuda.grid(1) // LANES, cuda.threadIdx.x % LANES
    if b >= index.size:
        return
    row, found, repeated = index[b], index.size, False
    for e in range(lane, index.size, LANES):
        if index[e] == row:
            repeated |= e < b
            if e > b:
                found = min(found, e)
    earlier = cuda.ballot_sync(ALL, repeated)
    apart = LANES // 2
    while apart:
        found = min(found, cuda.shfl_down_sync(ALL, found, apart))
        apart //= 2
    if lane == 0:
        found = found if found < index.size else -1
        later[b] = -3 - found if earlier != 0 else found


@cuda.jit(cache=True)
def scatter_rows(target, index, later, pulls):
    """target[index] += pulls.T, a thread for each number; of draws of one row the first adds all, in their order."""
    p, b = cuda.grid(2)
    if p >= pulls.shape[0] or b >= index.size or later[b] < -1:
        return
    total, e = pulls[p, b], later[b]
    while e >= 0:
        total += pulls[p, e]
        e = -3 - later[e]
    if total != 0.0:
        target[index[b], p] += total


@cuda.jit(cache=True)
def count_violations(violations, index, pulls):
    """Count each row that pulls."""
    p, b = cuda.grid(2)
    if p < pulls.shape[0] and b < index.size and pulls[p, b] != 0.0:
        cuda.atomic.add(violations, (index[b], p), 1)
