"""The permutation test of a cross-validated score, with all permutations and folds as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from sklearn import model_selection as theirs
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import validate_params
from sklearn.utils.validation import _num_samples

from pegasos.backends.threads import threads_limited
from pegasos.estimators import devices
from pegasos.model_selection.cells import Asked, GivenRows, given, scored, shares, warn_missed
from pegasos.model_selection.labelings import ManyTargets, takes_many_targets
from pegasos.model_selection.routing import routed
from pegasos.model_selection.splits import Splits, is_stratified, splits_of, splits_of_folds, stratified_folds
from pegasos.search.progress import cells_shown
from pegasos.search.results import Results

NAME = "permutation_test_score"


@validate_params(theirs.permutation_test_score._skl_parameter_constraints, prefer_skip_nested_validation=False)
def permutation_test_score(
    estimator, X, y, *, groups=None, cv=None, n_permutations=100, n_jobs=None, random_state=0, verbose=0, scoring=None,
    params=None,
):  # fmt: skip
    """Whether a cross-validated score could be chance, as `sklearn.model_selection.permutation_test_score` tests it.

    All permutations and folds are columns of one problem where the estimator is one of this package; the permutations
    are scikit-learn's for the same `random_state`. With up to 1000 rows the kernel matrix stays in the processor's
    cache while tens of thousands of fits stream by. Other estimators are handed to scikit-learn.

    Returns
    -------
    score : float
    permutation_scores : ndarray of shape (n_permutations,)
    pvalue : float
        ``(C + 1) / (n_permutations + 1)``, C the number of permutations whose score is at least the true one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.model_selection import permutation_test_score
    >>> X, y = load_iris(return_X_y=True)
    >>> score, _, pvalue = permutation_test_score(PegasosClassifier(), X, y, n_permutations=99)
    >>> round(float(pvalue), 2)
    0.01
    """
    if not shares(estimator, None):
        return theirs.permutation_test_score(
            estimator, X, y, groups=groups, cv=cv, n_permutations=n_permutations, n_jobs=n_jobs,
            random_state=random_state, verbose=verbose, scoring=scoring, params=params,
        )  # fmt: skip
    X, y = given(X, y)
    groups = devices.on_host(groups)
    cv = check_cv(cv, y, classifier=is_classifier(estimator))
    scorer = check_scoring(estimator, scoring=scoring)
    rows = GivenRows(X, y, routed(NAME, estimator, cv, scorer, params=params, groups=groups))
    test = PermutationTest(estimator, rows, cv, scorer)
    versions = permuted(_num_samples(y), groups, check_random_state(random_state), n_permutations)
    with threads_limited(n_jobs), cells_shown(1 + n_permutations, verbose, NAME) as on_version:
        scores = test.scores(versions, on_version)
    score, others = scores[0], scores[1:]
    return score, others, (np.sum(others >= score) + 1.0) / (n_permutations + 1)


def permuted(n_rows: int, groups, generator: np.random.RandomState, n_permutations: int) -> Iterator[np.ndarray]:
    """Places of the targets that rows are given: their own, then permutations, within groups if there are any."""
    yield np.arange(n_rows)
    for _ in range(n_permutations):
        if groups is None:
            yield generator.permutation(n_rows)
            continue
        places = np.arange(n_rows)
        for group in np.unique(groups):
            own = np.asarray(groups == group)
            places[own] = generator.permutation(places[own])
        yield places


class PermutationTest:
    """The mean score over the folds of versions of the targets.

    Parameters
    ----------
    estimator : estimator
        One that shares runs.
    rows : GivenRows
    cv : splitter
    scorer : callable
    """

    def __init__(self, estimator, rows: GivenRows, cv, scorer):
        self.estimator, self.rows, self.cv, self.scorer = estimator, rows, cv, scorer

    def scores(self, versions: Iterator[np.ndarray], on_version: Callable[[int, float | None], object]) -> np.ndarray:
        """The score of each version, of which the first has the targets themselves."""
        first = next(versions)
        X, y, routes = self.rows.X, self.rows.y, self.rows.routed
        splits = list(self.cv.split(X, y, **routes.splitter.split))
        folds = self.rows.folds(splits)
        results = Results(
            self.scorer, folds, 1, error_score="raise", return_train_score=False, on_cell=lambda done, best: None,
            metric="score",
        )  # fmt: skip
        many = None
        if takes_many_targets(self.estimator, X, routes.estimator.fit, results):
            many = ManyTargets(self.estimator, X, y, routes.estimator.fit, routes.scorer.score, results)
        found, at_once = [], 1 if many is None else many.at_once(many.n_columns * len(splits))
        pairs = self._with_splits(first, splits, versions)
        while chunk := list(islice(pairs, at_once)):
            found.append(self._scores_of(chunk, many))
            on_version(sum(map(len, found)), None)
        if many is not None and many.missed_tol:
            warn_missed(many.missed_tol, sum(map(len, found)) * len(splits))
        return np.concatenate(found)

    def _with_splits(self, first, splits: Splits, versions) -> Iterator[tuple[np.ndarray, Splits | None]]:
        """Each version and its folds; None: `stratified_folds` knows them."""
        yield first, None if is_stratified(self.cv) else splits
        if is_stratified(self.cv):
            for places in versions:
                yield places, None
            return
        drawn: list[np.ndarray] = []

        def targets():
            for places in versions:
                drawn.append(places)
                yield _safe_indexing(self.rows.y, places)

        for _, own in splits_of(self.cv, self.rows.X, targets(), splits, **self.rows.routed.splitter.split):
            yield drawn.pop(), own

    def _scores_of(self, chunk: list[tuple[np.ndarray, Splits | None]], many: ManyTargets | None) -> np.ndarray:
        places = np.array([each for each, _ in chunk])
        given_splits = [splits for _, splits in chunk if splits is not None]
        folds = None
        if not given_splits:
            codes = np.unique(np.asarray(self.rows.y), return_inverse=True)[1].ravel()
            folds = stratified_folds(self.cv, codes[places])
        if many is not None:
            usable = True
            if folds is None:
                asked = {"in_order": self._in_order, "any_test_order": many.by_accuracy}
                inside, tested, usable = _masks(given_splits, places.shape[1], **asked)
            else:
                tested = folds[:, None, :] == np.arange(int(folds.max()) + 1)[:, None]
                inside = ~tested
            if usable and many.are_like_the_first(places, inside):
                return np.ascontiguousarray(many.scores(places, inside, tested)).mean(axis=1)
        if folds is not None:
            given_splits = [splits_of_folds(each) for each in folds]
        return np.array([self._score_of(each, own) for each, own in zip(places, given_splits, strict=True)])

    @property
    def _in_order(self) -> bool:
        """Whether rows have to be in the order of the data to be the columns of one problem."""
        return self.estimator.sampling == "cyclic"

    def _score_of(self, places: np.ndarray, splits: Splits) -> float:
        """The score of one version by a shared run of its own."""
        rows = GivenRows(self.rows.X, _safe_indexing(self.rows.y, places), self.rows.routed)
        cells = scored([self.estimator], rows, splits, Asked(NAME, self.scorer, error_score="raise"))
        return np.mean([cell["test_scores"] for cell in cells])


def _masks(
    splits: list[Splits], n_rows: int, in_order: bool, any_test_order: bool
) -> tuple[np.ndarray, np.ndarray, bool]:
    """GivenRows that are trained and tested on, and whether these tell all: no row repeats, and none is out of order.

    The order of tested rows is that of the sums that scores are made of, of which `any_test_order` may have none.
    """
    same = all(each is splits[0] for each in splits)
    different = splits[:1] if same else splits
    shape = (len(different), len(splits[0]), n_rows)
    inside, tested, usable = np.zeros(shape, bool), np.zeros(shape, bool), True
    for version, folds in enumerate(different):
        if len(folds) != shape[1]:
            return inside, tested, False
        for fold, (train, test) in enumerate(folds):
            train, test = np.arange(n_rows)[train], np.arange(n_rows)[test]
            inside[version, fold, train], tested[version, fold, test] = True, True
            usable &= _is_set(train, in_order) and _is_set(test, not any_test_order)
    return inside, tested, usable


def _is_set(rows: np.ndarray, in_order: bool) -> bool:
    """Whether no row repeats, and none is out of order where that matters."""
    return bool((np.diff(rows) > 0).all()) or (not in_order and len(np.unique(rows)) == len(rows))
