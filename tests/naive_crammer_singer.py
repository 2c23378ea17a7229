"""Crammer–Singer by textbook loops: the judge of groups of columns.

A model is a matrix `A` of coefficients, rows × classes: w_r = Σ A[i, r] φ(x_i). Every iterate is kept.
"""

import numpy as np
from scipy.optimize import brentq


def rival_of(f, label):
    """The strongest other class, the lowest of equals."""
    others = [r for r in range(len(f)) if r != label]
    return max(others, key=lambda r: (f[r], -r))


def norm(K, A):
    return np.sqrt(max(np.trace(A.T @ K @ A), 0.0))


def pegasos(K, labels, n_classes, s, lam, order, steps, k=1, project=False):
    """All iterates, pull counts per row and class, and how close a margin or a choice of rival came to a tie."""
    n = len(labels)
    A = np.zeros((n, n_classes))
    iterates, counts, closest = [A], np.zeros(A.shape, int), np.inf
    for t in range(1, steps + 1):
        batch = np.arange(n) if k == "all" else order[(t - 1) * k : t * k]
        new = (1 - 1 / t) * A
        for i in batch:
            f, y = K[i] @ A, labels[i]
            rival = rival_of(f, y)
            closest = min(closest, abs(f[y] - f[rival] - 1))
            behind = [f[rival] - f[r] for r in range(n_classes) if r not in (y, rival)]
            closest = min([closest, *(d for d in behind if d != 0)])  # exactly equal scores are a tie for all
            if f[y] - f[rival] < 1:
                new[i, y] += s[i] / (lam * t * len(batch))
                new[i, rival] -= s[i] / (lam * t * len(batch))
                counts[i, y] += 1
                counts[i, rival] += 1
        if project and norm(K, new) > 1 / np.sqrt(lam):
            new = new / (np.sqrt(lam) * norm(K, new))
        A = new
        iterates.append(A)
    return iterates, counts, closest


def sdca(K, labels, n_classes, s, lam, order, steps):
    """All iterates and the last dual variables."""
    n = len(labels)
    beta = np.zeros((n, n_classes))
    iterates = [beta]
    for t in range(steps):
        i = order[t]
        f, q, own = K[i] @ beta / (lam * n), K[i, i] / (lam * n), np.eye(n_classes)[labels[i]]
        beta = beta.copy()
        beta[i] = _maximise_dual(q * beta[i] - f + own, s[i] * own, q)
        iterates.append(beta / (lam * n))
    return iterates, beta


def _maximise_dual(g, cap, q):
    """min(cap, (g - θ)/q) with θ such that it sums to 0."""
    excess = lambda theta: np.minimum(cap, (g - theta) / q).sum()
    theta = brentq(excess, g.min() - q * cap.max() - 1, g.max() + 1, xtol=1e-15, rtol=1e-15)
    return np.minimum(cap, (g - theta) / q)


def primal(K, labels, s, lam, A):
    """lam/2 ||W||² + Σ s·max_r(f_r + [r ≠ y] - f_y) / n."""
    F = K @ A
    own = F[np.arange(len(labels)), labels]
    losses = np.max(F + 1.0 - np.eye(A.shape[1])[labels], axis=1) - own
    return lam / 2 * norm(K, A) ** 2 + np.mean(s * losses)


def dual(K, labels, s, lam, beta):
    """Mean of the own class's variable minus lam/2 ||W(beta)||²."""
    own = np.eye(beta.shape[1])[labels].astype(bool)
    assert np.abs(beta.sum(axis=1)).max() < 1e-9
    assert (beta[~own] <= 1e-9).all()
    assert (beta[own] <= s + 1e-9).all()
    n = len(labels)
    return beta[own].mean() - lam / 2 * norm(K, beta / (lam * n)) ** 2


def best_dual(K, labels, s, lam, iterates, k, sampling):
    """As `naive.best_dual`: at whole passes, else the last point shrunk into its domain."""
    n = len(labels)
    per_step = n if k == "all" else k
    found = [0.0]
    for t in range(1, len(iterates)):
        if (sampling != "replacement" or k == "all") and t * per_step % n == 0:
            found.append(dual(K, labels, s, lam, lam * n * iterates[t]))
    at_end = (sampling != "replacement" or k == "all") and (len(iterates) - 1) * per_step % n == 0
    if len(found) == 1 or (k != 1 and not at_end):
        beta = lam * n * iterates[-1]
        own = beta[np.arange(n), labels]
        beta = beta * np.minimum(1.0, s / np.maximum(own, 1e-300))[:, None]
        found.append(dual(K, labels, s, lam, beta))
    return max(found)
