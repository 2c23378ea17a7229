"""The figures of the study of seven kernels: figures 1 to 12 of the report, and those of its open questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pegasos.plotting import (
    BarsDisplay,
    ClassCountsDisplay,
    Curve,
    EmbeddingDisplay,
    HeatmapDisplay,
    Panel,
    PathsDisplay,
    RuntimesDisplay,
    SampleImagesDisplay,
)
from pegasos.report.page import Figure
from pegasos.studies.base import figure_of
from pegasos.studies.published_kernels import (
    KERNELS,
    LAMS,
    PUBLISHED_NAIVE,
    SEEDS,
    TSNE_ROWS,
    WIDER_LAMS,
    WIDER_WIDTHS,
    named,
    published_errors,
    published_seconds,
)

if TYPE_CHECKING:
    from pegasos.io import Dataset

FIRST = 5  # the report's figure of the first kernel; the others follow


def grid_figures(ours: dict, theirs: dict, steps: list[int]) -> list[Figure]:
    """A heat map of λ × T for each kernel: figures 5 to 11 of the report, all on one scale of colours."""
    found = []
    limits = (min(ours.values()), float(np.quantile(list(ours.values()), 0.9)))
    for number, kernel in enumerate(KERNELS, FIRST):
        values, known = (
            [[errors.get((*kernel, T, lam), np.nan) for T in steps] for lam in LAMS] for errors in (ours, theirs)
        )
        display = HeatmapDisplay(
            values, LAMS, steps, "λ", "T", "CV error", fmt=".4f", reference=known if theirs else None, limits=limits,
            title=f"CV error, {named(*kernel)}",
        )  # fmt: skip
        name = f"errors-{kernel[0]}-{kernel[1]:g}".replace(".", "-")
        caption = f"Figure {number} of the report. The seven kernels share one scale of colours."
        found.append(figure_of(name, f"Error, {named(*kernel)}", display, caption))
    return found


def other_figures(data: Dataset, theirs: dict, runtimes: dict, naive: list[dict], path: list[dict]) -> Iterator[Figure]:
    """Runtimes, naive against fast, sample digits, class counts, t-SNE, and error beside objective against λ."""
    steps = sorted({T for *_, T in runtimes})
    ours = [Curve(named(*kernel), steps, [runtimes[(*kernel, T)]["processor"] for T in steps]) for kernel in KERNELS]
    panels = [Panel("our processor s", ours, logy=True)]
    if theirs:
        seconds = [[published_seconds(kernel[0], kernel[1], T) for T in steps] for kernel in KERNELS]
        reach = (min(min(curve.values) for curve in ours) / 1.3, 1.3 * max(map(max, seconds)))
        curves = [Curve(named(*kernel), steps, own) for kernel, own in zip(KERNELS, seconds, strict=True)]
        panels = [Panel("our processor s", ours, True, reach), Panel("published s", curves, True, reach)]
    display = PathsDisplay(panels, xlabel="T", title=f"Seconds of a fold of ten classes, {data.name}, means over λ")
    caption = "Figure 12 of the report; both panels have the same axis. Published times are processor time, too."
    yield figure_of("runtimes", "Runtime against T", display, caption)
    both = [Curve("naive", [line["T"] for line in naive], [line["naive"] for line in naive]),
            Curve("library", [line["T"] for line in naive], [line["ours"] for line in naive]),
            Curve("naive, published", [*PUBLISHED_NAIVE], [*PUBLISHED_NAIVE.values()], "points", colour=3)]  # fmt: skip
    naively = RuntimesDisplay(both, "T", "seconds", title="One classifier, 1000 rows of 10 features, Gaussian, λ = 0.1")
    yield figure_of(
        "naive", "Naive and optimised", naively, "Figure 4 of the report; published: the ends of its curve."
    )
    lams = [line["lam"] for line in path]
    panels = [
        Panel("test error", [Curve("test error", lams, [line["error"] for line in path])]),
        Panel("above the optimum", [Curve("objective − optimum", lams, [line["above"] for line in path])], logy=True),
    ]
    caption = "At one T: small λ leaves the objective far from its optimum, and the test error does not mind."
    display = PathsDisplay(panels, title=f"Gaussian of width 2, {data.name}, the last iterate")
    yield figure_of("lam-path", "Test error and objective against λ", display, caption)
    samples = lambda: SampleImagesDisplay.from_data(data.X, data.y, data.image_shape, per_class=2).figure_
    yield Figure("samples", "Sample of the data", samples, "Figure 1 of the report.")
    counts = lambda: ClassCountsDisplay.from_labels(data.y).figure_
    yield Figure("classes", "Rows of each class", counts, "Figure 2 of the report.")
    plane = lambda: EmbeddingDisplay.from_data(data.X, data.y, max_rows=TSNE_ROWS).figure_
    shown = min(TSNE_ROWS, len(data.y))
    how = "all rows" if shown == len(data.y) else f"{shown} of {len(data.y)} rows, drawn at random"
    yield Figure("t-sne", f"t-SNE of {how}", plane, "Figure 3 of the report.")


def seed_figure(repeats: list[dict], quick: bool) -> Figure:
    """The best errors of the polynomial and of the Gaussian, over seeds."""
    published = {} if quick else published_errors()
    labels, values, errors, known = [], [], [], []
    for line in repeats:
        labels.append(named(*line["kernel"]))
        values.append(float(np.median(line["errors"])))
        errors.append((max(line["errors"]) - min(line["errors"])) / 2)
        known.append(min((error for cell, error in published.items() if cell[:2] == line["kernel"]), default=None))
    display = BarsDisplay(labels, values, value_name="best CV error", fmt=".4f", points=True, errors=errors,
                          reference=known if published else None,
                          title=f"Medians over {SEEDS} seeds of folds and draws")  # fmt: skip
    return figure_of("seeds", "Polynomial against Gaussian", display, "Half the range over the seeds as a line.")


def wider_figure(wider: dict, T: int) -> Figure:
    """Errors by width and λ beyond the report's ranges."""
    values = [[wider[width, T, lam] for width in WIDER_WIDTHS] for lam in WIDER_LAMS]
    display = HeatmapDisplay(values, WIDER_LAMS, WIDER_WIDTHS, "λ", "width γ", "CV error", fmt=".4f",
                             title=f"CV error, Gaussians, T = {T}")  # fmt: skip
    return figure_of("wider", "Lower λ and wider Gaussians", display, "The ranges that the report proposes.")
