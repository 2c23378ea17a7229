"""Checkpoints of streamed fits: the state between two windows, and what the survey of the file has found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.backends.threads import in_parallel
from pegasos.container.schema import Record
from pegasos.container.tensors import Tensors
from pegasos.estimators.checkpoint import identity_of
from pegasos.estimators.recipe import Recipe
from pegasos.estimators.totals import ClassTotals, TargetTotals
from pegasos.io.source import Source
from pegasos.rows import Rows
from pegasos.rules.state import State
from pegasos.solver.checkpoint import Checkpoint, CheckpointError
from pegasos.solver.checkpoint_file import CheckpointFile, pack_state, unpack_state
from pegasos.streaming.checkpoint_checks import (
    SURVEY_VALUES,
    checked_seconds,
    checked_state,
    checked_survey,
    set_learned,
)
from pegasos.streaming.prepare import Split
from pegasos.streaming.run import StreamRun, StreamState
from pegasos.streaming.survey import StreamSurvey
from pegasos.utils.fingerprint import fingerprint

KIND = "streamed fit"
PIECE = 1 << 26  # bytes of a file that have a digest of their own: threads share them
BLOCK = 1 << 20
STATE_VALUES = ("passes", "window", "next_check", "dual_is_known")
STATE_ARRAYS = ("best_dual", "limits", "first_steps")
SOURCE_VALUES = ("text_labels", "n_features", "first_index")  # which the survey has told the source


def checkpoint_of(recipe: Recipe, source: Source, split: Split | None, scaling: str) -> StreamCheckpoint | None:
    """The checkpoint of a fit, or None where none is asked for; `scaling` names how features are scaled."""
    svm = recipe.estimator
    checkpoint = Checkpoint.of(svm.checkpoint)
    if checkpoint is None:
        return None
    identity = {
        "the data": digest_of(source.path),
        "the label column": repr(source.label_column),
        "the choice of test rows": repr(split),
        "the scaling of features": scaling,
    }
    if svm.warm_start and recipe.memory is not None:
        identity["the fit before"] = fingerprint(recipe.memory.state.sums)
    return StreamCheckpoint(checkpoint, KIND, identity | identity_of(svm))


def digest_of(path: Path) -> str:
    """A digest of all bytes of a file, of pieces that several threads read."""
    size = path.stat().st_size
    places = range(0, max(1, size), PIECE)
    found = [b""] * len(places)

    def some(first: int, last: int) -> None:
        with open(path, "rb", buffering=0) as file:
            for number in range(first, last):
                digest, left = blake2b(digest_size=16), PIECE
                file.seek(places[number])
                while left > 0 and (block := file.read(min(BLOCK, left))):
                    digest.update(block)
                    left -= len(block)
                found[number] = digest.digest()

    in_parallel(some, len(places), size)
    return blake2b(b"".join(found) + str(size).encode(), digest_size=16).hexdigest()


class StreamCheckpoint(CheckpointFile):
    """The checkpoint file of a streamed fit."""

    def survey(self, source: Source, scaler_for: Callable[[StreamSurvey], Any]) -> tuple[StreamSurvey, Any] | None:
        """The survey and the fitted scaler of an earlier run, or None; the source is told what the survey found."""
        if self.left is None:
            return None
        values, arrays = self.left
        try:
            found = checked_survey(values, arrays, source)
            scaler = scaler_for(found)
            set_learned(scaler, values["scaler"] | _under("scaler.", arrays), found.n_features)
            for name, value in zip(SOURCE_VALUES, values["source"], strict=True):
                setattr(source, name, value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._refused() from error
        return found, scaler

    def check_sums(self, state: State, rows: Rows) -> None:
        """Raise CheckpointError unless a restored state is one of such rows."""
        if state.sums.shape != rows.zeros(len(state.columns)).shape:
            raise self._refused()

    def _refused(self) -> CheckpointError:
        return CheckpointError(f"{self.path} is no checkpoint of a {KIND}; remove it to begin anew.")

    def restore(self, run: StreamRun) -> None:
        """Let a run go on from where the earlier one was."""
        if self.left is None:
            return
        values, arrays = Record(self.left[0], "the checkpoint"), Tensors(self.left[1])
        try:
            run.setting.schedule = replace(run.setting.schedule, seed=values.take_integer("seed", highest=2**64))
            solver_state = unpack_state(values, arrays, "state.") if values.take("begun", bool) else None
            run.state = run.resumable = checked_state(values, arrays, solver_state, run.state)
            run.progress.read = checked_seconds(values.take("read", float, int))
            run.result.earlier_passes = checked_seconds(values.take("passes_before", float, int))
            run.clock.started -= checked_seconds(values.take("seconds", float))
        except (TypeError, ValueError) as error:
            raise self._refused() from error

    def save(self, run: StreamRun, state: StreamState) -> None:
        """Write a state of a run, and what else it needs to go on."""
        values, arrays = ({}, {}) if state.solver_state is None else pack_state(state.solver_state, "state.")
        survey, scaler = run.result.survey, _learned(run.result.scaler)
        values |= {
            "begun": state.solver_state is not None,
            "history": list(state.history),
            "seed": run.setting.schedule.seed,
            "seconds": run.clock.seconds,
            "read": run.progress.read,
            "passes_before": run.result.earlier_passes + run.result.passes,
            "survey": {name: getattr(survey, name) for name in SURVEY_VALUES},
            "source": [getattr(run.source, name) for name in SOURCE_VALUES],
            "scaler": {name: value for name, value in scaler.items() if not isinstance(value, np.ndarray)},
        }
        values |= {name: getattr(state, name) for name in STATE_VALUES}
        arrays |= {name: getattr(state, name) for name in STATE_ARRAYS}
        arrays |= {f"scaler.{name}": value for name, value in scaler.items() if isinstance(value, np.ndarray)}
        _pack_totals(survey.totals, values, arrays)
        self.write(values, arrays)


def _pack_totals(totals: ClassTotals | TargetTotals, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    if isinstance(totals, TargetTotals):
        values["targets"] = {"n_rows": totals.n_rows, "weight": totals.weight, "zero": totals.zero}
        arrays["mean"] = totals.mean
        return
    arrays |= {"counts": totals.counts, "weights": totals.weights}
    if totals.labels.dtype.kind == "U":  # arrays of a file hold numbers only
        values["labels"] = totals.labels.tolist()
    else:
        arrays["labels"] = totals.labels


def _under(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _learned(scaler) -> dict[str, Any]:
    """The fitted attributes of a scaler, by name."""
    return {} if scaler is None else {name: value for name, value in vars(scaler).items() if name.endswith("_")}
