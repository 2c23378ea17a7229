"""What a loss is, and the registry of all losses by name."""

from __future__ import annotations

from typing import Any, ClassVar

REGISTRY: dict[str, Loss] = {}


class _Registered(type):
    """Finds losses as attributes and items of `Loss`: ``Loss.HINGE``, ``Loss["hinge"]``."""

    def __getattr__(cls, name: str) -> Loss:
        if name.lower() not in REGISTRY:
            raise AttributeError(name)
        return REGISTRY[name.lower()]

    def __getitem__(cls, name: str) -> Loss:
        return REGISTRY[name.lower()]


class Loss(metaclass=_Registered):
    """A loss: scalar functions of one row, and what the solver has to know of them.

    A subclass with a `name` is registered, and with that known to the estimators, the solver and all backends. With
    ``f`` the score of a row, ``y`` its target and ``s`` its weight (normalised to mean 1 within the column) it has the
    static methods ::

        value(y, f, epsilon)                    the loss of one row
        pull(y, f, epsilon)                     minus its sub-gradient in f: how hard the row pulls the model
        coordinate(beta, y, f, q, s, epsilon)   the dual variable that maximises the dual; q = K(x, x) / (lam n)
        pressure(beta, y, f, s, epsilon)        how hard the dual pushes the variable; below 0: how hard it is held
        dual_term(beta, y, s, epsilon)          the row's part of the dual objective
        feasible(beta, s)                       the dual variable moved into its domain
        side(y)                                 the sign between a row's dual variable and its coefficient
        expansion(y, f, epsilon, width)         (value, pull, curvature) in f, of a loss with two derivatives: where
                                                `value` has a kink, it is a parabola over so much `width` beside it

    `epsilon` is the width of the ε-insensitive losses; others ignore it. A loss over the scores of all classes
    (`grouped`) has other functions: see `pegasos.losses.crammer_singer`. The functions are written out into the
    compiled loops by `pegasos.backends.specialise`, whose docstring says what such functions may contain.
    """

    name: ClassVar[str]
    task: ClassVar[str] = "classification"  # or "regression"
    grouped: ClassVar[bool] = False  # over the scores of all classes at a time
    dual_is_linear: ClassVar[bool] = False  # the sum of all pulls tells the sum of dual terms
    dual_is_bounded: ClassVar[bool] = True  # dual variables have a largest value
    pull_is_bounded: ClassVar[bool] = True  # otherwise steps of Pegasos begin small
    keeps_zero: ClassVar[bool] = False  # a dual variable of 0 is optimal wherever the row does not pull
    has_kink: ClassVar[bool] = False  # the pull jumps: `expansion` smooths
    curvature: ClassVar[float | None] = None  # that of a row that has any, times `width` at a kink; None: it varies
    power: ClassVar[int] = 1  # of a regression's error beyond epsilon

    value: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            REGISTRY[cls.name] = cls()

    def __reduce__(self):
        return _named, (self.name,)

    def __repr__(self) -> str:
        return f"Loss.{self.name.upper()}"


def _named(name: str) -> Loss:
    return REGISTRY[name]


def names(task: str) -> list[str]:
    """Names of the losses that estimators of a task take as their `loss`."""
    return [loss.name for loss in REGISTRY.values() if loss.task == task and not loss.grouped]
