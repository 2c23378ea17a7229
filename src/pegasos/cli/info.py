"""`pegasos info`: facts about a model file or a data set."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import takes_table, with_examples

ROWS = 5  # shown at either end of a data set
FIRST_FEATURES, LAST_FEATURES = 8, 4


@takes_table
@with_examples("pegasos info model.safetensors", "pegasos info train.csv --json", "pegasos info --versions")
def info(
    what: Annotated[
        str, typer.Argument(metavar="MODEL|DATA", help="A model file, a known data set, or a data file.")
    ] = "",
    json: options.Json = False,
    versions: Annotated[bool, typer.Option("--versions", help="Say what is installed instead.")] = False,
    *,
    table: dict[str, Any],
) -> None:
    """Say what a model file or a data set holds."""
    from pegasos.cli import output as out
    from pegasos.report.page import Page
    from pegasos.report.versions import environment, show_versions

    if versions == bool(what):
        raise ValueError("Give either a model file or a data set, or --versions.")
    if versions and not json:
        show_versions()
        return
    if versions:
        title, results, tables = "Versions", environment(), list[Any]()
    elif is_model(what):
        title, results, tables = f"Model file {what}", model_facts(what), []
    else:
        from pegasos.datasets import load

        data = load(what, **table)
        title, results, tables = f"Data {what}", data_facts(data), [preview(data)]
    out.show(Page("info", title, "", [out.results_table(results), *tables]), json, results)


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


def preview(data):
    """The first and the last rows with their first and last features and their labels, as notebooks show a frame."""
    from pegasos.report.page import Table

    n_rows, n_features = data.X.shape
    rows = shown_places(n_rows, ROWS, ROWS)
    features = shown_places(n_features, FIRST_FEATURES, LAST_FEATURES)
    names = data.feature_names or [str(place) for place in range(n_features)]
    columns = ["row", *("…" if place is None else names[place] for place in features), "label"]
    lines: list[list] = []
    for row in rows:
        if row is None:
            lines.append(["…"] * len(columns))
            continue
        values = data.X[[row]].toarray()[0] if hasattr(data.X, "indptr") else data.X[row]
        label = None if data.y is None else data.y[row].item()
        shown = ["…" if place is None else float(values[place]) for place in features]
        cells = [value if isinstance(value, str) else f"{value:.4g}" for value in shown]
        lines.append([str(row), *cells, label])
    tested = "" if data.X_test is None else f"; {data.X_test.shape[0]} more rows to test"
    return Table("rows", f"{n_rows} rows × {n_features} features{tested}", columns, lines)


def shown_places(count: int, first: int, last: int) -> list[int | None]:
    """The first and the last places of so many, with a None for those left out."""
    if count <= first + last + 1:
        return list(range(count))
    return [*range(first), None, *range(count - last, count)]


def data_facts(data) -> dict[str, Any]:
    """Facts about the rows, features, labels and values of a data set."""
    import numpy as np

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
