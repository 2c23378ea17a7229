"""Pages as one self-contained HTML file, which needs no network and no other file."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pegasos.plotting.checks import require
from pegasos.plotting.style import SERIES, SERIES_DARK
from pegasos.report.export import drawing_of
from pegasos.report.page import Figure, Page, Remark, Table
from pegasos.report.svg import svg_of
from pegasos.report.values import cell_text, formatted, is_missing, plain
from pegasos.report.versions import now, versions
from pegasos.utils.files import check_writable, write_text

WIDE = 520  # CSS pixels; a wider figure gets a row of its own


def check_available() -> None:
    """Raise MissingExtra unless reports can be made; worth asking before long work."""
    require("matplotlib", "jinja2")


def write_html(pages: Page | Sequence[Page], path: str | os.PathLike, *, title: str | None = None) -> None:
    """Write one page, or several below each other with a table of contents, whole or not at all."""
    check_available()
    check_writable(path)
    write_text(path, render(pages, title=title))


def render(pages: Page | Sequence[Page], *, title: str | None = None) -> str:
    """One page, or several below each other with a table of contents, as the text of an HTML file."""
    check_available()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    pages = [pages] if isinstance(pages, Page) else list(pages)
    if not pages:
        raise ValueError("There is no page to render.")
    environment = Environment(
        loader=PackageLoader("pegasos.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _template("report.js")
    anchors = Anchors()
    text = environment.get_template("report.html").render(
        title=title or (pages[0].title if len(pages) == 1 else "Report"),
        pages=[_shown(page, anchors, several=len(pages) > 1) for page in pages],
        several=len(pages) > 1,
        style=Markup(_palette() + _template("report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return text.encode("utf-8", "replace").decode()  # names of files may not be valid text


class Anchors:
    """Unique HTML ids of the parts of a page: their names, numbered where they repeat."""

    def __init__(self) -> None:
        self._used: set[str] = {"tip", "contents"}  # ids of the page itself

    def named(self, name: str) -> str:
        """A new id: the name with anything but letters, digits and hyphens left out."""
        base = re.sub(r"[^\w-]+", "-", name).strip("-") or "part"
        anchor, number = base, 1
        while anchor in self._used:
            number += 1
            anchor = f"{base}-{number}"
        self._used.add(anchor)
        return anchor


@dataclass
class ShownTable:
    """A table for the template: the text of each cell, and the number it is sorted by."""

    id: str
    title: str
    note: str
    columns: list[dict[str, Any]]
    rows: list[list[dict[str, Any]]]


def _shown(page: Page, anchors: Anchors, several: bool) -> dict[str, Any]:
    """The values of a page that the template needs."""
    own = anchors.named(page.name)
    prefix = f"{own}-" if several else ""
    return {
        "id": own,
        "title": page.title,
        "source": page.source,
        "paragraphs": _paragraphs(page.summary),
        "remarks": [_remark(remark) for remark in page.remarks],
        "figures": [_figure(figure, anchors.named(prefix + figure.name)) for figure in page.figures],
        "tables": [_table(table, anchors.named(prefix + table.name)) for table in page.tables],
        "settings": {name: cell_text(value) for name, value in page.settings.items()},
        "data": _data(page, anchors, prefix),
        "command": page.command,
        "seconds": None if page.seconds is None else cell_text(float(page.seconds)),
        "date": page.date or now(),
        "versions": page.versions or versions(),
    }


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _remark(remark: Remark) -> dict[str, Any]:
    kind = "alarming" if remark.label.lower() in ("warning", "error", "caution") else "plain"
    return {"label": remark.label, "kind": kind, "paragraphs": _paragraphs(remark.text)}


def _figure(figure: Figure, anchor: str) -> dict[str, Any]:
    from markupsafe import Markup

    drawn = drawing_of(figure)
    inches = drawn.get_figwidth()
    svg = svg_of(drawn, anchor, title=figure.title, description=figure.alt or figure.caption)
    return {
        "id": anchor,
        "title": figure.title,
        "caption": _paragraphs(figure.caption),
        "svg": Markup(svg),
        "wide": figure.wide if figure.wide is not None else inches * 96 > WIDE,
        "pixels": round(inches * 96),
    }


def _table(table: Table, anchor: str) -> ShownTable:
    texts = formatted(table)
    numeric = [_numeric([row[place] for row in table.rows]) for place in range(len(table.columns))]
    rows = [
        [
            {"text": text, "sort": _sort_key(value, is_number), "missing": is_missing(value)}
            for text, value, is_number in zip(shown, row, numeric)
        ]
        for shown, row in zip(texts, table.rows)
    ]
    columns = [{"name": str(name), "numeric": is_number} for name, is_number in zip(table.columns, numeric)]
    return ShownTable(anchor, table.title, table.note, columns, rows)


def _numeric(values: list[Any]) -> bool:
    """Whether all values of a column that are not missing are numbers."""
    known = [value for value in values if not is_missing(value)]
    return bool(known) and all(_as_number(value) is not None for value in known)


def _as_number(value: Any) -> float | None:
    try:
        return None if isinstance(value, str | bytes | bool) else float(value)
    except (TypeError, ValueError):
        return None


def _sort_key(value: Any, numeric: bool) -> str | None:
    """The key that the page sorts a cell of a numeric column by: all digits of the number; None: the cell's text."""
    return repr(_as_number(value)) if numeric and not is_missing(value) else None


def _data(page: Page, anchors: Anchors, prefix: str) -> ShownTable | None:
    """The data sets as a table, with a column for each fact that is known of any of them."""
    if not page.data:
        return None
    columns = list(dict.fromkeys(key for entry in page.data for key in entry))
    rows = [[entry.get(column) for column in columns] for entry in page.data]
    rows = [[cell if isinstance(cell, float) else plain(cell) for cell in row] for row in rows]
    return _table(Table("data", "Data sets", columns, rows), anchors.named(f"{prefix}data"))


def _template(name: str) -> str:
    return (files("pegasos.report") / "templates" / name).read_text(encoding="utf-8")


def _palette() -> str:
    """The colours of curves as CSS variables, lighter ones in dark mode."""

    def variables(colours: Sequence[str]) -> str:
        return " ".join(f"--series-{number}: {colour};" for number, colour in enumerate(colours, 1))

    light = f":root {{ {variables(SERIES)} }}\n"
    return f"{light}@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(SERIES_DARK)} }} }}\n"
