"""Probabilities that a classifier gives: those of a logistic model, or calibrated ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from pegasos.estimators.calibration import Calibration, calibrated, check_folds
from pegasos.estimators.devices import on_host, same_kind_out
from pegasos.estimators.warm_start import offered_if

NO_PROBABILITIES = (
    "it needs probability='sigmoid' (or another calibration), or loss='log_loss' and multi_class='ovr', whose scores "
    "are log odds."
)


def missing_for_probabilities(classifier) -> str | None:
    """What a classifier lacks to give probabilities; None: nothing."""
    if getattr(classifier, "probability", None) is not None:
        return None
    return None if classifier.loss == "log_loss" and classifier.multi_class == "ovr" else NO_PROBABILITIES


class GivesProbabilities:
    """Mixin for classifiers with decision values."""

    loss: str
    probability: str | None
    probability_cv: Any
    classes_: np.ndarray
    calibration_: Calibration

    def _decisions(self, X) -> np.ndarray:
        raise NotImplementedError

    @offered_if(missing_for_probabilities)
    @same_kind_out
    def predict_proba(self, X):
        """Probabilities of the classes, shape (n_samples, n_classes), in the order of `classes_`.

        With `probability` they are calibrated; else, for "log_loss", they are the logistic function of the score, of
        more than two classes that of each class against the rest, made to sum to 1.
        """
        scores = self._decisions(X)
        if getattr(self, "probability", None) is not None:
            check_is_fitted(self, "calibration_", msg="Only `fit` calibrates: fit with `probability` set.")
            return self.calibration_.probabilities(scores)
        if scores.ndim == 1:
            later = expit(scores)
            return np.column_stack([1 - later, later])
        chances = np.exp(-np.logaddexp(0, -scores) + np.logaddexp(0, -scores).min(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)

    @offered_if(missing_for_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _calibrate(self, X, y, sample_weight) -> None:
        """Calibrate on the scores that each row has by a model that has not seen it; the folds share a run."""
        if self.probability is None:
            vars(self).pop("calibration_", None)
            return
        import pegasos  # whose functions of model selection train folds together

        y = on_host(y)
        check_folds(self.probability_cv, y)
        uncalibrated = clone(self).set_params(probability=None, checkpoint=None, warm_start=False, verbose=0)  # type: ignore[attr-defined]
        scores = pegasos.model_selection.cross_val_predict(
            uncalibrated, X, y, cv=self.probability_cv, method="decision_function", n_jobs=self.n_jobs,  # type: ignore[attr-defined]
            params=None if sample_weight is None else {"sample_weight": sample_weight},
        )  # fmt: skip
        codes = np.searchsorted(self.classes_, y)
        self.calibration_ = calibrated(self.probability, scores, codes, on_host(sample_weight))
