"""A. Mirone, "PEGASOS implementation from scratch": a Gaussian kernel on USPS, λ × T, training and test error.

Plain 5-fold cross-validation, one-vs-rest, draws with replacement, last iterate, width γ = 0.25 in exp(−d²/(2γ)). The
code of the report computes another kernel (M1) and decodes classes in another way (M2): both are run here, too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pegasos.plotting import HeatmapDisplay
from pegasos.report.page import Page, Remark, Table
from pegasos.studies.base import Context, estimator, figure_of, merged_parts, timed

if TYPE_CHECKING:
    from pegasos.io import Dataset

LAMS = [1e-10, 1e-5, 1e-3, 1e-1, 1e5]
STEPS = [250, 500, 1000, 3500, 7438]
QUICK_STEPS = [100, 250, 500, 1000, 1437]
WIDTH = 0.25
PUBLISHED_BEST = 0.054  # at T = 7438, λ = 1e-5


def run(context: Context) -> Page:
    """Search the grid with the right kernel, and repeat the best published cell with the report's own kernel."""
    data = merged_parts(context.load("usps"))
    steps = QUICK_STEPS if context.quick else STEPS
    context.tell(f"{len(LAMS)} λ × {len(steps)} T × 5 folds × 10 classes, training and test error")
    (train, test), seconds = timed(lambda: grid_errors(data, steps, context.seed))
    context.tell("the report's own kernel and decoding")
    variants = as_coded(data, steps[-1], context.seed)
    row, column = np.unravel_index(np.argmin(test), test.shape)
    published = None if context.quick else PUBLISHED_BEST
    return Page(
        "usps-gaussian",
        "A Gaussian kernel on USPS" if not context.quick else "A Gaussian kernel on the digits (a quick trial)",
        f"With the right kernel the best cross-validated test error is {test.min():.4f} at T = {steps[column]}, "
        f"λ = {LAMS[row]:g}; the report found {PUBLISHED_BEST} on USPS with a wrong one. "
        f"All {test.size} cells on five folds took {seconds:.1f} s.",
        [cell_table(train, test, steps), variant_table(variants, published)],
        figures(train, test, steps),
        remarks(variants),
        settings={"T": steps, "λ": LAMS, "width γ": WIDTH, "gamma": 1 / (2 * WIDTH), "folds": "plain 5-fold, shuffled",
                  "order": "with replacement", "output": "last iterate", "seed": context.seed},
        data=[data.facts()],
    )  # fmt: skip


def folds(seed: int):
    """Shuffled folds without stratification, as in the report."""
    from sklearn.model_selection import KFold

    return KFold(5, shuffle=True, random_state=seed)


