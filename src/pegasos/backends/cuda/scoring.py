"""Sums over all rows that a certificate needs: losses of a model, dual terms of a dual point. All in float64."""

from __future__ import annotations

from functools import cache

from numba import cuda, float64

from pegasos.backends.cuda.sums import THREADS, added_up
from pegasos.rules.step import dual_of, loss_of


@cache
def add_losses(size):
    """The kernel for totals[p] += Σ s·loss over the rows `index`, a thread block for each group of `size` columns."""

    @cuda.jit(cache=True)
    def losses(totals, columns, scores, index, labelings, weights, loss):
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

    return losses


@cache
def dual_terms(size):
    """The kernel for totals[p] += Σ dual term of the point `factors * alpha`, moved into its domain, as on the CPU."""

    @cuda.jit(cache=True)
    def terms(columns, factors, alpha, labelings, weights, loss, totals, point):
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

    return terms
