"""Checkpoints of fits and of streamed fits: every field and tensor forged under a right checksum, and bytes changed.

A fit refuses such a file in a sentence, or goes on from it to a finite model in as many steps as it was asked for.
"""

from __future__ import annotations

import copy
import json
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from checkpointed import Killed, killed_after, leave_checkpoint
from conftest import classes_problem
from fuzz.judging import LONGEST, Harm, damaged
from pegasos import CheckpointError, PegasosClassifier
from pegasos.container import file as container
from pegasos.io import DataError, open_source
from pegasos.streaming import checkpoint as streams
from pegasos.streaming.training import fit_stream
from streams import csv
from textbook import pegasos_classifier, pegasos_regressor

X, Y = classes_problem(3, n_rows=60)
ROWS = "rows.csv"
FEW: dict[str, Any] = dict(lam=0.01, max_iter=5, random_state=0)
VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 60, 2**31, 2**53, 2**62, -(2**63), 10**30, 0.5, -1.0, 1e300, 1e-300, "", "C",
    "F", "in sums", "SDCA", "LAST", [], {}, [1], {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"tuple": []},
    {"dict": []}, {"scalar": ["<f8", 1.5]}, {"bytes": "a"}, {"int": "0x" + "f" * 40},
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 59, 60, 61, 2**31 - 1, -(2**31), 2**53, 2**62, -(2**62), 0.5, -0.5, 1e-300, 1e300, np.nan,
           np.inf, -np.inf]  # fmt: skip


class Fit(NamedTuple):
    """A fit that was killed: its estimator and what it left; `streamed` from a file."""

    name: str
    model: Any
    streamed: bool
    document: dict[str, Any]
    arrays: dict[str, np.ndarray]
    raw: bytes
    steps: int  # that the whole fit takes


def case(rng, folder: Path) -> tuple[str, str]:
    """One forged file, and the fit that finds it."""
    fits = _fits(folder)
    fit = fits[rng.integers(len(fits))]
    path = folder / "forged"
    if rng.random() < 0.1:
        kind = "damaged"
        path.write_bytes(damaged(fit.raw, rng))
    else:
        document, arrays = copy.deepcopy(fit.document), {name: array.copy() for name, array in fit.arrays.items()}
        kind = _forge(document, arrays, rng) if rng.random() < 0.9 else _mixed(document, arrays, fits, rng)
        container.write(path, document, arrays)
    try:
        same = path.read_bytes() == fit.raw
        outcome = _judged(fit, path, folder)
        if kind == "damaged" and outcome == "read" and not same:
            raise Harm("the checksum noticed nothing")
        return kind, outcome
    finally:
        path.unlink(missing_ok=True)


