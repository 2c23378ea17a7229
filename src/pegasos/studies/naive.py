"""The naive loop of kernel Pegasos, as the documents coded it, to be timed."""

from __future__ import annotations

import math
import time

import numpy as np

from pegasos import PegasosClassifier
from pegasos.studies.base import timed
from pegasos.textbook import violation_counts

WIDTH = 2.0
LAM = 0.1


def naive_seconds(steps: list[int], seed: int) -> list[dict]:
    """Seconds until step T of the naive loop, and of the library, on 1000 rows of 10 features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 10))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1000) > 0, 1, -1)
    naive = naive_loop(X, y, steps, rng)
    parameters = {"kernel": "rbf", "gamma": 1 / (2 * WIDTH), "lam": LAM, "sampling": "replacement", "average": False}
    PegasosClassifier(**parameters, max_steps=10).fit(X, y)  # compile
    found = []
    for T in steps:
        started = time.perf_counter()
        PegasosClassifier(**parameters, max_steps=T, random_state=seed).fit(X, y)
        found.append({"T": T, "naive": naive[T], "ours": time.perf_counter() - started})
    return found


def naive_loop(X, y, steps, rng) -> dict[int, float]:
    """Seconds of the textbook's count form, one kernel value at a time, for so many steps."""
    kernel = lambda a, b: math.exp(-((a - b) @ (a - b)) / (2 * WIDTH))
    draws = rng.integers(len(y), size=max(steps))
    return {T: timed(lambda T=T: violation_counts(X, y, LAM, draws[:T], kernel))[1] for T in steps}
