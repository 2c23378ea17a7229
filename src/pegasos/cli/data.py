"""From options to data: loading, checks, the test part, and further rows with the same features."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.io.dataset import DataError, Dataset, check_size
from pegasos.io.scaling import Scaling

MANY = 20  # classes that are not too many for a few rows
HINT = "use --regression to predict numbers"


def load_labelled(name: str, table: dict[str, Any], regression: bool | None = None, *, raw: bool = False) -> Dataset:
    """Load data; DataError unless it has labels of the right kind and values of a usable size.

    `raw` leaves the features of known data sets as they are.
    """
    from pegasos.datasets import load

    data = load(name, raw=raw, **table)
    check_labels(data, regression)
    check_values(data)
    if data.X_test is not None and data.y_test is None:  # of no use for testing
        data = replace(data, X_test=None)
    return data


def check_labels(data: Dataset, regression: bool | None) -> None:
    """Raise DataError for labels that are missing or of the wrong kind.

    `regression` is None for commands without --regression, whose messages do not propose it.
    """
    if data.y is None:
        raise DataError(f"{data.name} has no labels to learn from.")
    if regression and data.y.dtype.kind not in "iuf":
        raise DataError(
            f"{data.name} has labels such as {data.y[0]!s}, which are no numbers; --regression needs numbers."
        )
    if regression:
        return
    if data.y.dtype.kind != "f":
        if data.y.dtype.kind in "iu":
            warn_of_many(data.name, len(np.unique(data.y)), len(data.y), "" if regression is None else HINT)
        return
    odd = data.y[data.y != np.floor(data.y)]
    if odd.size:
        instead = "" if regression is None else f"; {HINT}"
        raise DataError(f"{data.name} has labels such as {odd[0]:g}, which are no classes{instead}.")


def warn_of_many(name: str, n_classes: int, n_rows: int, hint: str = "") -> None:
    """Warn of whole numbers as labels that are more likely values than classes."""
    if n_classes > MANY and 10 * n_classes > n_rows:
        instead = f"; {hint}" if hint else ""
        sentence = f"{name} has {n_classes} different labels in {n_rows} rows, taken as classes{instead}."
        warnings.warn(sentence, stacklevel=2)


def check_values(data: Dataset) -> None:
    """Raise DataError for numbers whose squares overflow."""
    values = data.X.data if hasattr(data.X, "indptr") else data.X
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    check_size(data.name, largest)


def with_test_part(
    data: Dataset, test: str | None, table: dict[str, Any], seed: int, regression: bool = False
) -> Dataset:
    """The data with test rows: those of a file, a share held out at random, or the data set's own."""
    if test is None:
        return data
    share = test_share(test)
    if share is None:
        return replace(data, **_test_file(data, test, table, regression))
    from sklearn.model_selection import train_test_split

    assert data.y is not None
    few = data.y.dtype.kind == "f" or np.unique(data.y, return_counts=True)[1].min() < 2
    try:
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=share, random_state=seed, stratify=None if few else data.y
        )
    except ValueError as error:
        raise DataError(f"{data.name}: --test {test} cannot be held out: {error}") from None
    return replace(data, X=X, y=y, X_test=X_test, y_test=y_test)


def test_share(test: str | None) -> float | None:
    """The share of rows to hold out that --test asks for, or None for a file."""
    if test is None:
        return None
    try:
        share = float(test)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise ValueError(f"--test {test}: a share of the rows lies between 0 and 1.")
    return share


def _test_file(data: Dataset, test: str, table: dict[str, Any], regression: bool) -> dict[str, Any]:
    """The test rows and labels of a file, as fields of a Dataset."""
    layout = layout_of(data, table)
    found = load_rows_like(test, layout, data.scaling)
    if found.y is None:
        raise DataError(f"{found.name} has no labels to test with; `pegasos predict` labels such a file.")
    check_values(found)
    if (found.y.dtype.kind == "U") != (data.y.dtype.kind == "U"):
        kinds = ("words", "numbers") if found.y.dtype.kind == "U" else ("numbers", "words")
        raise DataError(f"{found.name} has {kinds[0]} as labels, but {data.name} has {kinds[1]}.")
    if not regression and table["label"] is None:
        check_place_of_labels(found, layout, data.y)
    return {"X_test": found.X, "y_test": found.y}


def layout_of(data, table: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `load` for further files with the features of a Dataset or source that was read as `table` says."""
    known = {"raw": data.raw} if isinstance(data, Dataset) else {}  # a source is a file, which has no scale of its own
    return known | {
        "n_features": data.n_features,
        "feature_names": data.feature_names,
        "first_index": data.first_index,
        "usual_label": data.label_name if data.label_name is not None else table["label"],
        "usual_drop": data.left_out,
        "header": table["header"],
        "decimal": table["decimal"],
    }


def load_rows_like(name: str, layout: dict[str, Any], scaling: Scaling | None = None) -> Dataset:
    """Load rows, with or without labels, that have the features of the training data (see `layout_of`).

    They are scaled as a loader scaled the training data, unless they are already.
    """
    from pegasos.datasets import load

    data = load(name, **layout)
    if data.X_test is not None:  # a known data set: only its test part was not trained on
        data = replace(data, X=data.X_test, y=data.y_test, X_test=None, y_test=None)
    if scaling is None or data.scaling is not None or scaling.is_done(data.X):
        return data
    warnings.warn(f"{data.name}: {scaling.sentence()}, as those of the training data.", stacklevel=2)
    return replace(data, X=scaling.apply(data.X), scaling=scaling)


def check_place_of_labels(rows: Dataset, layout: dict[str, Any], classes: np.ndarray | None) -> None:
    """Raise DataError where a table's label column was guessed and holds what is no class: its features are others.

    A warning says so where most are classes. `layout` is what the rows were loaded with; `classes` are those of the
    model, or None for numbers to be predicted, which tell nothing.
    """
    by_name = rows.feature_names is not None and layout["feature_names"] is not None
    if classes is None or rows.y is None or rows.format not in ("csv", "text") or by_name:
        return
    if rows.y.dtype.kind == "U":  # words are labels, as features are numbers
        return
    known = np.isin(rows.y, classes) if classes.dtype.kind in "iuf" else np.zeros(len(rows.y), bool)
    if known.all():
        return
    sentence = (
        f"{rows.name} holds {rows.y[~known][0]:g} where its label should be, which is no class of the model: --label "
        "says which column holds the labels, --drop leaves a column out."
    )
    if rows.y.dtype.kind == "f" or 2 * known.sum() < len(known):
        raise DataError(sentence)
    warnings.warn(sentence, stacklevel=2)
