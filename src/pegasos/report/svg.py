"""A matplotlib figure as SVG within an HTML page: in the page's colours, with hints, and with unique ids."""

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
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # characters that XML does not allow
RASTER_DPI = 220  # of parts drawn as raster images, such as the cells of a large matrix


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
    """Remove the metadata, and the style sheet, which would apply to the whole page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    root.set("stroke-linejoin", "round")  # from the removed style sheet


def _references(root: ET.Element) -> set[str]:
    """Ids that other elements refer to: markers and clip paths."""
    found = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            if key in (LINK, "href") and value.startswith("#"):
                found.add(value[1:])
            found.update(re.findall(r"url\(#([^)]+)\)", value))
    return found


def _localise(element: ET.Element) -> None:
    """Remove namespaces from the names of an element, since SVG within HTML has none."""
    element.tag = element.tag.rpartition("}")[2]
    if LINK in element.attrib:
        element.set("href", element.attrib.pop(LINK))
    for key in [key for key in element.attrib if key.startswith("{")]:
        element.attrib.pop(key)


def _recolour(element: ET.Element) -> None:
    """Replace the colours of text and curves by those of the page."""
    style = element.get("style")
    if style is None:
        return
    style = re.sub(rf"(fill|stroke): {INK}", r"\1: currentColor", style)
    if element.tag not in ("text", "tspan"):  # white text is on dark cells, other white is background
        style = re.sub(r"(fill|stroke): #ffffff", r"\1: var(--page, #ffffff)", style)
    for number, colour in enumerate(SERIES, 1):
        style = style.replace(colour, f"var(--series-{number}, {colour})")
    if element.tag in ("text", "tspan"):
        style = re.sub(r"'DejaVu Sans'[^;]*", "var(--figure-font, sans-serif)", style)
    element.set("style", style)


def _identify(element: ET.Element, name: str, used: set[str], hints: dict[str, str]) -> None:
    """Prefix ids that are referred to with the figure's name, remove others, and attach hints."""
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
    """Set the natural size in CSS pixels, the default colour and the accessible name of the `<svg>` element."""
    width, height = (float(part) for part in root.get("viewBox", "0 0 400 300").split()[2:])
    root.attrib.pop("version", None)
    root.set("width", f"{width * 4 / 3:.0f}")
    root.set("height", f"{height * 4 / 3:.0f}")
    root.set("fill", "currentColor")  # for elements without a colour, which would be black
    # The parts of an image have no accessible names, so a figure with hints is a group of images.
    root.set("role", "group" if has_hints else "img")
    label = ". ".join(part.rstrip(".") for part in (title, description) if part)
    root.set("aria-label", label or "figure")
