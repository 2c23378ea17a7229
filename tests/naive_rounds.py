"""CoCoA+ written out: K workers in turn, one row at a time, one column, no tricks."""

import numpy as np

from naive import LOSSES, _maximise_dual


def features(X, bias):
    """The rows with the constant feature."""
    return np.hstack([np.asarray(X, np.float64), np.full((len(X), 1), bias)])


def round_of(F, y, s, lam, groups, orders, alpha, w, sigma, loss="hinge"):
    """Coefficients after a round, and how each worker would change the model; `orders` are rows within each group."""
    n, alpha, changes = len(y), alpha.copy(), []
    for group, order in zip(groups, orders):
        change = np.zeros_like(w)
        for i in np.asarray(group)[order]:
            sign = y[i] if LOSSES[loss].signed else 1.0
            f, q = F[i] @ (w + sigma * change), sigma * F[i] @ F[i] / (lam * n)
            new = sign * _maximise_dual(LOSSES[loss], sign * alpha[i], y[i], s[i], sign * f, q)
            change += (new - alpha[i]) * F[i] / (lam * n)
            alpha[i] = new
        changes.append(change)
    return alpha, changes


def dual_at(F, y, s, lam, alpha, loss="hinge"):
    """The dual objective of coefficients."""
    w = F.T @ alpha / (lam * len(y))
    beta = alpha * y if LOSSES[loss].signed else alpha
    return LOSSES[loss].dual_term(beta, y, s).mean() - lam / 2 * w @ w
