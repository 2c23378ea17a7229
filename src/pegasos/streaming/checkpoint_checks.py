"""Whether what a checkpoint says of a streamed fit can be so: its survey, its scaler, its state between two windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, INT64, Tensors
from pegasos.estimators.totals import ClassTotals, TargetTotals
from pegasos.io.source import Source
from pegasos.rules.state import State
from pegasos.solver.snapshot_checks import checked_history
from pegasos.streaming.run import StreamState
from pegasos.streaming.survey import StreamSurvey

SURVEY_VALUES = ("n_test", "n_features", "sparse", "dtype", "largest", "bytes_per_chunk", "seconds")
MOST_ROWS = 2**48
MOST_FEATURES = 2**31


def checked_seconds(value: float) -> float:
    """A number of seconds, readings or passes, of which there are none below 0."""
    if not 0 <= value < np.inf:
        raise ModelFormatError(f"{value} is no length of time")
    return value


def checked_survey(values: dict[str, Any], arrays: dict[str, np.ndarray], source: Source) -> StreamSurvey:
    """The survey among the values of a file, which has to be one of this source."""
    said = Record(values["survey"], "the survey")
    found = StreamSurvey(
        totals=_totals(values, arrays),
        n_test=said.take_integer("n_test", highest=MOST_ROWS),
        n_features=said.take_integer("n_features", 1, MOST_FEATURES),
        sparse=said.take("sparse", bool),
        dtype=said.take_one_of("dtype", ("float32", "float64")),
        largest=checked_seconds(said.take("largest", float)),
        bytes_per_chunk=checked_seconds(said.take("bytes_per_chunk", float, int)),
        seconds=checked_seconds(said.take("seconds", float)),
    )
    said.done()
    text_labels, n_features, first_index = values["source"]
    known = source.n_features in (None, n_features) and source.first_index in (None, first_index)
    if type(text_labels) is not bool or n_features != found.n_features or not known or first_index not in (None, 0, 1):
        raise ModelFormatError("the survey is one of another file")
    return found


def _totals(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> ClassTotals | TargetTotals:
    tensors = Tensors(arrays)
    if "targets" in values:
        said = Record(values["targets"], "the targets")
        mean = tensors.take("mean", FLOATS, (None,))
        n_rows = said.take_integer("n_rows", 1, MOST_ROWS)
        weight, zero = (checked_seconds(said.take(name, float)) for name in ("weight", "zero"))
        if len(mean) != 1 or weight != n_rows:
            raise ModelFormatError("the targets are several, or weigh something")
        return TargetTotals(n_rows, weight, mean=mean, zero=zero)
    labels = np.array(values["labels"]) if "labels" in values else tensors.take("labels", (INT64, *FLOATS), (None,))
    counts = tensors.take_counts("counts", INT64, (len(labels),))
    weights = tensors.take("weights", FLOATS, (len(labels),))
    if "labels" in values and not all(type(label) is str for label in values["labels"]):
        raise ModelFormatError("the labels are not words")
    in_order = labels.ndim == 1 and len(labels) > 1 and bool((labels[1:] > labels[:-1]).all())
    if not in_order or not (counts > 0).all() or counts.max() > MOST_ROWS or not (weights == counts).all():
        raise ModelFormatError("classes or their counts are none")
    return ClassTotals(labels, counts, weights)


def set_learned(scaler: Any, learned: dict[str, Any], n_features: int) -> None:
    """Give a scaler what it has learned from as many features; it has fitted attributes and no others."""
    if (scaler is None) != (not learned):
        raise ModelFormatError("there is a scaler, or none")
    if scaler is not None:
        known = vars(clone(scaler).fit(np.zeros((2, 1))))
        if missing := {name for name in known if name.endswith("_")} - learned.keys():
            raise ModelFormatError(f"the scaler has no {min(missing)!r}")
    for name, value in learned.items():
        number = type(value) in (int, float) or isinstance(value, np.integer | np.floating)
        column = isinstance(value, np.ndarray) and value.shape == (n_features,) and value.dtype.kind in "if"
        whole = name.startswith("n_") and (number or column)
        nothing = value is None and name in ("mean_", "var_", "scale_")  # a StandardScaler that leaves the mean
        if not name.isidentifier() or not name.endswith("_") or not (whole or column or number or nothing):
            raise ModelFormatError(f"a scaler learns no {name[:40]!r}")
        if name == "n_features_in_" and value != n_features:
            raise ModelFormatError("the scaler is one of other features")
        if value is not None and not (np.isfinite(value).all() and (np.min(value) > 0 or name not in ("scale_",))):
            raise ModelFormatError(f"the scaler's {name[:40]!r} is out of range")
        setattr(scaler, name, value)


def checked_state(values: Record, arrays: Tensors, solver_state: State | None, first: StreamState) -> StreamState:
    """The state of a run that began with the state `first`, among the values of a file."""
    n_columns = len(first.limits)
    state = StreamState(
        limits=arrays.take("limits", (np.dtype(np.float64),), (n_columns,), finite=False),
        first_steps=arrays.take_counts("first_steps", INT64, (n_columns,)),
        best_dual=arrays.take("best_dual", (np.dtype(np.float64),), (n_columns,), finite=False),
        dual_is_known=values.take("dual_is_known", bool),
        solver_state=solver_state,
        passes=values.take_integer("passes"),
        window=values.take_integer("window"),
        next_check=values.take_integer("next_check", 1, 2**53),
        history=tuple(checked_history(values.take("history", list))),
    )
    limits = first.limits + state.first_steps  # those of a warm start come on top; columns within tol end earlier
    steps = state.steps
    fits = [
        not np.isnan(state.limits).any() and bool((state.limits <= limits).all() and (state.limits >= 0).all()),
        not np.isnan(state.best_dual).any() and bool((state.best_dual < np.inf).all()),
        first.dual_is_known >= state.dual_is_known,
        len(steps) == n_columns and bool((steps >= state.first_steps).all()),
        solver_state is None or bool((solver_state.columns["place"] == np.arange(n_columns)).all()),
    ]
    if not all(fits):
        raise ModelFormatError("the state is one of another fit")
    return state
