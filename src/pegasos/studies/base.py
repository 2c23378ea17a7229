"""Shared by the studies: the settings of a run, loading of data, and helpers for tables and figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.datasets import load
from pegasos.io import Dataset
from pegasos.report.page import Figure


@dataclass
class Context:
    """Settings of a study: `quick` uses the embedded digits, `seed` seeds all draws, `tell` reports progress."""

    quick: bool = False
    seed: int = 0
    tell: Callable[[str], None] = lambda text: None

    def load(self, name: str) -> Dataset:
        """The data set of this name, or in a quick study the digits, split into training and test rows."""
        return split(load("digits"), 450, self.seed) if self.quick else load(name)


def split(data: Dataset, n_test: int, seed: int) -> Dataset:
    """The data with `n_test` rows as the test part, stratified by class."""
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=n_test, random_state=seed, stratify=data.y)
    return Dataset(data.name, X, y, X_test, y_test, data.source, data.format, image_shape=data.image_shape)


def merged_parts(data: Dataset) -> Dataset:
    """The training and test rows of a data set as one part."""
    X, y = np.vstack([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    return Dataset(data.name, X, y, source=data.source, format=data.format, image_shape=data.image_shape)


def estimator(seed: int, **parameters):
    """The Pegasos of both reports on USPS: draws with replacement, last iterate, no bias."""
    from pegasos import PegasosClassifier

    fixed = {"sampling": "replacement", "average": False, "fit_intercept": False, "random_state": seed}
    return PegasosClassifier(**(fixed | parameters))


def timed(function: Callable):
    """The result of calling `function`, and the seconds it took."""
    started = time.perf_counter()
    result = function()
    return result, time.perf_counter() - started


def figure_of(name: str, title: str, display: Any, caption: str = "") -> Figure:
    """A figure of a display, drawn when it is needed."""
    return Figure(name, title, lambda: display.plot().figure_, caption)
