"""Probabilities of classes from scores, calibrated on scores of rows that the model has not seen.

The methods are scikit-learn's: a logistic function of the score (Platt), isotonic regression, or one temperature for
all classes. A class is calibrated against the rest, and the probabilities of a row are made to sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import LeaveOneOut
from sklearn.utils.validation import _check_sample_weight

METHODS = sorted(CalibratedClassifierCV._parameter_constraints["method"][0].options)  # of the scikit-learn at hand
ROUNDING = 1e-5  # by which a probability may be above 1


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    parts : list of ndarray
        For each column of scores: (slope, offset) of "sigmoid", scores and probabilities, shape (2, n), of "isotonic".
        Of "temperature" one array, which holds the inverse temperature.
    """

    method: str
    parts: list[np.ndarray]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities (n, n_classes) from decision values, (n,) for two classes."""
        columns = scores.reshape(len(scores), -1)
        if self.method == "temperature":
            scaling = _temperature_scaling()
            scaling.beta_ = float(self.parts[0][0])
            found = scaling.predict(columns)
        else:
            found = np.column_stack(
                [self._of(part, column) for part, column in zip(self.parts, columns.T, strict=True)]
            )
            found = found.astype(np.float64)
            if found.shape[1] == 1:
                found = np.hstack([1.0 - found, found])
            else:
                total = found.sum(axis=1, keepdims=True)
                even = np.full_like(found, 1.0 / found.shape[1])
                found = np.divide(found, total, out=even, where=total != 0)
        found[(found > 1.0) & (found <= 1.0 + ROUNDING)] = 1.0
        return found

    def _of(self, part: np.ndarray, scores: np.ndarray) -> np.ndarray:
        if self.method == "sigmoid":
            return expit(-(part[0] * scores + part[1]))
        return np.interp(scores, part[0], part[1])


def calibrated(method: str, scores: np.ndarray, codes: np.ndarray, weights) -> Calibration:
    """The calibration by scores of rows that the model has not seen, decision values, and the rows' classes."""
    columns = scores.reshape(len(scores), -1)
    if weights is not None:
        weights = _check_sample_weight(weights, columns, dtype=columns.dtype)
    if method == "temperature":
        return Calibration(method, [np.array([_temperature_scaling().fit(columns, codes, weights).beta_])])
    first = 1 if columns.shape[1] == 1 else 0
    parts = [_part(method, column, codes == first + place, weights) for place, column in enumerate(columns.T)]
    return Calibration(method, parts)


def _part(method: str, scores: np.ndarray, positive: np.ndarray, weights) -> np.ndarray:
    if method == "isotonic":
        found = IsotonicRegression(out_of_bounds="clip").fit(scores, positive.astype(int), weights)
        return np.stack([found.X_thresholds_, found.y_thresholds_]).astype(np.float64)
    from sklearn.calibration import _SigmoidCalibration

    found = _SigmoidCalibration().fit(scores, positive.astype(int), weights)
    return np.array([found.a_, found.b_], np.float64)


def _temperature_scaling():
    from sklearn.calibration import _TemperatureScaling

    return _TemperatureScaling()


def check_folds(cv, y) -> None:
    """Raise where folds for calibration would lack a class, as scikit-learn does."""
    n_folds = int(cv) if isinstance(cv, Integral) else getattr(cv, "n_splits", 0)
    if n_folds and (np.unique(y, return_counts=True)[1] < n_folds).any():
        raise ValueError(
            f"Requesting {n_folds}-fold cross-validation but provided less than {n_folds} examples for at least one "
            "class."
        )
    if isinstance(cv, LeaveOneOut):
        raise ValueError(
            "LeaveOneOut cross-validation does not allow all classes to be present in test splits. Please use a "
            "cross-validation generator that allows all classes to appear in every test and train split."
        )
