"""`pegasos predict`: labels of the rows of a file from a saved model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import with_examples


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
    label: options.Label = None,
    scores: Annotated[bool, typer.Option("--scores", help="Print the scores of the classes, too, after tabs.")] = False,
    json: options.Json = False,
) -> None:
    """Predict the labels of DATA, one per line; where DATA has labels, say how many are right."""
    import pegasos
    from pegasos import storage
    from pegasos.cli import output as out
    from pegasos.cli.data import load_rows_like
    from pegasos.cli.model import rows_for, svm_of

    out.check_outputs(output, inputs=(model, data))
    loaded = pegasos.load(model)
    rows = load_rows_like(data, training_layout(loaded, storage.describe(model)["about"]), label)
    X = rows_for(rows.X, loaded)
    predicted = loaded.predict(X)
    right = None if rows.y is None else score_of(loaded, X, rows)
    table = loaded.decision_function(X) if scores and hasattr(loaded, "decision_function") else None
    if json:
        _write(_as_json(predicted, right, table), output)
        return
    _write("".join(line + "\n" for line in lines_of(predicted, table)), output)
    if right is not None:
        name = "accuracy" if hasattr(svm_of(loaded), "classes_") else "R²"
        out.note(f"{name} {right:.4f} on {rows.X.shape[0]} rows")


def training_layout(model, about) -> dict[str, Any]:
    """Arguments of `load` for files like the training file, from the valid ones of the entries in a model file."""
    from pegasos.cli.model import svm_of

    about = about if isinstance(about, dict) else {}
    names, label, first = (about.get(key) for key in ("feature_names", "usual_label", "first_index"))
    n_features = svm_of(model).n_features_in_
    known = isinstance(names, list) and len(names) == n_features and all(isinstance(name, str) for name in names)
    return {
        "n_features": n_features,
        "feature_names": names if known else None,
        "usual_label": label if isinstance(label, str) else None,
        "first_index": first if first in (0, 1) else None,
    }


def score_of(model, X, rows) -> float | None:
    """The accuracy or R² of the predictions; None, with a warning, where the labels of the file are of another kind."""
    import warnings

    from pegasos.cli.model import svm_of

    known = svm_of(model).classes_ if hasattr(svm_of(model), "classes_") else None
    words = rows.y.dtype.kind == "U"
    if words != (known is not None and known.dtype.kind == "U"):
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
    """A label as text; 1.0 as "1"."""
    if isinstance(label, float) and label.is_integer() and abs(label) < 1e15:
        return str(int(label))
    return str(label)


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
