"""Independent answers for every loss but the plain hinge: objectives written out, and optima that certify themselves.

The problems, for rows with weights s of mean 1 and a kernel matrix K, without an unpenalised bias:

    primal  P(w) = lam/2 |w|^2 + mean(s * loss(y, f)),       f = <w, phi(x)>
    dual    D(b) = mean(term(b)) - lam/2 |w(b)|^2,           w(b) = sum_i c_i phi(x_i) / (lam n)

    loss                                              c        term               domain of b
    squared_hinge          max(0, 1 - yf)^2           y b      b - b^2/(4s)       b >= 0
    log_loss               log(1 + exp(-yf))          y b      s entropy(b/s)     0 <= b <= s
    epsilon_insensitive    max(0, |y - f| - eps)      b        y b - eps |b|      -s <= b <= s
    squared_epsilon_insensitive  max(0, |y-f| - eps)^2  b        y b - eps |b| - b^2/(4s)   any
    crammer_singer         max_r f_r + [r != y] - f_y b        b_y                sum b = 0, b_r <= s [r = y]

Smooth losses are solved by Newton's method on the primal, the others by an interior-point method on the dual, which is
a quadratic program. Nothing here shares code or method with the library: no coordinate steps, no sub-gradients.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.special import entr, expit

from reference import Optimum, normalised


def losses_of(loss: str, scores, y, epsilon: float = 0.0) -> np.ndarray:
    """Loss of each row; for Crammer-Singer `y` are class numbers and `scores` is (n_rows, n_classes)."""
    scores, y = np.asarray(scores, dtype=np.float64), np.asarray(y)
    if loss == "crammer_singer":
        rows = np.arange(len(y))
        rivals = scores + 1.0
        rivals[rows, y] -= 1.0
        return rivals.max(axis=1) - scores[rows, y]
    if loss.endswith("epsilon_insensitive"):
        return np.maximum(0.0, np.abs(y - scores) - epsilon) ** (2 if loss.startswith("squared") else 1)
    if loss == "log_loss":
        return np.logaddexp(0.0, -y * scores)
    return np.maximum(0.0, 1.0 - y * scores) ** {"hinge": 1, "squared_hinge": 2}[loss]


def objective(loss: str, scores, y, lam: float, squared_norm: float, weights=None, epsilon: float = 0.0) -> float:
    """lam/2 |w|^2 + sum s_i loss_i / sum s_i, given the scores and |w|^2 (over all classes for Crammer-Singer)."""
    return float(0.5 * lam * squared_norm + np.average(losses_of(loss, scores, y, epsilon), weights=weights))


def linear_objective(
    loss: str, X, y, coef, lam: float, *, intercept=0.0, intercept_scaling: float = 1.0, weights=None, epsilon=0.0
) -> float:
    """Objective of a linear model whose bias is the weight of a penalised constant feature `intercept_scaling`.

    `coef` is (n_features,), or (n_classes, n_features) for Crammer-Singer.
    """
    coef = np.asarray(coef, dtype=np.float64)
    intercept = np.asarray(intercept, dtype=np.float64)
    squared_norm = np.sum(coef**2) + np.sum((intercept / intercept_scaling) ** 2)
    return objective(loss, X @ coef.T + intercept, y, lam, squared_norm, weights, epsilon)


def kernel_objective(loss: str, K, y, alpha, lam: float, *, weights=None, epsilon: float = 0.0) -> float:
    """Objective of w = sum_i alpha_i phi(x_i), for the kernel matrix K of the training rows (bias included in K).

    `alpha` is (n_rows,), or (n_rows, n_classes) for Crammer-Singer.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    scores = K @ alpha
    return objective(loss, scores, y, lam, np.sum(alpha * scores), weights, epsilon)


