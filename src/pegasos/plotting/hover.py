"""Texts that a page shows when somebody points at a part of a figure."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_POINTS = 60  # of one curve that have a hint: each is an element of the page
MOST_HINTS = 600  # of one figure


def hint(artist: Any, text: str) -> Any:
    """Give an artist that is on a figure a text to show on hover, and return it.

    The artist gets a gid, and the figure remembers the text under it; `pegasos.report.svg_of` writes it into the page.
    """
    texts = hints_of(artist)
    if len(texts) < MOST_HINTS:
        gid = f"hint-{len(texts)}"
        artist.set_gid(gid)
        texts[gid] = text
    return artist


def hints_of(artist: Any) -> dict[str, str]:
    """The texts of an artist's figure by gid; the figure's own dictionary."""
    figure = artist.figure
    while figure.figure is not None and figure.figure is not figure:  # a figure within a figure
        figure = figure.figure
    if not hasattr(figure, "_pegasos_hints"):
        figure._pegasos_hints = {}
    return figure._pegasos_hints


def hint_points(ax: Any, xs: Any, ys: Any, texts: list[str]) -> None:
    """Invisible circles at points of a curve, large enough to hit; of many points a few, spread evenly."""
    finite = np.flatnonzero(np.isfinite(np.asarray(xs, float)) & np.isfinite(np.asarray(ys, float)))
    for place in finite[thinned(len(finite))]:
        (circle,) = ax.plot(
            [xs[place]], [ys[place]], marker="o", markersize=13, alpha=0.0, linestyle="none", color="#808080", zorder=5,
            clip_on=False, label="_hint",
        )  # fmt: skip
        hint(circle, texts[place])


def thinned(count: int, most: int = MOST_POINTS) -> np.ndarray:
    """Places of at most `most` out of `count`, the first and the last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(int))
