"""The content of a report: tables, figures and remarks, which a command or a study gathers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.figure


@dataclass
class Table:
    """Rows of plain values under named columns; `formats` has a format spec (".4f") for some columns."""

    name: str  # of files and anchors: letters, digits, hyphens
    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str = ""
    formats: dict[str, str] = field(default_factory=dict)


@dataclass
class Figure:
    """A figure that is drawn when it is first needed: `draw` returns a new matplotlib figure."""

    name: str
    title: str
    draw: Callable[[], matplotlib.figure.Figure]
    caption: str = ""
    alt: str = ""  # alternative text; if empty, the caption
    wide: bool | None = None  # whether it gets a row of its own; None: if it is drawn wide
    drawn: matplotlib.figure.Figure | None = field(default=None, repr=False, compare=False)  # kept once drawn


@dataclass
class Remark:
    """A labelled note, such as an error in a document."""

    label: str  # "The kernel", "note", "warning"
    text: str
    code: str = ""  # of the mistake or question that it is about, for tests and programs that read the JSON


@dataclass
class Page:
    """The results of one command or study."""

    name: str
    title: str
    summary: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    data: list[dict[str, Any]] = field(default_factory=list)  # name, source, rows, features, classes, fingerprint
    source: str = ""  # the document that is studied: author, title
    covers: list[str] = field(default_factory=list)  # codes of the items of the documents that are studied
    command: str = ""
    seconds: float | None = None
    date: str = ""  # when the results were made; if empty, the time of writing
    versions: dict[str, str] = field(
        default_factory=dict
    )  # of the packages they were made with; if empty, those installed
