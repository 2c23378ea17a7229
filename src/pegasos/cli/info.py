"""`pegasos info`: facts about a model file or a data set."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import takes_table, with_examples


@takes_table
@with_examples("pegasos info model.safetensors", "pegasos info train.csv --json")
def info(
    what: Annotated[str, typer.Argument(metavar="MODEL|DATA", help="A model file, a known data set, or a data file.")],
    json: options.Json = False,
    *,
    table: dict[str, Any],
) -> None:
    """Say what a model file or a data set holds."""
    from pegasos.cli import output as out
    from pegasos.report.page import Page

    if is_model(what):
        title, results = f"Model file {what}", model_facts(what)
    else:
        title, results = f"Data {what}", data_facts(what, table)
    out.show(Page("info", title, "", [out.results_table(results)]), json, results)


def is_model(what: str) -> bool:
    """Whether a file begins like a model file, with the length of a JSON header and the header."""
    from pegasos.datasets import NAMES

    path = Path(what)
    if what in NAMES or not path.is_file():
        return path.suffix == ".safetensors"
    with open(path, "rb") as file:
        begin = file.read(9)
    return path.suffix == ".safetensors" or (begin[8:] == b"{" and begin[4:8] == b"\0\0\0\0")


def model_facts(path: str) -> dict[str, Any]:
    """The description in a model file, once the file has been checked by loading it."""
    from pegasos import load, storage

    found = storage.describe(path)
    load(path)  # raises for a damaged file
    about = found.pop("about") or {}
    tensors = found.pop("tensors")
    classes = found.pop("classes", None)
    found["classes"] = None if classes is None else [str(label) for label in classes]
    parameters = found.pop("parameters")
    found |= {f"parameter {name}": value for name, value in parameters.items() if value is not None}
    found |= {f"tensor {name}": f"{entry}" for name, entry in tensors.items()}
    found |= {f"about {name}": value for name, value in about.items() if value is not None}
    return {name: value for name, value in found.items() if value is not None}


def data_facts(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """Facts about the rows, features, labels and values of a data set."""
    import numpy as np

    from pegasos.datasets import load

    data = load(name, **table)
    sparse = hasattr(data.X, "indptr")
    values = data.X.data if sparse else data.X
    found = data.facts() | {"format": data.format, "kind": f"{'sparse' if sparse else 'dense'} {data.X.dtype}"}
    if sparse:
        found["entries"] = int(data.X.nnz)
    if values.size:
        found["values"] = f"{values.min():g} to {values.max():g}"
    if data.feature_names:
        found["feature names"] = data.feature_names[:20]
    if data.y is None:
        return found | {"labels": "none"}
    if data.y.dtype.kind == "f":
        return found | {"labels": f"numbers from {data.y.min():g} to {data.y.max():g}"}
    classes, counts = np.unique(data.y, return_counts=True)
    shown = [f"{label} ({count})" for label, count in zip(classes.tolist(), counts.tolist(), strict=True)]
    return found | {"labels": shown[:30] + (["…"] if len(shown) > 30 else [])}
