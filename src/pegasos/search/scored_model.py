"""Estimators for scikit-learn's scorers where a search knows the scores of the rows already and has made no model."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from pegasos.estimators import PegasosClassifier, PegasosRegressor
from pegasos.estimators.base import PegasosBase
from pegasos.estimators.targets import recipe_of

OWN = (PegasosClassifier, PegasosRegressor)  # subclasses may predict in their own way


class KnownScores:
    """Mixin for estimators: scores of rows are looked up, not computed from a model.

    Labels, probabilities and the errors of what is not offered are the estimator's own.
    """

    scores_of: dict[int, np.ndarray]  # by the id of the rows

    def _scores(self, X) -> np.ndarray:
        return self.scores_of[id(X)]


# Scorers name the class in their messages, so that of the scored model is the class that users know.
SCORED = {own: type(own.__name__, (KnownScores, own), {"__module__": own.__module__}) for own in OWN}


def scored_model(estimator: PegasosBase, fitted: dict[str, Any], scores: list[tuple[Any, np.ndarray]]) -> PegasosBase:
    """A copy of an estimator of one of the types in `OWN` with fitted attributes and the scores of some rows.

    Parameters
    ----------
    estimator : PegasosClassifier or PegasosRegressor
    fitted : dict
        Fitted attributes, those of the model left out.
    scores : list of (rows, ndarray of shape (n_rows, n_columns))
        Rows are recognised by identity and may have no features.
    """
    model = copy.copy(estimator)
    model.__class__ = SCORED[type(estimator)]
    recipe_of(model).store(fitted)
    model.scores_of = {id(rows): values for rows, values in scores}
    return model


def is_own_classifier(estimator) -> bool:
    """Whether this is a `PegasosClassifier`, fitted or scored, and no subclass of a user's."""
    return type(estimator) in (PegasosClassifier, SCORED[PegasosClassifier])
