"""The settings of G. Cerizza's report on seven kernels, and its published numbers."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np

LAMS = [10.0**power for power in range(-5, 2)]
STEPS = [1000, 5000, 10_000, 25_000, 50_000]
QUICK_STEPS = [250, 1000, 2500]
DEGREES = [2, 3, 4, 7]
WIDTHS = [0.25, 0.75, 2.0]
KERNELS = [("poly", degree) for degree in DEGREES] + [("gaussian", width) for width in WIDTHS]
NAIVE_STEPS = [100, 500, 1000, 2500, 5000]
PUBLISHED_NAIVE = {100: 0.3, 5000: 14.3}  # read off the report's figure 4
PUBLISHED_OPTIMISED = "< 0.1"
TSNE_ROWS = 3000
SEEDS = 5
TIMED_LAMS = LAMS[::3]  # a fit of each, of every kernel and T, for the means of the running times
WIDER_WIDTHS, WIDER_LAMS = [2.0, 4.0, 8.0], [10.0**power for power in range(-8, -3)]


def published_cells() -> dict:
    """(error, seconds of a fold) by kernel, degree or width, T and λ."""
    found = {}
    with files("pegasos.studies").joinpath("published/usps_kernel_grid.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            cell = (line["kernel"], float(line["width_or_degree"]), int(line["T"]), float(line["lambda"]))
            found[cell] = (float(line["cv_error"]), float(line["seconds_per_fold"]))
    return found


def published_seconds(kind: str, number: float, T: int) -> float:
    """The published time of a fold, mean over λ."""
    return float(
        np.mean([seconds for cell, (_, seconds) in published_cells().items() if cell[:3] == (kind, number, T)])
    )


def published_hours() -> float:
    """What all published cells took: five folds each."""
    return 5 * sum(seconds for _, seconds in published_cells().values()) / 3600


def published_errors() -> dict:
    """The published error by kernel, degree or width, T and λ."""
    return {cell: error for cell, (error, _) in published_cells().items()}


def named(kind: str, number: float) -> str:
    """The name of a kernel in the report."""
    return f"polynomial, degree {number:g}" if kind == "poly" else f"Gaussian, width {number:g}"
