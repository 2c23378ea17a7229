"""One-class Pegasos: steps over rows as they come, of a linear model and an offset of its scores."""

from pegasos.backends.cpu.loops import SUMS, jit

STEPS, OFFSET, OFFSETS, WEIGHT, SQUARES = range(5)  # what `numbers` holds


@jit(fastmath=SUMS)
def one_class_steps(order, indptr, indices, values, weights, nu, sums, products, numbers, *, sparse):
    """A step for each row in this order, on ``½ ||w||² - r + mean weight·max(0, r - f) / nu`` with f = w·x.

    w = sums / t after t steps, and ``t·sums - products`` is the sum of all `sums` so far, which the weighted average of
    w is made of. A step of the offset r is multiplied by the mean squared norm of the rows, since r is of the size of
    scores, and divided by t + 1 / nu, so that no row moves r by more than that size: with 1 / t alone the first row
    would bring r to about -1 / nu times it, from where sums of 1 / t take for ever to come back.

    Parameters
    ----------
    order : ndarray of intp
    indptr, indices, values : ndarray
        Rows: CSR if `sparse`, else `values` has all rows side by side, and of `indices` only the length counts.
    weights : ndarray of float64
        Of the rows.
    nu : float
    sums, products : ndarray of float64, shape (n_features,)
    numbers : ndarray of float64, shape (5,)
        Steps, r, Σ step·r, Σ weight, Σ weight·||x||².
    """
    width = indices.size
    for n in range(order.size):
        i = order[n]
        if sparse:
            first, last = indptr[i], indptr[i + 1]
        else:
            first, last = i * width, (i + 1) * width
        score, square = 0.0, 0.0
        for e in range(first, last):
            j = indices[e] if sparse else e - first
            score += sums[j] * values[e]
            square += values[e] * values[e]
        steps, weight = numbers[STEPS], weights[i]
        short = steps == 0.0 or score < steps * numbers[OFFSET]
        numbers[STEPS] = steps = steps + 1.0
        numbers[WEIGHT] += weight
        numbers[SQUARES] += weight * square
        mean = numbers[SQUARES] / numbers[WEIGHT] if numbers[WEIGHT] > 0.0 else 0.0
        numbers[OFFSET] += mean * weight * (1.0 - (1.0 / nu if short else 0.0)) / (steps + 1.0 / nu)
        numbers[OFFSETS] += steps * numbers[OFFSET]
        if short:
            pull = weight / nu
            for e in range(first, last):
                j = indices[e] if sparse else e - first
                sums[j] += pull * values[e]
                products[j] += (steps - 1.0) * pull * values[e]
