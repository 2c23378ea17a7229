"""An anytime classifier: the best labels that a time limit allows.

Least squares and then a quick linear SVM give labels early. The rest of the time goes to a search over linear and
Gaussian models on a part of the rows, and to a fit of the best of them on all rows. When the time is up, the latest
labels are returned.
"""

import time
import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from pegasos.backends.compiled import note_compiled
from pegasos.cli.time_limit import TimeIsUp, alarm

SEARCH_SHARE, FIT_SHARE = 0.5, 0.8  # of the time that is left, for the search and for the fit after it
CELLS_A_SECOND = 4e5  # rows × features of the data searched on, for each second that is left
SEARCHED_ROWS = (500, 10_000)
INTERPRETED_WORK = 3e6  # rows × features of one pass of interpreted loops: about a second of plain Python
STEP_WORK = 50  # cost of a step apart from its features, in features
MOST_PASSES = 100
GUESS_FEATURES = 3000
RIDGE = 1e-3
GAUSSIAN = {
    "kernel": ["rbf"],
    "C": [10.0, 1.0, 100.0],
}  # of equal candidates the first is chosen, so the likeliest stand first
WIDTHS = [1.0, 0.25, 4.0]  # times gamma="scale"
LINEAR = {"kernel": ["linear"], "C": [1.0, 10.0, 100.0, 0.1, 0.01]}
NO_TIME = "There was no time to train a support vector machine: the labels are those of a rough first guess."

TOO_MANY = (
    "The loops are not compiled yet, and the rows are too many for plain Python: the labels are those of least "
    "squares. A first run with -t 60 compiles."
)


class AnytimeClassifier:
    """Predicts labels of `rows` from `data` by a deadline; `labels` are always the best so far."""

    def __init__(self, data, rows, seed: int):
        self.data, self.rows, self.seed = data, rows, seed
        self.labels = first_labels(data, rows)
        self.warning = NO_TIME

    def by(self, deadline: float, *, interpreted: bool = False, compiled: bool = True):
        """The labels, at the deadline at the latest; `interpreted` loops are slow and fit a quick linear model only."""
        try:
            with suppress(TimeIsUp), alarm(deadline - time.perf_counter()), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about time limits, which are intended
                self._learn(deadline, interpreted, compiled)
        except Exception as error:  # the labels so far are still an answer
            self.warning = (
                f"Learning ended early ({' '.join(str(error).split())[:200]}): the labels are those found before."
            )
        if self.warning:
            warnings.warn(self.warning, stacklevel=2)
        return self.labels

    def _learn(self, deadline: float, interpreted: bool, compiled: bool) -> None:
        from pegasos.cli.model import rows_for, scaler_for

        X, test = self.data.X, self.rows.X
        scaler = scaler_for(X, "auto")
        if scaler is not None:
            X, test = scaler.fit_transform(X), scaler.transform(rows_for(test, scaler))
        if interpreted:
            self._pass_by_pass(X, test, deadline)
            return
        self._quick_linear(X, test)
        if not compiled:  # compile first, or the search would spend its time on it
            self._search(X, self._random_rows(200), None)
        self._tuned(X, test, deadline)
        note_compiled(kind_of(self.data))

    def _quick_linear(self, X, test) -> None:
        """Labels of a linear model after a few passes."""
        from pegasos import PegasosClassifier

        model = PegasosClassifier(C=1.0, solver="pegasos", max_iter=5, random_state=self.seed).fit(X, self.data.y)
        self.labels, self.warning = model.predict(test), ""

    def _pass_by_pass(self, X, test, deadline: float) -> None:
        """Labels of a linear model after every pass until the deadline, on a part of the rows if they are many.

        Where that would be less than a quarter, the labels by least squares are better and are kept.
        """
        from pegasos import PegasosClassifier

        n_classes = len(np.unique(self.data.y))
        a_row = (X.nnz / X.shape[0] if hasattr(X, "nnz") else X.shape[1]) + STEP_WORK
        part = int(INTERPRETED_WORK / (a_row * (1 if n_classes == 2 else n_classes)))
        if part < X.shape[0] / 4:
            self.warning = TOO_MANY
            return
        chosen = self._random_rows(part)
        X, y = X[chosen], self.data.y[chosen]
        model = PegasosClassifier(C=1.0, solver="pegasos", max_iter=1, warm_start=True, random_state=self.seed)
        while time.perf_counter() < deadline and (self.warning or model.n_iter_ < MOST_PASSES * len(y)):
            model.fit(X, y)
            self.labels, self.warning = model.predict(test), ""

    def _random_rows(self, count: int) -> np.ndarray:
        """`count` random rows, at least two of each class where there are as many."""
        order = np.random.default_rng(self.seed).permutation(len(self.data.y))
        _, codes = np.unique(self.data.y[order], return_inverse=True)
        turn = np.zeros(len(order), np.int64)  # how many rows of the same class come before each
        for code in range(codes.max() + 1):
            turn[codes == code] = np.arange(np.sum(codes == code))
        first = np.argsort(np.where(turn < 2, 0, 1), kind="stable")
        return order[first][:count]

    def _tuned(self, X, test, deadline: float) -> None:
        """Labels of the best of several linear and Gaussian models."""
        from pegasos import PegasosClassifier

        left = lambda: deadline - time.perf_counter()
        part = int(np.clip(CELLS_A_SECOND * left() / X.shape[1], *SEARCHED_ROWS))
        chosen = self._random_rows(part)
        best = self._search(X, chosen, SEARCH_SHARE * left())
        final = PegasosClassifier(solver="sdca", tol=None, random_state=self.seed, max_time=FIT_SHARE * left(), **best)
        final.fit(X, self.data.y)
        self.labels = final.predict(test)

    def _search(self, X, chosen, seconds: float | None) -> dict[str, Any]:
        """The best parameters, by cross-validation on the chosen rows."""
        from pegasos import PegasosClassifier, PegasosSearchCV
        from pegasos.kernels import scale_gamma

        grid = [{**GAUSSIAN, "gamma": [width * scale_gamma(X) for width in WIDTHS]}, LINEAR]
        model = PegasosClassifier(solver="sdca", tol=None, max_iter=30, random_state=self.seed)
        search = PegasosSearchCV(model, grid, cv=self._folds(chosen), refit=False, max_time=seconds)
        return search.fit(X[chosen], self.data.y[chosen]).best_params_

    def _folds(self, chosen):
        from sklearn.model_selection import KFold, StratifiedKFold

        least = np.unique(self.data.y[chosen], return_counts=True)[1].min()
        return (StratifiedKFold if least >= 5 else KFold)(5, shuffle=True, random_state=self.seed)


