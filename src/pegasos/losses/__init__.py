"""Losses: what a row contributes to the objective, its pull on the model, and its dual variable.

A new loss is a class in one of these modules: see `Loss`.
"""

from pegasos.losses.base import Loss, names
from pegasos.losses.binary import EpsilonInsensitive, Hinge, LogLoss, SquaredEpsilonInsensitive, SquaredHinge
from pegasos.losses.crammer_singer import CrammerSinger

__all__ = [
    "CrammerSinger",
    "EpsilonInsensitive",
    "Hinge",
    "LogLoss",
    "Loss",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "names",
]
