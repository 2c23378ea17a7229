"""Contestants that fit and predict: ours, and the peers that are installed."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import _peers
from benchmarks._data import Task
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, absent
from pegasos import PegasosClassifier

OURS = "pegasos"
TEXTBOOK = {"solver": "pegasos", "tol": None}  # so many passes of steps, unless settings say otherwise
Judge = Callable[[Any], dict]


def ours(settings: dict, task: Task, options: Options, *, judges: Sequence[Judge] = (), tested: bool = True):
    """Ours with these settings; facts: the test error, the mean objective of its columns, and the largest gap.

    It warms up by the same fit, since fewer rows may take another way, and leave code to be compiled within the clock.
    Each fit has a seed of its own, so that errors are medians over seeds, too.
    """
    seeds = itertools.count(options.seed)

    def fit() -> PegasosClassifier:
        return PegasosClassifier(**TEXTBOOK | settings, random_state=next(seeds)).fit(task.X, task.y)

    def judge(fitted: PegasosClassifier) -> dict:
        facts = error_of(fitted, task.X_test, task.y_test) if tested else {}
        return facts | certificate_of(fitted) | _all(judges, fitted)

    return Contestant(OURS, fit, judge, fit, ours=True)


def peer(
    kind: str,
    make: Callable[[Any], Any],
    task: Task,
    *,
    name: str | None = None,
    dtype: Any = np.float64,
    repeats: int | None = None,
    judges: Sequence[Judge] = (),
    tested: bool = True,
) -> Contestant:
    """A peer, made by `make`; rows come in the type that it needs."""
    found, name = _peers.find(kind), name or kind
    if found.missing is not None:
        return absent(name, found.missing)
    X, X_test = task.as_type(dtype)
    few = task.few()
    seeds = itertools.count()

    def fresh() -> Any:
        """Unfitted, with the next seed where it takes one."""
        model, seed = make(found.make), next(seeds)
        if hasattr(model, "get_params") and "random_state" in model.get_params():
            model.set_params(random_state=seed)
        return model

    def judge(fitted: Any) -> dict:
        return (error_of(fitted, X_test, task.y_test) if tested else {}) | _all(judges, fitted)

    return Contestant(
        name,
        lambda: fresh().fit(X, task.y),
        judge,
        lambda: fresh().fit(X[few], task.y[few]),
        repeats,
    )


def predicting(fit: Record, task: Task, *, dtype: Any = None, is_ours: bool = False, repeats: int | None = None):
    """The contestant that predicts the test rows with the model that was fitted last."""
    if fit.missing is not None:
        return absent(fit.name, fit.missing)
    model, X = fit.result, task.as_type(dtype)[1]

    def judge(labels: np.ndarray) -> dict:
        return {"error": float(np.mean(labels != task.y_test))}

    return Contestant(fit.name, lambda: model.predict(X), judge, lambda: model.predict(X[:100]), repeats, ours=is_ours)


def error_of(model: Any, X_test: Any, y_test: np.ndarray) -> dict:
    """The test error."""
    return {"error": float(np.mean(model.predict(X_test) != y_test))}


def certificate_of(model: PegasosClassifier) -> dict:
    """Facts from the attributes of our fitted model."""
    return {"objective": float(np.mean(model.objective_)), "gap": float(np.max(model.dual_gap_))}


def _all(judges: Sequence[Judge], fitted: Any) -> dict:
    facts: dict = {}
    for judge in judges:
        facts |= judge(fitted)
    return facts
