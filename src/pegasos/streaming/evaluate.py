"""One more reading of a stream: the objective of the model reached, and how many rows it has right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from pegasos.io.dataset import DataError, check_size
from pegasos.io.source import Source
from pegasos.rules.state import State
from pegasos.solver.certificate import Certifier
from pegasos.streaming.setting import Setting
from pegasos.streaming.windows import Prepare, Window, chunks


@dataclass
class Tally:
    """Accuracy of classes, or R² of numbers, over rows that come in parts."""

    numbers: bool
    n_rows: int = 0
    right: int = 0
    first: float = 0.0  # sums are taken around it, or squares of large targets would swallow their differences
    sums: np.ndarray = field(default_factory=lambda: np.zeros(3))  # of targets, their squares, squared errors

    def add(self, y: np.ndarray, predicted: np.ndarray) -> None:
        """Count some rows."""
        if not len(y):
            return
        if not self.numbers:
            self.right += int(np.sum(y == predicted))
        else:
            self.first = self.first if self.n_rows else float(y[0])
            moved = y.astype(np.float64) - self.first
            errors = y.astype(np.float64) - predicted
            self.sums += [moved.sum(), moved @ moved, errors @ errors]
        self.n_rows += len(y)

    @property
    def score(self) -> float:
        """What `score` of an estimator gives on all rows together."""
        if self.n_rows == 0:
            return float("nan")
        if not self.numbers:
            return self.right / self.n_rows
        total, squares, errors = self.sums
        spread = squares - total**2 / self.n_rows
        if spread <= 0:  # as scikit-learn has it
            return 1.0 if errors == 0 else 0.0
        return float(1.0 - errors / spread)


def judged(
    read: Iterable[Window],
    setting: Setting,
    state: State,
    *,
    sloped: bool,
    tally: Tally | None,
    go_on: Callable[[Window], bool],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Objective of each column and a lower bound on the optimum, by sums over all windows in float64.

    The bound is 0, or with `sloped` the better one that the slope of the objective at the model may give. The rows that
    the model has right are counted by `tally`. None where `go_on` ends the reading.
    """
    model = state.model()
    predict = None if tally is None else setting.predictor(model)
    columns, losses, pulls, found = state.columns.copy(), np.zeros(setting.n_columns), np.zeros(model.shape), None
    for window in read:
        job = setting.job(window)
        model = model.astype(job.rows.dtype, copy=False)
        certifier = Certifier(job)
        columns["labeling"], columns["row_set"] = job.problems.columns.T
        columns["n_rows"] = job.problems.n_rows
        losses += certifier.losses(columns, model)[0]
        if sloped:
            certifier.add_pulls(columns, model, pulls)
        columns["n_rows"] = setting.whole.n_rows
        if tally is not None and predict is not None:
            tally.add(*predict(window))
        if not go_on(window):
            return None
        found = certifier
    if found is None:
        return None
    objective = found.objectives_from(columns, losses, found.rows.square_norms(model))
    gap = found.gap_of_slope(columns, model, pulls) if sloped else np.inf
    return objective, np.maximum(objective - gap, 0.0)


def score(model, source: Source, prepare: Prepare | None = None, *, dense: bool = False) -> Tally:
    """How good a model is on all rows of a source; `dense`: it takes no CSR rows."""
    svm = model[-1] if hasattr(model, "steps") else model
    found = Tally(numbers=not hasattr(svm, "classes_"))
    words = not found.numbers and svm.classes_.dtype.kind == "U"
    with closing(chunks(source, prepare)) as read:
        for chunk in read:
            if len(chunk.y):
                if (chunk.y.dtype.kind == "U") != words:
                    kinds = ("numbers", "words") if words else ("words", "numbers")
                    raise DataError(f"{source.name} has {kinds[0]} as labels, but the training rows have {kinds[1]}.")
                values = chunk.X.data if hasattr(chunk.X, "indptr") else chunk.X
                check_size(source.name, max(float(values.max(initial=0)), -float(values.min(initial=0))))
                X = chunk.X.toarray() if dense and hasattr(chunk.X, "toarray") else chunk.X
                found.add(chunk.y, model.predict(X))
    return found