def grid_errors(data: Dataset, steps: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test errors, λ × T."""
    from pegasos import PegasosSearchCV

    model = estimator(seed, kernel="rbf", gamma=1 / (2 * WIDTH))
    search = PegasosSearchCV(
        model, {"lam": LAMS, "max_steps": steps}, cv=folds(seed), refit=False, return_train_score=True
    ).fit(data.X, data.y)
    shape = (len(LAMS), len(steps))
    train, test = (1 - search.cv_results_[f"mean_{part}_score"].reshape(shape) for part in ("train", "test"))
    return train, test


# --- the report's own code -------------------------------------------------------------------------------------------


def as_coded(data: Dataset, T: int, seed: int) -> list[dict]:
    """Test errors of both kernels and both decodings at the report's best cell, each class with draws of its own."""
    from scipy.spatial.distance import cdist

    train, test = next(folds(seed).split(data.X))
    classes = np.unique(data.y)
    coded = lambda rows: np.exp(-WIDTH / 2 * cdist(data.X[rows], data.X[train], "cityblock") ** 2)
    kernels: dict[str, tuple[dict, np.ndarray, np.ndarray]] = {
        "right: exp(−‖a−b‖₂²/(2γ))": ({"kernel": "rbf", "gamma": 1 / (2 * WIDTH)}, data.X[train], data.X[test]),
        "as coded: exp(−γ/2·‖a−b‖₁²)": ({"kernel": "precomputed"}, coded(train), coded(test)),
    }
    found = []
    for kernel, (parameters, X, X_test) in kernels.items():
        scores = np.column_stack(
            [
                estimator(seed + place, **parameters, lam=1e-5, max_steps=T)
                .fit(X, data.y[train] == label)
                .decision_function(X_test)
                for place, label in enumerate(classes)
            ]
        )
        decoded = {"argmax of scores": scores.argmax(axis=1), "first positive sign": np.sign(scores).argmax(axis=1)}
        for decoding, places in decoded.items():
            error = np.mean(classes[places] != data.y[test])
            found.append({"kernel": kernel, "decoding": decoding, "error": error})
    return found


# --- tables, remarks and figures -------------------------------------------------------------------------------------


def cell_table(train: np.ndarray, test: np.ndarray, steps: list[int]) -> Table:
    """Every cell."""
    rows = [[lam, T, train[i, j], test[i, j]] for i, lam in enumerate(LAMS) for j, T in enumerate(steps)]
    formats = {"λ": "g", "training error": ".4f", "test error": ".4f"}
    return Table("cells", "Every cell, right kernel", ["λ", "T", "training error", "test error"], rows, formats=formats)


def variant_table(variants: list[dict], published: float | None) -> Table:
    """Test errors with the report's mistakes and without."""
    rows = []
    for line in variants:
        as_coded = line["kernel"].startswith("as coded") and line["decoding"].startswith("first")
        rows.append([line["kernel"], line["decoding"], published if as_coded else None, line["error"]])
    columns = ["kernel", "decoding", "published best", "our test error"]
    note = (
        "One fold of five at the report's best cell: the largest T, λ = 1e-5. As in its code every class has its own "
        "draws; its test with 1/(λt) is not copied."
    )
    return Table("as-coded", "The report's own kernel and decoding", columns, rows, note,
                 {"published best": ".3f", "our test error": ".4f"})  # fmt: skip


def remarks(variants: list[dict]) -> list[Remark]:
    """Errors of the report."""
    error = {(line["kernel"].split(":")[0], line["decoding"].split()[0]): line["error"] for line in variants}
    found = {
        "M1": "The code takes the L1 norm for the Euclidean one, and −1/2*gamma for −1/(2γ). At the report's best cell "
        f"this kernel has a test error of {error['as coded', 'argmax']:.4f}, the right one "
        f"{error['right', 'argmax']:.4f} (one fold).",
        "M2": "The code takes the first class whose sign is positive. The argmax of real scores errs on "
        f"{error['right', 'argmax']:.4f}, the first sign on {error['right', 'first']:.4f} with the right kernel.",
        "M3": "The report asks for λ > 1 where λ > 0 is meant (it runs 1e-10), keeps room for 9 of its 25 results, "
        "describes averaging but outputs the last iterate, and has no seed. Here all 25 cells are kept, the output is "
        "named, and everything is seeded.",
    }
    return [Remark(label, text) for label, text in found.items()]


def figures(train: np.ndarray, test: np.ndarray, steps: list[int]):
    """The report's figure 1 (both errors, coloured by column) and figure 2 (test errors, coloured over all)."""
    heat = partial(HeatmapDisplay, row_labels=LAMS, column_labels=steps, row_name="λ", column_name="T")
    scale = "Each column has its own scale, as in figure 1 of the report."
    return [
        figure_of(
            "train-by-column", "Training error", heat(train, value_name="training error", per_column=True), scale
        ),
        figure_of("test-by-column", "Test error", heat(test, value_name="test error", per_column=True), scale),
        figure_of(
            "test", "Test error, one scale", heat(test, value_name="test error"), "As in figure 2 of the report."
        ),
    ]
