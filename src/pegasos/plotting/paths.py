"""Curves along a parameter, in one panel or several that share the x axis."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.plotting import checks
from pegasos.plotting.checks import require
from pegasos.plotting.curves import Curve, draw_curve, finish_axes
from pegasos.plotting.search import SearchCells, short_name, value_label
from pegasos.plotting.style import SIZE, Display, new_figure, styled


@dataclass
class Panel:
    """The curves of one panel, and the name, the scale and the ends of its y axis.

    Examples
    --------
    >>> from pegasos.plotting import Curve, Panel
    >>> Panel("error", [Curve("test", [0.1, 1.0], [0.2, 0.3])]).ylabel
    'error'
    """

    ylabel: str
    curves: Sequence[Curve]
    logy: bool = False
    limits: tuple[float, float] | None = None


class PathsDisplay(Display):
    """Accuracy against iterations, or error and objective against λ: panels above each other that share the x axis.

    Parameters
    ----------
    panels : Panel or list of Panel
    xlabel : str
    logx : bool, default=True
    title : str, default=None

    Attributes
    ----------
    axes_ : list of Axes
        One for each panel.
    ax_, figure_
        The first of them, and where they were drawn.
    lines_ : list of list of Line2D

    Examples
    --------
    >>> from pegasos.plotting import Curve, Panel, PathsDisplay
    >>> lams = [0.001, 0.01, 0.1]
    >>> error = Panel("error", [Curve("test", lams, [0.03, 0.02, 0.1])])
    >>> objective = Panel("objective", [Curve("P", lams, [0.1, 0.2, 0.5])])
    >>> len(PathsDisplay([error, objective]).plot().axes_)
    2
    """

    def __init__(self, panels, *, xlabel="λ", logx=True, title=None):
        self.title = title
        self.panels = [panels] if isinstance(panels, Panel) else list(panels)
        if not self.panels:
            raise ValueError("panels is empty: there is nothing to draw.")
        self.xlabel = xlabel
        self.logx = logx

    @classmethod
    def from_estimator(
        cls, search, *, x="lam", by=None, value="mean_test_score", error=True, at=None, logx=None, ax=None, **kwargs
    ):
        """Draw the scores of a search along one parameter, a curve for each value of another.

        Parameters
        ----------
        search : fitted PegasosSearchCV or GridSearchCV
        x : str
            A parameter whose values are numbers; "lam" also finds "svm__lam".
        by : str, default=None
            The parameter that has a curve for each of its values; None: one curve.
        value : str, default="mean_test_score"
            A key of `cv_results_`.
        error : bool, default=True
            Show 1 - value instead of the value.
        at : dict, default=None
            Values at which other parameters are held; those not named are held at the best candidate's.
        logx : bool, default=None
            None: where all values of x are positive and span a factor of 10.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            Passed to the lines.

        Returns
        -------
        PathsDisplay
        """
        cells = SearchCells(search, value, error)
        along = cells.full_name(x)
        apart = None if by is None else cells.full_name(by)
        fixed = cells.fixed({along} if apart is None else {along, apart}, at)
        levels = [None] if apart is None else cells.values_of(apart)
        places = [place for place in cells.values_of(along) if place is not None]
        if not all(isinstance(place, int | float | np.number) for place in places):
            raise ValueError(f"The values of {along} are not all numbers, so no axis can hold them: {places}.")
        numbers = cells.numbers_at(fixed, apart, levels, along, places)
        curves = []
        for number, level in enumerate(levels):
            label = value_label(value, error) if apart is None else f"{short_name(apart)} {level}"
            curves.append(Curve(label, [float(place) for place in places], numbers[number]))
        wide = min(places) > 0 and max(places) >= 10 * min(places)
        display = cls(
            Panel(value_label(value, error), curves), xlabel=short_name(along), logx=wide if logx is None else logx
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw on these axes, one for each panel; keyword arguments are passed to the lines."""
        require("matplotlib")
        with styled() if ax is None else nullcontext():
            self.axes_ = self._new_axes() if ax is None else self._given_axes(ax)
            self.lines_ = [self._panel(panel, axes, kwargs) for panel, axes in zip(self.panels, self.axes_)]
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        return self

    def _panel(self, panel: Panel, axes: Any, kwargs: dict) -> list[Any]:
        lines = [draw_curve(axes, curve, n, self.xlabel, "both", **kwargs) for n, curve in enumerate(panel.curves)]
        name = self.xlabel if axes is self.axes_[-1] else ""
        if panel.limits is not None:
            axes.set_ylim(*panel.limits)
        first = axes is self.axes_[0]
        named = len(lines) if first or not self._shares_names else 0  # one legend for panels of the same curves
        finish_axes(axes, name, panel.ylabel, self.logx, panel.logy, named, self.title if first else None)
        return lines

    @property
    def _shares_names(self) -> bool:
        """Whether all panels have curves of the same names."""
        names = [[curve.label for curve in panel.curves] for panel in self.panels]
        return all(own == names[0] for own in names)

    def _new_axes(self) -> list[Any]:
        count = len(self.panels)
        height = SIZE[1] if count == 1 else 0.4 + 1.9 * count
        height += 0.1 * max(len(self.panels[0].curves) - 4, 0)  # a legend above the axes
        return list(new_figure((SIZE[0], height)).subplots(count, 1, sharex=True, squeeze=False)[:, 0])

    def _given_axes(self, ax: Any) -> list[Any]:
        axes = list(np.ravel(ax))
        checks.same_length("ax", axes, "panels", self.panels)
        return axes
