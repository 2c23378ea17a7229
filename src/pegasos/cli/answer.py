"""Labels by a deadline.

A guess comes first, then a plain linear model, so that there is an answer whatever happens. The rest of the time goes
to a search over linear and Gaussian models on a part of the rows, and to the best of them on all rows. When the alarm
rings, the best answer so far counts.
"""

import time
import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from pegasos.cli import budget

SEARCH_SHARE, FIT_SHARE = 0.5, 0.8  # of the time that remains, after loading and after the search
CELLS_A_SECOND = 4e5  # rows × features of the search's part of the data, for each second it has
SEARCHED_ROWS = (500, 10_000)
INTERPRETED_STEPS = 4000  # of one pass, a second or so of plain Python
MOST_PASSES = 100
LINEAR = {"kernel": ["linear"], "C": [0.01, 0.1, 1.0, 10.0, 100.0]}
GAUSSIAN = {"kernel": ["rbf"], "C": [1.0, 10.0, 100.0]}
WIDTHS = [0.25, 1.0, 4.0]  # times gamma="scale"


class Answer:
    """Labels of the rows, better the more time there is."""

    def __init__(self, data, rows, seed: int):
        self.data, self.rows, self.seed = data, rows, seed
        self.kind = "sparse" if hasattr(data.X, "indptr") else "dense"
        self.labels = first_labels(data, rows)
        self.told = "There was no time to train a support vector machine: the labels are those of a rough first guess."

    def by(self, deadline: float, patient: float):
        """The labels at the deadline at the latest; `patient` is the whole budget."""
        compiled = budget.is_compiled(self.kind)
        interpreted = patient < budget.COMPILING and not compiled
        if interpreted:
            budget.interpret()
        with suppress(budget.TimeIsUp), budget.alarm(deadline - time.perf_counter()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of limits on time, which are what is asked for
            self._learn(deadline, interpreted, compiled)
        if self.told:
            warnings.warn(self.told, stacklevel=2)
        return self.labels

    def _learn(self, deadline: float, interpreted: bool, compiled: bool) -> None:
        from pegasos.cli.setup import scaler_for

        X, test = self.data.X, self.rows.X
        scaler = scaler_for(X, "auto")
        if scaler is not None:
            X, test = scaler.fit_transform(X), scaler.transform(test)
        if interpreted:
            self._pass_by_pass(X, test, deadline)
            return
        self._plain(X, test)
        if not compiled:  # or the compilation would take the time of the search
            self._search(X, np.arange(min(len(X), 200)), None)
        self._tuned(X, test, deadline)
        budget.note_compiled(self.kind)

    def _plain(self, X, test) -> None:
        """A linear model after a few passes."""
        from pegasos import PegasosClassifier

        model = PegasosClassifier(C=1.0, max_passes=5, random_state=self.seed).fit(X, self.data.y)
        self.labels, self.told = model.predict(test), ""

    def _pass_by_pass(self, X, test, deadline: float) -> None:
        """The same, a pass at a time until the deadline: interpreted loops are too slow to stop within a pass."""
        from pegasos import PegasosClassifier

        n_problems = len(np.unique(self.data.y))
        chosen = np.random.default_rng(self.seed).permutation(X.shape[0])[: max(INTERPRETED_STEPS // n_problems, 100)]
        if len(np.unique(self.data.y[chosen])) < 2:
            chosen = np.arange(X.shape[0])
        X, y = X[chosen], self.data.y[chosen]
        model = PegasosClassifier(C=1.0, max_passes=1, warm_start=True, random_state=self.seed)
        while time.perf_counter() < deadline and (self.told or model.n_iter_ < MOST_PASSES * len(y)):
            model.fit(X, y)
            self.labels, self.told = model.predict(test), ""

    def _tuned(self, X, test, deadline: float) -> None:
        """The best of several linear and Gaussian models."""
        from pegasos import PegasosClassifier

        left = lambda: deadline - time.perf_counter()
        part = int(np.clip(CELLS_A_SECOND * left() / X.shape[1], *SEARCHED_ROWS))
        chosen = np.random.default_rng(self.seed).permutation(X.shape[0])[:part]
        best = self._search(X, chosen, SEARCH_SHARE * left())
        final = PegasosClassifier(solver="sdca", random_state=self.seed, max_time=FIT_SHARE * left(), **best)
        final.fit(X, self.data.y)
        self.labels = final.predict(test)

    def _search(self, X, chosen, seconds: float | None) -> dict[str, Any]:
        """The best parameters, by cross-validation on the chosen rows."""
        from pegasos import PegasosClassifier, PegasosSearchCV

        grid = [LINEAR, {**GAUSSIAN, "gamma": [width * _gamma(X) for width in WIDTHS]}]
        model = PegasosClassifier(solver="sdca", max_passes=30, random_state=self.seed)
        search = PegasosSearchCV(model, grid, cv=self._folds(chosen), refit=False, max_time=seconds)
        return search.fit(X[chosen], self.data.y[chosen]).best_params_

    def _folds(self, chosen):
        from sklearn.model_selection import KFold, StratifiedKFold

        least = np.unique(self.data.y[chosen], return_counts=True)[1].min()
        return (StratifiedKFold if least >= 5 else KFold)(5, shuffle=True, random_state=self.seed)


def first_labels(data, rows):
    """Labels by least squares on a part of the rows, or of the most frequent class: NumPy alone, in no time."""
    classes, codes, counts = np.unique(data.y, return_inverse=True, return_counts=True)
    if hasattr(data.X, "indptr") or data.n_features > 500 or len(classes) > 100:
        return np.full(rows.X.shape[0], classes[counts.argmax()])
    X = data.X[:5000].astype(np.float64)
    centre, spread = X.mean(axis=0), X.std(axis=0) + 1e-9
    weights = np.linalg.lstsq(_with_constant((X - centre) / spread), np.eye(len(classes))[codes[:5000]], rcond=None)[0]
    scores = _with_constant((rows.X - centre) / spread) @ weights
    return classes[scores.argmax(axis=1)]


def _with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


def _gamma(X) -> float:
    """What gamma="scale" is."""
    variance = float(X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "multiply") else X.var())
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
