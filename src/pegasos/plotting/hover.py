"""Hints: texts that an HTML report shows when the pointer is over a part of a figure."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_POINTS = 60  # of one curve that have a hint: each is an element of the page
MOST_HINTS = 600  # of one figure


def hint(artist: Any, text: str) -> Any:
    """Give an artist of a figure a text to show on hover, and return the artist.

    The artist gets a gid, and the text is kept on the figure under it; `pegasos.report.svg_of` writes it to the page.
    """
    texts = hints_of(artist)
    if len(texts) < MOST_HINTS:
        gid = f"hint-{len(texts)}"
        artist.set_gid(gid)
        texts[gid] = text
    return artist


def hints_of(artist: Any) -> dict[str, str]:
    """The hints of an artist's figure by gid, in the dictionary that the figure keeps."""
    figure = artist.figure
    while figure.figure is not None and figure.figure is not figure:  # a subfigure
        figure = figure.figure
    if not hasattr(figure, "_pegasos_hints"):
        figure._pegasos_hints = {}
    return figure._pegasos_hints


def hint_points(ax: Any, xs: Any, ys: Any, texts: list[str]) -> None:
    """Put invisible circles with hints on the points of a curve; at most MOST_POINTS of them, spread evenly."""
    finite = np.flatnonzero(np.isfinite(np.asarray(xs, float)) & np.isfinite(np.asarray(ys, float)))
    for place in finite[thinned(len(finite))]:
        (circle,) = ax.plot(
            [xs[place]], [ys[place]], marker="o", markersize=13, alpha=0.0, linestyle="none", color="#808080", zorder=5,
            clip_on=False, label="_hint",
        )  # fmt: skip
        hint(circle, texts[place])


def thinned(count: int, most: int = MOST_POINTS) -> np.ndarray:
    """Indices of at most `most` of `count` points, evenly spread, the first and the last included."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(int))
