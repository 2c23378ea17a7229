"""More than two classes: one against the rest, and all pairs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

Scores = Callable[[np.ndarray], np.ndarray]  # from rows to a real score each


def one_vs_rest(train: Callable[[np.ndarray, np.ndarray], Scores], X, labels) -> Callable[[np.ndarray], np.ndarray]:
    """A classifier for each class against all others (Cerizza, section 2.1); the prediction is the largest real score.

    ``train(X, y)`` gets labels of ±1 and returns a function of rows. Ties go to the lowest class.
    """
    classes = np.unique(labels)
    scores = [train(X, np.where(labels == label, 1.0, -1.0)) for label in classes]  # c_i: its class is +1
    return lambda rows: classes[np.argmax([h(rows) for h in scores], axis=0)]  # ŷ = argmax_i h_i


def one_vs_one(
    train: Callable[[np.ndarray, np.ndarray], Scores], X, labels, *, ties: str = "confidence"
) -> Callable[[np.ndarray], np.ndarray]:
    """A classifier for each pair of classes on the rows of the two (Sumukh S: 45 for ten classes), and a vote.

    ``train(X, y)`` gets labels of ±1, +1 for the later class of the pair. `ties` as in `votes`.
    """
    classes = np.unique(labels)
    scores = {}
    for low, high in combinations(range(len(classes)), 2):
        own = np.isin(labels, classes[[low, high]])
        scores[low, high] = train(X[own], np.where(labels[own] == classes[high], 1.0, -1.0))
    return lambda rows: classes[
        votes({pair: h(rows) for pair, h in scores.items()}, len(classes), ties=ties).argmax(axis=1)
    ]


def votes(scores: dict[tuple[int, int], np.ndarray], n_classes: int, *, ties: str = "confidence") -> np.ndarray:
    """Votes of the pairs (low, high) for each row and class; a positive score is a vote for the later class.

    ties="lowest": the plain counts, of which the first largest wins. "confidence": each class also gets the sum of its
    own scores, squeezed below a third of a vote, as scikit-learn does; it decides only where counts are equal.
    """
    n_rows = len(next(iter(scores.values())))
    count, confidence = np.zeros((n_rows, n_classes)), np.zeros((n_rows, n_classes))
    for (low, high), score in scores.items():
        count[:, high] += score > 0
        count[:, low] += score <= 0
        confidence[:, high] += score
        confidence[:, low] -= score
    return count if ties == "lowest" else count + confidence / (3 * (np.abs(confidence) + 1))
