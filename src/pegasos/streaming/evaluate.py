"""Evaluating a model on a stream: its objective, a bound on the optimum, and its score."""

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
class StreamScore:
    """Accuracy of classes, or R² of numbers, over rows that come in parts."""

    numbers: bool
    n_rows: int = 0
    right: int = 0
    shift: float = 0.0  # taken off the targets, or squares of large targets would swallow their differences
    sums: np.ndarray = field(default_factory=lambda: np.zeros(3))  # of targets, their squares, squared errors

    def add(self, y: np.ndarray, predicted: np.ndarray) -> None:
        """Count some rows."""
        if not len(y):
            return
        if not self.numbers:
            self.right += int(np.sum(y == predicted))
        else:
            self.shift = self.shift if self.n_rows else float(y[0])
            shifted = y.astype(np.float64) - self.shift
            errors = y.astype(np.float64) - predicted
            self.sums += [shifted.sum(), shifted @ shifted, errors @ errors]
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


def objective_and_bound(
    windows: Iterable[Window],
    setting: Setting,
    state: State,
    *,
    by_slope: bool,
    score: StreamScore | None,
    go_on: Callable[[Window], bool],
) -> tuple[np.ndarray, np.ndarray] | None:
    """The objective of each column over all rows, and a lower bound on its optimum; sums are in float64.

    Parameters
    ----------
    windows : iterable of Window
        All rows.
    setting : Setting
    state : State
        Its model is evaluated.
    by_slope : bool
        Whether the slope of the objective at the model may raise the bound above 0.
    score : StreamScore or None
        Counts the rows that the model has right.
    go_on : callable
        Called after each window; False ends the reading, and the result is None.
    """
    model, columns = state.model(), state.columns.copy()
    predict = None if score is None else setting.predictor(model)
    losses, pulls, certifier = np.zeros(len(columns)), np.zeros(model.shape), None
    for window in windows:
        certifier = Certifier(setting.job(window))
        model = model.astype(certifier.rows.dtype, copy=False)
        columns["labeling"], columns["row_set"] = certifier.job.problems.columns.T
        columns["n_rows"] = certifier.job.problems.n_rows
        losses += certifier.losses(columns, model)[0]
        if by_slope:
            certifier.add_pulls(columns, model, pulls)
        if score is not None and predict is not None:
            score.add(*predict(window))
        if not go_on(window):
            return None
    if certifier is None:
        return None
    columns["n_rows"] = setting.problem.n_rows
    objective = certifier.objectives_from(columns, losses, certifier.rows.square_norms(model))
    if not by_slope:
        return objective, np.zeros(len(columns))
    return objective, np.maximum(objective - certifier.gap_of_slope(columns, model, pulls), 0.0)


def score_of(model, source: Source, prepare: Prepare | None = None, *, dense: bool = False) -> StreamScore:
    """The score of a fitted model on all rows of a source; `dense`: the model takes no CSR rows."""
    svm = model[-1] if hasattr(model, "steps") else model
    found = StreamScore(numbers=not hasattr(svm, "classes_"))
    text = not found.numbers and svm.classes_.dtype.kind == "U"
    with closing(chunks(source, prepare)) as read:
        for chunk in read:
            if len(chunk.y):
                if (chunk.y.dtype.kind == "U") != text:
                    kinds = ("numbers", "words") if text else ("words", "numbers")
                    raise DataError(f"{source.name} has {kinds[0]} as labels, but the training rows have {kinds[1]}.")
                values = chunk.X.data if hasattr(chunk.X, "indptr") else chunk.X
                check_size(source.name, max(float(values.max(initial=0)), -float(values.min(initial=0))))
                X = chunk.X.toarray() if dense and hasattr(chunk.X, "toarray") else chunk.X
                found.add(chunk.y, model.predict(X))
    return found
