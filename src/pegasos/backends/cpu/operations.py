"""The functions of `pegasos.backends.api.Backend`, by compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.backends.api import Draws, Gram, Pulled, Rules, SharedArrays
from pegasos.backends.cpu import batches, scoring, steps
from pegasos.losses import Loss


def block_steps(
    part: tuple[int, int], shared: SharedArrays, scores, gram: Gram, draws: Draws, pulled: Pulled, k, rules: Rules
) -> None:
    """Take the steps of some draws of a block."""
    columns, labelings, weights, alpha, violations, size = shared
    single = k == 1 == size
    steps.block_steps(
        *part, size, columns, scores, *gram, *draws, labelings, weights, alpha, violations, *pulled, k,
        int(rules.average), np.empty((0, 0) if single else (4, size)), **rules.constants, single=single,
    )  # fmt: skip


def earlier_draws(index: np.ndarray) -> np.ndarray:
    """Where the same row was drawn last within the block, -1 where it was not."""
    order = np.argsort(index, kind="stable")
    same = np.flatnonzero(index[order[1:]] == index[order[:-1]])
    earlier = np.full(len(index), -1, np.int64)
    earlier[order[same + 1]] = order[same]
    return earlier


def open_columns(columns, scales, rules: Rules) -> None:
    """Begin one step of every unfinished column."""
    batches.open_columns(columns, scales, int(rules.average), rule=rules.rule)


def batch_pulls(shared: SharedArrays, scales, scores, index, pulls, rules: Rules) -> None:
    """Pulls of the rows `index`, all against the same model."""
    constants: dict[str, Any] = dict(rule=rules.rule, loss=rules.loss)
    given = (scales, scores, index, shared.labelings, shared.weights, pulls)
    batches.batch_pulls(shared.size, shared.columns, *given, **constants)


def batch_account(shared: SharedArrays, pulls, index, before, after, rules: Rules) -> None:
    """Follow ||S||² and the dual's linear part over a batch."""
    given = (shared.columns, pulls, index, shared.labelings, before, after)
    batches.batch_account(shared.size, *given, loss=rules.loss)


def close_columns(shared: SharedArrays, sums, weighted_sums, rules: Rules) -> bool:
    """End one step of every unfinished column; whether any state was folded."""
    given = (shared.size, shared.columns, sums, weighted_sums, shared.alpha)
    return batches.close_columns(*given, rule=rules.rule, project=rules.project)


def add_losses(totals, shared: SharedArrays, scores, index, loss: Loss) -> None:
    """totals[p] += Σ s·loss over the rows `index`."""
    given = (totals, np.empty(shared.size), shared.columns, scores, index, shared.labelings, shared.weights)
    scoring.add_losses(*given, loss=loss)


def dual_terms(totals, shared: SharedArrays, factors, point, loss: Loss) -> None:
    """totals[p] += Σ dual term of the dual point ``factors * alpha``, moved into its domain."""
    given = (shared.columns, factors, shared.alpha, shared.labelings, shared.weights)
    scoring.dual_terms(np.empty(shared.size), *given, totals, point, loss=loss)
