"""A matplotlib figure as SVG that is part of a page: in the page's colours, with hints, and without ids that clash."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from typing import Any

from pegasos.plotting.checks import require
from pegasos.plotting.hover import hints_of
from pegasos.plotting.style import INK, SERIES

LINK = "{http://www.w3.org/1999/xlink}href"
SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.image_inline": True, "path.simplify": True}
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # characters of data that XML cannot hold
RASTER_DPI = 220  # of parts drawn as pictures, such as the cells of a large matrix


def svg_of(figure: Any, name: str = "figure", *, title: str = "", description: str = "") -> str:
    """The `<svg>` element of a figure; the same figure and name give the same text.

    Text and axes are written in `currentColor` and the colours of curves as variables, so that a page in dark mode
    shows them light. `name` begins all ids. Texts given by `plotting.hover.hint` become `data-hint` attributes.
    """
    require("matplotlib")
    root = ET.fromstring(_drawn(figure, name))
    hints = hints_of(figure)
    _strip(root)
    used = _references(root)
    for element in root.iter():
        _localise(element)
        _recolour(element)
        _identify(element, name, used, hints)
    _frame(root, title, description, bool(hints))
    return ET.tostring(root, encoding="unicode")


def _drawn(figure: Any, name: str) -> str:
    import matplotlib

    written = io.StringIO()
    with warnings.catch_warnings(), matplotlib.rc_context({**SETTINGS, "svg.hashsalt": name}):
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the browser has more fonts
        figure.savefig(written, format="svg", transparent=True, dpi=RASTER_DPI, metadata={"Date": None})
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", written.getvalue())


def _strip(root: ET.Element) -> None:
    """Leave out the metadata, and the style sheet, which would hold for the whole page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    root.set("stroke-linejoin", "round")  # what the style sheet said


def _references(root: ET.Element) -> set[str]:
    """Ids that other elements refer to: shapes used again and again, and clip paths."""
    found = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            if key in (LINK, "href") and value.startswith("#"):
                found.add(value[1:])
            found.update(re.findall(r"url\(#([^)]+)\)", value))
    return found


def _localise(element: ET.Element) -> None:
    """Names without their namespaces, which HTML knows by itself."""
    element.tag = element.tag.rpartition("}")[2]
    if LINK in element.attrib:
        element.set("href", element.attrib.pop(LINK))
    for key in [key for key in element.attrib if key.startswith("{")]:
        element.attrib.pop(key)


def _recolour(element: ET.Element) -> None:
    """The page's own colours instead of ours."""
    style = element.get("style")
    if style is None:
        return
    style = re.sub(rf"(fill|stroke): {INK}", r"\1: currentColor", style)
    if element.tag not in ("text", "tspan"):  # white letters are on dark cells, other white is the page
        style = re.sub(r"(fill|stroke): #ffffff", r"\1: var(--page, #ffffff)", style)
    for number, colour in enumerate(SERIES, 1):
        style = style.replace(colour, f"var(--series-{number}, {colour})")
    if element.tag in ("text", "tspan"):
        style = re.sub(r"'DejaVu Sans'[^;]*", "var(--figure-font, sans-serif)", style)
    element.set("style", style)


def _identify(element: ET.Element, name: str, used: set[str], hints: dict[str, str]) -> None:
    """Ids that begin with the figure's name where something refers to them, none elsewhere; and the hints."""
    own = element.attrib.pop("id", None)
    if own in hints:
        text = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", hints[own])
        element.set("data-hint", text)
        element.set("role", "img")
        element.set("aria-label", text)
    if own in used:
        element.set("id", f"{name}-{own}")
    for key, value in element.attrib.items():
        if key == "href" and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif key in ("clip-path", "style", "fill", "mask"):
            element.set(key, re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value))


def _frame(root: ET.Element, title: str, description: str, has_hints: bool) -> None:
    """What the element says of itself: its natural size in CSS pixels, its colour and its name."""
    width, height = (float(part) for part in root.get("viewBox", "0 0 400 300").split()[2:])
    root.attrib.pop("version", None)
    root.set("width", f"{width * 4 / 3:.0f}")
    root.set("height", f"{height * 4 / 3:.0f}")
    root.set("fill", "currentColor")  # of what matplotlib writes without a colour, since it is black
    # Within an image nothing can be pointed at by name, so one with hints is a group of images.
    root.set("role", "group" if has_hints else "img")
    label = ". ".join(part.rstrip(".") for part in (title, description) if part)
    root.set("aria-label", label or "figure")
