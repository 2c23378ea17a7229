"""The textbook loops, one problem at a time and without tricks: the judge of every fast path.

A problem is a kernel matrix `K` over the rows of one column, targets `y` (±1), weights `s` of mean 1, `lam`, and the
draws `order` as indices into these rows. A model is its coefficient vector `a`: w = Σ a_i φ(x_i). Every iterate is
kept, so averages are plain means.
"""

import numpy as np


def pegasos(K, y, s, lam, order, steps, k=1, project=False):
    """Return all iterates w⁽⁰⁾..w⁽ᵀ⁾, the pull counts, and how close any margin came to its threshold."""
    n = len(y)
    a = np.zeros(n)
    iterates, counts, closest = [a], np.zeros(n, int), np.inf
    for t in range(1, steps + 1):
        batch = np.arange(n) if k == "all" else order[(t - 1) * k : t * k]
        margins = np.array([y[i] * (K[i] @ a) for i in batch])
        closest = min(closest, np.abs(margins - 1).min())
        eta = 1 / (lam * t)
        new = (1 - 1 / t) * a
        for i, margin in zip(batch, margins, strict=True):
            if margin < 1:
                new[i] += eta / len(batch) * s[i] * y[i]
                counts[i] += 1
        if project:
            norm = np.sqrt(max(new @ K @ new, 0))
            if norm > 1 / np.sqrt(lam):
                new = new / (np.sqrt(lam) * norm)
        a = new
        iterates.append(a)
    return iterates, counts, closest


def violation_counts(K, y, lam, order, steps):
    """The count form: α_i is how often row i was violated; w = 1/(lam t) Σ α_i y_i φ(x_i)."""
    alpha = np.zeros(len(y), int)
    for t in range(1, steps + 1):
        i = order[t - 1]
        score = 0.0 if t == 1 else sum(alpha * y * K[i]) / (lam * (t - 1))
        if y[i] * score < 1:
            alpha[i] += 1
    return alpha


def support_pairs(K, y, lam, order, steps):
    """The list form: the drawn rows that were violated, in order, each with weight 1/(lam t)."""
    pairs = []
    for t in range(1, steps + 1):
        i = order[t - 1]
        score = sum(y[j] * K[j, i] for j in pairs) / (lam * (t - 1)) if pairs else 0.0
        if y[i] * score < 1:
            pairs.append(i)
    return pairs


def sdca(K, y, s, lam, order, steps):
    """Return all iterates (coefficients of w) and the last dual variables."""
    n = len(y)
    beta = np.zeros(n)
    iterates = [np.zeros(n)]
    for t in range(steps):
        i = order[t]
        a = y * beta / (lam * n)
        score = K[i] @ a
        q = K[i, i] / (lam * n)
        if q <= 0:
            beta[i] = s[i] if y[i] * score < 1 else 0.0
        else:
            beta[i] = min(max(beta[i] + (1 - y[i] * score) / q, 0.0), s[i])
        iterates.append(y * beta / (lam * n))
    return iterates, beta


def average_of(iterates, average, rule="pegasos", n=None):
    """The reported model: the last iterate, or the mean that `average` names."""
    steps = len(iterates) - 1
    if average is False:
        return iterates[-1]
    if rule == "sdca":  # the mean over the current pass, or the previous one while under half of it is done
        begun = (steps - 1) // n * n
        if begun > 0 and 2 * (steps - begun) < n:
            return np.mean(iterates[begun - n + 1 : begun + 1], axis=0)
        return np.mean(iterates[begun + 1 :], axis=0)
    if average == "uniform":
        return np.mean(iterates[:steps], axis=0)
    if average == "weighted":
        return np.average(iterates[1:], axis=0, weights=np.arange(1, steps + 1))
    return np.mean(iterates[steps // 2 + 1 :], axis=0)


def primal(K, y, s, lam, a):
    """lam/2 ||w||² + Σ s·hinge / n."""
    return lam / 2 * (a @ K @ a) + np.mean(s * np.maximum(0, 1 - y * (K @ a)))


def dual(K, y, s, lam, beta):
    """Mean of beta minus lam/2 ||w(beta)||²; beta has to lie in its box."""
    assert (beta >= -1e-9).all()
    assert (beta <= s + 1e-9).all()
    a = y * beta / (lam * len(y))
    return beta.mean() - lam / 2 * (a @ K @ a)


def best_dual(K, y, s, lam, iterates, k, sampling):
    """The dual bound under pegasos: the best at a whole pass; without one (or k > 1 off one), the clipped point."""
    n = len(y)
    per_step = n if k == "all" else k
    found = [0.0]
    for t in range(1, len(iterates)):
        if (sampling != "replacement" or k == "all") and t * per_step % n == 0:
            found.append(dual(K, y, s, lam, lam * n * y * iterates[t]))
    at_end = (sampling != "replacement" or k == "all") and (len(iterates) - 1) * per_step % n == 0
    if len(found) == 1 or (k != 1 and not at_end):
        found.append(dual(K, y, s, lam, np.clip(lam * n * y * iterates[-1], 0, s)))
    return max(found)
