"""What a report says, as plain values: gathered by a command or a study, printed, written or rendered by others."""

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
    """A figure that is drawn when somebody looks: `draw` returns a new matplotlib figure."""

    name: str
    title: str
    draw: Callable[[], matplotlib.figure.Figure]
    caption: str = ""
    alt: str = ""  # for those who do not see it; else the caption
    wide: bool | None = None  # a row of its own on the page; None: if it is drawn wide
    drawn: matplotlib.figure.Figure | None = field(default=None, repr=False, compare=False)  # kept after the first look


@dataclass
class Remark:
    """A sentence worth a place of its own, such as what a document has wrong."""

    label: str  # "M1", "note", "warning"
    text: str


@dataclass
class Page:
    """Everything on one page."""

    name: str
    title: str
    summary: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    data: list[dict[str, Any]] = field(default_factory=list)  # name, source, rows, features, classes, fingerprint
    command: str = ""
    seconds: float | None = None
    date: str = ""  # when the results were made; else the time of writing
    versions: dict[str, str] = field(default_factory=dict)  # what they were made with; else what is installed
