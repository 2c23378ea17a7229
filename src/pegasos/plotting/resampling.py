"""Figures of many fits: null distributions, intervals, and how far probabilities can be relied on."""

from __future__ import annotations

import numpy as np

from pegasos.plotting import checks
from pegasos.plotting.heatmap import label_text
from pegasos.plotting.hover import hint
from pegasos.plotting.style import INK, MUTED, SIZE, Display, grid, number_text, series, ticks

LEAST_IN_BIN = 1


class NullDistributionDisplay(Display):
    """The scores of permuted labels, and where the score of the true ones lies among them.

    Parameters
    ----------
    permutation_scores : array-like of shape (n_permutations,)
    score : float
    pvalue : float
    score_name : str, default="score"

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    bars_ : BarContainer

    Examples
    --------
    >>> from pegasos.plotting import NullDistributionDisplay
    >>> display = NullDistributionDisplay([0.4, 0.5, 0.5, 0.6], score=0.9, pvalue=0.2, score_name="accuracy").plot()
    >>> display.figure_ is not None
    True
    """

    def __init__(self, permutation_scores, score, pvalue, *, score_name="score"):
        self.permutation_scores = np.asarray(permutation_scores, float).ravel()
        if not len(self.permutation_scores):
            raise ValueError("permutation_scores is empty: there is nothing to draw.")
        self.score, self.pvalue, self.score_name = float(score), float(pvalue), score_name

    def plot(self, ax=None, *, bins=40, **kwargs):
        """Draw with so many bins; keyword arguments are passed to the bars."""
        with self._drawing(ax) as ax:
            values = self.permutation_scores
            counts, edges = np.histogram(values, min(bins, max(1, len(np.unique(values)))))
            options = {"color": series(0), "alpha": 0.75, **kwargs}
            self.bars_ = ax.bar(edges[:-1], counts, np.diff(edges), align="edge", **options)
            for bar, low, high, count in zip(self.bars_, edges[:-1], edges[1:], counts, strict=False):
                if count:
                    hint(bar, f"{self.score_name} {low:.3g} to {high:.3g}: {count} permutations")
            label = f"true labels: {number_text(self.score)} (p = {number_text(self.pvalue, '.3g')})"
            ax.axvline(self.score, color=INK, linewidth=1.4, label=label)
            ax.set_xlabel(self.score_name)
            ax.set_ylabel("permutations")
            grid(ax, "y")
            ax.legend(loc="best")
        return self


class IntervalsDisplay(Display):
    """Estimates with their confidence intervals, one line each.

    Parameters
    ----------
    labels : list
    estimates, low, high : array-like of shape (n_labels,)
    value_name : str, default="value"
    most : int, default=40
        Lines that are drawn at most: those whose intervals lie farthest from 0.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from pegasos.plotting import IntervalsDisplay
    >>> display = IntervalsDisplay(["width", "height"], [0.5, -1.0], [0.2, -1.4], [0.9, -0.5]).plot()
    >>> display.figure_ is not None
    True
    """

    def __init__(self, labels, estimates, low, high, *, value_name="value", most=40):
        self.labels = [label_text(label) for label in labels]
        for name, values in (("estimates", estimates), ("low", low), ("high", high)):
            checks.same_length(name, values, "labels", self.labels)
        self.estimates, self.low, self.high = (np.asarray(values, float) for values in (estimates, low, high))
        self.value_name, self.most = value_name, most

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to the points."""
        away = np.maximum(self.low, -self.high)
        shown = np.sort(np.argsort(-away, kind="stable")[: self.most])
        with self._drawing(ax, (SIZE[0], min(12.0, 0.25 * len(shown) + 0.9))) as ax:
            places = np.arange(len(shown))
            sure = away[shown] > 0  # the interval has no 0
            colours = [series(0 if one else 5) for one in sure]
            ax.hlines(places, self.low[shown], self.high[shown], colors=colours, linewidth=2)
            points = ax.scatter(self.estimates[shown], places, **{"color": colours, "s": 18, "zorder": 3, **kwargs})
            hint(points, f"{len(shown)} estimates, {int(sure.sum())} of them with an interval without 0")
            ax.axvline(0.0, color=MUTED, linewidth=1)
            ticks(ax.yaxis, [self.labels[place] for place in shown])
            ax.invert_yaxis()
            ax.set_xlabel(self.value_name)
            grid(ax, "x")
        return self


class ReliabilityDisplay(Display):
    """How often rows have their class, against how probable it was said to be; on the diagonal both agree.

    Parameters
    ----------
    said, found, counts : array-like of shape (n_bins,)
        Mean probability, share of rows that have the class, and rows, of each bin.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from pegasos.plotting import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], n_bins=2)
    >>> display.counts.tolist()
    [2.0, 2.0]
    """

    def __init__(self, said, found, counts):
        self.said, self.found, self.counts = (np.asarray(values, float) for values in (said, found, counts))
        checks.same_length("found", self.found, "said", self.said)
        checks.same_length("counts", self.counts, "said", self.said)

    @classmethod
    def from_estimator(cls, estimator, X, y, *, n_bins=10, ax=None, **kwargs):
        """Draw for the probabilities of all classes of the rows of X, whose labels are y."""
        probabilities = estimator.predict_proba(X)
        truth = np.asarray(y)[:, None] == np.asarray(estimator.classes_)
        return cls.from_predictions(truth, probabilities, n_bins=n_bins, ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, y_prob, *, n_bins=10, ax=None, **kwargs):
        """Draw for probabilities, and whether what they are of was true, arrays of the same shape."""
        said, true = np.asarray(y_prob, float).ravel(), np.asarray(y_true, bool).ravel()
        checks.same_length("y_true", true, "y_prob", said)
        bins = np.minimum((said * n_bins).astype(int), n_bins - 1)
        counts = np.bincount(bins, minlength=n_bins)
        some = counts >= LEAST_IN_BIN
        mean, share = (np.bincount(bins, values, n_bins)[some] / counts[some] for values in (said, true))
        return cls(mean, share, counts[some]).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to the line."""
        with self._drawing(ax, (SIZE[1] + 0.4, SIZE[1])) as ax:
            ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=(0, (5, 2.5)))
            (line,) = ax.plot(self.said, self.found, **{"color": series(0), "marker": "o", **kwargs})
            hint(line, f"{int(self.counts.sum())} probabilities in {len(self.counts)} bins")
            ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability", ylabel="share that is true", aspect="equal")
            grid(ax)
        return self
