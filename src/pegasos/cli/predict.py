"""`pegasos predict`: labels of the rows of a file from a saved model."""

from pathlib import Path
from typing import Annotated

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
    scores: Annotated[bool, typer.Option("--scores", help="Print the scores of the classes, too.")] = False,
    json: options.Json = False,
) -> None:
    """Predict the labels of DATA, one per line; where DATA has labels, say how many are right."""
    import pegasos
    from pegasos import storage
    from pegasos.cli import output as out
    from pegasos.cli.setup import core, rows_like

    out.check_outputs(output)
    loaded = pegasos.load(model)
    about = storage.describe(model)["about"] or {}
    names = about.get("feature_names") if isinstance(about.get("feature_names"), list) else None
    known_label = about.get("label_name") if isinstance(about.get("label_name"), str) else None
    rows = rows_like(data, core(loaded).n_features_in_, names, known_label if label is None else label)
    predicted = loaded.predict(rows.X)
    right = None if rows.y is None else float(loaded.score(rows.X, rows.y))
    table = loaded.decision_function(rows.X) if scores and hasattr(loaded, "decision_function") else None
    if json:
        _write(_as_json(predicted, right, table), output)
        return
    _write("".join(line + "\n" for line in lines_of(predicted, table)), output)
    if right is not None:
        name = "accuracy" if hasattr(core(loaded), "classes_") else "R²"
        out.note(f"{name} {right:.4f} on {rows.X.shape[0]} rows")


def lines_of(predicted, scores=None) -> list[str]:
    """Labels as they stand in the training file, with scores beside them where wanted."""
    texts = [label_text(label) for label in predicted.tolist()] if predicted.ndim == 1 else [
        " ".join(label_text(value) for value in row) for row in predicted.tolist()
    ]  # fmt: skip
    if scores is None:
        return texts
    rows = scores.reshape(len(texts), -1).tolist()
    return [" ".join([text, *(f"{score:.9g}" for score in row)]) for text, row in zip(texts, rows, strict=True)]


def label_text(label) -> str:
    """A label as text: 1.0 is 1."""
    if isinstance(label, float) and label.is_integer() and abs(label) < 1e15:
        return str(int(label))
    return str(label)


def _as_json(predicted, right: float | None, scores) -> str:
    import json

    from pegasos.report.values import plain

    document = {"labels": plain(predicted), "score": right}
    if scores is not None:
        document["scores"] = plain(scores)
    return json.dumps(document, ensure_ascii=False) + "\n"


def _write(text: str, path: Path | None) -> None:
    import sys

    from pegasos.files import write_text

    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_text(path, text)
