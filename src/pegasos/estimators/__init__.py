"""Estimators by scikit-learn's conventions: parameters → Problems → solve → fitted attributes."""

from pegasos.estimators.classifier import PegasosClassifier
from pegasos.estimators.regressor import PegasosRegressor

__all__ = ["PegasosClassifier", "PegasosRegressor"]