def _judged(fit: Fit, path: Path, folder: Path) -> str:
    began, model = time.process_time(), clone(fit.model).set_params(checkpoint=str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _run(fit, model, folder)
        except CheckpointError as error:
            said = str(error)
            if str(path) not in said or "\n" in said or not said.endswith("."):
                raise Harm(f"no proper sentence: {said}") from error
            return "refused"
        except DataError as error:  # a survey that knows other labels than the file has
            if ROWS not in str(error):
                raise
            return "refused"
        except ValueError as error:  # a scaler that makes the features too large
            if "The features are too large" not in str(error):
                raise
            return "refused"
        finally:
            if (taken := time.process_time() - began) > LONGEST:
                raise Harm(f"it took {taken:.1f} s")
    if model.n_iter_ > fit.steps or not np.isfinite(model.decision_function(X) if fit.name != "numbers" else
                                                    model.predict(X)).all():  # fmt: skip
        raise Harm(f"a model of {model.n_iter_} steps, or one that is not finite")
    if any(record["seconds"] < 0 or np.isnan(record["seconds"]) for record in model.history_):
        raise Harm("time before the beginning")
    return "read"


def _forge(document: dict[str, Any], arrays: dict[str, np.ndarray], rng) -> str:
    """Change one thing, or a few of a kind; its kind."""
    kind = ["value", "number", "number", "numbers", "shape", "type", "missing", "row order"][rng.integers(8)]
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    if kind == "value":
        holder, key = _place(document["values"], rng)
        holder[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    elif kind in ("number", "numbers") and array.size:
        with np.errstate(all="ignore"):
            number = np.array(NUMBERS[rng.integers(len(NUMBERS))])
            number = number.astype(array.dtype) if array.dtype.kind == "f" or np.isfinite(number) else 3
        flat = array.reshape(-1)
        if kind == "number":
            flat[rng.integers(array.size)] = number
        elif array.ndim == 2:
            array[rng.integers(len(array))] = number
        else:
            flat[:] = number
    elif kind == "shape":
        shapes = [array.T, array[:-1], np.concatenate([array, array]), array.reshape(-1), array[:0], array[..., :1],
                  np.zeros((0, 0), array.dtype)]  # fmt: skip
        arrays[name] = np.ascontiguousarray(shapes[rng.integers(len(shapes))])
    elif kind == "type":
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(["<f8", "<f4", "<i4", "<i8", "<u1", "<u8", "|b1", "<f2"][rng.integers(8)])
    elif kind == "missing" and rng.random() < 0.5:
        del arrays[name]
    elif kind == "missing":
        values = document["values"]
        del values[list(values)[rng.integers(len(values))]]
    elif array.size:
        arrays[name] = np.ascontiguousarray(array[::-1]) if array.ndim == 1 else np.ascontiguousarray(array[:, ::-1])
    return kind


def _mixed(document: dict[str, Any], arrays: dict[str, np.ndarray], fits: tuple[Fit, ...], rng) -> str:
    """Tensors or values of another fit under this one's name."""
    other = fits[rng.integers(len(fits))]
    if rng.random() < 0.5:
        document["values"] = copy.deepcopy(other.document["values"])
    if rng.random() < 0.5:
        arrays.clear()
        arrays.update({name: array.copy() for name, array in other.arrays.items()})
    return "of another fit"


def _place(values: Any, rng) -> tuple[Any, Any]:
    """A place anywhere in nested values: its holder and its key."""
    places = []

    def visit(holder):
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            places.append((holder, key))
            if isinstance(value, dict | list):
                visit(value)

    visit(values)
    return places[rng.integers(len(places))]


# --- fits to forge the checkpoints of ------------------------------------------------------------------------------


@cache
def _fits(folder: Path) -> tuple[Fit, ...]:
    models = {
        "several classes": pegasos_classifier(**FEW),
        "kernel": pegasos_classifier(kernel="rbf", gamma=0.3, solver="sdca", **FEW),
        "kernel without matrix": pegasos_classifier(kernel="rbf", gamma=0.3, cache_size=0, average="suffix", **FEW),
        "pairs in batches": pegasos_classifier(multi_class="ovo", batch_size=4, average="suffix", **FEW),
        "Crammer-Singer": pegasos_classifier(multi_class="crammer_singer", average="uniform", **FEW),
        "projected": pegasos_classifier(loss="squared_hinge", project=True, fit_intercept=True, **FEW),
        "columns that end": pegasos_classifier(lam=0.1, max_iter=40, tol=0.1, random_state=0, solver="sdca"),
        "active set": PegasosClassifier(kernel="rbf", gamma=0.3, lam=1e-4, tol=1e-6, solver="smo", cache_size=0.01),
        "all rows": pegasos_classifier(batch_size="all", **FEW),
        "numbers": pegasos_regressor(**FEW),
        "stream": pegasos_classifier(**FEW),
        "stream of landmarks": pegasos_classifier(kernel="rbf", gamma=0.3, n_landmarks=8, **FEW),
    }
    (folder / ROWS).write_text(csv(X, Y))
    return tuple(_left(name, model, folder) for name, model in models.items())


def _left(name: str, model, folder: Path) -> Fit:
    """A fit that is killed in its midst, and its checkpoint."""
    path, streamed = folder / "left", name.startswith("stream")
    path.unlink(missing_ok=True)
    fit = Fit(name, model, streamed, {}, {}, b"", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = _run(fit, clone(model), folder)
        if streamed:
            _kill_stream(fit, clone(model).set_params(checkpoint=str(path)), folder)
        else:
            leave_checkpoint(model, X, Y, path, writes=2 if name in ("columns that end", "active set") else 3)
    header, arrays = container.read(path)
    return fit._replace(document=json.loads(json.dumps(header.document)), arrays=arrays, raw=path.read_bytes(),
                        steps=max(int(whole.n_iter_), (model.max_iter or 1000) * len(X)))  # fmt: skip


def _kill_stream(fit: Fit, model, folder: Path) -> None:
    save = streams.StreamCheckpoint.save

    def saved(self, run, state):
        save(self, run, state)
        if state.solver_state is not None and state.passes:
            raise Killed

    streams.StreamCheckpoint.save, due = saved, streams.StreamCheckpoint.due
    streams.StreamCheckpoint.due = lambda self: True
    try:
        with killed_after(None):
            _run(fit, model, folder)
    except Killed:
        return
    finally:
        streams.StreamCheckpoint.save, streams.StreamCheckpoint.due = save, due


def _run(fit: Fit, model, folder: Path):
    if not fit.streamed:
        return model.fit(X, Y)
    source = open_source(folder / ROWS, chunk=400)
    fit_stream(model, source, scaler_for=lambda found: StandardScaler(), scaling="standard")
    return model
