"""Options that several sub-commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

from pegasos.cli.values import PARAMETERS, option

Data = Annotated[str, typer.Argument(metavar="DATA", help="A known name, such as digits, or a file.")]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="The label column of a table: its name or number; else the last."),
]
Test = Annotated[
    str | None,
    typer.Option("--test", metavar="FILE|SHARE", help="Test rows: a file, or a share such as 0.25 held out at random."),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale", metavar="HOW",
        help="auto (features within [−1, 1] stay, others are standardised, sparse ones scaled to [−1, 1]), none, "
        "standard or max.",
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of every draw.")]
Regression = Annotated[bool, typer.Option("--regression", help="The labels are numbers to be predicted.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="HTML", help="Write a page with figures and tables.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Save the model.")]
Checkpoint = Annotated[
    Path | None, typer.Option("--checkpoint", metavar="FILE", help="Keep the state of the fit there, to go on from.")
]
Every = Annotated[
    float | None, typer.Option("--every", metavar="SECONDS", help="Seconds between two checkpoints; 60 if not given.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, to the same model bit for bit.")]
Stream = Annotated[
    str,
    typer.Option(
        "--stream", metavar="auto|yes|no",
        help="Read the file in pieces while training, for files larger than memory; auto: from 1 GiB on, or a quarter "
        "of the memory that is free.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def with_examples(*lines: str) -> Callable:
    """Examples for the end of a command's help."""

    def decorate(function):
        function.examples = "Examples:\n\n" + "\n\n".join(f"  $ {line}" for line in lines)
        return function

    return decorate


def takes_parameters(function: Callable) -> Callable:
    """Give a command an option for each parameter of the estimators.

    The command gets those that were given as `parameters`, texts by name.
    """
    signature = inspect.signature(function)
    own = [parameter for name, parameter in signature.parameters.items() if name != "parameters"]
    added = [_option_of(name) for name in PARAMETERS]

    @wraps(function)
    def command(**given):
        texts = {name: given.pop(name) for name in PARAMETERS}
        return function(parameters={name: text for name, text in texts.items() if text is not None}, **given)

    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
    del command.__wrapped__  # or typer would look at the function behind it
    return command


def _option_of(name: str) -> inspect.Parameter:
    known = PARAMETERS[name]
    metavar = "|".join((*(["N"] if known.kind in ("number", "integer") else []),
                        *(["yes|no"] if known.kind == "switch" else []), *known.words))  # fmt: skip
    shown = typer.Option(
        option(name), metavar=metavar, help=known.help, rich_help_panel=known.group, show_default=False
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, shown]
    )