def smooth_optimum(loss: str, K, y, lam: float, *, weights=None, epsilon=0.0, max_gap: float = 1e-10) -> Optimum:
    """A loss with a derivative by damped Newton steps on the primal, in coordinates in which K is diagonal.

    The dual point is b = -s dloss/dmargin at the primal point (regression: the score for the margin). Raises when
    P(w(b)) - D(b) does not reach `max_gap`.
    """
    y = np.asarray(y, dtype=np.float64)
    n, s = len(y), _positive(weights, len(y))
    K = np.asarray(K, dtype=np.float64)
    sizes, vectors = linalg.eigh(K)
    signs = np.ones(n) if loss == "squared_epsilon_insensitive" else y
    targets = y * signs
    features = signs[:, None] * vectors * np.sqrt(np.maximum(sizes, 0.0))

    def certify(margins) -> Optimum:
        if loss == "squared_epsilon_insensitive":
            beta = -s * derivatives(margins)[0]
            terms = y * beta - epsilon * np.abs(beta) - beta**2 / (4.0 * s)
        elif loss == "log_loss":
            beta = s * expit(-margins)
            terms = s * (entr(beta / s) + entr(expit(margins)))
        else:
            beta = 2.0 * s * np.maximum(0.0, 1.0 - margins)
            terms = beta - beta**2 / (4.0 * s)
        alpha = signs * beta / (lam * n)
        dual = terms.mean() - 0.5 * lam * (alpha @ K @ alpha)
        return Optimum(kernel_objective(loss, K, y, alpha, lam, weights=s, epsilon=epsilon), float(dual), beta)

    def derivatives(margins):
        if loss == "log_loss":
            return -expit(-margins), expit(margins) * expit(-margins)
        if loss == "squared_hinge":
            return -2.0 * np.maximum(0.0, 1.0 - margins), 2.0 * (margins < 1.0)
        beyond = np.maximum(0.0, np.abs(y - margins) - epsilon)
        return -2.0 * np.sign(y - margins) * beyond, 2.0 * (beyond > 0.0)

    def primal(w):
        return objective(loss, features @ w, targets, lam, w @ w, s, epsilon)

    w = np.zeros(n)
    best = certify(features @ w)
    for _ in range(200):
        if best.gap <= max_gap:
            return best
        margins = features @ w
        slope, curvature = derivatives(margins)
        gradient = lam * w + features.T @ (s * slope) / n
        hessian = lam * np.eye(n) + (features.T * (s * curvature)) @ features / n
        direction = linalg.solve(hessian, -gradient, assume_a="pos")
        step, here = 1.0, primal(w)
        while primal(w + step * direction) > here + 1e-4 * step * (gradient @ direction) and step > 1e-12:
            step *= 0.5
        w = w + step * direction
        now = certify(features @ w)
        best = now if now.gap < best.gap else best
    raise RuntimeError(f"the reference solver reached a gap of {best.gap:.3g}, not {max_gap:.3g}")


def regression_optimum(K, y, lam: float, epsilon: float, *, weights=None, max_gap: float = 1e-10) -> Optimum:
    """Epsilon-insensitive regression: the dual is a quadratic program in b = up - down, 0 <= up, down <= s.

    The gap is asked for relative to the objective of the zero model, where that is above 1.
    """
    y = np.asarray(y, dtype=np.float64)
    n, s = len(y), _positive(weights, len(y))
    K = np.asarray(K, dtype=np.float64)

    def certify(x) -> Optimum:
        beta = np.clip(x[:n] - x[n:], -s, s)
        alpha = beta / (lam * n)
        dual = np.mean(y * beta - epsilon * np.abs(beta)) - 0.5 * lam * (alpha @ K @ alpha)
        return Optimum(
            kernel_objective("epsilon_insensitive", K, y, alpha, lam, weights=s, epsilon=epsilon), dual, beta
        )

    H = np.kron([[1.0, -1.0], [-1.0, 1.0]], K) / (lam * n)
    aims = np.concatenate([y - epsilon, -y - epsilon])
    bounds = np.vstack([-np.eye(2 * n), np.eye(2 * n)])
    limits = np.concatenate([np.zeros(2 * n), s, s])
    scale = max(1.0, np.mean(s * losses_of("epsilon_insensitive", np.zeros(n), y, epsilon)))
    return _interior_point(H, aims, bounds, limits, 0.5 * np.concatenate([s, s]), certify, max_gap * scale)


