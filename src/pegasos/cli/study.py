"""`pegasos study`: repeat the experiments of the source documents, and show published results beside ours."""

import time
from pathlib import Path
from typing import Annotated

import typer

from pegasos.cli import options
from pegasos.cli.options import with_examples
from pegasos.studies import STUDIES


def _names(incomplete: str) -> list[str]:
    return [name for name in STUDIES if name.startswith(incomplete)]


@with_examples(
    "pegasos study usps-kernels --quick",
    "pegasos study --all --report studies.html",
    *(f"pegasos study {name}    # {text}" for name, text in STUDIES.items()),
)
def study(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help=f"One of {', '.join(STUDIES)}.", autocompletion=_names)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all studies.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A trial on the embedded digits; needs no download.")] = False,
    folder: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where CSV, JSON and figures go, a folder for each study.")
    ] = Path("pegasos-studies"),
    seed: options.Seed = 0,
    report: options.Report = None,
    json: options.Json = False,
) -> None:
    """Run an experiment of the source documents: published beside ours, and where the document is wrong."""
    from pegasos.cli import output as out
    from pegasos.io import DataError
    from pegasos.report import MissingExtra, check_available

    names = chosen(name, every)
    out.check_outputs(report=report)
    folder.mkdir(parents=True, exist_ok=True)
    out.check_outputs(folder / "results.json")
    drawing = True
    try:
        check_available()
    except MissingExtra as error:
        drawing = False
        out.note(f"no figures: {error}")
    pages, failed = [], []
    for each in names:
        try:
            page = run(each, quick, seed)
        except DataError as error:  # the data of other studies may be available
            failed.append(str(error))
            continue
        pages.append(page)
        write(page, folder / each, drawing)
        if not json:
            out.show(page, False)
            out.note(f"{each}: {page.seconds:.1f} s, files in {folder / each}")
    if pages:
        out.write_report(pages, report)
    if json:
        show_json(pages)
    if failed:
        raise DataError(
            failed[0] if len(names) == 1 else f"{len(failed)} of {len(names)} studies had no data: {failed[0]}"
        )


def chosen(name: str | None, every: bool) -> list[str]:
    """The names of the studies to run."""
    if every and name is not None:
        raise ValueError(f"Give a study or --all, not both: got {name!r} and --all.")
    if every:
        return list(STUDIES)
    if name is None:
        raise ValueError(f"Give a study or --all; studies are {', '.join(STUDIES)}.")
    if name not in STUDIES:
        raise ValueError(f"The study {name!r} is not known; choose from {', '.join(STUDIES)}.")
    return [name]


def run(name: str, quick: bool, seed: int):
    """The page of one study, with its seconds and the command that repeats it."""
    from pegasos.cli.output import StatusLine, command_line
    from pegasos.studies import run as run_study
    from pegasos.studies.base import Context

    started = time.perf_counter()
    with StatusLine(f"study {name}") as status:
        page = run_study(name, Context(quick, seed, status.tell))
    page.seconds = time.perf_counter() - started
    page.command = command_line()
    return page


def write(page, folder: Path, drawing: bool) -> None:
    """Write the tables as CSV, the page as JSON, and the figures as PNG."""
    from pegasos.cli.output import write_json
    from pegasos.report import figures_to, tables_to

    tables_to(page, folder)
    write_json(page, folder / "results.json")
    if drawing:
        figures_to(page, folder)


def show_json(pages) -> None:
    """Print all pages as one JSON object."""
    from pegasos.cli.output import json_text
    from pegasos.report import to_dict

    print(json_text({"studies": [to_dict(page) for page in pages]}))
