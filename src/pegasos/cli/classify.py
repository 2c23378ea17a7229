"""`pegasos classify`: learn from one file and label another, within a time budget."""

import os
import sys
import time
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import check_seconds, takes_table, with_examples

RESERVE = 0.35  # seconds kept to print the labels and to exit


@takes_table
@with_examples("pegasos classify train.txt test.txt -t 60 > labels.txt")
def classify(
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Rows with labels.")],
    test: Annotated[str, typer.Argument(metavar="TEST", help="Rows to label; labels they may have are ignored.")],
    seconds: Annotated[float, typer.Option("-t", "--time", metavar="SECONDS", help="Wall clock, start-up included.")],
    seed: options.Seed = 0,
    *,
    table: dict[str, Any],
) -> None:
    """Print the labels of TEST, one per line, within SECONDS."""
    from pegasos.backends.compiled import SECONDS, interpret, is_compiled
    from pegasos.cli.anytime import AnytimeClassifier, kind_of
    from pegasos.cli.predict import lines_of
    from pegasos.cli.time_limit import TimeIsUp, alarm, process_age

    check_seconds("-t", seconds)
    deadline = time.perf_counter() + seconds - process_age() - RESERVE
    no_time_to_compile = seconds < SECONDS and not (is_compiled("dense") or is_compiled("sparse"))
    interpreted = (
        no_time_to_compile and interpret()
    )  # before any import, also that of the text readers, loads compiled loops
    try:
        with alarm(deadline - time.perf_counter()):
            data, rows = load_both(train, test, table)
            classifier = AnytimeClassifier(data, rows, seed)
    except TimeIsUp:
        raise ValueError(f"-t {seconds:g}: there was no time to read the files and learn from them.") from None
    predicted = classifier.by(deadline, interpreted=interpreted, compiled=is_compiled(kind_of(data)))
    sys.stdout.write("".join(f"{line}\n" for line in lines_of(predicted)))
    sys.stdout.flush()
    sys.stderr.flush()
    if not os.environ.get("PEGASOS_DEBUG"):
        os._exit(0)  # without the clean-up of Python at exit, which takes time


def load_both(train: str, test: str, table: dict[str, Any]):
    """The rows to learn from, and those to label."""
    from pegasos.cli.data import check_place_of_labels, layout_of, load_labelled, load_rows_like

    data = load_labelled(train, table)
    layout = layout_of(data, table)
    rows = load_rows_like(test, layout, data.scaling)
    if table["label"] is None:
        check_place_of_labels(rows, layout, data.y)
    return data, rows
