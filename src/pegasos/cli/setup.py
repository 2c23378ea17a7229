"""From options to data and models: loading, the test part, scaling, the estimator."""

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.io.base import DataError, Dataset

SCALES = ("auto", "none", "standard", "max")


def labelled(name: str, label: str | None, regression: bool = False) -> Dataset:
    """Load data that has labels of the right kind."""
    from pegasos.datasets import load

    data = load(name, label=label)
    check_labels(data, regression)
    return data


def check_labels(data: Dataset, regression: bool) -> None:
    """Raise DataError for labels that are missing or of the wrong kind."""
    if data.y is None:
        raise DataError(f"{data.name} has no labels to learn from.")
    if regression and data.y.dtype.kind not in "iuf":
        raise DataError(
            f"{data.name} has labels that are no numbers, such as {data.y[0]!s}; --regression needs numbers."
        )
    if not regression and data.y.dtype.kind == "f":
        odd = data.y[data.y != np.floor(data.y)][0]
        raise DataError(f"{data.name} has labels such as {odd:g}; use --regression to predict numbers.")


def with_test_part(data: Dataset, test: str | None, label: str | None, seed: int) -> Dataset:
    """The data with test rows from a file, held out at random, or as the set brings them along."""
    if test is None:
        return data
    share = _share(test)
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


def _share(test: str) -> float | None:
    try:
        share = float(test)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise ValueError(f"--test {test}: a share of the rows lies between 0 and 1.")
    return share


def _test_file(data: Dataset, test: str, label: str | None) -> dict[str, Any]:
    """Rows and labels of a test file."""
    found = rows_like(test, data.n_features, data.feature_names, data.label_name or label)
    if found.y is None:
        raise DataError(f"{found.name} has no labels to test with; `pegasos predict` labels such a file.")
    return {"X_test": found.X, "y_test": found.y}


def rows_like(name: str, n_features: int, feature_names: list[str] | None, label: str | int | None) -> Dataset:
    """Rows with the features of a model, with labels or without."""
    from pegasos.datasets import NAMES, load

    data = load(name, label=None if name in NAMES else label, n_features=n_features, feature_names=feature_names)
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
    return kind(**parameters, random_state=seed, verbose=verbose)


def scaler_for(X, how: str):
    """A scaler, or None to leave the features as they are."""
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if how not in SCALES:
        raise ValueError(f"--scale {how!r} is not known; choose from {', '.join(SCALES)}.")
    sparse = hasattr(X, "indptr")
    if how == "auto":
        largest = abs(X).max() if sparse else max(X.max(initial=0), -X.min(initial=0))
        how = "none" if largest <= 1 else "max" if sparse else "standard"
    if how == "standard":
        return StandardScaler(with_mean=not sparse)
    return MaxAbsScaler() if how == "max" else None


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
