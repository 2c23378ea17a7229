"""Results as one HTML page, as files of figures and tables, and as JSON values."""

from pegasos.plotting.checks import MissingExtra
from pegasos.report.export import figures_to, tables_to
from pegasos.report.html import check_available, render, write_html
from pegasos.report.page import Figure, Page, Remark, Table
from pegasos.report.svg import svg_of
from pegasos.report.values import formatted, to_dict
from pegasos.report.versions import versions

__all__ = [
    "Figure",
    "MissingExtra",
    "Page",
    "Remark",
    "Table",
    "check_available",
    "figures_to",
    "formatted",
    "render",
    "svg_of",
    "tables_to",
    "to_dict",
    "versions",
    "write_html",
]
