"""A search in parts that need nothing of each other, for workers that share no memory.

A part is some of the candidates with all of their folds: the draws of a fold are those of the rows of all folds, so a
cell is the same in whatever part it is. What a search in one piece does once, each part that needs it does once, so
candidates that share something stay together while there are enough parts without cutting them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from pegasos.estimators.base import PegasosBase
from pegasos.kernels import kernel_class
from pegasos.search.column_plan import evenly
from pegasos.search.dispatch import besides_columns, sharing
from pegasos.search.grouping import groups_alike
from pegasos.search.shared_runs import NARROWEST

PER_WORKER = 2  # parts, so that workers end at about the same time though parts take longer than others
MOST_PER_WORKER = 8  # parts; more cost more in messages than they gain in balance

Lane = dict[int, Any]  # candidates of one lam, which differ in the number of steps only: stops of one run


def cut(candidates: dict[int, Any], y, fit_params: dict, n_folds: int, n_workers: int) -> list[dict[int, Any]]:
    """Cut the candidates into about two parts a worker, the largest first.

    Families share the product of the rows, a kernel matrix or fitted transformers. Each is cut into as many parts as
    are its share of all columns: between its groups (outer parameters and kernels), as long as that is enough, and only
    then within groups, by lam. There no part is narrower than a slab that is worth a run, and no worker needs the same
    kernel matrix twice. Many small parts are put together again.
    """
    outputs = _n_outputs(y)
    alone = [[[{number: each}]] for number, each in candidates.items() if sharing(each, fit_params) is None]
    others = {number: each for number, each in candidates.items() if sharing(each, fit_params) is not None}
    families = [*alone, *(_groups(family) for family in groups_alike(others, _shared))]
    width = lambda lanes: n_folds * sum(_n_columns(_first(lane), outputs) for lane in lanes)
    widths = [[width(lanes) for lanes in groups] for groups in families]
    pieces: list[list[Lane]] = []
    for groups, own, n_parts in zip(families, widths, _shares([sum(own) for own in widths], PER_WORKER * n_workers)):
        if n_parts <= len(groups):
            pieces += [[lane for i in piece for lane in groups[i]] for piece in evenly(own, n_parts)]
            continue
        for lanes, columns, n_slabs in zip(groups, own, _shares(own, n_parts)):
            most = n_slabs if _last(_first(lanes[0])).kernel == "linear" else min(n_slabs, n_workers)
            n_slabs = max(1, min(most, columns // NARROWEST))
            pieces += [[lanes[i] for i in piece] for piece in evenly([1] * len(lanes), n_slabs)]
    pieces.sort(key=width, reverse=True)
    most = min(len(pieces), MOST_PER_WORKER * n_workers)
    pieces = [[lane for piece in pieces[turn::most] for lane in piece] for turn in range(most)]
    return [{number: each for lane in piece for number, each in lane.items()} for piece in pieces]


def share_draws(candidates: dict[int, Any], fit_params: dict) -> None:
    """Give candidates without a seed one for each group, so that those of one run see the same draws in all parts."""
    unseeded = {
        number: each
        for number, each in candidates.items()
        if (last := sharing(each, fit_params)) is not None and _is_global(last.random_state)
    }
    for family in groups_alike(unseeded, _shared):
        for lanes in _groups(family):
            seed = check_random_state(None).randint(np.iinfo(np.int32).max)
            for lane in lanes:
                for each in lane.values():
                    _last(each).set_params(random_state=seed)


def _is_global(random_state) -> bool:
    return random_state is None or random_state is check_random_state(None)


def _first(lane: dict[int, Any]) -> Any:
    return next(iter(lane.values()))


def _last(estimator) -> PegasosBase:
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator


def _shared(estimator) -> Any:
    """What the candidates of a family have in common: all of them share runs, or what comes before the runs."""
    if type(estimator) is Pipeline:
        return estimator.steps[:-1]
    kind = kernel_class(estimator.kernel)
    if kind.is_linear or kind.is_precomputed:
        return besides_columns(estimator)
    return "a product" if kind.from_product else _kernel(estimator)


def _kernel(estimator) -> tuple:
    return (estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0, estimator.kernel_params)


def _groups(family: dict[int, Any]) -> list[list[Lane]]:
    """Candidates that share runs, lane by lane in the order of lam; groups of equal kernels are neighbours."""
    groups = groups_alike(family, lambda each: besides_columns(_last(each)))
    groups.sort(key=lambda group: repr(_kernel(_last(_first(group)))))
    return [_lanes(group) for group in groups]


def _lanes(group: dict[int, Any]) -> list[Lane]:
    lanes: dict[str, Lane] = {}
    for number, each in group.items():
        lanes.setdefault(repr((_last(each).lam, _last(each).C)), {})[number] = each
    return sorted(lanes.values(), key=lambda lane: _strength(_last(_first(lane))))


def _strength(estimator: PegasosBase) -> float:
    """How weak the regularisation is; whether the value makes sense is for others to say."""
    try:
        return -float(estimator.lam) if estimator.lam is not None else float(estimator.C or 1.0)
    except (TypeError, ValueError):
        return 0.0


def _shares(sizes: list[int], n_parts: int) -> list[int]:
    """Parts of each in proportion to its size, at least one."""
    return [max(1, round(n_parts * size / max(1, sum(sizes)))) for size in sizes]


def _n_outputs(y) -> tuple[int, int]:
    """Classes, and columns, of the targets; 1 where that cannot be said."""
    try:
        targets = np.asarray(y)
        return len(np.unique(targets)), targets.shape[1] if targets.ndim == 2 else 1
    except (TypeError, ValueError):
        return 1, 1


def _n_columns(estimator, outputs: tuple[int, int]) -> int:
    """Columns that a candidate has on a fold, about."""
    classes, targets = outputs
    last = _last(estimator)
    if not is_classifier(last):
        return targets
    if classes <= 2:
        return 1
    return classes * (classes - 1) // 2 if getattr(last, "multi_class", None) == "ovo" else classes
