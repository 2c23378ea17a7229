"""Bar charts of a few named values."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from pegasos.plotting import checks
from pegasos.plotting.heatmap import label_text
from pegasos.plotting.hover import hint
from pegasos.plotting.style import INK, SIZE, Display, grid, log_axis, number_text, series, ticks

FAR = 3.0  # times the range of all others, beyond which a value is only pointed at


class BarsDisplay(Display):
    """Bars with their values beside them.

    Parameters
    ----------
    labels : list
    values : array-like of shape (n_labels,)
    value_name : str
        The name of the axis.
    fmt : str, default=".4g"
        Format of the values.
    errors : array-like of shape (n_labels,), default=None
        Half the length of a line through the end of each bar, such as a standard deviation.
    horizontal : bool, default=None
        None: where labels are long.
    log : bool, default=False
        A logarithmic axis.
    highlight : int or list of int, default=None
        Indices of bars in another colour.
    reference : array-like of shape (n_labels,), default=None
        Published values, drawn as hollow diamonds and written beside ours; nan or None where there is none.
    points : bool, default=False
        Points on an axis that shows the differences, in place of bars, which have to begin at 0. One value far below
        all others is an arrow at its end.
    title : str, default=None

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    bars_ : BarContainer

    Examples
    --------
    >>> from pegasos.plotting import BarsDisplay
    >>> display = BarsDisplay(["ours", "theirs"], [1.5, 12.0], value_name="seconds").plot()
    >>> len(display.bars_)
    2
    """

    def __init__(
        self, labels, values, *, value_name="", fmt=".4g", errors=None, horizontal=None, log=False, highlight=None,
        reference=None, points=False, title=None,
    ):  # fmt: skip
        self.labels = [label_text(label) for label in labels]
        checks.same_length("values", values, "labels", self.labels)
        self.values = np.array(values, float)
        if errors is not None:
            checks.same_length("errors", errors, "labels", self.labels)
        self.errors = None if errors is None else np.asarray(errors, float)
        if reference is not None:
            checks.same_length("reference", reference, "labels", self.labels)
        self.reference = None if reference is None else np.array(reference, float)
        self.points = points
        self._floor = -np.inf  # of the axis of points
        self.title = title
        self.value_name = value_name
        self.fmt = fmt
        self.horizontal = horizontal
        self.log = log
        self.highlight = [] if highlight is None else np.atleast_1d(highlight).tolist()

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to the bars."""
        horizontal = self._is_horizontal()
        height = max(1.2, 0.32 * len(self.labels) + 0.7) if horizontal else SIZE[1] * 0.85
        wide = 1.15 if self.reference is not None else 1.0  # the published values stand beside ours
        with self._drawing(ax, (wide * SIZE[0], min(height, 12))) as ax:
            options = {"color": [series(place in self.highlight) for place in range(len(self.labels))], **kwargs}
            places = np.arange(len(self.labels))
            self.bars_ = self._bars(ax, places, horizontal, options)
            self._errors(ax, places, horizontal)
            self._published(ax, places, horizontal)
            self._axes(ax, horizontal)
            self._write(ax, horizontal)
            if self.title:
                ax.set_title(textwrap.fill(self.title, 62), pad=20 if ax.get_legend() else 6)
        return self

    def _bars(self, ax: Any, places: np.ndarray, horizontal: bool, options: dict) -> Any:
        if not self.points:
            return (ax.barh if horizontal else ax.bar)(places, self.values, 0.72, **options)
        colours, self._floor = options.pop("color"), self._lowest_shown()
        found = []
        for place, value, colour in zip(places, self.values, colours):
            outside = value < self._floor
            at = max(value, self._floor) if not np.isnan(value) else value
            x, y = (at, place) if horizontal else (place, at)
            mark = ("<" if horizontal else "v") if outside else "o"
            found += ax.plot([x], [y], marker=mark, markersize=7, linestyle="none", color=colour, zorder=4, **options)
        return found

    def _lowest_shown(self) -> float:
        """Where the axis begins: at the lowest value, or above one that lies so far off that it would hide the rest."""
        known = np.sort(self.values[np.isfinite(self.values)])
        if self.log or len(known) < 4:
            return -np.inf
        others = np.append(known[1:], [] if self.reference is None else self.reference[np.isfinite(self.reference)])
        spread = np.ptp(others)
        return float(others.min() - 0.1 * spread) if known[0] < others.min() - FAR * spread else -np.inf

    def _published(self, ax: Any, places: np.ndarray, horizontal: bool) -> None:
        if self.reference is None or not np.isfinite(self.reference).any():
            return
        at = (self.reference, places) if horizontal else (places, self.reference)
        ax.plot(*at, marker="D", markersize=6, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.3,
                linestyle="none", label="published", zorder=5)  # fmt: skip
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.1, handletextpad=0.2)

    def _is_horizontal(self) -> bool:
        if self.horizontal is not None:
            return self.horizontal
        return max(map(len, [*self.labels, ""])) > 6 or len(self.labels) > 16

    def _errors(self, ax: Any, places: np.ndarray, horizontal: bool) -> None:
        if self.errors is not None:
            values = np.where(self.values < self._floor, np.nan, self.values)  # those outside have no line
            at = (values, places) if horizontal else (places, values)
            around = {"xerr": self.errors} if horizontal else {"yerr": self.errors}
            ax.errorbar(*at, **around, fmt="none", ecolor="#000000", capsize=3, linewidth=1)

    def _axes(self, ax: Any, horizontal: bool) -> None:
        if self.log:
            log_axis(ax.xaxis if horizontal else ax.yaxis)
        if horizontal:
            ticks(ax.yaxis, self.labels)
            ax.invert_yaxis()  # read from the top, as they were given
            ax.set_xlabel(self.value_name)
            ax.margins(x=0.3 if self.points else 0.16)  # room for the values
            if self.points:
                ax.set_ylim(len(self.labels) - 0.5, -0.5)
                if np.isfinite(self._floor):
                    ax.set_xlim(left=self._floor - 0.02 * (ax.get_xlim()[1] - self._floor))
        else:
            ticks(ax.xaxis, self.labels)
            ax.set_ylabel(self.value_name)
            ax.margins(y=0.12)
        grid(ax, "x" if horizontal else "y")
        ax.tick_params(axis="y" if horizontal else "x", length=0)

    def _write(self, ax: Any, horizontal: bool) -> None:
        """Write the values at the ends of the bars, and more digits into their hints."""
        for place, (bar, value) in enumerate(zip(self.bars_, self.values)):
            spread = "" if self.errors is None else f" ± {number_text(self.errors[place])}"
            named = f"{self.value_name} " if self.value_name else ""
            text = f"{self.labels[place]}: {named}{number_text(value, '.6g')}{spread}"
            known = None if self.reference is None else self.reference[place]
            if known is not None and np.isfinite(known):
                text += f", published {number_text(known, '.6g')}"
            hint(bar, text)
            reach = value + (0 if self.errors is None else np.nan_to_num(self.errors[place]))
            if self.points:  # the text stands beyond all marks
                reach = max(reach, self._floor, reach if known is None or not np.isfinite(known) else known)
            if np.isnan(value) or len(self.labels) > 40:
                continue
            ax.annotate(
                self._written(place), (reach, place) if horizontal else (place, reach),
                xytext=(7 if self.points else 3, 0) if horizontal else (0, 2), textcoords="offset points", fontsize=8,
                ha="left" if horizontal else "center", va="center" if horizontal else "bottom",
            )  # fmt: skip

    def _written(self, place: int) -> str:
        text = number_text(self.values[place], self.fmt)
        if self.reference is None or not np.isfinite(self.reference[place]):
            return text
        return f"{text} (published {number_text(self.reference[place], self.fmt)})"


class ClassCountsDisplay(BarsDisplay):
    """How many rows each class has; see `from_labels`.

    Examples
    --------
    >>> from pegasos.plotting import ClassCountsDisplay
    >>> display = ClassCountsDisplay.from_labels(["b", "a", "b"])
    >>> display.labels, display.values.tolist()
    (['a', 'b'], [1.0, 2.0])
    """

    @classmethod
    def from_labels(cls, y, *, ax=None, **kwargs):
        """Draw from the labels of rows; keyword arguments are passed to the bars.

        Returns
        -------
        ClassCountsDisplay
        """
        classes, counts = np.unique(np.asarray(y), return_counts=True)
        title = f"{counts.sum()} rows, {len(classes)} classes"
        return cls(classes.tolist(), counts, value_name="rows", fmt=".0f", title=title).plot(ax=ax, **kwargs)
