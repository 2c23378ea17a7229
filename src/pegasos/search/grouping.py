"""Candidates that agree in some of their parameters, which decides what they can share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def grouped_by(candidates: dict[int, Any], key: Callable[[Any], Any]) -> list[dict[int, Any]]:
    """Candidates of the same key together."""
    groups: list[tuple[Any, dict[int, Any]]] = []
    for candidate, estimator in candidates.items():
        own = key(estimator)
        for known, group in groups:
            if same(known, own):
                group[candidate] = estimator
                break
        else:
            groups.append((own, {candidate: estimator}))
    return [group for _, group in groups]


def same(a, b) -> bool:
    """Whether two parameters are equal; estimators are if all they hold is. In doubt they are not."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, BaseEstimator):
        return same(vars(a), vars(b))
    if isinstance(a, np.random.RandomState):  # clones hold copies
        return same(a.get_state(), b.get_state())
    if isinstance(a, partial):
        return same((a.func, a.args, a.keywords), (b.func, b.args, b.keywords))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, z) for x, z in zip(a, b, strict=True))
    try:
        return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(np.all(a == b))
    except Exception:
        return False
