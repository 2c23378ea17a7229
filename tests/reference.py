"""Independent answers for the tests: hinge SVM optima by an interior-point method, and objectives written out.

The problem, for rows with weights s of mean 1 and a kernel matrix K, without an unpenalised bias:

    primal  P(w) = lam/2 |w|^2 + mean(s * max(0, 1 - y f)),            f = <w, phi(x)>
    dual    D(b) = mean(b) - lam/2 |w(b)|^2,   0 <= b <= s,            w(b) = sum_i y_i b_i phi(x_i) / (lam n)

Nothing here shares code or method with the library: no coordinate steps, no sub-gradients, no blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg


@dataclass(frozen=True)
class Optimum:
    """A primal point and a dual point that certify each other."""

    objective: float  # P at w(beta): an upper bound of the optimum
    dual: float  # D at beta: a lower bound of the optimum
    beta: np.ndarray

    @property
    def gap(self) -> float:
        return self.objective - self.dual


def normalised(weights, n_rows: int) -> np.ndarray:
    """Row weights of mean 1; None means equal weights."""
    if weights is None:
        return np.ones(n_rows)
    weights = np.asarray(weights, dtype=np.float64)
    return weights / weights.mean()


def hinge_objective(scores, y, lam: float, squared_norm: float, weights=None) -> float:
    """lam/2 |w|^2 + sum s_i max(0, 1 - y_i f_i) / sum s_i, given the scores f and |w|^2."""
    scores = np.asarray(scores, dtype=np.float64)
    losses = np.maximum(0.0, 1.0 - np.asarray(y, dtype=np.float64) * scores)
    return float(0.5 * lam * squared_norm + np.average(losses, weights=weights))


def linear_objective(X, y, coef, lam: float, *, intercept: float = 0.0, intercept_scaling: float = 1.0, weights=None):
    """Objective of a linear model whose bias is the weight of a penalised constant feature `intercept_scaling`."""
    coef = np.asarray(coef, dtype=np.float64).ravel()
    scores = X @ coef + intercept
    return hinge_objective(scores, y, lam, coef @ coef + (intercept / intercept_scaling) ** 2, weights)


def kernel_objective(K, y, alpha, lam: float, *, weights=None) -> float:
    """Objective of w = sum_i alpha_i phi(x_i), for the kernel matrix K of the training rows (bias included in K)."""
    alpha = np.asarray(alpha, dtype=np.float64)
    scores = K @ alpha
    return hinge_objective(scores, y, lam, alpha @ scores, weights)


def hinge_optimum(K, y, lam: float, *, weights=None, max_gap: float = 1e-10) -> Optimum:
    """Solve min 1/2 b'Hb - 1'b, 0 <= b <= s with H = yy'K/(lam n), by a primal-dual predictor-corrector method.

    Raises when the certified gap P(w(b)) - D(b) does not reach `max_gap`: what is no optimum must not judge others.
    """
    y = np.asarray(y, dtype=np.float64)
    n = len(y)
    upper = normalised(weights, n)
    if np.any(upper <= 0):
        raise ValueError("drop rows of weight 0 before asking for the optimum")
    K = np.asarray(K, dtype=np.float64)
    H = (y[:, None] * y) * K / (lam * n)

    def certify(beta) -> Optimum:
        scores = K @ (y * beta) / (lam * n)
        squared_norm = (y * beta) @ scores / (lam * n)
        primal = 0.5 * lam * squared_norm + np.mean(upper * np.maximum(0.0, 1.0 - y * scores))
        return Optimum(float(primal), float(beta.mean() - 0.5 * lam * squared_norm), beta)

    beta = 0.5 * upper
    low, high = np.ones(n), np.ones(n)  # multipliers of beta >= 0 and beta <= s
    best = certify(beta)
    for _ in range(200):
        if best.gap <= max_gap:
            return best
        slack = upper - beta
        complementarity = (low @ beta + high @ slack) / (2 * n)
        stationarity = H @ beta - 1.0 - low + high
        factor = linalg.cho_factor(H + np.diag(low / beta + high / slack))
        point = beta, slack, low, high
        affine = _direction(point, factor, stationarity, 0.0, 0.0)
        step = _longest_step(point, affine)
        reached = (low + step * affine[1]) @ (beta + step * affine[0])
        reached += (high + step * affine[2]) @ (slack - step * affine[0])
        centre = complementarity * (reached / (2 * n) / complementarity) ** 3
        targets = centre - affine[0] * affine[1], centre + affine[0] * affine[2]
        direction = _direction(point, factor, stationarity, *targets)
        step = _longest_step(point, direction)
        beta, low, high = (v + step * d for v, d in zip((beta, low, high), direction, strict=True))
        now = certify(np.clip(beta, 0.0, upper))
        best = now if now.gap < best.gap else best
    raise RuntimeError(f"the reference solver reached a gap of {best.gap:.3g}, not {max_gap:.3g}")


def _direction(point, factor, stationarity, low_target, high_target):
    """Newton step towards low * beta = low_target and high * (s - beta) = high_target."""
    beta, slack, low, high = point
    d_beta = linalg.cho_solve(factor, -stationarity - low + high + low_target / beta - high_target / slack)
    return d_beta, (low_target - low * d_beta) / beta - low, (high_target + high * d_beta) / slack - high


def _longest_step(point, direction) -> float:
    """The longest step, at most 1, that keeps every variable positive."""
    d_beta, d_low, d_high = direction
    pairs = zip(point, (d_beta, -d_beta, d_low, d_high), strict=True)
    limits = [-v[d < 0] / d[d < 0] for v, d in pairs]
    return min(1.0, *(0.995 * part.min() for part in limits if part.size))


def degree_two_features(X, gamma: float, coef0: float) -> np.ndarray:
    """Explicit features of (gamma x.x' + coef0)^2: all products of two entries of z = (sqrt(gamma) x, sqrt(coef0))."""
    Z = np.hstack([np.sqrt(gamma) * X, np.full((len(X), 1), np.sqrt(coef0))])
    i, j = np.triu_indices(Z.shape[1])
    return Z[:, i] * Z[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))
