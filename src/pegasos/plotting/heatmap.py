"""Heat maps: a matrix of numbers, each written in its coloured cell."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.plotting import checks
from pegasos.plotting.hover import MOST_HINTS, hint
from pegasos.plotting.style import SIZE, Display, contrasting, log_axis, number_text, power_text, shortened, ticks

BEST = "#d55e00"  # outline of the best cell, a colour far from all of the map
MISSING = "#c9c9c9"
MOST_CELLS = 1200  # more are drawn as one raster image: each cell would be an element of the page
BAR_STEPS = 32  # of the colour bar: each is an element of the page
COLOURS = "YlGnBu"  # its lightness falls steadily, so that it works for colour-blind readers and in grey


class HeatmapDisplay(Display):
    """A matrix of numbers as coloured cells, the best outlined; the darker, the better.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_columns)
        nan or None where there is no number.
    row_labels, column_labels : list
        Texts, or numbers, which are written with as few characters as possible.
    row_name, column_name : str
        Names of the axes.
    value_name : str
        Name of the numbers.
    fmt : str, default=".3f"
        Format of the number in a cell; "" leaves cells empty; "auto" has as many decimals, three to five, as it takes
        to tell the numbers apart.
    better : {"low", "high"}, default="low"
        Which cell is the best.
    per_column : bool, default=False
        Colour each column on its own scale, and outline the best of each.
    reference : array-like of shape (n_rows, n_columns), default=None
        Published numbers, written below ours in brackets, and shown on hover.
    scale : {"linear", "log"}, default="linear"
        Of the colours; "log" tells small values apart beside large ones.
    title : str, default=None
        Above the map; None: the name of the numbers.
    limits : (low, high), default=None
        The ends of the scale of colours, for maps that are compared; None: the numbers' own.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    best_ : list of (row, column)
        The outlined cells; several where they are equal.
    cells_ : list of list of Rectangle
        Empty where there are more than 1200 values, which are drawn as a picture.
    texts_ : list of list of Text or None

    Examples
    --------
    >>> from pegasos.plotting import HeatmapDisplay
    >>> display = HeatmapDisplay([[0.2, 0.1], [0.3, 0.4]], [1, 10], [0.1, 1.0], "C", "gamma", "error").plot()
    >>> display.best_
    [(0, 1)]
    """

    def __init__(
        self,
        values,
        row_labels,
        column_labels,
        row_name="",
        column_name="",
        value_name="value",
        *,
        fmt=".3f",
        better="low",
        per_column=False,
        reference=None,
        scale="linear",
        title=None,
        limits=None,
    ):
        checks.one_of("better", better, ("low", "high"))
        checks.one_of("scale", scale, ("linear", "log"))
        shape = (len(row_labels), len(column_labels))
        self.values = checks.matrix("values", values, *shape)
        self.reference = None if reference is None else checks.matrix("reference", reference, *shape)
        self.row_labels = label_texts(row_labels)
        self.column_labels = label_texts(column_labels)
        self.row_name = row_name
        self.column_name = column_name
        self.value_name = value_name
        self.fmt = telling_format(self.values) if fmt == "auto" else fmt
        self.better = better
        self.title = title
        self.limits = limits
        self.per_column = per_column
        self.scale = scale

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments are passed to the cells, which are Rectangles."""
        own = ax is None
        with self._drawing(ax, self._size()) as ax:
            colours = self._colours()
            self.best_ = self._best()
            self.cells_, self.texts_ = [], []
            if self.values.size > MOST_CELLS:
                ax.imshow(colours, aspect="auto", interpolation="none")
            else:
                self._cells(ax, colours, kwargs)
            self._outline(ax)
            self._label(ax)
            if own:
                self._colour_bar(ax)
        return self

    def _cells(self, ax: Any, colours: np.ndarray, kwargs: dict) -> None:
        for row in range(len(self.row_labels)):
            drawn = [self._cell(ax, row, column, colours, kwargs) for column in range(len(self.column_labels))]
            self.cells_.append([cell for cell, _ in drawn])
            self.texts_.append([text for _, text in drawn])

    def _size(self) -> tuple[float, float]:
        digits = max((len(number_text(value, self.fmt)) for value in self.values.ravel()), default=4) if self.fmt else 2
        names = max(len(shortened(label)) for label in [*self.row_labels, ""]) * 0.075 + 0.5
        digits += 0 if self.reference is None else 1
        width = min(names + 0.7 + len(self.column_labels) * max(0.36, 0.085 * digits + 0.12), 20)
        height = 0.9 + len(self.row_labels) * (0.3 if self.reference is None else 0.4)
        return max(width, SIZE[0] * 0.7), min(max(height, 1.8), 12)

    def _colours(self) -> np.ndarray:
        """A colour for each cell, the better the darker."""
        values = np.where(np.isfinite(self.values), self.values, np.nan)
        axis = 0 if self.per_column else None
        shares = scaled(self._on_scale(values), axis, None if self.limits is None else self._on_scale(self.limits))
        return self._colours_of(shares)

    def _on_scale(self, values: Any) -> np.ndarray:
        """The values, or their logarithms where the scale is logarithmic."""
        values = np.asarray(values, float)
        if self.scale == "linear":
            return values
        positive = self.values[np.isfinite(self.values) & (self.values > 0)]
        floor = positive.min() if positive.size else 1.0
        return np.log(np.maximum(values, floor))

    def _colours_of(self, shares: np.ndarray) -> np.ndarray:
        """The colours of values at these shares of the scale; without the map's ends, near white and near black."""
        from matplotlib import colormaps

        return colormaps[COLOURS](0.04 + 0.86 * (1 - shares if self.better == "low" else shares))

    def _colour_bar(self, ax: Any) -> None:
        """The scale of the colours beside the map; with a scale for each column only its ends are named."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, LogNorm, Normalize

        known = self.values[np.isfinite(self.values)]
        known = known[known > 0] if self.scale == "log" else known
        if not known.size or (known.min() == known.max() and self.limits is None):
            return
        low, high = (0.0, 1.0) if self.per_column else self.limits or (known.min(), known.max())
        norm = LogNorm(low, high) if self.scale == "log" and not self.per_column else Normalize(low, high)
        colours = ListedColormap(self._colours_of(np.linspace(0, 1, BAR_STEPS)))
        bar = ax.figure.colorbar(ScalarMappable(norm, colours), ax=ax, fraction=0.05, pad=0.02, aspect=25)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=2, labelsize=7.5)
        if self.per_column:
            bar.set_ticks([0, 1], labels=["lowest", "highest"])
        elif self.scale == "log":
            log_axis(bar.ax.yaxis)

    def _best(self) -> list[tuple[int, int]]:
        """The best cells, of all or of each column; none where all values are equal."""
        goodness = -self.values if self.better == "low" else self.values.copy()
        goodness[~np.isfinite(goodness)] = -np.inf
        parts = [(slice(None), column) for column in range(goodness.shape[1])] if self.per_column else [...]
        best = np.zeros(goodness.shape, bool)
        for part in parts:
            cells = goodness[part]
            if cells.size and cells.max() > -np.inf and (cells.min() < cells.max() or cells.size == 1):
                best[part] = cells == cells.max()
        return [(int(row), int(column)) for row, column in np.argwhere(best)]

    def _cell(self, ax: Any, row: int, column: int, colours: np.ndarray, kwargs: dict) -> tuple[Any, Any]:
        from matplotlib.patches import Rectangle

        value = self.values[row, column]
        known = np.isfinite(value)
        colour = tuple(colours[row, column]) if known else MISSING
        options = {"facecolor": colour, "linewidth": 0, **kwargs}
        # Neighbouring cells overlap slightly, or the background would show between them.
        cell = ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1.005, 1.005, **options))
        if self.values.size <= MOST_HINTS:
            hint(cell, self._hint(row, column))
        text = None
        if self.fmt:
            ink = contrasting(colours[row, column]) if known else "#111111"
            written = number_text(value, self.fmt)
            published = np.nan if self.reference is None else self.reference[row, column]
            known_too = bool(np.isfinite(published))
            place = row - 0.16 if known_too else row
            text = ax.text(column, place, written, ha="center", va="center", color=ink, fontsize=8, zorder=3)
            if known_too:
                below = f"({number_text(published, self.fmt)})"
                ax.text(column, row + 0.22, below, ha="center", va="center", color=ink, fontsize=6.5, zorder=3)
        return cell, text

    def _hint(self, row: int, column: int) -> str:
        # A hint has room for more digits than its cell.
        precise = number_text(self.values[row, column], ".6g")
        where = f"{_named(self.row_name, self.row_labels[row])}, {_named(self.column_name, self.column_labels[column])}"
        text = f"{where}: {self.value_name} {precise}"
        if self.reference is not None:
            text += f", published {number_text(self.reference[row, column], '.6g')}"
        return text

    def _outline(self, ax: Any) -> None:
        """One line around the best cells: neighbours that are equal share it."""
        best = np.zeros(np.add(self.values.shape, 2), bool)  # with a frame of others
        for row, column in self.best_:
            best[row + 1, column + 1] = True
        lines = []
        for row, column in self.best_:
            left, top = column - 0.5, row - 0.5
            sides = {(-1, 0): (0, 0, 1, 0), (1, 0): (0, 1, 1, 1), (0, -1): (0, 0, 0, 1), (0, 1): (1, 0, 1, 1)}
            for (down, right), (x, y, to_x, to_y) in sides.items():
                apart = self.per_column and right  # each column has a best of its own
                if apart or not best[row + 1 + down, column + 1 + right]:
                    lines.append([(left + x, top + y), (left + to_x, top + to_y)])
        if lines:
            from matplotlib.collections import LineCollection

            ax.add_collection(LineCollection(lines, colors=BEST, linewidths=2, zorder=4, capstyle="round"))

    def _label(self, ax: Any) -> None:
        rows, columns = self.values.shape
        ax.set_xlim(-0.5, columns - 0.5)
        ax.set_ylim(rows - 0.5, -0.5)
        long = max(map(len, [*self.column_labels, ""])) > 6
        slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if long else {}
        ticks(ax.xaxis, self.column_labels, **slanted)
        ticks(ax.yaxis, self.row_labels)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_xlabel(self.column_name)
        ax.set_ylabel(self.row_name)
        ax.set_title(textwrap.fill(self._title(), int(13 * self._size()[0])), fontsize=9)

    def _title(self) -> str:
        notes = ["colours and best by column" if self.per_column else "best outlined"]
        notes += ["published in brackets"] if self.reference is not None else []
        return f"{self.title or self.value_name} ({', '.join(notes)})"


def telling_format(values: np.ndarray, least: int = 3, most: int = 5) -> str:
    """The format with as few decimals as tell all different values apart."""
    known = np.unique(values[np.isfinite(values)])
    for decimals in range(least, most):
        if len({f"{value:.{decimals}f}" for value in known}) == len(known):
            return f".{decimals}f"
    return f".{most}f"


def scaled(values: np.ndarray, axis: int | None, limits: np.ndarray | None = None) -> np.ndarray:
    """Values scaled to [0, 1], over all or per column, or between limits; 0.5 where all are equal."""
    if limits is not None:
        low, high = limits
        return np.clip((np.nan_to_num(values, nan=low) - low) / ((high - low) or 1.0), 0, 1)
    known = np.where(np.isnan(values), np.inf, values)
    low = known.min(axis=axis, keepdims=True, initial=np.inf)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=axis, keepdims=True, initial=-np.inf)
    span = np.where(np.isfinite(high - low) & (high > low), high - low, np.nan)
    return np.where(np.isnan(span), 0.5, (np.nan_to_num(values) - np.where(np.isnan(span), 0, low)) / span)


def label_text(label: Any) -> str:
    """A label as text; floats with at most six digits and short exponents."""
    if isinstance(label, float | np.floating):
        return f"{label:.6g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return str(label)


def label_texts(labels: Sequence) -> list[str]:
    """Labels as texts; powers of ten that span a factor of 1000 are written as 10⁻³."""
    numbers = [float(label) for label in labels if isinstance(label, float | np.floating) and label > 0]
    if numbers and len(numbers) == len(labels) and max(numbers) >= 999 * min(numbers):
        logs = np.log10(numbers)
        if np.allclose(logs, logs.round()):
            return [power_text(label) for label in numbers]
    return [label_text(label) for label in labels]


def _named(name: str, label: str) -> str:
    return f"{name} {label}" if name else label