def kind_of(data) -> str:
    """Which compiled loops the data need: "sparse" or "dense"."""
    return "sparse" if hasattr(data.X, "indptr") else "dense"


def first_labels(data, rows):
    """Labels by least squares, or for many features by the nearest class mean: fast, and without compiled loops."""
    classes, codes = np.unique(data.y, return_inverse=True)
    if len(classes) == 1:
        return np.full(rows.X.shape[0], classes[0])
    scores = _by_means if data.n_features > GUESS_FEATURES or len(classes) > 100 else _by_least_squares
    return classes[scores(data.X, codes, len(classes), rows.X).argmax(axis=1)]


def _by_means(X, codes, n_classes: int, test):
    """Scores by which the nearest class mean wins."""
    counts = np.bincount(codes, minlength=n_classes)
    means = _sums(X, codes, n_classes) / counts[:, None]
    return np.asarray(test @ means.T) - (means**2).sum(axis=1) / 2


def _by_least_squares(X, codes, n_classes: int, test):
    """Scores by ridge regression on the classes, from the normal equations of features scaled by their mean square."""
    products = X.T @ X
    products = (products.toarray() if hasattr(products, "toarray") else products).astype(np.float64)
    scale = 1.0 / np.sqrt(products.diagonal() / X.shape[0] + 1e-12)
    totals = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() * scale
    gram = np.block([[products * np.outer(scale, scale), totals[:, None]], [totals[None, :], np.array([[X.shape[0]]])]])
    gram[np.diag_indices_from(gram)] += RIDGE * X.shape[0]
    targets = np.vstack([_sums(X, codes, n_classes).T * scale[:, None], np.bincount(codes, minlength=n_classes)])
    weights = np.linalg.solve(gram, targets)
    return np.asarray(test @ (weights[:-1] * scale[:, None])) + weights[-1]


def _sums(X, codes, n_classes: int):
    """The sum of the rows of each class."""
    from scipy.sparse import csr_matrix

    members = csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    sums = members @ X
    return (sums.toarray() if hasattr(sums, "toarray") else sums).astype(np.float64)
