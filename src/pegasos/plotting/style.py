"""The look of all figures: colours that colour-blind readers can tell apart, axes, and numbers as text."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pegasos.plotting.checks import require

INK = "#000000"  # text, axes and outlines: a page writes it in its own text colour, so that dark mode works
MUTED = "#808080"  # grids and guides: readable on white and on black

# Okabe and Ito's hues, darkened until each has a contrast of 3 on white; a page in dark mode shows the lighter twin.
SERIES = (
    "#0072b2", "#d55e00", "#00825e", "#b3548c", "#a97300", "#6b6b6b", "#7a1f3d", "#3a94c8", "#5b48b8", "#5f7d00",
)  # fmt: skip
SERIES_DARK = (
    "#58aef0", "#ff8b4d", "#35c79b", "#e8a0cf", "#e8b44a", "#b5b5b5", "#f08aa6", "#9bd9ff", "#aa9cff", "#b5d334",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

# Small, so that text drawn at 9 points is still read on a phone, where a figure is as wide as the screen.
SIZE = (4.8, 3.2)
MOST_TICKS = 50  # labels along an axis
FEW_TICKS = 16  # that have room for two lines each

STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "white",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.grid": False,
    "figure.facecolor": "white",
    "figure.dpi": 100.0,
    "grid.color": MUTED,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.frameon": True,  # a veil over what is behind it, without an edge
    "legend.framealpha": 0.75,
    "legend.edgecolor": "none",
    "legend.facecolor": "white",
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "text.color": INK,
    "text.parse_math": False,  # names of classes may have dollars in them
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "font.family": ["DejaVu Sans"],
}


class Display:
    """Base class of the displays: creates the axes, and shows the figure in a notebook."""

    ax_: Any
    figure_: Any

    @contextmanager
    def _drawing(self, ax: Any, size: tuple[float, float] = SIZE) -> Iterator[Any]:
        """The axes to draw on: those given, in their own style, or those of a new figure in ours."""
        require("matplotlib")
        if ax is not None:
            yield ax
        else:
            with styled():
                ax = new_figure(size).add_subplot()
                yield ax
        self.ax_ = ax
        self.figure_ = ax.figure

    def _repr_png_(self) -> bytes | None:
        """The figure as a PNG, which notebooks show; None before it is drawn."""
        if getattr(self, "figure_", None) is None:
            return None
        picture = io.BytesIO()
        self.figure_.savefig(picture, format="png", dpi=150)
        return picture.getvalue()


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of this module within the block, whatever the user's rcParams are."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


def new_figure(size: tuple[float, float]) -> Any:
    """A figure outside pyplot: it needs no display, and is freed with its last reference."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def series(number: int) -> str:
    """The colour of the curve or class with this number."""
    return SERIES[number % len(SERIES)]


def marker(number: int) -> str:
    """The marker of the curve or class with this number.

    The cycles of colours and markers differ in length, so that the same pair comes again only after 90.
    """
    return MARKERS[number % len(MARKERS)]


def number_text(value: float, spec: str = ".4g") -> str:
    """A number for a cell or a hint; a missing one is a dash."""
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return "–"
    return format(value, spec)


def contrasting(colour: tuple[float, ...]) -> str:
    """White or near black, whichever has more contrast with this colour; pure black would become the page's ink."""
    dark = _luminance((0x11 / 255,) * 3)
    behind = _luminance(colour[:3])
    against_white = 1.05 / (behind + 0.05)
    against_dark = (max(behind, dark) + 0.05) / (min(behind, dark) + 0.05)
    return "#ffffff" if against_white > against_dark else "#111111"


def _luminance(colour: tuple[float, ...]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def shortened(text: str, most: int = 32) -> str:
    """The text cut to at most `most` characters, with an ellipsis; hints show all of it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def in_two_lines(text: str, most: int = 26) -> str:
    """The text broken at a blank near its middle if it is longer than `most`, each line cut to 32 characters."""
    blanks = [place for place, letter in enumerate(text) if letter == " "]
    if len(text) <= most or not blanks:
        return shortened(text)
    middle = min(blanks, key=lambda place: abs(place - len(text) / 2))
    return f"{shortened(text[:middle])}\n{shortened(text[middle + 1 :])}"


def ticks(axis: Any, labels: Sequence[str], **kwargs: Any) -> None:
    """Label the positions 0, 1, 2, … of an axis; of more than MOST_TICKS labels only every few.

    Of a few labels, long ones are written in two lines, and cut only where that is not enough.
    """
    step = max(-(-len(labels) // MOST_TICKS), 1)
    written = in_two_lines if len(labels) <= FEW_TICKS else shortened
    axis.set_ticks(range(0, len(labels), step), [written(label) for label in labels[::step]], **kwargs)


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_text(value: float, powers: bool = True) -> str:
    """10⁻³ for 0.001, 2·10⁻³ for 0.002, in Unicode superscripts, which can be copied as text."""
    if value <= 0:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    lead = value / 10.0**exponent
    if not powers:
        return f"{value:.6g}"
    ten = f"10{str(exponent).translate(SUPERSCRIPTS)}"
    return ten if abs(lead - 1) < 1e-9 else f"{lead:.3g}·{ten}"


def log_axis(axis: Any) -> None:
    """Make an axis logarithmic, with plain text as labels."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.axes.set_xscale("log") if axis.axis_name == "x" else axis.axes.set_yscale("log")

    def text(value, _position=None):
        low, high = sorted(axis.get_view_interval())
        return power_text(value, powers=low < 0.9e-3 or high > 1.2e4)

    low, high = sorted(axis.get_view_interval())
    narrow = low > 0 and high / low < 30  # powers of ten alone would leave one label, or none
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,), numticks=9))
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_formatter(NullFormatter())
    if narrow:
        axis.set_minor_locator(NullLocator())


def grid(ax: Any, which: str = "both") -> None:
    """Draw faint grid lines."""
    ax.grid(True, axis=which)
    ax.tick_params(length=3)
