"""Estimators that take the steps of Pegasos, as tests of its algorithm, its draws and its passes need them."""

from pegasos import PegasosClassifier, PegasosRegressor

TEXTBOOK = {"solver": "pegasos", "tol": None}


def pegasos_classifier(**parameters):
    """A PegasosClassifier whose defaults are the textbook's."""
    return PegasosClassifier(**TEXTBOOK | parameters)


def pegasos_regressor(**parameters):
    """A PegasosRegressor whose defaults are the textbook's."""
    return PegasosRegressor(**TEXTBOOK | parameters)
