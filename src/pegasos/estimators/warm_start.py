"""What a fitted estimator remembers, for `warm_start` and `partial_fit` to go on from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import update_wrapper, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # state.py needs Numba, which predicting does without
    from pegasos.kernels.nystroem import Landmarks
    from pegasos.rules.state import State


@dataclass
class Memory:
    """The state of the last fit, what the state is one of, a fingerprint of its rows, and their landmarks."""

    state: State
    resume_key: dict[str, Any]  # parameters that cannot change from one fit to the next
    rows: str | None = None
    landmarks: Landmarks | None = None
    offset: Any = 0.0  # what was taken off the targets

    def changed(self, resume_key: dict[str, Any]) -> list[str]:
        """Names of what is not as it was in the last fit."""

        def same(name: str) -> bool:
            value: Any = resume_key[name]
            before: Any = self.resume_key.get(name)
            return bool(np.array_equal(value, before) if isinstance(value, np.ndarray) else before == value)

        return [name for name in resume_key if not same(name)]

    def check_resumes(self, resume_key: dict[str, Any], doing: str) -> None:
        """Raise ValueError naming the parameter that changed."""
        for name in self.changed(resume_key):
            raise ValueError(
                f"{doing} goes on from a model of {name.strip('_')}={self.resume_key.get(name)!r}, which cannot "
                f"become {resume_key[name]!r}; fit with warm_start=False to begin anew."
            )

    def resumes(self, rows: str, resume_key: dict[str, Any]) -> bool:
        """Whether a fit of the rows of this fingerprint can go on from the state."""
        return rows == self.rows and not self.changed(resume_key)

    def as_pegasos(self) -> Memory:
        """The same model as a state of Pegasos, whose steps count on."""
        from pegasos.rules.column import Rule
        from pegasos.rules.state import State

        if self.state.rule == Rule.PEGASOS:
            return self
        columns = self.state.columns
        state = State.from_weights(self.state.model(), columns["lam"], steps=np.maximum(columns["steps"], 1))
        for name in ("n_rows", "share", "zero_objective", "radius", "epsilon"):
            state.columns[name] = columns[name]
        state.columns["norm_squared"] = (state.sums.astype(np.float64) ** 2).sum(axis=0)
        return replace(self, state=state, resume_key=self.resume_key | {"solver": "pegasos"})

    def state_for(self, rows: str, needs_same_rows: bool) -> State:
        """The state to go on from with the rows of this fingerprint."""
        if rows == self.rows:
            return self.state
        if needs_same_rows:
            raise ValueError(
                "warm_start with a kernel or a dual solver needs the same rows, targets and weights as the last fit: "
                "the model is made of the rows' own coefficients."
            )
        return without_rows(self.state)


def without_rows(state: State) -> State:
    """The state of a linear model without what it knows of its rows: other rows may follow."""
    columns = state.columns.copy()
    columns["pass_is_feasible"], columns["best_dual"] = False, -np.inf
    none = state.sums[:0, :0]
    return replace(state, columns=columns, alpha=none, violations=none, products=none, position=None)


def unharmed_by_errors(method):
    """Let a fit that fails leave the estimator as it was, but for what scikit-learn's callbacks keep there.

    Underflow is no failure, whatever ``np.seterr`` says: what is too small for a float is 0 here.
    """

    @wraps(method)
    def guarded(estimator, *args, **kwargs):
        before = dict(vars(estimator))
        try:
            with np.errstate(under="ignore"):
                return method(estimator, *args, **kwargs)
        except BaseException:
            for name in set(vars(estimator)) - set(before):
                if not name.startswith(("_skl_", "_callback_", "_parent_")):
                    delattr(estimator, name)
            vars(estimator).update(before)
            raise

    return guarded


class offered_if:
    """A method that exists only where ``missing(self)`` is None; else that is the text of the AttributeError.

    As scikit-learn's `available_if`, which cannot say what is missing.
    """

    def __init__(self, missing):
        self.missing = missing

    def __call__(self, method):
        """Decorate the method."""
        self.method = method
        return update_wrapper(self, method)

    def __get__(self, estimator, owner=None):
        """The bound method; the plain function on the class."""
        if estimator is None:

            @wraps(self.method)
            def function(*args, **kwargs):
                return self.__get__(args[0], owner)(*args[1:], **kwargs)

            return function
        missing = self.missing(estimator)
        if missing is not None:
            raise AttributeError(f"{owner.__name__} has no {self.method.__name__}: {missing}")
        return MethodType(self.method, estimator)


def missing_for_partial_fit(estimator) -> str | None:
    """What an estimator lacks to learn online; None: nothing."""
    if estimator.solver not in ("auto", "pegasos"):
        return f"it needs solver='pegasos' or 'auto', got {estimator.solver!r}, which has to know all rows."
    explicit = estimator.kernel == "linear" or estimator.n_landmarks is not None
    if not explicit or estimator.kernel == "precomputed":
        given = f"kernel={estimator.kernel!r}"
        return f"it needs kernel='linear' or n_landmarks, got {given}; a kernel model has to know all rows."
    if estimator.lam is None:
        return "it needs lam; what C amounts to depends on the number of rows, which is not known."
    return None
