"""Confusion matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.utils.validation import check_is_fitted

from pegasos.plotting import checks
from pegasos.plotting.heatmap import COLOURS, MOST_CELLS, label_text
from pegasos.plotting.hover import hint
from pegasos.plotting.style import Display, contrasting, ticks

WRONG = "Oranges"  # off the diagonal; the diagonal is blue, or a few errors would not be visible beside it


class ConfusionDisplay(Display):
    """How often each class was predicted as each: counts in the cells, shares of the row on hover.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        Counts; true classes are rows, predicted ones columns.
    labels : list
        Names of the classes.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    cells_ : list of list of Rectangle
        Empty where there are more than 34 classes, which are drawn as a raster image.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.plotting import ConfusionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ConfusionDisplay.from_estimator(PegasosClassifier(kernel="rbf").fit(X, y), X, y)
    >>> int(display.matrix.sum())
    150
    """

    def __init__(self, matrix, labels):
        self.labels = [label_text(label) for label in labels]
        self.matrix = checks.matrix("matrix", matrix, len(self.labels), len(self.labels)).astype(int)

    @classmethod
    def from_predictions(cls, y_true, y_pred, *, labels=None, ax=None, **kwargs):
        """Draw from true and predicted labels.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
        labels : list, default=None
            The classes to show, in this order; None: all, sorted.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to the cells.

        Returns
        -------
        ConfusionDisplay
        """
        checks.same_length("y_true", y_true, "y_pred", y_pred)
        found = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_pred)])) if labels is None else labels
        return cls(confusion_matrix(y_true, y_pred, labels=found), list(found)).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator, X, y, *, labels=None, ax=None, **kwargs):
        """Draw the predictions of a fitted classifier for the rows of X, whose labels are y.

        Returns
        -------
        ConfusionDisplay
        """
        check_is_fitted(estimator)
        return cls.from_predictions(y, estimator.predict(X), labels=labels, ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to the cells, which are Rectangles."""
        count = len(self.labels)
        side = min(max(2.6, 0.36 * count + 1.0), 9)
        with self._drawing(ax, (side + 0.4, side)) as ax:
            self.cells_ = []
            if count**2 > MOST_CELLS:
                colours = [[self._colour(row, column) for column in range(count)] for row in range(count)]
                ax.imshow(np.array(colours), interpolation="none")
            else:
                self.cells_ = [[self._cell(ax, row, column, kwargs) for column in range(count)] for row in range(count)]
            self._label(ax)
        return self

    def _share(self, row: int, column: int) -> float:
        return self.matrix[row, column] / max(self.matrix[row].sum(), 1)

    def _colour(self, row: int, column: int) -> tuple[float, ...]:
        from matplotlib import colormaps

        if row == column:
            return tuple(colormaps[COLOURS](0.04 + 0.8 * self._share(row, column)))
        if not self.matrix[row, column]:
            return (0.5, 0.5, 0.5, 0.08)
        return tuple(
            colormaps[WRONG](0.85 * np.sqrt(self._share(row, column)))
        )  # the root makes even one error visible

    def _cell(self, ax: Any, row: int, column: int, kwargs: dict) -> Any:
        from matplotlib.patches import Rectangle

        number, share, colour = self.matrix[row, column], self._share(row, column), self._colour(row, column)
        options = {"facecolor": colour, "linewidth": 0, **kwargs}
        cell = ax.add_patch(Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, **options))
        named = f"true {self.labels[row]}, predicted {self.labels[column]}"
        hint(cell, f"{named}: {number} ({share:.1%} of {self.matrix[row].sum()})")
        if number:
            ax.text(
                column, row, str(number), ha="center", va="center", color=contrasting(colour), fontsize=7.5, zorder=3
            )
        return cell

    def _label(self, ax: Any) -> None:
        count = len(self.labels)
        ax.set_xlim(-0.5, count - 0.5)
        ax.set_ylim(count - 0.5, -0.5)
        ax.set_aspect("equal")
        long = max(map(len, [*self.labels, ""])) > 4
        slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}
        ticks(ax.xaxis, self.labels, **slanted)
        ticks(ax.yaxis, self.labels)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
