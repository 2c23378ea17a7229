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
from pegasos.search.column_plan import split_evenly
from pegasos.search.dispatch import run_parameters, sharing
from pegasos.search.grouping import grouped_by
from pegasos.search.shared_runs import MIN_COLUMNS

PER_WORKER = 2  # parts, so that workers end at about the same time though parts take longer than others
MOST_PER_WORKER = 8  # parts; more cost more in messages than they gain in balance

SameLam = dict[int, Any]  # candidates that differ in the number of steps only, so that they share their columns


def cut(candidates: dict[int, Any], y, fit_params: dict, n_folds: int, n_workers: int) -> list[dict[int, Any]]:
    """Cut the candidates into about two parts a worker, the largest first.

    Families share the product of the rows, a kernel matrix or fitted transformers. Each is cut into as many parts as
    are its share of all columns: between its groups (outer parameters and kernels), as long as that is enough, and only
    then within groups, by lam. There no part has fewer columns than are worth a run, and no worker needs the same
    kernel matrix twice. Many small parts are put together again.
    """
    outputs = _n_outputs(y)
    alone = [[[{number: each}]] for number, each in candidates.items() if sharing(each, fit_params) is None]
    others = {number: each for number, each in candidates.items() if sharing(each, fit_params) is not None}
    families = [*alone, *(_groups(family) for family in grouped_by(others, _shared))]
    width = lambda members: n_folds * sum(_n_columns(_first(same_lam), outputs) for same_lam in members)
    widths = [[width(group) for group in groups] for groups in families]
    parts: list[list[SameLam]] = []
    for groups, own, n_parts in zip(families, widths, _shares([sum(own) for own in widths], PER_WORKER * n_workers)):
        if n_parts <= len(groups):
            parts += [[same_lam for i in part for same_lam in groups[i]] for part in split_evenly(own, n_parts)]
            continue
        for group, columns, n_batches in zip(groups, own, _shares(own, n_parts)):
            most = n_batches if _last(_first(group[0])).kernel == "linear" else min(n_batches, n_workers)
            n_batches = max(1, min(most, columns // MIN_COLUMNS))
            parts += [[group[i] for i in part] for part in split_evenly([1] * len(group), n_batches)]
    parts.sort(key=width, reverse=True)
    most = min(len(parts), MOST_PER_WORKER * n_workers)
    parts = [[same_lam for part in parts[turn::most] for same_lam in part] for turn in range(most)]
    return [{number: each for same_lam in part for number, each in same_lam.items()} for part in parts]


def share_draws(candidates: dict[int, Any], fit_params: dict) -> None:
    """Give candidates without a seed one for each group, so that those of one run see the same draws in all parts."""
    unseeded = {
        number: each
        for number, each in candidates.items()
        if (last := sharing(each, fit_params)) is not None and _is_global(last.random_state)
    }
    for family in grouped_by(unseeded, _shared):
        for group in _groups(family):
            seed = check_random_state(None).randint(np.iinfo(np.int32).max)
            for same_lam in group:
                for each in same_lam.values():
                    _last(each).set_params(random_state=seed)


def _is_global(random_state) -> bool:
    return random_state is None or random_state is check_random_state(None)


def _first(candidates: dict[int, Any]) -> Any:
    return next(iter(candidates.values()))


def _last(estimator) -> PegasosBase:
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator


def _shared(estimator) -> Any:
    """What the candidates of a family have in common: all of them share runs, or what comes before the runs."""
    if type(estimator) is Pipeline:
        return estimator.steps[:-1]
    kind = kernel_class(estimator.kernel)
    if kind.is_linear or kind.is_precomputed:
        return run_parameters(estimator)
    return "a product" if kind.from_product else _kernel(estimator)


def _kernel(estimator) -> tuple:
    return (estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0, estimator.kernel_params)


def _groups(family: dict[int, Any]) -> list[list[SameLam]]:
    """Candidates that share runs, in the order of lam; groups of equal kernels are neighbours."""
    groups = grouped_by(family, lambda each: run_parameters(_last(each)))
    groups.sort(key=lambda group: repr(_kernel(_last(_first(group)))))
    return [_by_lam(group) for group in groups]


def _by_lam(group: dict[int, Any]) -> list[SameLam]:
    by_lam: dict[str, SameLam] = {}
    for number, each in group.items():
        by_lam.setdefault(repr((_last(each).lam, _last(each).C)), {})[number] = each
    return sorted(by_lam.values(), key=lambda same_lam: _strength(_last(_first(same_lam))))


def _strength(estimator: PegasosBase) -> float:
    """How weak the regularisation is; values that are not valid are refused later."""
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
