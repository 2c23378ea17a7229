"""Curves: objectives and gaps against steps, their bounds, and running times."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.plotting import checks
from pegasos.plotting.hover import hint_points
from pegasos.plotting.style import INK, SIZE, Display, grid, log_axis, marker, number_text, series, shortened

LEGEND_LETTERS = 60  # in a line of a legend above the axes
STYLES = ("line", "points", "both", "dashed", "dotted")


@dataclass
class Curve:
    """A named line: values at steps, and a band around it where `lower` or `upper` is given.

    Examples
    --------
    >>> from pegasos.plotting import Curve
    >>> Curve("error", [1, 10, 100], [0.5, 0.2, 0.1]).label
    'error'
    """

    label: str
    steps: Sequence[float] | np.ndarray
    values: Sequence[float] | np.ndarray
    style: str | None = None  # "line", "points", "both", "dashed", "dotted"; None: the display's own
    lower: Sequence[float] | np.ndarray | None = None
    upper: Sequence[float] | np.ndarray | None = None
    colour: int | None = None  # the number of its colour and marker; None: its place among the curves

    def __post_init__(self):
        checks.same_length(f"values of the curve {self.label!r}", self.values, "its steps", self.steps)
        for name, band in (("lower", self.lower), ("upper", self.upper)):
            if band is not None:
                checks.same_length(f"{name} of the curve {self.label!r}", band, "its steps", self.steps)
        if self.style is not None:
            checks.one_of(f"style of the curve {self.label!r}", self.style, STYLES)


class ConvergenceDisplay(Display):
    """Objectives, gaps or errors against the step, with bounds as dashed lines.

    Parameters
    ----------
    curves : list of Curve
    bound : Curve or list of Curve, default=None
        Bounds from theory, drawn dashed.
    xlabel, ylabel : str
    logx, logy : bool
        Logarithmic axes; points that are not positive are left out there.
    title : str, default=None
    limits : (low, high), default=None
        Of the y axis, for figures that are compared.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : list of Line2D
        One for each curve, then for each bound.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pegasos import PegasosClassifier
    >>> from pegasos.plotting import ConvergenceDisplay
    >>> model = PegasosClassifier(kernel="rbf").fit(*load_iris(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(model, show="gap")
    >>> len(display.lines_)
    1
    """

    def __init__(
        self, curves, *, bound=None, ylabel="objective", xlabel="step", logx=True, logy=False, title=None, limits=None
    ):
        self.title, self.limits = title, limits
        self.curves = _as_curves(curves)
        self.bound = [] if bound is None else _as_curves(bound)
        self.ylabel = ylabel
        self.xlabel = xlabel
        self.logx = logx
        self.logy = logy

    @classmethod
    def from_estimator(cls, estimator, *, bound=None, show="objective", ax=None, name=None, **kwargs):
        """Draw the history of a fit; with `tol` or `verbose` it has a record after passes 1, 2, 4, 8, ...

        Parameters
        ----------
        estimator : fitted PegasosClassifier or PegasosRegressor, or a pipeline or a search that holds one
        bound : callable, Curve or list of Curve, default=None
            Bounds from theory; a callable maps steps to the values of one.
        show : {"objective", "gap"}, default="objective"
            The objective with the certified gap as a band below it, down to 0 at most, in which the optimum lies; or
            the gap alone.
        ax : matplotlib Axes, default=None
        name : str, default=None
            In the legend; None: the class of the estimator.
        **kwargs : dict
            Passed to the lines.

        Returns
        -------
        ConvergenceDisplay
        """
        checks.one_of("show", show, ("objective", "gap"))
        model = checks.fitted(estimator, "history_")
        if not model.history_:
            raise ValueError(f"history_ of this {type(model).__name__} is empty: there is nothing to draw.")
        steps = np.array([record["step"] for record in model.history_], float)
        objectives = np.array([record["objective"] for record in model.history_], float)
        gaps = np.array([record["gap"] for record in model.history_], float)
        name = type(model).__name__ if name is None else name
        if show == "gap":
            curve = Curve(name, steps, gaps, "both")
        else:
            # No objective is below 0, so the optimum is not either.
            lower = np.maximum(objectives - gaps, 0) if np.isfinite(gaps).any() else None
            curve = Curve(name, steps, objectives, "both", lower=lower)
        ylabel = "certified gap" if show == "gap" else "objective, and the gap below it"
        display = cls([curve], bound=_bound_curves(bound, steps), ylabel=ylabel, logy=show == "gap")
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to the lines."""
        with self._drawing(ax) as ax:
            self.lines_ = [
                draw_curve(ax, curve, number, self.xlabel, "line", **kwargs) for number, curve in enumerate(self.curves)
            ]
            for number, curve in enumerate(self.bound):
                shown = {"color": INK if number == 0 else series(5), **kwargs}
                self.lines_.append(draw_curve(ax, curve, number, self.xlabel, "dashed", **shown))
            if self.limits is not None:
                ax.set_ylim(*self.limits)
            finish_axes(ax, self.xlabel, self.ylabel, self.logx, self.logy, len(self.lines_), self.title)
        return self


class RuntimesDisplay(Display):
    """Lines with markers, such as seconds against the number of rows.

    Parameters
    ----------
    curves : list of Curve
    xlabel, ylabel : str
    logx, logy : bool
    title : str, default=None

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : list of Line2D

    Examples
    --------
    >>> from pegasos.plotting import Curve, RuntimesDisplay
    >>> display = RuntimesDisplay([Curve("ours", [100, 1000], [0.1, 0.9])]).plot()
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(self, curves, xlabel="rows", ylabel="seconds", logx=True, logy=True, title=None):
        self.title = title
        self.curves = _as_curves(curves)
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.logx = logx
        self.logy = logy

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to the lines."""
        with self._drawing(ax, SIZE) as ax:
            self.lines_ = [
                draw_curve(ax, curve, number, self.xlabel, "both", **kwargs) for number, curve in enumerate(self.curves)
            ]
            finish_axes(ax, self.xlabel, self.ylabel, self.logx, self.logy, len(self.lines_), self.title)
        return self


LINES: dict[str, dict[str, Any]] = {
    "line": dict(linestyle="-"),
    "dashed": dict(linestyle=(0, (5, 2.5))),
    "dotted": dict(linestyle=(0, (1.2, 1.8))),
    "points": dict(linestyle="none"),
    "both": dict(linestyle="-"),
}


def draw_curve(ax: Any, curve: Curve, number: int, xlabel: str, default: str, **kwargs: Any) -> Any:
    """Draw one curve with its band and its hints, a curve of one point as a marker."""
    style = curve.style or default
    number = number if curve.colour is None else curve.colour
    shown: dict[str, Any] = {"color": series(number), **LINES[style]}
    if style in ("points", "both") or len(curve.steps) == 1:
        shown["marker"] = marker(number)
    shown.update(kwargs)
    xs, ys = np.asarray(curve.steps, float), np.asarray(curve.values, float)
    (line,) = ax.plot(xs, ys, label=shortened(curve.label, 40), **shown)
    if curve.lower is not None or curve.upper is not None:
        lower = ys if curve.lower is None else np.asarray(curve.lower, float)
        upper = ys if curve.upper is None else np.asarray(curve.upper, float)
        ax.fill_between(xs, lower, upper, color=line.get_color(), alpha=0.18, linewidth=0)
    hint_points(ax, xs, ys, [_point_text(curve, place, xlabel) for place in range(len(xs))])
    return line


def _point_text(curve: Curve, place: int, xlabel: str) -> str:
    text = f"{curve.label}: {number_text(curve.values[place])} at {xlabel} {number_text(curve.steps[place], '.6g')}"
    if curve.lower is None and curve.upper is None:
        return text
    lower = curve.values[place] if curve.lower is None else curve.lower[place]
    upper = curve.values[place] if curve.upper is None else curve.upper[place]
    return f"{text}, between {number_text(lower)} and {number_text(upper)}"


def finish_axes(
    ax: Any, xlabel: str, ylabel: str, logx: bool, logy: bool, curves: int, title: str | None = None
) -> None:
    """Set scales and labels of the axes, the grid, the title, and a legend where there is more than one curve."""
    if logx:
        log_axis(ax.xaxis)
    if logy:
        log_axis(ax.yaxis)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    grid(ax)
    if title:
        ax.set_title(textwrap.fill(title, 64))
    if curves > 1:
        legend(ax, curves)


def legend(ax: Any, curves: int) -> None:
    """Draw a legend: inside the axes for up to four curves, else above them, where it covers nothing."""
    if curves <= 4:
        ax.legend(loc="best")
    else:
        longest = max(len(text) for text in ax.get_legend_handles_labels()[1])
        beside = min(max(LEGEND_LETTERS // (longest + 6), 1), 3)  # or the legend would be wider than the figure
        title = ax.get_title(loc="left") or ax.get_title()
        if title:  # the legend stands between the axes and the title
            lines = -(-curves // beside)
            ax.set_title(title, pad=6 + 13.5 * lines)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.01), ncols=beside, borderaxespad=0, columnspacing=1.2)


def _as_curves(curves: Curve | Sequence[Curve]) -> list[Curve]:
    found = [curves] if isinstance(curves, Curve) else list(curves)
    for curve in found:
        if not isinstance(curve, Curve):
            raise TypeError(f"Curves are given as pegasos.plotting.Curve(label, steps, values), not as {curve!r}.")
    return found


def _bound_curves(
    bound: Callable[[np.ndarray], Any] | Curve | Sequence[Curve] | None, steps: np.ndarray
) -> list[Curve]:
    if bound is None:
        return []
    if not callable(bound):
        return _as_curves(bound)
    places = np.geomspace(max(steps.min(), 1), max(steps.max(), 1), 50) if len(steps) > 1 else steps
    return [Curve("bound", places, np.broadcast_to(bound(places), places.shape))]
