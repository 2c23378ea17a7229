"""`pegasos predict`: labels of the rows of a file from a saved model."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import takes_table, with_examples

CONTROL = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")  # what ends lines and fields for some reader


@takes_table
@with_examples(
    "pegasos predict digits.safetensors rows.csv",
    "pegasos predict model.safetensors test.libsvm -o labels.txt",
)
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `pegasos train -o` saved.")],
    data: options.Data,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the labels there.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Print the scores of the classes, too, after tabs.")] = False,
    json: options.Json = False,
    *,
    table: dict[str, Any],
) -> None:
    """Predict the labels of DATA, one per line; where DATA has labels, say how many are right.

    Labels that are numbers are written by their value: 1.0 and 1e0 of the training file as 1. Line breaks and tabs in
    labels are written as \\n and \\t; --json gives labels as they are.
    """
    import pegasos
    from pegasos import storage
    from pegasos.cli import output as out
    from pegasos.cli.data import check_place_of_labels, load_rows_like
    from pegasos.cli.model import rows_for, svm_of
    from pegasos.io.scaling import scaling_from

    out.check_outputs(output, inputs=(model, data))
    loaded = pegasos.load(model)
    about = storage.describe(model)["about"] or {}
    layout = training_layout(loaded, about) | table
    rows = load_rows_like(data, layout, scaling_from(about.get("scaling")))
    if table["label"] is None:
        check_place_of_labels(rows, layout, getattr(svm_of(loaded), "classes_", None))
    X = rows_for(rows.X, loaded)
    predicted = loaded.predict(X)
    right = None if rows.y is None else score_of(loaded, X, rows)
    shown = loaded.decision_function(X) if scores and hasattr(loaded, "decision_function") else None
    if json:
        _write(_as_json(predicted, right, shown), output)
        return
    _write("".join(line + "\n" for line in lines_of(predicted, shown)), output)
    if right is not None:
        name = "accuracy" if hasattr(svm_of(loaded), "classes_") else "R²"
        out.note(f"{name} {right:.4f} on {rows.X.shape[0]} rows")


def training_layout(model, about) -> dict[str, Any]:
    """Arguments of `load` for files like the training file, from the valid ones of the entries in a model file."""
    from pegasos.cli.model import svm_of

    keys = ("feature_names", "usual_label", "usual_drop", "first_index")
    names, label, drop, first = (about.get(key) for key in keys)
    n_features = svm_of(model).n_features_in_
    known = isinstance(names, list) and len(names) == n_features and all(isinstance(name, str) for name in names)
    return {
        "raw": about.get("raw") is True,
        "n_features": n_features,
        "feature_names": names if known else None,
        "usual_label": label if isinstance(label, str) else None,
        "first_index": first if first in (0, 1) else None,
        "usual_drop": [column for column in drop if type(column) in (str, int)] if isinstance(drop, list) else [],
    }


def score_of(model, X, rows) -> float | None:
    """The accuracy or R² of the predictions; None, with a warning, where the labels of the file are of another kind."""
    import warnings

    import numpy as np

    from pegasos.cli.model import svm_of

    known = svm_of(model).classes_ if hasattr(svm_of(model), "classes_") else None
    words = rows.y.dtype.kind == "U"
    fractions = known is not None and rows.y.dtype.kind == "f" and (rows.y != np.floor(rows.y)).any()
    if fractions or words != (known is not None and known.dtype.kind == "U"):
        warnings.warn(
            f"The labels of {rows.name} are of another kind than the model's and are not compared.", stacklevel=2
        )
        return None
    return float(model.score(X, rows.y))


def lines_of(predicted, scores=None) -> list[str]:
    """A line of text for each label, followed by its scores if there are any."""
    texts = [label_text(label) for label in predicted.tolist()] if predicted.ndim == 1 else [
        " ".join(label_text(value) for value in row) for row in predicted.tolist()
    ]  # fmt: skip
    if scores is None:
        return texts
    rows = scores.reshape(len(texts), -1).tolist()
    return ["\t".join([text, *(f"{score:.9g}" for score in row)]) for text, row in zip(texts, rows, strict=True)]


def label_text(label) -> str:
    """A label as text in a line: 1.0 as "1", line breaks and tabs as backslashes and letters."""
    if isinstance(label, float) and label.is_integer() and abs(label) < 1e15:
        return str(int(label))
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), str(label))


def _as_json(predicted, right: float | None, scores) -> str:
    import json

    from pegasos.report.values import plain

    document = {"labels": plain(predicted), "score": plain(right)}
    if scores is not None:
        document["scores"] = plain(scores)
    return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def _write(text: str, path: Path | None) -> None:
    import sys

    from pegasos.utils.files import write_text

    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_text(path, text)