def crammer_singer_optimum(K, labels, n_classes: int, lam: float, *, weights=None, max_gap: float = 1e-10) -> Optimum:
    """Crammer-Singer: the dual is a quadratic program in x = -b_r of the rivals r, x >= 0 and sum over r of x <= s."""
    labels = np.asarray(labels)
    n, s = len(labels), _positive(weights, len(labels))
    K = np.asarray(K, dtype=np.float64)
    owners = np.repeat(np.arange(n), n_classes - 1)
    rivals = np.concatenate([np.delete(np.arange(n_classes), label) for label in labels])
    own = np.eye(n_classes)[labels[owners]] - np.eye(n_classes)[rivals]  # e_y - e_r: what x adds to b
    sums = np.equal.outer(np.arange(n), owners).astype(np.float64)

    def certify(x) -> Optimum:
        x = np.maximum(x, 0.0)
        x = x * np.minimum(1.0, s / np.maximum(sums @ x, 1e-300))[owners]
        beta = sums @ (own * x[:, None])
        alpha = beta / (lam * n)
        dual = (sums @ x).mean() - 0.5 * lam * np.sum(alpha * (K @ alpha))
        return Optimum(kernel_objective("crammer_singer", K, labels, alpha, lam, weights=s), float(dual), beta)

    H = K[np.ix_(owners, owners)] * (own @ own.T) / (lam * n)
    bounds = np.vstack([-np.eye(len(owners)), sums])
    limits = np.concatenate([np.zeros(len(owners)), s])
    start = 0.5 * s[owners] / (n_classes - 1)
    return _interior_point(H, np.ones(len(owners)), bounds, limits, start, certify, max_gap)


def optimum_of(loss: str, K, y, lam: float, *, weights=None, epsilon: float = 0.0, n_classes: int = 0) -> Optimum:
    """The optimum of any loss but the plain hinge."""
    if loss == "crammer_singer":
        return crammer_singer_optimum(K, y, n_classes, lam, weights=weights)
    if loss == "epsilon_insensitive":
        return regression_optimum(K, y, lam, epsilon, weights=weights)
    return smooth_optimum(loss, K, y, lam, weights=weights, epsilon=epsilon)


def _positive(weights, n_rows: int) -> np.ndarray:
    s = normalised(weights, n_rows)
    if np.any(s <= 0):
        raise ValueError("drop rows of weight 0 before asking for the optimum")
    return s


def _interior_point(H, aims, G, limits, x, certify, max_gap: float) -> Optimum:
    """min 1/2 x'Hx - aims'x subject to Gx <= limits, by a primal-dual predictor-corrector method.

    `x` has to be strictly feasible. Raises when the gap that `certify` finds does not reach `max_gap`.
    """
    slack = limits - G @ x
    multipliers = np.full(len(limits), max(1.0, np.abs(aims).max()))
    best = certify(x)
    for _ in range(200):
        if best.gap <= max_gap:
            return best
        factor = linalg.lu_factor(np.block([[H, G.T], [G, -np.diag(slack / multipliers)]]))
        residual = H @ x - aims + G.T @ multipliers
        point = factor, residual, slack, multipliers
        affine = _direction(G, point, 0.0)
        step = _longest_step(slack, multipliers, affine)
        complementarity = multipliers @ slack
        reached = (multipliers + step * affine[2]) @ (slack + step * affine[1])
        centre = complementarity / len(slack) * (reached / complementarity) ** 3
        change = _direction(G, point, centre - affine[1] * affine[2])
        step = _longest_step(slack, multipliers, change)
        x, slack, multipliers = (v + step * d for v, d in zip((x, slack, multipliers), change, strict=True))
        now = certify(x)
        if not np.isfinite(now.gap):
            break
        best = now if now.gap < best.gap else best
    raise RuntimeError(f"the reference solver reached a gap of {best.gap:.3g}, not {max_gap:.3g}")


def _direction(G, point, target):
    """Newton step of x, slack and multipliers towards multipliers * slack = target."""
    factor, residual, slack, multipliers = point
    d = linalg.lu_solve(factor, np.concatenate([-residual, slack - target / multipliers]))
    dx, d_multipliers = np.split(d, [len(residual)])
    return dx, (target - slack * d_multipliers) / multipliers - slack, d_multipliers


def _longest_step(slack, multipliers, change) -> float:
    """The longest step, at most 1, that keeps every slack and multiplier positive."""
    values, changes = np.concatenate([slack, multipliers]), np.concatenate(change[1:])
    falling = changes < 0
    return min(1.0, 0.995 * np.min(-values[falling] / changes[falling], initial=np.inf))
