"""The output of commands: pages as text or JSON, reports and other files, and a status line."""

import json
import os
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pegasos.report.page import Page, Table
from pegasos.utils.files import check_writable, write_text

MOST_ROWS = 30
WIDTH_IN_PIPE = 160


def on_terminal() -> bool:
    """Whether the output goes to a terminal, where progress is shown, and not to a pipe."""
    return sys.stdout.isatty()


def command_line() -> str:
    """The running command as text for a shell."""
    return shlex.join(["pegasos", *sys.argv[1:]])


def check_outputs(*paths: Path | None, report: Path | None = None, inputs: tuple = ()) -> None:
    """Raise, before long work, if an output cannot be written or is an input, or a report lacks packages."""
    outputs = [path for path in (*paths, report) if path is not None]
    for place, path in enumerate(outputs):
        check_writable(path)
        if any(_same(path, given) for given in inputs if given is not None):
            raise ValueError(f"{path} is a file to read from; give another name for the output.")
        if any(_same(path, other) for other in outputs[:place]):
            raise ValueError(f"{path} is given for two outputs; one would overwrite the other.")
    if report is not None:
        from pegasos.report import check_available

        check_available()


def _same(path: Path, other) -> bool:
    """Whether two paths name the same file, which need not exist yet."""
    if path.exists() and os.path.exists(other):
        return path.is_file() and os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def results_table(results: dict[str, Any]) -> Table:
    """Named values as a table."""
    return Table("results", "Results", ["what", "value"], [[name, value] for name, value in results.items()])


def show(page: Page, as_json: bool, results: dict[str, Any] | None = None) -> None:
    """Print a page as text, or as JSON together with the named results."""
    if as_json:
        from pegasos.report import to_dict
        from pegasos.report.values import plain

        print(json_text({"results": plain(results or {}), **to_dict(page)}))
        return
    console = _console()
    console.print(f"[bold]{_escaped(page.title)}[/bold]")
    for text in (page.source, page.summary):
        if text:
            console.print(_escaped(text))
    for table in page.tables:
        _print_table(console, table)
    for remark in page.remarks:
        console.print(f"[bold]{_escaped(remark.label)}[/bold] {_escaped(remark.text)}")


def write_report(pages: Page | list[Page], path: Path | None) -> None:
    """Write the HTML report, unless there is no path for it."""
    if path is None:
        return
    from pegasos.report import write_html

    write_html(pages, path)
    note(f"report: {path}")


def write_json(page: Page, path: Path) -> None:
    """Write a page as a JSON file."""
    from pegasos.report import to_dict

    write_text(path, json_text(to_dict(page)) + "\n")


def json_text(document: Any) -> str:
    """A document as strict JSON text, which has no nan or infinity."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def note(text: str) -> None:
    """Print a line to stderr, so that programs that read our output do not see it."""
    print(text, file=sys.stderr)  # with stderr closed, main() has opened another: None would stand for stdout


def _console():
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=None if on_terminal() else WIDTH_IN_PIPE)


def _print_table(console, table: Table) -> None:
    from rich import box
    from rich.table import Table as Shown

    from pegasos.report import formatted

    shown = Shown(title=_escaped(table.title), title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    shown.caption = _escaped(table.note) or None
    cells = formatted(table)
    for number, column in enumerate(table.columns):
        numeric = all(isinstance(row[number], int | float | type(None)) for row in table.rows)
        shown.add_column(_escaped(column), justify="right" if numeric else "left", overflow="fold")
    for row in cells[:MOST_ROWS]:
        shown.add_row(*map(_escaped, row))
    console.print(shown)
    if len(cells) > MOST_ROWS:
        console.print(f"… and {len(cells) - MOST_ROWS} more rows")


def _escaped(text: str) -> str:
    """Text escaped for rich, so that brackets in it are no markup."""
    from rich.markup import escape

    return escape(text)


class StatusLine:
    """A line on the terminal that says what is running; nothing in a pipe."""

    def __init__(self, text: str):
        self.text = text
        self.stack = ExitStack()
        self.status: Any = None

    def __enter__(self):
        if on_terminal():
            self.status = self.stack.enter_context(_console().status(_escaped(self.text)))
        return self

    def __exit__(self, *error):
        self.stack.close()

    def tell(self, text: str) -> None:
        """Show what runs now."""
        if self.status is not None:
            self.status.update(_escaped(f"{self.text}: {text}"))
