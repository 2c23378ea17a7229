"""Sums over all rows that a certificate needs: losses of a model, dual terms of a dual point. All in float64."""

from __future__ import annotations

from numba import cuda, float64

from pegasos.backends.cuda.launching import jit_kernel
from pegasos.backends.cuda.sums import THREADS, added_up
from pegasos.rules.step import dual_of, loss_of


@jit_kernel()
def add_losses(totals, columns, scores, index, labelings, weights, *, size, loss):
    """The kernel for totals[p] += Σ s·loss over the rows `index`, a thread block for each group of `size` columns."""
    lead, r = cuda.blockIdx.x * size, cuda.threadIdx.x
    leader = columns[lead]
    f = cuda.local.array(size, float64)
    total = 0.0
    for b in range(r, index.size, THREADS):
        i = index[b]
        s = float(weights[i, leader.row_set])
        if s != 0.0:
            for q in range(size):
                f[q] = scores[lead + q, b]
            total += s * loss_of(loss, labelings[i, leader.labeling], f, leader.epsilon)
    total = added_up(total)
    if r == 0:
        totals[lead] += total


@jit_kernel()
def dual_terms(columns, factors, alpha, labelings, weights, totals, point, *, size, loss):
    """The kernel for totals[p] += Σ dual term of the point `factors * alpha`, moved into its domain, as on the CPU."""
    lead, r = cuda.blockIdx.x * size, cuda.threadIdx.x
    leader = columns[lead]
    beta = cuda.local.array(size, float64)
    total = 0.0
    for i in range(r, alpha.shape[0], THREADS):
        s = float(weights[i, leader.row_set])
        if s == 0.0:
            continue
        for q in range(size):
            beta[q] = alpha[i, lead + q] * factors[lead + q]
        total += dual_of(loss, labelings[i, leader.labeling], s, beta, leader.epsilon)
        for q in range(size):
            if point.size:
                point[i, lead + q] = beta[q]
    total = added_up(total)
    if r == 0:
        totals[lead] += total
