"""Histograms of margins."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pegasos.plotting.hover import hint
from pegasos.plotting.style import INK, Display, grid, series


class MarginsDisplay(Display):
    """A histogram of margins, with the shares of rows that are misclassified (below 0) and within the margin (below 1).

    The margin of a row is y f(x) for two classes; for more it is the score of its class minus the best other score.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    below_ : dict
        The share of rows below 0 and below 1.
    bars_ : BarContainer

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.plotting import MarginsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = MarginsDisplay.from_estimator(PegasosClassifier(kernel="rbf").fit(X, y), X, y)
    >>> len(display.margins)
    150
    """

    def __init__(self, margins):
        self.margins = np.asarray(margins, float).ravel()
        if not len(self.margins):
            raise ValueError("margins is empty: there is nothing to draw.")
        if not np.isfinite(self.margins).all():
            raise ValueError("margins has entries that are nan or infinite.")

    @classmethod
    def from_estimator(cls, estimator, X, y, *, ax=None, **kwargs):
        """Draw the margins of the rows of X, whose labels are y.

        Parameters
        ----------
        estimator : fitted classifier with a decision_function
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        MarginsDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "decision_function") or not hasattr(estimator, "classes_"):
            raise ValueError(f"{type(estimator).__name__} has no decision_function and classes_; margins need both.")
        return cls(margins_of(estimator.decision_function(X), y, estimator.classes_)).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, bins=40, **kwargs):
        """Draw with so many bins; keyword arguments are passed to the bars."""
        with self._drawing(ax) as ax:
            edges = _edges(self.margins, bins)
            counts, _ = np.histogram(self.margins, edges)
            options = {"color": series(0), "alpha": 0.75, **kwargs}
            self.bars_ = ax.bar(edges[:-1], counts, np.diff(edges), align="edge", **options)
            for bar, low, high, count in zip(self.bars_, edges[:-1], edges[1:], counts):
                if count:
                    hint(bar, f"margin {low:.3g} to {high:.3g}: {count} rows ({count / len(self.margins):.1%})")
            self.below_ = {limit: float((self.margins < limit).mean()) for limit in (0, 1)}
            for limit, style in ((0, "-"), (1, (0, (5, 2.5)))):
                label = f"{self.below_[limit]:.1%} below {limit}"
                ax.axvline(limit, color=INK, linewidth=1.2, linestyle=style, label=label)
            ax.set_xlabel("margin")
            ax.set_ylabel("rows")
            grid(ax, "y")
            ax.legend(loc="best")
        return self


def margins_of(scores, y, classes) -> np.ndarray:
    """Margins from decision scores, labels and the classes in the order of the scores."""
    scores, y, classes = np.asarray(scores), np.asarray(y), np.asarray(classes)
    places = np.searchsorted(classes, y)
    known = places < len(classes)
    known[known] = classes[places[known]] == y[known]
    if not known.all():
        raise ValueError(f"y has labels that the classifier has not learned: {np.unique(y[~known]).tolist()}.")
    if len(scores) != len(y):
        raise ValueError(f"X has {len(scores)} rows, but y has {len(y)} labels.")
    if scores.ndim == 1:
        return np.where(places == 1, scores, -scores)
    rows = np.arange(len(y))
    own = scores[rows, places].copy()
    others = scores.copy()
    others[rows, places] = -np.inf
    return own - others.max(axis=1)


def _edges(margins: np.ndarray, bins: int) -> np.ndarray:
    """Edges of equal bins, one of them 0, so that no bar mixes correctly classified rows with others."""
    low, high = min(margins.min(), 0.0), max(margins.max(), 1.0)
    width = (high - low) / bins
    return width * np.arange(np.floor(low / width), np.ceil(high / width) + 1)
