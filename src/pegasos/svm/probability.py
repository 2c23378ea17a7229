"""Probabilities of pairwise classifiers: Platt's sigmoids on held-out scores, coupled into those of the classes.

Platt's targets and the Newton method are those of Lin, Lin and Weng (Machine Learning 68, 2007); the coupling is the
second method of Wu, Lin and Weng (JMLR 5, 2004), as in LIBSVM.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from pegasos.svm.layout import pairs

N_FOLDS = 5
MOST_STEPS = 100
LEAST_STEP = 1e-10
PRECISION = 1e-5
ROUNDING = 1e-12  # added to the diagonal of the Hessian
LEAST_PROBABILITY = 1e-7  # of a pair
MOST_SWEEPS = 100
ENTRIES_AT_ONCE = 2**20  # of the matrices of rows that are coupled


class CalibrationFold(NamedTuple):
    """The rows that a classifier of a pair is trained on, and those it is scored on."""

    rows: np.ndarray
    signs: np.ndarray
    held_out: np.ndarray
    held_out_signs: np.ndarray

    @property
    def trains(self) -> bool:
        """Whether both classes are among the rows to train on."""
        return both(self.signs)


def both(signs: np.ndarray) -> bool:
    """Whether both classes of a pair are there."""
    return bool((signs > 0).any() and (signs < 0).any())


def folds_of(rows: np.ndarray, signs: np.ndarray, random: np.random.RandomState) -> list[CalibrationFold]:
    """Five folds of the rows of a pair, in random order."""
    order = random.permutation(len(rows))
    edges = np.arange(N_FOLDS + 1) * len(rows) // N_FOLDS
    found = []
    for first, last in itertools.pairwise(edges):
        inside, outside = np.concatenate([order[:first], order[last:]]), order[first:last]
        found.append(CalibrationFold(rows[inside], signs[inside], rows[outside], signs[outside]))
    return found


def sigmoid_of_folds(folds: list[CalibrationFold], scores: Iterator[np.ndarray]) -> tuple[float, float]:
    """Platt's sigmoid of a pair; a fold that lacks a class scores its rows by the class it has."""
    each = [next(scores) if fold.trains else np.full(len(fold.held_out), np.sign(fold.signs.sum())) for fold in folds]
    return fitted(np.concatenate(each), np.concatenate([fold.held_out_signs for fold in folds]))


def fitted(scores: np.ndarray, signs: np.ndarray) -> tuple[float, float]:
    """A and B of P(first class | f) = 1 / (1 + exp(A f + B)), by Newton's method with halved steps."""
    positive = signs > 0
    n_positive, n_negative = np.count_nonzero(positive), np.count_nonzero(~positive)
    targets = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    features = np.column_stack([scores, np.ones(len(scores))])

    def loss(at):
        exponents = features @ at
        return -(targets * log_expit(-exponents) + (1 - targets) * log_expit(exponents)).sum()

    at = np.array([0.0, np.log((n_negative + 1.0) / (n_positive + 1.0))])
    value = loss(at)
    for _ in range(MOST_STEPS):
        chances = expit(-(features @ at))
        gradient = features.T @ (targets - chances)
        if (np.abs(gradient) < PRECISION).all():
            break
        hessian = (features.T * (chances * (1 - chances))) @ features + ROUNDING * np.eye(2)
        direction = -np.linalg.solve(hessian, gradient)
        step = 1.0
        while loss(at + step * direction) >= value + 1e-4 * step * (gradient @ direction):
            step /= 2
            if step < LEAST_STEP:
                return float(at[0]), float(at[1])
        at = at + step * direction
        value = loss(at)
    return float(at[0]), float(at[1])


def sigmoid(scores: np.ndarray, slopes: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Probabilities of the first class of each pair, neither 0 nor 1."""
    return np.clip(expit(-(scores * slopes + constants)), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)


def coupled(of_pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities (n, K) of the classes from those of all pairs (n, K (K - 1) / 2), many rows at once.

    They minimise Σ over i ≠ j of (r_ji p_i - r_ij p_j)², by sweeps over the classes.
    """
    at_once = max(1, ENTRIES_AT_ONCE // n_classes**2)
    parts = [_coupled(of_pairs[first : first + at_once], n_classes) for first in range(0, len(of_pairs), at_once)]
    return np.concatenate(parts) if parts else np.zeros((0, n_classes))


def _coupled(of_pairs: np.ndarray, n_classes: int) -> np.ndarray:
    n_rows = len(of_pairs)
    r = np.zeros((n_rows, n_classes, n_classes))
    for number, first, second in pairs(n_classes):
        r[:, first, second], r[:, second, first] = of_pairs[:, number], 1 - of_pairs[:, number]
    Q = -r.transpose(0, 2, 1) * r
    diagonal = (r**2).sum(axis=1)
    Q[:, np.arange(n_classes), np.arange(n_classes)] = diagonal
    p, precision = np.full((n_rows, n_classes), 1.0 / n_classes), 0.005 / n_classes
    left = np.arange(n_rows)  # rows that have not settled yet
    for _ in range(max(MOST_SWEEPS, n_classes)):
        some = Q[left]
        now = p[left]
        Qp = np.einsum("nij,nj->ni", some, now)
        pQp = (now * Qp).sum(axis=1)
        open_ = np.abs(Qp - pQp[:, None]).max(axis=1) >= precision
        left, some, now, Qp, pQp = left[open_], some[open_], now[open_], Qp[open_], pQp[open_]
        if not left.size:
            break
        for t in range(n_classes):
            own = some[:, t, t]
            change = (pQp - Qp[:, t]) / own
            now[:, t] += change
            pQp = (pQp + change * (change * own + 2 * Qp[:, t])) / (1 + change) ** 2
            Qp = (Qp + change[:, None] * some[:, t]) / (1 + change)[:, None]
            now /= (1 + change)[:, None]
        p[left] = now
    return p
