"""The naive loop of kernel Pegasos, as the documents coded it, to be timed."""

from __future__ import annotations

import math
import time

import numpy as np

from pegasos import PegasosClassifier

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
    """Kernel Pegasos that computes one kernel value at a time; seconds until each of the steps."""
    counts = np.zeros(len(y))
    seconds, started = {}, time.perf_counter()
    for t in range(1, max(steps) + 1):
        drawn = rng.integers(len(y))
        total = 0.0
        for row in np.flatnonzero(counts):
            difference = X[row] - X[drawn]
            total += counts[row] * y[row] * math.exp(-(difference @ difference) / (2 * WIDTH))
        if t == 1 or y[drawn] * total < LAM * (t - 1):
            counts[drawn] += 1
        if t in steps:
            seconds[t] = time.perf_counter() - started
    return seconds
