"""The options of the commands: those that several share, and one for each parameter of the estimators."""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pegasos.losses import names

Data = Annotated[str, typer.Argument(metavar="DATA", help="A known name, such as digits, or a file.")]
Test = Annotated[
    str | None,
    typer.Option("--test", metavar="FILE|SHARE", help="Test rows: a file, or a share such as 0.25 held out at random."),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale", metavar="HOW",
        help="auto (features within [−1, 1] stay, others are standardised, sparse ones scaled to [−1, 1]), standard, "
        "max, or none: features as they are in the file, known data sets included (pixels of 0 to 255).",
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
Start = Annotated[
    Path | None,
    typer.Option(
        "--start", metavar="FILE",
        help="The start vector w₁ of --solver pegasos, linear: a line of numbers for each problem, one a feature and "
        "one more for the constant feature.",
    ),
]  # fmt: skip
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


class Parameter(NamedTuple):
    """A parameter of the estimators as an option: the kind of its values, its help, and where the help lists it."""

    kind: str  # "number", "integer", "text", "switch"
    help: str
    words: tuple[str, ...] = ()  # values that are words
    group: str = "Model"


PROBABILITIES = ("sigmoid", "isotonic", "temperature")
PARAMETERS = {
    "kernel": Parameter("text", "The kernel.", ("linear", "rbf", "poly", "sigmoid", "laplacian")),
    "gamma": Parameter("number", "exp(−gamma·d²), as in scikit-learn.", ("scale", "auto")),
    "width": Parameter("number", "The width γ of exp(−d²/(2γ)), as course notes write it: --gamma 1/(2γ)."),
    "degree": Parameter("integer", "Degree of poly."),
    "coef0": Parameter("number", "Constant of poly and sigmoid."),
    "lam": Parameter("number", "Regularisation λ; overrides C."),
    "C": Parameter("number", "λ = 1/(C · rows); 1 unless --lam is given."),
    "loss": Parameter("text", "The loss.", (*names("classification"), *names("regression"))),
    "break_ties": Parameter("switch", "Ties of ovo votes by confidence; no: to the lowest class."),
    "multi_class": Parameter("text", "How classes become problems.", ("ovr", "ovo", "crammer_singer")),
    "class_weight": Parameter("text", "Weights of the classes.", ("balanced",)),
    "probability": Parameter("text", "Calibrate probabilities by cross-validation.", PROBABILITIES),
    "epsilon": Parameter("number", "Width of the tube, for --regression."),
    "fit_intercept": Parameter("switch", "A penalised constant feature; an intercept of its own for smo.", ("auto",)),
    "intercept_scaling": Parameter("number", "Its value."),
    "solver": Parameter("text", "auto ends at the optimum; pegasos is the textbook's algorithm.",
                        ("auto", "pegasos", "sdca", "dcd", "newton", "smo"), "Steps"),
    "tol": Parameter("number", "Stop at this gap, as a share of the zero model's objective; 0.001 unless given.",
                     ("none",), "Steps"),
    "max_iter": Parameter("number", "Passes over the rows; unless given 1000, or 20 of the textbook's.", (), "Steps"),
    "max_steps": Parameter("integer", "Steps of each problem (T), of the textbook's algorithm.", (), "Steps"),
    "max_time": Parameter("number", "Stop after so many seconds.", (), "Steps"),
    "batch_size": Parameter("integer", "Rows of one step.", ("all",), "Steps"),
    "sampling": Parameter("text", "Order of the rows; subsets: different rows for each batch.",
                          ("shuffle", "replacement", "cyclic", "subsets"), "Steps"),
    "average": Parameter("text", "Which iterates the model is the mean of.", ("weighted", "uniform", "suffix", "none"),
                         "Steps"),
    "project": Parameter("switch", "Project on the ball that holds the optimum.", (), "Steps"),
    "n_jobs": Parameter("integer", "Threads of a fit; −1: all cores.", (), "Steps"),
    "n_landmarks": Parameter("integer", "Nyström: a kernel at any number of rows.", (), "Model"),
    "landmarks": Parameter("text", "How they are chosen.", ("uniform", "k-means++"), "Model"),
    "cache_size": Parameter("number", "Megabytes for the kernel matrix.", (), "Steps"),
    "device": Parameter("text", "Where to compute; auto: on a GPU if that is worth it.",
                        ("auto", "cpu", "cuda", "cuda:tf32"), "Steps"),
}  # fmt: skip
MOST_VALUES = 1000  # that a range FROM:TO:COUNT may have
SWITCHES = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


def with_examples(*lines: str) -> Callable:
    """Give a command examples, which end its help."""

    def decorate(function):
        function.examples = "Examples:\n\n" + "\n\n".join(f"  $ {line}" for line in lines)
        return function

    return decorate


TABLE = {
    "label": (str | None, typer.Option(
        "--label", metavar="COLUMN", help="The label column: its name or number, from 0; else the last.")),
    "drop": (list[str] | None, typer.Option(
        "--drop", metavar="COLUMN", help="Leave a column out; may be given several times.")),
    "header": (str | None, typer.Option(
        "--header", metavar="yes|no", help="Whether the first line names the columns; else as it looks.")),
    "decimal": (str | None, typer.Option(
        "--decimal", metavar=".|,", help="How decimals are written; else as they look.")),
}  # fmt: skip


def takes_table(function: Callable) -> Callable:
    """Give a command the options by which tables are read; it gets them as `table`, the keywords of `datasets.load`."""
    added = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, _in_panel(option, "Tables")]
        )
        for name, (kind, option) in TABLE.items()
    ]
    return _gathering(function, "table", added, _table_from)


