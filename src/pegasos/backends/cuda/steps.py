"""The in-block kernels: one thread block for each column (or group of columns), one thread for each draw.

Both take the steps of the draws of a look-ahead block by the scalar functions of `pegasos.rules.step`, compiled for
the GPU as they are: `single_steps` those of single rows, `group_steps` those of batches, groups and projection, one by
one. Scores come in as they are at the start of the block; each pull corrects those of all later draws by the Gram
matrix.
"""

from __future__ import annotations

from numba import cuda, float64, int64

from pegasos.backends.cuda.launching import jit_device, jit_kernel
from pegasos.backends.cuda.sums import ALL, LANES
from pegasos.rules.column import COLUMN, Average, Rule
from pegasos.rules.step import account, close_step, dual_sign, folded, open_step, pull_of, pulls_of, scale_of, weight_of

WARPS = 32  # of the largest thread block
AHEAD = 8  # inner products asked for at a time
REGISTERS = 64  # of a thread: a thread block of the largest size has to find room


@jit_kernel(max_registers=REGISTERS)
def single_steps(
    columns, scores, gram, index, labelings, weights, alpha, violations, pulls, weighted, average,
    *, rule, loss,
):  # fmt: skip
    """The kernel for steps of single rows, one column a thread block; compiled for a rule and a loss by themselves.

    What a draw does depends on earlier ones only through its score, so all draws of a warp say at once whether they
    would pull; the first that would is right, its pull corrects the scores of the later ones, and these say again. A
    draw that does not pull costs nothing of its own. Warp after warp takes its steps, and later warps catch up.
    """
    p, r = cuda.blockIdx.x, cuda.threadIdx.x
    warp, lane = r // LANES, r % LANES
    n_warps = cuda.blockDim.x // LANES
    counts = cuda.shared.array(WARPS, int64)
    sums = cuda.shared.array((2, WARPS), float64)
    said = cuda.shared.array((2, LANES), scores.dtype)
    rows = cuda.shared.array((2, LANES), int64)
    spoke = cuda.shared.array(2, int64)
    mine = cuda.local.array(1, COLUMN)  # the column as it is when this draw has its turn
    across = cuda.local.array(LANES, gram.dtype)  # inner products with the draws of the same warp
    some = cuda.local.array(AHEAD, gram.dtype)
    strength = cuda.local.array(AHEAD, scores.dtype)

    mine[0] = columns[p]
    own = mine[0]
    there = r < index.size
    i = index[r] if there else int64(-1)
    y = labelings[i, own.labeling] if there else labelings[0, 0]
    s = float(weights[i, own.row_set]) if there else 0.0
    member = s != 0.0

    # How many steps the column has taken before this draw.
    ballot = cuda.ballot_sync(ALL, member)
    if lane == 0:
        counts[warp] = cuda.popc(ballot)
    cuda.syncthreads()
    before, in_all = int64(0), int64(0)
    for w in range(n_warps):
        before += counts[w] if w < warp else 0
        in_all += counts[w]
    before += cuda.popc(ballot & ((1 << lane) - 1))
    taken = min(in_all, max(int64(0), own.limit - own.steps))
    own.steps += before
    active = member and before < taken
    scale = 0.0
    if active:
        scale = scale_of(own, rule)

    # The part that each iterate has in the average, added up over the draws before.
    share = 0.0
    if average != Average.LAST:
        if active:
            share = weight_of(own, average) * scale
        apart = 1
        while apart < LANES:
            other = cuda.shfl_up_sync(ALL, share, apart)
            share += other if lane >= apart else 0.0
            apart *= 2
        if lane == LANES - 1:
            sums[0, warp] = share
        cuda.syncthreads()
        for w in range(warp):
            share += sums[0, w]
        own.average += share

    score = scores[p, r] if there else scores[0, 0]
    pull = scores.dtype.type(0.0)
    itself = gram[r, r] if there else gram[0, 0]
    held = 0.0
    if there and rule == Rule.SDCA:
        held = float(alpha[i, p])
    last = index.size - 1
    for j in range(LANES):  # without a branch: all are asked for before the first is there
        across[j] = gram[min(warp * LANES + j, last), min(r, last)]

    for turn in range(n_warps):
        if warp == turn:
            latest, spoken = -1, 0
            while True:
                found = 0.0
                if active and lane > latest:
                    found = pull_of(own, rule, loss, y, s, scale * score, held, itself)
                says = cuda.ballot_sync(ALL, found != 0.0)
                if says == 0:
                    break
                latest = cuda.ffs(says) - 1
                spoken |= 1 << latest
                if lane == latest:
                    pull = scores.dtype.type(found)
                pulled = cuda.shfl_sync(ALL, pull, latest)
                row = cuda.shfl_sync(ALL, i, latest)
                if lane > latest:
                    score += pulled * across[latest]
                    if rule == Rule.SDCA and row == i:
                        held += pulled
            said[turn & 1, lane] = pull
            rows[turn & 1, lane] = i
            if lane == 0:
                spoke[turn & 1] = spoken
        cuda.syncthreads()
        left = spoke[turn & 1] if warp > turn and there else int64(0)
        while left != 0:
            for a in range(AHEAD):
                j = cuda.ffs(left) - 1 if left != 0 else 0
                pulled = said[turn & 1, j] if left != 0 else scores.dtype.type(0.0)
                if rule == Rule.SDCA and rows[turn & 1, j] == i:
                    held += pulled
                strength[a] = pulled
                some[a] = gram[turn * LANES + j, r]
                left &= left - 1
            for a in range(AHEAD):
                score += strength[a] * some[a]

    own.norm_squared = 0.0
    own.dual_linear = 0.0
    if there:
        pulls[p, r] = pull
        if weighted.size:
            weighted[p, r] = pull * own.average
    if pull != 0.0:
        account(own, pull, dual_sign(loss, y, 0), score, itself)
        if violations.size:
            cuda.atomic.add(violations, (i, p), 1)
    square, mass = own.norm_squared, own.dual_linear
    apart = LANES // 2
    while apart:
        square += cuda.shfl_down_sync(ALL, square, apart)
        mass += cuda.shfl_down_sync(ALL, mass, apart)
        apart //= 2
    cuda.syncthreads()
    if lane == 0:
        sums[0, warp] = square
        sums[1, warp] = mass
    cuda.syncthreads()
    if r == cuda.blockDim.x - 1:
        for w in range(n_warps):
            columns[p].norm_squared += sums[0, w]
            columns[p].dual_linear += sums[1, w]
        columns[p].steps += taken
        columns[p].average = own.average  # the last thread's holds all shares


