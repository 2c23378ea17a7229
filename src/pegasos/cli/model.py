"""From options to models: the estimator, its checkpoint, and the scaler in front of it."""

from typing import Any

SCALES = ("auto", "none", "standard", "max")


def new_estimator(parameters: dict[str, Any], regression: bool, seed: int, verbose: int = 0):
    """A classifier or regressor with these parameters, which are checked."""
    from pegasos import PegasosClassifier, PegasosRegressor
    from pegasos.cli.options import option_name

    kind = PegasosRegressor if regression else PegasosClassifier
    known = kind().get_params()
    for name in parameters:
        if name not in known:
            needs = "does not go with" if regression else "needs"
            raise ValueError(f"{option_name(name)} {needs} --regression.")
    model = kind(**parameters, random_state=seed, verbose=verbose)
    check_parameters(model)
    return model


def checkpoint_from(path, every: float | None, resume: bool):
    """The Checkpoint for --checkpoint, --every and --resume, or None; its file is kept until the model is saved."""
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


def remove_checkpoint(checkpoint, svm) -> None:
    """Remove the checkpoint of a finished fit; that of one that ended early is kept for --resume."""
    from pathlib import Path

    from pegasos.estimators.targets import recipe_of

    if checkpoint is not None and not recipe_of(svm).ended_early:
        Path(checkpoint.path).unlink(missing_ok=True)


def check_parameters(model) -> None:
    """Raise what `fit` would raise for these parameters, before anything is loaded."""
    from pegasos.estimators import validation

    validation.check_parameters(model)
    validation.check_supported(model)
    validation.check_combinations(model)


def check_scale(how: str) -> None:
    """Raise ValueError for an unknown value of --scale."""
    if how not in SCALES:
        raise ValueError(f"--scale {how!r} is not known; choose from {', '.join(SCALES)}.")


def scaler_for(X, how: str):
    """The scaler for these rows, or None to leave the features as they are."""
    sparse, largest = hasattr(X, "indptr"), 0.0
    if how == "auto":
        largest = abs(X).max() if sparse else max(X.max(initial=0), -X.min(initial=0))
    return scaler_for_range(sparse, largest, how)


def scaler_for_range(sparse: bool, largest: float, how: str):
    """The scaler for rows whose largest absolute value is `largest`, or None."""
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if how == "auto":
        how = "none" if largest <= 1 else "max" if sparse else "standard"
    if how == "standard":
        return StandardScaler(with_mean=not sparse)
    return MaxAbsScaler() if how == "max" else None


def rows_for(X, model):
    """Rows as the model or scaler takes them: dense if it centres features, which sparse rows do not allow."""
    scaler = model[0] if hasattr(model, "steps") else model
    return X.toarray() if hasattr(X, "toarray") and getattr(scaler, "with_mean", False) else X


def with_scaler(model, scaler):
    """A pipeline of the steps "scale" and "svm", or the model itself without a scaler."""
    from sklearn.pipeline import Pipeline

    return model if scaler is None else Pipeline([("scale", scaler), ("svm", model)])


def start_vector(path, model) -> dict[str, Any]:
    """The parameters of `fit` for --start FILE, named as the model takes them."""
    import numpy as np

    if path is None:
        return {}
    if not hasattr(svm_of(model), "break_ties"):
        raise ValueError("--start does not go with --regression.")
    try:
        values = np.loadtxt(path, ndmin=2, delimiter="," if "," in path.read_text(encoding="utf-8") else None)
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: a start vector is a line of numbers for each problem ({error}).") from None
    svm = svm_of(model)
    found = {"coef_init": values}
    if svm.fit_intercept is not False and svm.fit_intercept != "no":
        found = {"coef_init": values[:, :-1], "intercept_init": values[:, -1] * svm.intercept_scaling}
    return {f"svm__{name}" if hasattr(model, "steps") else name: value for name, value in found.items()}


def svm_of(model):
    """The Pegasos estimator of a model that may be a pipeline."""
    return model[-1] if hasattr(model, "steps") else model


def scaler_name(model) -> str:
    """The class of the scaler, or "none"."""
    return type(model[0]).__name__ if hasattr(model, "steps") else "none"