def _in_panel(option, panel: str):
    option.rich_help_panel, option.show_default = panel, False
    return option


def _table_from(given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `datasets.load` that the options ask for."""
    header, decimal = given["header"], given["decimal"]
    if header is not None and header.lower() not in SWITCHES:
        raise ValueError(f"--header {header!r} is neither yes nor no.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"--decimal {decimal!r} is neither a point nor a comma.")
    known = None if header is None else SWITCHES[header.lower()]
    return {"label": given["label"], "drop": tuple(given["drop"] or ()), "header": known, "decimal": decimal}


def takes_parameters(function: Callable) -> Callable:
    """Give a command an option for each parameter of the estimators.

    The command gets the texts of the options that were given as `parameters`, by name.
    """
    return _gathering(function, "parameters", [_option_of(name) for name in PARAMETERS], settled)


def settled(texts: dict[str, Any]) -> dict[str, str]:
    """The texts of the options that were given, a width as the gamma that it stands for."""
    found = {name: text for name, text in texts.items() if text is not None}
    for one, other in (("lam", "C"), ("width", "gamma")):
        if {one, other} <= found.keys():
            raise ValueError(f"Give {option_name(one)} or {option_name(other)}, not both: one follows from the other.")
    if "width" in found:
        found["gamma"] = gamma_of_width(found.pop("width"))
    return found


def gamma_of_width(text: str) -> str:
    """The text of --gamma for that of --width: 1/(2·width) of each value."""
    widths = parse_values("width", text)
    for width in widths:
        if not 0 < width < math.inf:
            raise ValueError(f"--width {width:g}: a width is positive and finite.")
    return ",".join(repr(1 / (2 * width)) for width in widths)


def _gathering(function: Callable, into: str, added: list[inspect.Parameter], gather: Callable) -> Callable:
    """The function with options in the place of its parameter `into`, which gets what `gather` makes of them."""
    signature = inspect.signature(function)
    own = [parameter for name, parameter in signature.parameters.items() if name != into]

    @wraps(function)
    def command(**given):
        gathered = gather({option.name: given.pop(option.name) for option in added})
        return function(**{into: gathered}, **given)

    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
    del command.__wrapped__  # or typer would read the signature of the original function
    return command


def _option_of(name: str) -> inspect.Parameter:
    known = PARAMETERS[name]
    metavar = "|".join((*(["N"] if known.kind in ("number", "integer") else []),
                        *(["yes|no"] if known.kind == "switch" else []), *known.words))  # fmt: skip
    shown = typer.Option(
        option_name(name), metavar=metavar, help=known.help, rich_help_panel=known.group, show_default=False
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, shown]
    )


def check_seconds(option: str, seconds: float) -> None:
    """Raise ValueError unless the value of an option is a number of seconds."""
    if not 0 < seconds < math.inf:
        raise ValueError(f"{option} {seconds:g}: seconds must be positive and finite.")


def parse_values(name: str, text: str) -> list[Any]:
    """The values in the text of an option: "0.1", "0.1,1,10", "1e-5:10:7" (seven values, evenly in the logarithm)."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ValueError(f"{option_name(name)} has an empty value in {text!r}.")
    found: list[Any] = []
    for part in parts:
        found += _range(name, part) if part.count(":") == 2 else [_value(name, part)]
    return found


def parse_single_values(texts: dict[str, str]) -> dict[str, Any]:
    """The value of each parameter; ValueError where a text holds several."""
    found = {}
    for name, text in texts.items():
        values = parse_values(name, text)
        if len(values) > 1:
            raise ValueError(f"{option_name(name)} takes one value here, got {text!r}; `pegasos tune` tries several.")
        found[name] = values[0]
    return found


def option_name(name: str) -> str:
    """The option of a parameter: "--max-iter" for "max_iter"."""
    return f"--{name.replace('_', '-')}"


def _range(name: str, text: str) -> list[Any]:
    first, last, count = text.split(":")
    low, high, many = _number(name, first), _number(name, last), _integer(name, count)
    if not (0 < low < math.inf and 0 < high < math.inf and 2 <= many <= MOST_VALUES):
        raise ValueError(
            f"{option_name(name)} {text}: a range is FROM:TO:COUNT with positive ends and a count of 2 to "
            f"{MOST_VALUES}."
        )
    exponents = [math.log10(low) + (math.log10(high) - math.log10(low)) * i / (many - 1) for i in range(many)]
    values = [float(f"{10**exponent:.12g}") for exponent in exponents]
    return [round(value) for value in values] if PARAMETERS[name].kind == "integer" else values


def _value(name: str, text: str) -> Any:
    known = PARAMETERS[name]
    if text in known.words:
        return {("average", "none"): False, ("tol", "none"): None}.get((name, text), text)
    if known.kind == "text":
        raise ValueError(f"{option_name(name)} {text!r} is not known; choose from {', '.join(known.words)}.")
    if known.kind == "switch":
        if text.lower() not in SWITCHES:
            raise ValueError(f"{option_name(name)} {text!r} is neither yes nor no{_or_words(known)}.")
        return SWITCHES[text.lower()]
    return _integer(name, text) if known.kind == "integer" else _number(name, text)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option_name(name)} {text!r} is no number{_or_words(PARAMETERS[name])}.") from None


def _integer(name: str, text: str) -> int:
    number = _number(name, text)
    if not number.is_integer():
        raise ValueError(f"{option_name(name)} {text!r} is no whole number{_or_words(PARAMETERS[name])}.")
    return int(number)


def _or_words(known: Parameter) -> str:
    return f", nor {' or '.join(known.words)}" if known.words else ""
