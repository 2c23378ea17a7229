"""Does the bias help where labels are uneven? Two classes, of which one is thinned out, with a bias and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pegasos.report.page import Remark, Table

if TYPE_CHECKING:
    from pegasos.io import Dataset

SHARES = [0.5, 0.1, 0.02]  # of the later class among the rows
REPEATS = 5
ROWS = 3000
KINDS = {"pixels in [0, 1]": 0.0, "centred": None}  # what is taken off the features; None: their means


def study(data: Dataset, seed: int) -> list[dict]:
    """Test errors of classes 0 and 6 (a T-shirt and a shirt) or 3 and 8 (digits) by share, features and bias."""
    pair = (0, 6) if data.name == "fashion-mnist" else (3, 8)
    rows = [np.flatnonzero(data.y == label) for label in pair]
    test = np.isin(data.y_test, pair)
    found = []
    for share in SHARES:
        for kind in KINDS:
            errors: dict[bool, list] = {True: [], False: []}
            for repeat in range(REPEATS):
                chosen = thinned(rows, share, np.random.default_rng(seed + repeat))
                shift = data.X[chosen].mean(axis=0) if kind == "centred" else 0.0
                for bias in errors:
                    errors[bias].append(error_by_class(data, chosen, test, shift, bias, pair))
            found.append({"share": share, "kind": kind, "with": np.mean(errors[True], axis=0),
                          "without": np.mean(errors[False], axis=0)})  # fmt: skip
    return found


def thinned(rows: list[np.ndarray], share: float, rng) -> np.ndarray:
    """Rows of two classes, the later with this share of them."""
    most = min(int(len(rows[0]) / (1 - share)), ROWS)
    few = max(round(share * most), 2)
    return np.concatenate([rng.permutation(rows[0])[: most - few], rng.permutation(rows[1])[:few]])


def error_by_class(data: Dataset, chosen, test, shift, bias: bool, pair) -> list[float]:
    """Test errors of the two classes in per cent, of a model at its optimum."""
    from pegasos import PegasosClassifier

    model = PegasosClassifier(lam=1e-3, fit_intercept=bias, max_iter=5000).fit(data.X[chosen] - shift, data.y[chosen])
    wrong = model.predict(data.X_test[test] - shift) != data.y_test[test]
    return [100 * wrong[data.y_test[test] == label].mean() for label in pair]


def table(found: list[dict]) -> Table:
    """Errors of both classes with and without a bias."""
    rows = [[f"{line['share']:.0%}", line["kind"], *line["without"], *line["with"], line["without"].mean(),
             line["with"].mean()] for line in found]  # fmt: skip
    columns = ["rows of the later class", "features", "no bias: error of the earlier %", "no bias: of the later %",
               "bias: error of the earlier %", "bias: of the later %", "no bias: mean %", "bias: mean %"]  # fmt: skip
    note = (
        f"Linear, λ = 0.001, at the optimum; means of {REPEATS} draws of the rows. Each class counts alike in a mean."
    )
    return Table("uneven", "Uneven labels with and without a bias (section 2.1 of the report)", columns, rows, note,
                 dict.fromkeys(columns[2:], ".1f"))  # fmt: skip


def remark(found: list[dict]) -> Remark:
    """What comes of it."""
    line = {(line["share"], line["kind"]): line for line in found}
    plain, centred = (line[SHARES[-1], kind] for kind in KINDS)
    text = (
        "The report says that a bias often plays a crucial role where labels are uneven, and measures nothing. With "
        f"{SHARES[-1]:.0%} of the rows in one class, the mean error of the two is {plain['without'].mean():.1f} "
        f"% without a bias and {plain['with'].mean():.1f} % with one on pixels in [0, 1], and "
        f"{centred['without'].mean():.1f} and {centred['with'].mean():.1f} % on centred features."
    )
    return Remark("Does a bias help with uneven labels?", text, "the bias with uneven labels")
