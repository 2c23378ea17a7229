"""The folds of a search, and a result for each cell: a candidate on a fold, scored as soon as it is trained."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer, _Scorer
from sklearn.model_selection._validation import _score
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from pegasos.search.scored_model import OWN, is_own_classifier


def pass_rows_on(scorers) -> bool:
    """Whether scorers do nothing with rows but hand them to a method of the estimator."""
    return all(type(scorer) in (_Scorer, _PassthroughScorer) for scorer in scorers)


@dataclass
class Fold:
    """A split of the rows, as indices, and what a scorer is given of it."""

    number: int
    train: np.ndarray
    test: np.ndarray
    X: Any
    y: Any
    score_params: dict
    placeholders: dict[str, np.ndarray] = field(init=False)  # rows without features, recognised by identity
    _codes: dict[str, tuple] = field(init=False, default_factory=dict)

    def __post_init__(self):
        """Make the placeholders before threads ask for them."""
        self.placeholders = {"train": np.empty((len(self.train), 0)), "test": np.empty((len(self.test), 0))}

    def rows(self, estimator, side: str):
        """(X, y) of "train" or "test", as scikit-learn would cut them for this estimator."""
        if side == "train":
            return _safe_split(estimator, self.X, self.y, self.train)
        return _safe_split(estimator, self.X, self.y, self.test, self.train)

    def placeholder(self, side: str):
        """(X, y) for scorers that only pass the rows on to a scored model: X has the right length and no features."""
        return self.placeholders[side], self.targets[side]

    @cached_property
    def targets(self) -> dict[str, Any]:
        """Targets of "train" and "test"."""
        return {
            side: None if self.y is None else _safe_indexing(self.y, index)
            for side, index in (("train", self.train), ("test", self.test))
        }

    def class_codes(self, side: str, classes: np.ndarray) -> np.ndarray:
        """The place of each target among the classes of a fit, -1 for one that is none of them; kept for next time."""
        if side not in self._codes or self._codes[side][0] is not classes:
            targets = self.targets[side]
            places = np.minimum(np.searchsorted(classes, targets), len(classes) - 1)
            self._codes[side] = classes, np.where(classes[places] == targets, places, -1)
        return self._codes[side][1]

    @cached_property
    def params(self) -> dict[str, dict]:
        """Other arguments of scorers for "train" and "test"."""
        return {
            side: _check_method_params(self.X, params=self.score_params, indices=index)
            for side, index in (("train", self.train), ("test", self.test))
        }


class Results:
    """Results of all cells as scikit-learn's `_fit_and_score` gives them.

    Parameters
    ----------
    scorers : callable
        One scorer, or scikit-learn's bundle of several.
    folds : list of Fold
    n_candidates : int
    error_score, return_train_score
        As in GridSearchCV.
    on_cell : callable
        Called after each cell with the number of cells done and the best mean score of complete candidates, or None.
    metric : str
        The name of the score that is best, where there are several.
    """

    def __init__(
        self, scorers, folds: list[Fold], n_candidates: int, *, error_score, return_train_score: bool,
        on_cell: Callable[[int, float | None], object], metric: str,
    ):  # fmt: skip
        self.scorers, self.folds = scorers, folds
        self.error_score = error_score
        self.sides = ("train", "test") if return_train_score else ("test",)  # parts of a fold that are scored
        self.on_cell, self.metric = on_cell, metric
        self.cells: list[Any] = [None] * (n_candidates * len(folds))
        self.scoring_seconds = 0.0
        self.skipped = 0
        self.missed_tol = 0  # cells whose gap stayed above tol
        self.scoring_error: Exception | None = None
        self._done = 0
        self._best: float | None = None
        self._lock = threading.RLock()  # concurrent batches report here, and scorers are called one at a time

    def needs_scores_only(self, estimator) -> bool:
        """Whether scorers do nothing with rows but hand them to an estimator whose predictions follow from scores."""
        scorers = self.scorers._scorers.values() if isinstance(self.scorers, _MultimetricScorer) else [self.scorers]
        return type(estimator) in OWN and pass_rows_on(scorers)

    def score(self, candidate: int, fold: Fold, estimator, rows: Callable[[str], tuple] | None = None) -> None:
        """Score a fitted estimator; `rows` gives (X, y) of "train" or "test" if not those of the fold."""
        with self._lock:
            self._score(candidate, fold, estimator, rows or (lambda side: fold.rows(estimator, side)))

    def _score(self, candidate: int, fold: Fold, estimator, rows: Callable) -> None:
        began = time.perf_counter()
        result: dict[str, Any] = {"fit_error": None, "n_test_samples": len(fold.test), "fit_time": 0.0}
        for side in self.sides[::-1]:
            X, y = rows(side)
            try:
                if self._is_accuracy(estimator, y, fold.params[side]):
                    scores = np.count_nonzero(estimator.predict(X) == y) / len(y)
                else:
                    scores = _score(estimator, X, y, self.scorers, fold.params[side], self.error_score)
                result[f"{side}_scores"] = scores
            except Exception as error:
                self.scoring_error = error  # of the scorer, not of the fit that it is called from
                raise
            if side == "test":
                result["score_time"] = time.perf_counter() - began
        self.scoring_seconds += time.perf_counter() - began
        self.add(candidate, fold, result)

    def scored_by_accuracy(self, estimator, fold: Fold) -> bool:
        """Whether every score of a fold is the share of right labels."""
        return all(self._is_accuracy(estimator, fold.targets[side], fold.params[side]) for side in self.sides)

    def add_scores(self, candidate: int, fold: Fold, scores: dict[str, float], seconds: float) -> None:
        """Keep the scores of a cell, which took so long to compute."""
        result: dict[str, Any] = {"fit_error": None, "n_test_samples": len(fold.test), "fit_time": 0.0}
        result |= {"score_time": seconds} | {f"{side}_scores": value for side, value in scores.items()}
        with self._lock:
            self.scoring_seconds += seconds
            self._store(candidate, fold, result)

    def _is_accuracy(self, estimator, y, params: dict) -> bool:
        """Whether the score is the share of right labels, of which scikit-learn's own takes longer than some fits."""
        plain = type(y) is np.ndarray and y.ndim == 1 and y.size > 0 and y.dtype.kind in "iubU"
        return plain and is_own_classifier(estimator) and not params and self._scorer_is_accuracy

    @cached_property
    def _scorer_is_accuracy(self) -> bool:
        scorer = self.scorers
        if type(scorer) is _PassthroughScorer:
            return True
        return type(scorer) is _Scorer and vars(scorer) == vars(get_scorer("accuracy"))

    def add_failure(self, candidate: int, fold: Fold, error: Exception) -> None:
        """Keep the error of a cell that cannot be fitted."""
        if isinstance(self.error_score, str):
            raise error
        self.add(candidate, fold, self._without_scores(fold, "".join(traceback.format_exception(error))))

    def skip(self, candidate: int, fold: Fold) -> None:
        """Leave out a cell that there is no time for."""
        self.skipped += 1
        self.add(candidate, fold, self._without_scores(fold, None))

    def add(self, candidate: int, fold: Fold, result: dict) -> None:
        """Keep the result of a cell, a dict as scikit-learn's `_fit_and_score` makes it."""
        with self._lock:
            self._store(candidate, fold, result)

    def _store(self, candidate: int, fold: Fold, result: dict) -> None:
        result.setdefault("gap", np.nan)
        self.cells[candidate * len(self.folds) + fold.number] = result
        self._done += 1
        mean = self._mean(candidate)
        if mean is not None and np.isfinite(mean) and (self._best is None or mean > self._best):
            self._best = mean
        self.on_cell(self._done, self._best)

    def add_gap(self, candidate: int, fold: Fold, gap: float, tol: float | None) -> None:
        """Keep the relative gap with which a cell ended."""
        with self._lock:
            result = self.cells[candidate * len(self.folds) + fold.number]
            if result is not None:
                result["gap"] = gap
                self.missed_tol += tol is not None and gap > tol

    @property
    def mean_gaps(self) -> np.ndarray:
        """The relative gap of each candidate, its mean over the folds; nan where it is not known."""
        return np.array([result["gap"] for result in self.cells]).reshape(-1, len(self.folds)).mean(axis=1)

    def has(self, candidate: int, fold: Fold) -> bool:
        """Whether the cell is done."""
        return self.cells[candidate * len(self.folds) + fold.number] is not None

    def add_fit_time(self, cells: list[tuple[int, Fold]], seconds: float) -> None:
        """Divide the time of a shared run over its cells."""
        for candidate, fold in cells:
            result = self.cells[candidate * len(self.folds) + fold.number]
            if result is not None:
                result["fit_time"] += seconds / len(cells)

    def name_scores_of_skipped(self) -> None:
        """Give cells without scores the names that a scorer of several has used elsewhere."""
        for side in self.sides:
            scores = [result[f"{side}_scores"] for result in self.cells]
            names = next((score for score in scores if isinstance(score, dict)), None)
            for result, score in zip(self.cells, scores, strict=True):
                if names is not None and not isinstance(score, dict):
                    result[f"{side}_scores"] = dict.fromkeys(names, score)

    def _without_scores(self, fold: Fold, fit_error: str | None) -> dict:
        value = np.nan if isinstance(self.error_score, str) else self.error_score
        names = self.scorers._scorers if isinstance(self.scorers, _MultimetricScorer) else None
        result: dict[str, Any] = {"fit_error": fit_error, "n_test_samples": len(fold.test)}
        result |= {"fit_time": 0.0, "score_time": 0.0}
        for side in self.sides:
            result[f"{side}_scores"] = value if names is None else dict.fromkeys(names, value)
        return result

    def _mean(self, candidate: int) -> float | None:
        """Mean test score of a candidate, None before all its folds are done."""
        first = candidate * len(self.folds)
        results = self.cells[first : first + len(self.folds)]
        if any(result is None for result in results):
            return None
        scores = [result["test_scores"] for result in results if result is not None]
        numbers = [score.get(self.metric, np.nan) if isinstance(score, dict) else score for score in scores]
        return float(np.mean(numbers))
