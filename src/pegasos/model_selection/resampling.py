"""Resampling: bootstrap and jackknife, where repeated rows are weights of columns and no fits of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, validate_params

from pegasos.backends.threads import threads_limited
from pegasos.estimators import devices
from pegasos.model_selection.cells import given, warn_missed
from pegasos.model_selection.resampled import Resampled
from pegasos.model_selection.wide import WideFits, accuracy
from pegasos.problem.columns import Problems, balanced, regression
from pegasos.rules.state import State
from pegasos.search.progress import cells_shown
from pegasos.search.results import Fold, Results
from pegasos.search.scored_model import OWN, scored_model

MOST_DRAWS = 1000  # of a resample that has to have all classes
DRAWN_AT_ONCE = 1_000_000  # rows
CONSTRAINTS: dict[str, list] = {
    "estimator": [HasMethods("fit")],
    "n_resamples": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


@validate_params(CONSTRAINTS | {"bca": ["boolean"]}, prefer_skip_nested_validation=False)
def bootstrap(
    estimator, X, y, *, n_resamples=1000, scoring=None, sample_weight=None, bca=False, n_jobs=None, random_state=None,
    verbose=0,
) -> Resampled:  # fmt: skip
    """Fit an estimator on resamples of the rows, drawn with replacement, all of them as columns of wide jobs.

    A row that is drawn twice has twice the weight: the fits are those on repeated rows. A resample of a classifier that
    lacks a class is drawn again. Other estimators are fitted one by one.

    Parameters
    ----------
    estimator : PegasosClassifier, PegasosRegressor or another estimator
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_resamples : int, default=1000
    scoring : str or callable, default=None
        How the rows that a resample leaves out are scored; a callable gets the estimator as scikit-learn's scorers do.
    sample_weight : array-like of shape (n_samples,), default=None
    bca : bool, default=False
        Also fit without each row in turn, for ``interval(method="bca")``.
    n_jobs : int, default=None
        Threads.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Returns
    -------
    Resampled

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import bootstrap
    >>> X, y = load_iris(return_X_y=True)
    >>> found = bootstrap(PegasosClassifier(), X, y == 1, n_resamples=200, random_state=0)
    >>> found.interval("coef").shape
    (2, 1, 4)
    """
    X, y = given(X, y)
    generator, n_rows = check_random_state(random_state), X.shape[0] if hasattr(X, "shape") else len(X)
    weights = None if sample_weight is None else np.asarray(devices.on_host(sample_weight), float)
    counts = _drawn(generator, n_resamples, y if is_classifier(estimator) else None, n_rows, weights)
    fits = _fits_of(estimator, X, y, scoring, sample_weight)
    total = 1 + n_resamples + (n_rows if bca else 0)
    with threads_limited(n_jobs), cells_shown(total, verbose, "bootstrap") as shown:
        whole = fits.resampled(np.ones((1, n_rows), int), shown, 0)
        found = fits.resampled(counts, shown, 1)
        left_out = fits.resampled(1 - np.eye(n_rows, dtype=int), shown, 1 + n_resamples) if bca else None
    fits.warn(total)
    estimate = {} if whole.coef is None else {"coef": whole.coef[0], "intercept": whole.intercept[0]}  # type: ignore[index]
    return replace(found, estimate=estimate, left_out=left_out)


@validate_params(
    {name: allowed for name, allowed in CONSTRAINTS.items() if name not in ("n_resamples", "random_state")},
    prefer_skip_nested_validation=False,
)
def jackknife(estimator, X, y, *, scoring=None, sample_weight=None, n_jobs=None, verbose=0) -> Resampled:
    """Fit an estimator without each row in turn, all fits as columns of wide jobs; see `bootstrap`.

    ``scores`` are those of the row that is left out: of accuracy, their mean is the leave-one-out estimate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import jackknife
    >>> X, y = load_iris(return_X_y=True)
    >>> found = jackknife(PegasosClassifier(kernel="rbf"), X, y)
    >>> len(found.scores), bool(found.scores.mean() > 0.9)
    (150, True)
    """
    X, y = given(X, y)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    fits = _fits_of(estimator, X, y, scoring, sample_weight)
    with threads_limited(n_jobs), cells_shown(1 + n_rows, verbose, "jackknife") as shown:
        whole = fits.resampled(np.ones((1, n_rows), int), shown, 0)
        found = fits.resampled(1 - np.eye(n_rows, dtype=int), shown, 1)
    fits.warn(1 + n_rows)
    estimate = {} if whole.coef is None else {"coef": whole.coef[0], "intercept": whole.intercept[0]}  # type: ignore[index]
    return replace(found, estimate=estimate)


def _drawn(generator, n_resamples: int, labels, n_rows: int, weights) -> np.ndarray:
    """How often each row is drawn, for each resample; of classifiers all classes are in each."""
    codes = None if labels is None else np.unique(np.asarray(labels), return_inverse=True)[1].ravel()
    used = np.ones(n_rows, bool) if weights is None else weights > 0
    wanted = [] if codes is None else [used & (codes == code) for code in np.unique(codes[used])]
    counts = np.empty((n_resamples, n_rows), int)
    n_found, n_refused = 0, 0
    while n_found < n_resamples:
        part = min(n_resamples - n_found, -(-DRAWN_AT_ONCE // n_rows))
        places = generator.randint(0, n_rows, (part, n_rows))
        places += n_rows * np.arange(part)[:, None]
        found = np.bincount(places.ravel(), minlength=part * n_rows).reshape(part, n_rows)
        good = np.ones(part, bool)
        for members in wanted:
            good &= found[:, members].any(axis=1)
        n_good = int(np.count_nonzero(good))
        counts[n_found : n_found + n_good] = found[good]
        n_refused = 0 if n_good else n_refused + part
        n_found += n_good
        if n_refused >= MOST_DRAWS:
            raise ValueError(f"{n_refused} resamples lacked one of the {len(wanted)} classes, which is too rare.")
    return counts


def _fits_of(estimator, X, y, scoring, sample_weight):
    scorer = check_scoring(estimator, scoring=scoring)
    own = type(estimator) in OWN and estimator.n_landmarks is None and not estimator.device.startswith("cuda")
    if not own or getattr(estimator, "probability", None) is not None or estimator.batch_size != 1 or np.ndim(y) != 1:
        return OneByOne(estimator, X, y, scorer, sample_weight)
    fold = Fold(0, np.arange(1), np.arange(len(y)), X, y, {})
    results = Results(
        scorer, [fold], 1, error_score="raise", return_train_score=False, on_cell=lambda done, best: None,
        metric="score",
    )  # fmt: skip
    if not results.needs_scores_only(estimator):
        return OneByOne(estimator, X, y, scorer, sample_weight)
    return WeightedFits(estimator, X, y, sample_weight, results)


class OneByOne:
    """Fits on repeated rows, one after another."""

    def __init__(self, estimator, X, y, scorer, sample_weight):
        self.estimator, self.X, self.y, self.scorer = estimator, X, y, scorer
        self.weights = None if sample_weight is None else np.asarray(sample_weight)

    def resampled(self, counts: np.ndarray, shown: Callable, done: int) -> Resampled:
        """A fit for each row of `counts`."""
        scores, coef, intercept = np.full(len(counts), np.nan), [], []
        for number, each in enumerate(counts):
            rows, others = np.repeat(np.arange(len(each)), each), np.flatnonzero(each == 0)
            weights = {} if self.weights is None else {"sample_weight": self.weights[rows]}
            model = clone(self.estimator).fit(_safe_indexing(self.X, rows), _safe_indexing(self.y, rows), **weights)
            if len(others):
                scores[number] = self.scorer(model, _safe_indexing(self.X, others), _safe_indexing(self.y, others))
            if hasattr(model, "coef_"):
                coef.append(np.atleast_2d(model.coef_))
                intercept.append(np.atleast_1d(model.intercept_))
            shown(done + number + 1, None)
        if not coef:
            return Resampled(counts, scores, None, None)
        return Resampled(counts, scores, np.array(coef), np.array(intercept))

    def warn(self, n_fits: int) -> None:
        """Each fit has warned for itself."""


class WeightedFits(WideFits):
    """Fits with other weights of the rows, as columns.

    Parameters
    ----------
    estimator, X, y, sample_weight
        See `WideFits`.
    results : Results
        Knows the scorer.
    """

    def __init__(self, estimator, X, y, sample_weight, results: Results):
        super().__init__(estimator, X, y, sample_weight)
        self.results, self.codes, recipe = results, self.y, self.recipe
        if self.classifies:
            self.classes, self.codes, weights = recipe.classes(self.y, self.weights)
            self.base = recipe.columns(self.codes, len(self.classes), weights)
            self.attributes: dict[str, Any] = {"classes_": self.classes, "_scheme": self.base.scheme}
        else:
            weights = self.weights
            self.base = regression(self.y[:, None].astype(self.dtype), self.estimator.epsilon, weights)
            self.attributes = {"_targets": None}
        self._whole: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.row_weights = np.ones(self.n_rows) if weights is None else weights
        self.by_accuracy = results.scored_by_accuracy(estimator, results.folds[0])

    def resampled(self, counts: np.ndarray, shown: Callable, done: int) -> Resampled:
        """A fit for each row of `counts`."""
        at_once, parts = self.at_once(self.base.n_columns), []
        for first in range(0, len(counts), at_once):
            part = counts[first : first + at_once]
            parts.append(self._part(part))
            shown(done + first + len(part), None)
        if len(parts) == 1:
            return parts[0]
        coef, intercept = parts[0].coef, parts[0].intercept
        if coef is not None:
            coef, intercept = (
                np.concatenate([getattr(each, name) for each in parts]) for name in ("coef", "intercept")
            )
        return Resampled(counts, np.concatenate([each.scores for each in parts]), coef, intercept)

    def _part(self, counts: np.ndarray) -> Resampled:
        scores = np.full(len(counts), np.nan)
        linear, n_columns = self.estimator.kernel == "linear", self.base.n_columns
        coef = np.empty((len(counts), n_columns, self.data.X.shape[1]), self.dtype) if linear else None
        intercept = np.empty((len(counts), n_columns), self.dtype) if linear else None
        base_weights = np.ones(self.n_rows) if self.weights is None else self.weights
        groups, which = self.kernels(len(counts), lambda number: counts[number] * base_weights)
        for number, kernel in enumerate(groups):
            own = np.flatnonzero(which == number)
            problems, offsets = self._problems(counts[own])
            start = self._near(problems)
            rows, solution = self.solved(kernel, problems, more=number + 1 < len(groups), start=start)
            if self._whole is None and len(counts) == 1:
                self._whole = solution.state.alpha, solution.state.model(), problems.normalised_weights(np.float64)
            values = rows.model_scores(np.arange(self.n_rows), solution.state)
            values = values.reshape(len(own), n_columns, self.n_rows)
            scores[own] = self._scores(values, offsets, counts[own] == 0, solution.state)
            if coef is not None and intercept is not None:
                model, bias = solution.model, self.recipe.bias
                weights = model[: rows.n_state].T
                weights = weights @ self.data.X if rows.dual else weights
                coef[own] = weights.reshape(len(own), n_columns, -1)
                intercept[own] = (model[-1] * bias if bias > 0 else np.zeros(model.shape[1])).reshape(len(own), -1)
        return Resampled(counts, scores, coef, intercept)

    def _problems(self, counts: np.ndarray) -> tuple[Problems, np.ndarray]:
        """The columns of some resamples, and what was taken off the targets of each."""
        weights, offsets, base = (counts * self.row_weights).T, np.zeros(len(counts)), self.base
        problems = over_weights(base, weights)
        if not self.classifies and self.recipe.centred:
            offsets = (self.y @ weights) / weights.sum(axis=0)
            labelings = np.ascontiguousarray((self.y[:, None] - offsets).astype(self.dtype))
            columns = np.column_stack([np.arange(len(counts)), problems.columns[:, 1]])
            problems = replace(problems, labelings=labelings, columns=columns)
        if self.classifies and self.estimator.class_weight == "balanced":
            problems = balanced(problems, self.codes)
        return self.recipe.regularised(problems), offsets

    def _near(self, problems: Problems) -> State | None:
        """Where fits to the optimum begin: the model of the first fit, and its dual variables times the new weights.

        The sums of linear models make the model, not what the dual variables would.
        """
        if self._whole is None or not self.recipe.begins_anew or self._whole[0].shape[0] != self.n_rows:
            return None
        alpha, model, before = self._whole
        n_columns, weights = self.base.n_columns, problems.normalised_weights(np.float64)
        ratio = np.where(before > 0, weights.reshape(self.n_rows, -1, before.shape[1]).transpose(1, 0, 2), 0.0)
        ratio = ratio / np.where(before > 0, before, 1.0)
        sets = self.base.columns[:, 1]
        near = (alpha * ratio[:, :, sets]).transpose(1, 0, 2).reshape(self.n_rows, -1)
        assert near.shape[1] == problems.n_columns == len(ratio) * n_columns
        sums = np.tile(model, len(ratio)) * (problems.lam * problems.n_rows)
        return State.from_duals(sums, near, problems.lam)

    def _scores(self, values: np.ndarray, offsets: np.ndarray, tests: np.ndarray, state) -> np.ndarray:
        some = np.flatnonzero(tests.any(axis=1))
        found = np.full(len(tests), np.nan)
        if self.by_accuracy and self.base.scheme in ("binary", "ovr"):
            found[some] = accuracy(values[some], self.codes, tests[some])
            return found
        steps = {"t_": state.columns["steps"][: self.base.n_columns], "n_iter_": int(state.columns["steps"].max())}
        fitted = self.attributes | self.data.input_attributes | steps
        for number in some:
            test = np.flatnonzero(tests[number])
            rows, own = np.empty((len(test), 0)), values[number][:, test].T + offsets[number]
            model = scored_model(self.estimator, fitted, [(rows, own.astype(self.dtype))])
            found[number] = self.results.scorers(model, rows, self.y[test])
        return found

    def warn(self, n_fits: int) -> None:
        """Warn once of all fits that did not end at `tol`."""
        if self.missed_tol:
            warn_missed(self.missed_tol, n_fits * self.base.n_columns)


def over_weights(problems: Problems, weights: np.ndarray) -> Problems:
    """All columns for each of the weights in turn, shape (n_rows, n_weights); rows of weight 0 are in no set."""
    n_sets = problems.row_sets.shape[1]
    wide = weights if n_sets == 1 else np.repeat(weights, n_sets, axis=1)
    sets = problems.row_sets if n_sets == 1 else np.tile(problems.row_sets, weights.shape[1])
    places = np.arange(weights.shape[1])[:, None, None] * np.array([0, n_sets])
    return replace(
        problems,
        row_sets=sets & (wide > 0),
        columns=(problems.columns + places).reshape(-1, 2),
        weights=wide.astype(np.float64, copy=False),
        lam=np.tile(problems.lam, weights.shape[1]),
    )
