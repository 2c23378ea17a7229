"""From options to data and models: loading, the test part, scaling, the estimator."""

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.io.dataset import DataError, Dataset, check_size

SCALES = ("auto", "none", "standard", "max")


def labelled(name: str, label: str | None, regression: bool | None = None) -> Dataset:
    """Load data that has labels of the right kind."""
    from pegasos.datasets import load

    data = load(name, label=label)
    check_labels(data, regression)
    check_values(data)
    if data.X_test is not None and data.y_test is None:  # nothing to test with
        data = replace(data, X_test=None)
    return data


def check_labels(data: Dataset, regression: bool | None) -> None:
    """Raise DataError for labels that are missing or of the wrong kind; None: there is no regression to propose."""
    if data.y is None:
        raise DataError(f"{data.name} has no labels to learn from.")
    if regression and data.y.dtype.kind not in "iuf":
        raise DataError(
            f"{data.name} has labels such as {data.y[0]!s}, which are no numbers; --regression needs numbers."
        )
    if regression or data.y.dtype.kind != "f":
        return
    odd = data.y[data.y != np.floor(data.y)]
    if odd.size:
        instead = "" if regression is None else "; use --regression to predict numbers"
        raise DataError(f"{data.name} has labels such as {odd[0]:g}, which are no classes{instead}.")


def check_values(data: Dataset) -> None:
    """Raise DataError for numbers whose squares overflow."""
    values = data.X.data if hasattr(data.X, "indptr") else data.X
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    check_size(data.name, largest)


def with_test_part(data: Dataset, test: str | None, label: str | None, seed: int) -> Dataset:
    """The data with test rows from a file, held out at random, or as the set brings them along."""
    if test is None:
        return data
    share = share_of(test)
    if share is None:
        return replace(data, **_test_file(data, test, label))
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


def share_of(test: str | None) -> float | None:
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


def _test_file(data: Dataset, test: str, label: str | None) -> dict[str, Any]:
    """Rows and labels of a test file."""
    found = rows_like(test, like(data, label))
    if found.y is None:
        raise DataError(f"{found.name} has no labels to test with; `pegasos predict` labels such a file.")
    check_values(found)
    if (found.y.dtype.kind == "U") != (data.y.dtype.kind == "U"):
        kinds = ("words", "numbers") if found.y.dtype.kind == "U" else ("numbers", "words")
        raise DataError(f"{found.name} has {kinds[0]} as labels, but {data.name} has {kinds[1]}.")
    return {"X_test": found.X, "y_test": found.y}


def like(data: Dataset, label: str | None) -> dict[str, Any]:
    """How to read further rows with the features of these."""
    return {
        "n_features": data.n_features,
        "feature_names": data.feature_names,
        "first_index": data.first_index,
        "usual_label": data.label_name if data.label_name is not None else label,
    }


def rows_like(name: str, wishes: dict[str, Any], label: str | None = None) -> Dataset:
    """Rows with the features of a model, with labels or without."""
    from pegasos.datasets import load

    data = load(name, label=label, **wishes)
    if data.X_test is not None:  # a known set: the rows that nobody trained on
        data = replace(data, X=data.X_test, y=data.y_test, X_test=None, y_test=None)
    return data


def estimator_for(parameters: dict[str, Any], regression: bool, seed: int, verbose: int = 0):
    """A classifier or regressor with these parameters."""
    from pegasos import PegasosClassifier, PegasosRegressor
    from pegasos.cli.values import option

    kind = PegasosRegressor if regression else PegasosClassifier
    known = kind().get_params()
    for name in parameters:
        if name not in known:
            needs = "does not go with" if regression else "needs"
            raise ValueError(f"{option(name)} {needs} --regression.")
    model = kind(**parameters, random_state=seed, verbose=verbose)
    check_parameters(model)
    return model


def checkpoint_of(path, every: float | None, resume: bool):
    """The Checkpoint that the options ask for, or None; it stays until the model is saved."""
    from pegasos.solver.checkpoint import EVERY, Checkpoint

    if path is None:
        for name, given in (("--every", every is not None), ("--resume", resume)):
            if given:
                raise ValueError(f"{name} needs --checkpoint FILE.")
        return None
    if path.exists() and not resume:
        raise ValueError(f"{path} exists already: --resume goes on from it; remove it to begin anew.")
    if every is not None and not 0 < every < float("inf"):
        raise ValueError(f"--every {every:g}: a number of seconds above 0 is needed.")
    return Checkpoint(path, EVERY if every is None else every, keep=True)


def forget(checkpoint, svm) -> None:
    """Remove the checkpoint of a fit that is done and saved; one that ended early may be gone on from."""
    from pathlib import Path

    if checkpoint is not None and not svm._ended_early:
        Path(checkpoint.path).unlink(missing_ok=True)


def check_parameters(model) -> None:
    """Raise as `fit` would, before anything is loaded."""
    from pegasos.estimators.validation import check_combinations, check_supported

    model._validate_params()
    check_supported(model)
    check_combinations(model)


def check_scale(how: str) -> None:
    """Raise ValueError for a way of scaling that is not known."""
    if how not in SCALES:
        raise ValueError(f"--scale {how!r} is not known; choose from {', '.join(SCALES)}.")


def scaler_for(X, how: str):
    """A scaler, or None to leave the features as they are."""
    sparse, largest = hasattr(X, "indptr"), 0.0
    if how == "auto":
        largest = abs(X).max() if sparse else max(X.max(initial=0), -X.min(initial=0))
    return scaler_of(sparse, largest, how)


def scaler_of(sparse: bool, largest: float, how: str):
    """A scaler for rows whose features reach `largest`, or None."""
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if how == "auto":
        how = "none" if largest <= 1 else "max" if sparse else "standard"
    if how == "standard":
        return StandardScaler(with_mean=not sparse)
    return MaxAbsScaler() if how == "max" else None


def as_dense(X, model):
    """Rows as the model takes them: what centres features needs them dense."""
    scaler = model[0] if hasattr(model, "steps") else model
    return X.toarray() if hasattr(X, "toarray") and getattr(scaler, "with_mean", False) else X


def scaled(model, scaler):
    """The model behind its scaler, as a pipeline of steps "scale" and "svm"."""
    from sklearn.pipeline import Pipeline

    return model if scaler is None else Pipeline([("scale", scaler), ("svm", model)])


def core(model):
    """The Pegasos estimator of a model that may be a pipeline."""
    return model[-1] if hasattr(model, "steps") else model


def scaler_name(model) -> str:
    """What is done to the features, in words."""
    return type(model[0]).__name__ if hasattr(model, "steps") else "none"
