"""The calibration of a classifier's probabilities in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, Tensors
from pegasos.estimators.calibration import Calibration

METHODS = ("sigmoid", "isotonic", "temperature")


def pack(calibration: Calibration) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The method as JSON, and a tensor for each column of scores."""
    return {"method": calibration.method}, {f"calibration.{i}": part for i, part in enumerate(calibration.parts)}


def unpack(entry: Record, tensors: Tensors, n_scores: int) -> Calibration:
    """The calibration of so many columns of scores, whose numbers make probabilities."""
    method = entry.take_one_of("method", METHODS)
    entry.done()
    shape: tuple[int | None, ...] = {"sigmoid": (2,), "isotonic": (2, None), "temperature": (1,)}[method]
    n_parts = 1 if method == "temperature" else n_scores
    parts = [tensors.take(f"calibration.{i}", FLOATS, shape) for i in range(n_parts)]
    for part in parts if method == "isotonic" else ():
        if not part.size or (np.diff(part[0]) < 0).any() or part[1].min() < 0 or part[1].max() > 1:
            raise ModelFormatError("the calibration is no function from rising scores to probabilities")
    return Calibration(method, parts)
