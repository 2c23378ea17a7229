"""The parameters of the estimators as options: their names, their help, and what a text stands for."""

import math
from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter of the estimators: of which kind its values are, and what it is."""

    kind: str  # "number", "integer", "text", "switch"
    help: str
    words: tuple[str, ...] = ()  # texts that stand for themselves
    group: str = "Model"


PARAMETERS = {
    "kernel": Parameter("text", "The kernel.", ("linear", "rbf", "poly", "sigmoid", "laplacian")),
    "gamma": Parameter("number", "exp(−gamma·d²), as in scikit-learn.", ("scale", "auto")),
    "degree": Parameter("integer", "Degree of poly."),
    "coef0": Parameter("number", "Constant of poly and sigmoid."),
    "lam": Parameter("number", "Regularisation λ; give this or C. Neither: C = 1."),
    "C": Parameter("number", "λ = 1/(C · rows)."),
    "loss": Parameter("text", "The loss.", ("hinge", "squared_hinge", "log_loss", "epsilon_insensitive")),
    "multi_class": Parameter("text", "How classes become problems.", ("ovr", "ovo", "crammer_singer")),
    "class_weight": Parameter("text", "Weights of the classes.", ("balanced",)),
    "epsilon": Parameter("number", "Width of the tube, for --regression."),
    "fit_intercept": Parameter("switch", "A penalised constant feature.", ("auto",)),
    "intercept_scaling": Parameter("number", "Its value."),
    "solver": Parameter("text", "The steps.", ("pegasos", "sdca"), "Steps"),
    "max_iter": Parameter("integer", "Steps of each problem (T).", (), "Steps"),
    "max_passes": Parameter("number", "Passes over the rows; neither: 20, or 1000 with --tol.", (), "Steps"),
    "tol": Parameter("number", "Stop at this gap, as a share of the zero model's objective.", (), "Steps"),
    "max_time": Parameter("number", "Stop after so many seconds.", (), "Steps"),
    "batch_size": Parameter("integer", "Rows of one step.", ("all",), "Steps"),
    "sampling": Parameter("text", "Order of the rows.", ("shuffle", "replacement", "cyclic"), "Steps"),
    "average": Parameter("text", "Which iterates the model is the mean of.", ("weighted", "uniform", "suffix", "none"),
                         "Steps"),
    "project": Parameter("switch", "Project on the ball that holds the optimum.", (), "Steps"),
    "n_landmarks": Parameter("integer", "Nyström: a kernel at any number of rows.", (), "Model"),
    "landmarks": Parameter("text", "How they are chosen.", ("uniform", "k-means++"), "Model"),
    "cache_size": Parameter("number", "Megabytes for the kernel matrix.", (), "Steps"),
    "device": Parameter("text", "Where to compute; auto: on a GPU if that is worth it.",
                        ("auto", "cpu", "cuda", "cuda:tf32"), "Steps"),
}  # fmt: skip
MOST_VALUES = 1000  # of one range
SWITCHES = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


def values_of(name: str, text: str) -> list[Any]:
    """The values that a text stands for: "0.1", "0.1,1,10", "1e-5:10:7" (seven, evenly in the logarithm)."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ValueError(f"{option(name)} has an empty value in {text!r}.")
    found: list[Any] = []
    for part in parts:
        found += _range(name, part) if part.count(":") == 2 else [_value(name, part)]
    return found


def single_values(texts: dict[str, str]) -> dict[str, Any]:
    """One value for each parameter."""
    found = {}
    for name, text in texts.items():
        values = values_of(name, text)
        if len(values) > 1:
            raise ValueError(f"{option(name)} takes one value here, got {text!r}; `pegasos tune` tries several.")
        found[name] = values[0]
    return found


def option(name: str) -> str:
    """The option of a parameter."""
    return f"--{name.replace('_', '-')}"


def _range(name: str, text: str) -> list[Any]:
    first, last, count = text.split(":")
    low, high, many = _number(name, first), _number(name, last), _integer(name, count)
    if not (0 < low < math.inf and 0 < high < math.inf and 2 <= many <= MOST_VALUES):
        raise ValueError(
            f"{option(name)} {text}: a range is FROM:TO:COUNT with positive ends and a count of 2 to {MOST_VALUES}."
        )
    exponents = [math.log10(low) + (math.log10(high) - math.log10(low)) * i / (many - 1) for i in range(many)]
    values = [float(f"{10**exponent:.12g}") for exponent in exponents]
    return [round(value) for value in values] if PARAMETERS[name].kind == "integer" else values


def _value(name: str, text: str) -> Any:
    known = PARAMETERS[name]
    if text in known.words:
        return False if (name, text) == ("average", "none") else text
    if known.kind == "text":
        raise ValueError(f"{option(name)} {text!r} is not known; choose from {', '.join(known.words)}.")
    if known.kind == "switch":
        if text.lower() not in SWITCHES:
            raise ValueError(f"{option(name)} {text!r} is neither yes nor no{_or_words(known)}.")
        return SWITCHES[text.lower()]
    return _integer(name, text) if known.kind == "integer" else _number(name, text)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option(name)} {text!r} is no number{_or_words(PARAMETERS[name])}.") from None


def _integer(name: str, text: str) -> int:
    number = _number(name, text)
    if not number.is_integer():
        raise ValueError(f"{option(name)} {text!r} is no whole number{_or_words(PARAMETERS[name])}.")
    return int(number)


def _or_words(known: Parameter) -> str:
    return f", nor {' or '.join(known.words)}" if known.words else ""