@jit_kernel(max_registers=REGISTERS)
def group_steps(
    columns, scores, gram, index, labelings, weights, alpha, violations, pulls, weighted, folds, k,
    average, *, size, rule, loss, project,
):  # fmt: skip
    """The kernel for batches of `k` draws, groups of `size` columns, and projection."""
    lead, r = cuda.blockIdx.x * size, cuda.threadIdx.x
    leader = columns[lead]
    scales = cuda.shared.array(size, float64)
    folding = cuda.shared.array(1, int64)
    f = cuda.local.array(size, float64)
    held = cuda.local.array(size, float64)
    found = cuda.local.array(size, float64)
    if r == 0:
        for q in range(size):
            folds[lead + q, 0] = 1.0
            folds[lead + q, 1] = 0.0
    there = r < index.size
    for q in range(size):
        held[q] = 0.0
        if there:
            pulls[lead + q, r] = 0.0
            if weighted.size:
                weighted[lead + q, r] = 0.0
            if rule == Rule.SDCA:
                held[q] = float(alpha[index[r], lead + q])
    cuda.syncthreads()
    for start in range(0, index.size, k):
        if leader.steps >= leader.limit:
            break
        if weights[index[start], leader.row_set] == 0:
            continue
        cuda.syncthreads()
        if r == 0:
            for q in range(size):
                scales[q] = open_step(columns[lead + q], rule, average)
        cuda.syncthreads()
        if start <= r < start + k:
            i = index[r]
            for q in range(size):
                f[q] = scales[q] * scores[lead + q, r]
                found[q] = 0.0
            s = float(weights[i, leader.row_set])
            pulls_of(leader, rule, loss, labelings[i, leader.labeling], s, f, held, gram[r, r], found)
            for q in range(size):
                pulls[lead + q, r] = found[q]
                if found[q] != 0.0 and weighted.size:
                    weighted[lead + q, r] = pulls[lead + q, r] * columns[lead + q].average
                if found[q] != 0.0 and violations.size:
                    cuda.atomic.add(violations, (i, lead + q), 1)
        cuda.syncthreads()
        if there:
            for b in range(start, min(start + k, r)):
                for q in range(size):
                    pulled = pulls[lead + q, b]
                    if pulled != 0.0:
                        scores[lead + q, r] += pulled * gram[b, r]
                        if index[b] == index[r]:
                            held[q] += pulled
        cuda.syncthreads()
        if r == 0:
            for b in range(start, start + k):
                for q in range(size):
                    pulled = pulls[lead + q, b]
                    if pulled != 0.0:
                        sign = dual_sign(loss, labelings[index[b], leader.labeling], q)
                        account(columns[lead + q], pulled, sign, scores[lead + q, b], gram[b, b])
            folding[0] = close_step(columns, lead, size, rule, project)
        cuda.syncthreads()
        if folding[0] != 0:
            _fold(columns, lead, size, r, start + k, there, scores, pulls, weighted, folds)


@jit_device
def _fold(columns, lead, size, r, done, there, scores, pulls, weighted, folds):
    """Multiply S by `shrink`, the old S through `folds`, and move average * S into U; each thread its own draw."""
    for q in range(size):
        p, shrink, mean = lead + q, columns[lead + q].shrink, columns[lead + q].average
        if there and r < done:
            if weighted.size:
                weighted[p, r] -= mean * pulls[p, r]
            pulls[p, r] *= shrink
        elif there:
            scores[p, r] *= shrink
    cuda.syncthreads()
    if r == 0:
        for q in range(size):
            column = columns[lead + q]
            folds[lead + q, 1] += column.average * folds[lead + q, 0]
            folds[lead + q, 0] *= column.shrink
            folded(column)
    cuda.syncthreads()
