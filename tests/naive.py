"""The textbook loops, one problem at a time and without tricks: the judge of every fast path.

A problem is a kernel matrix `K` over the rows of one column, targets `y` (±1, or numbers), weights `s` of mean 1,
`lam`, and the draws `order` as indices into these rows. A model is its coefficient vector `a`: w = Σ a_i φ(x_i). Every
iterate is kept, so averages are plain means.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from pegasos import textbook


@dataclass(frozen=True)
class Loss:
    """A loss written out with NumPy: `pull` is minus its derivative in f, `box` the domain of its dual variable."""

    value: Callable
    pull: Callable
    dual_term: Callable
    slope: Callable  # derivative of the dual term
    box: Callable
    threshold: Callable  # distance of a score from where the pull jumps
    signed: bool = True  # coefficient = y * beta, else beta


EPSILON = 0.3


def _entropy(p):
    p = np.clip(p, 1e-300, 1.0)
    q = np.clip(1 - p, 1e-300, 1.0)
    return -p * np.log(p) - q * np.log(q)


def _far(y, f):
    return np.inf


LOSSES = {
    "hinge": Loss(
        value=lambda y, f: np.maximum(0, 1 - y * f),
        pull=lambda y, f: y if y * f < 1 else 0.0,
        dual_term=lambda b, y, s: b,
        slope=lambda b, y, s: 1.0,
        box=lambda s: (0.0 * s, s),
        threshold=lambda y, f: abs(y * f - 1),
    ),
    "squared_hinge": Loss(
        value=lambda y, f: np.maximum(0, 1 - y * f) ** 2,
        pull=lambda y, f: 2 * y * max(0, 1 - y * f),
        dual_term=lambda b, y, s: b - b**2 / (4 * s),
        slope=lambda b, y, s: 1 - b / (2 * s),
        box=lambda s: (0.0 * s, np.inf + 0.0 * s),
        threshold=_far,
    ),
    "log_loss": Loss(
        value=lambda y, f: np.logaddexp(0, -y * f),
        pull=lambda y, f: y / (1 + np.exp(y * f)) if y * f < 60 else 0.0,  # 1e-26 is no pull
        dual_term=lambda b, y, s: s * _entropy(b / s),
        slope=lambda b, y, s: np.log((s - b) / b),
        box=lambda s: (0.0 * s, s),
        threshold=_far,
    ),
    "epsilon_insensitive": Loss(
        value=lambda y, f: np.maximum(0, np.abs(y - f) - EPSILON),
        pull=lambda y, f: np.sign(y - f) if abs(y - f) > EPSILON else 0.0,
        dual_term=lambda b, y, s: y * b - EPSILON * np.abs(b),
        slope=lambda b, y, s: y - EPSILON * np.sign(b),
        box=lambda s: (-s, s),
        threshold=lambda y, f: abs(abs(y - f) - EPSILON),
        signed=False,
    ),
    "squared_epsilon_insensitive": Loss(
        value=lambda y, f: np.maximum(0, np.abs(y - f) - EPSILON) ** 2,
        pull=lambda y, f: 2 * np.sign(y - f) * max(0, abs(y - f) - EPSILON),
        dual_term=lambda b, y, s: y * b - EPSILON * np.abs(b) - b**2 / (4 * s),
        slope=lambda b, y, s: y - EPSILON * np.sign(b) - b / (2 * s),
        box=lambda s: (-np.inf + 0.0 * s, np.inf + 0.0 * s),
        threshold=_far,
        signed=False,
    ),
}
SQUARED = ("squared_hinge", "squared_epsilon_insensitive")  # whose pulls have no bound


def zero_objective(y, s, loss):
    """Objective of w = 0."""
    return np.mean(s * LOSSES[loss].value(y, np.zeros(len(y))))


def pegasos(K, y, s, lam, order, steps, k=1, project=False, loss="hinge", start=None, t_start=0):
    """Return all iterates w⁽⁰⁾..w⁽ᵀ⁾, the pull counts, and how close any margin came to its threshold."""
    n, loss = len(y), LOSSES[loss]
    a = np.zeros(n) if start is None else start
    ahead = 2 * max(np.diag(K) * np.maximum(1, s / 2)) / lam if loss in (LOSSES[name] for name in SQUARED) else 0
    radius = np.sqrt(np.mean(s * loss.value(y, np.zeros(n))) / lam)
    iterates, counts, closest = [a], np.zeros(n, int), np.inf
    for t in range(t_start + 1, t_start + steps + 1):
        first = (t - t_start - 1) * k if k != "all" else 0
        batch = np.arange(n) if k == "all" else order[first : first + k]
        scores = [K[i] @ a for i in batch]
        eta = 1 / (lam * (t + ahead))
        new = (1 - lam * eta) * a
        for i, f in zip(batch, scores, strict=True):
            closest = min(closest, loss.threshold(y[i], f))
            if pull := loss.pull(y[i], f):
                new[i] += eta / len(batch) * s[i] * pull
                counts[i] += 1
        if project:
            norm = np.sqrt(max(new @ K @ new, 0))
            if norm > radius:
                new = new * radius / norm
        a = new
        iterates.append(a)
    return iterates, counts, closest


def violation_counts(K, y, lam, order, steps):
    """The count form: α_i is how often row i was violated; w = 1/(lam t) Σ α_i y_i φ(x_i)."""
    return textbook.violation_counts(np.arange(len(y)), y, lam, order[:steps], lambda i, j: K[i, j])


def support_pairs(K, y, lam, order, steps):
    """The list form: the drawn rows that were violated, in order, each with weight 1/(lam t)."""
    pairs = textbook.support_list(np.arange(len(y)), y, lam, order[:steps], lambda i, j: K[i, j])
    return [row for _, row in pairs]


def sdca(K, y, s, lam, order, steps, loss="hinge"):
    """Return all iterates (coefficients of w) and the last dual variables."""
    n, loss = len(y), LOSSES[loss]
    sign = y if loss.signed else np.ones(n)
    beta = np.zeros(n)
    iterates = [np.zeros(n)]
    for t in range(steps):
        i = order[t]
        score = K[i] @ (sign * beta) / (lam * n)
        beta[i] = _maximise_dual(loss, beta[i], y[i], s[i], sign[i] * score, K[i, i] / (lam * n))
        iterates.append(sign * beta / (lam * n))
    return iterates, beta


def _maximise_dual(loss, old, y, s, f, q):
    """argmax over b of dual_term(b) - (b - old)·f - q/2 (b - old)², by looking for the root of its derivative."""
    low, high = loss.box(s)
    low, high = max(low, -1e3 * s), min(high, 1e3 * s)
    rising = lambda b: loss.slope(b, y, s) - f - q * (b - old)
    if loss is LOSSES["log_loss"]:
        edge = 1e-200 * s
        tight = s * (1 - 1e-15)
        if rising(tight) > 0:
            return tight
        return edge if rising(edge) < 0 else brentq(rising, edge, tight, xtol=1e-300, rtol=1e-15)
    if not loss.signed:  # the derivative jumps at 0
        if y - EPSILON - f + q * old <= 0 <= y + EPSILON - f + q * old:
            return 0.0
        low, high = (0.0, high) if y - f + q * old > 0 else (low, 0.0)
        side = np.sign(high + low)
        rising = lambda b: loss.slope(b or 1e-300 * side, y, s) - f - q * (b - old)
    if rising(high) >= 0:
        return high
    if rising(low) <= 0:
        return low
    return brentq(rising, low, high, xtol=1e-300, rtol=1e-15)


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


def primal(K, y, s, lam, a, loss="hinge"):
    """lam/2 ||w||² + Σ s·loss / n."""
    return lam / 2 * (a @ K @ a) + np.mean(s * LOSSES[loss].value(y, K @ a))


def dual(K, y, s, lam, beta, loss="hinge"):
    """Mean of the dual terms minus lam/2 ||w(beta)||²; beta has to lie in its box."""
    loss = LOSSES[loss]
    low, high = loss.box(s)
    assert (beta >= low - 1e-9).all()
    assert (beta <= high + 1e-9).all()
    a = (y if loss.signed else 1.0) * beta / (lam * len(y))
    return loss.dual_term(beta, y, s).mean() - lam / 2 * (a @ K @ a)


def best_dual(K, y, s, lam, iterates, k, sampling, loss="hinge"):
    """The dual bound under pegasos: the best at a whole pass; without one (or k > 1 off one), the clipped point."""
    n = len(y)
    sign = y if LOSSES[loss].signed else 1.0
    per_step = n if k == "all" else k
    found = [0.0]
    for t in range(1, len(iterates)):
        if (sampling != "replacement" or k == "all") and t * per_step % n == 0:
            found.append(dual(K, y, s, lam, lam * n * sign * iterates[t], loss))
    at_end = (sampling != "replacement" or k == "all") and (len(iterates) - 1) * per_step % n == 0
    if len(found) == 1 or (k != 1 and not at_end):
        found.append(dual(K, y, s, lam, np.clip(lam * n * sign * iterates[-1], *LOSSES[loss].box(s)), loss))
    return max(found)
