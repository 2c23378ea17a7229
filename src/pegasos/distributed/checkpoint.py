"""Checkpoints of fits on a cluster: the driver writes the model and all dual variables between two rounds.

The dual variables come to the driver for that, a number for each row and column, with the ids of the rows: a later fit
gives them back to the workers that have these rows, however many workers there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, INT64, Tensors
from pegasos.distributed.cocoa import CocoaSolver
from pegasos.distributed.survey import DataSurvey
from pegasos.distributed.workers import WorkersLost
from pegasos.estimators.checkpoint import identity_of
from pegasos.solver.checkpoint import Checkpoint, CheckpointError
from pegasos.solver.checkpoint_file import CheckpointFile

KIND = "distributed fit"
NOT_DECISIVE = ("client", "max_rounds")
FLOAT64 = (np.dtype(np.float64),)
COUNTS = ("rounds", "n_requests", "recoveries", "deals")
STATE = ("w", "previous")  # (n_state, columns), float64
PER_COLUMN = ("objective", "dual", "zero", "sigma")
RECORD = {"round": int, "step": int, "objective": float, "gap": float, "seconds": float, "bytes": int}


def checkpoint_of(estimator, survey: DataSurvey, seed: int) -> CocoaCheckpoint | None:
    """The checkpoint of a fit, or None where none is asked for."""
    checkpoint = Checkpoint.of(estimator.checkpoint)
    if checkpoint is None:
        return None
    left_out = [f"the parameter {name}" for name in NOT_DECISIVE]
    identity = {name: text for name, text in identity_of(estimator).items() if name not in left_out}
    return CocoaCheckpoint(checkpoint, {"the data or its partitions": survey.fingerprint} | identity, seed)


class CocoaCheckpoint(CheckpointFile):
    """The checkpoint file of a distributed fit; `seed` is that of the fit which began it."""

    def __init__(self, checkpoint: Checkpoint, identity: dict[str, str], seed: int):
        super().__init__(checkpoint, KIND, identity)
        self.seed = seed
        if self.left is not None:
            try:
                self.seed = Record(self.left[0], "the checkpoint").take_integer("seed", highest=2**32)
            except ModelFormatError as error:
                raise self._refused() from error

    def save(self, solver: CocoaSolver) -> None:
        """Write where the rounds are; nothing where a worker is lost just now."""
        try:
            ids, alpha = solver.workers.export(solver.step_size, lambda: False)
        except WorkersLost:
            return
        values: dict[str, Any] = {name: getattr(solver, name) for name in COUNTS}
        values |= {"seed": self.seed, "seconds": solver.clock.seconds, "history": solver.history, "gaps": solver.gaps}
        arrays = {name: getattr(solver, name) for name in (*STATE, *PER_COLUMN, "best", "steps")}
        arrays |= {name: getattr(solver, name).astype(np.int64) for name in ("active", "oscillates")}
        self.write(values, arrays | {"ids": ids, "alpha": alpha})

    def restore(self, solver: CocoaSolver, n_rows: int) -> None:
        """Let the rounds go on from where an earlier fit was."""
        if self.left is None:
            return
        values, arrays = Record(self.left[0], "the checkpoint"), Tensors(self.left[1])
        try:
            self._take(solver, values, arrays, n_rows)
        except (TypeError, ValueError) as error:
            raise self._refused() from error
        self.left = None

    def _take(self, solver: CocoaSolver, values: Record, arrays: Tensors, n_rows: int) -> None:
        shape = solver.w.shape
        n_columns = shape[1]
        values.take("seed", int)
        counts = {name: values.take_integer(name) for name in COUNTS}
        seconds, history, gaps = values.take("seconds", float), values.take("history", list), values.take("gaps", list)
        values.done()
        good = all(type(each) is dict and {k: type(v) for k, v in each.items()} == RECORD for each in history)
        if not good or not history or not 0 <= seconds < np.inf or not all(type(gap) is float for gap in gaps):
            raise ModelFormatError("the history is none")
        found = {name: arrays.take(name, FLOAT64, shape) for name in STATE}
        found |= {name: arrays.take(name, FLOAT64, (n_columns,)) for name in PER_COLUMN}
        found["best"] = arrays.take("best", (solver.plan.dtype,), shape)
        found["steps"] = arrays.take_counts("steps", INT64, (n_columns,))
        found |= {name: arrays.take(name, (INT64,), (n_columns,)) != 0 for name in ("active", "oscillates")}
        ids = arrays.take_counts("ids", INT64, (n_rows,))
        alpha = arrays.take("alpha", FLOATS, (n_rows, n_columns))
        arrays.done()
        if solver.workers.restore(ids, alpha.astype(solver.plan.dtype, copy=False), counts["n_requests"]) != n_rows:
            raise ModelFormatError("the rows are others")
        for name, value in (counts | found | {"history": history, "gaps": gaps}).items():
            setattr(solver, name, value)
        solver.clock.started -= seconds

    def _refused(self) -> CheckpointError:
        return CheckpointError(f"{self.path} is no checkpoint of a {KIND}; remove it to begin anew.")
