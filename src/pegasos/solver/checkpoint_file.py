"""Checkpoint files: the state of a running fit, in the file format of models, written whole or not at all.

A checkpoint names the fit it belongs to: fingerprints of the data, the parameters and whatever else decides the result.
That of another fit is refused, with a sentence that says what differs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.container import file as container
from pegasos.container.schema import ModelFormatError, Record
from pegasos.container.tensors import FLOATS, INT32, INT64, Tensors
from pegasos.container.values import decode, encode
from pegasos.problem.schedule import readable
from pegasos.rules.column import COLUMN, Average, Rule
from pegasos.rules.state import State
from pegasos.solver.checkpoint import Checkpoint, CheckpointError
from pegasos.solver.snapshot import Snapshot
from pegasos.solver.snapshot_checks import check_state, checked_history, checked_passes, checked_stream
from pegasos.utils.files import check_writable, remove_parts

ARRAYS = ("sums", "weighted", "previous", "alpha", "violations", "products")
NUMBERS = [name for name in COLUMN.names or () if COLUMN[name] == np.float64]
COUNTS = [name for name in COLUMN.names or () if name not in NUMBERS]
FLOAT64 = np.dtype("<f8")
OWN = "own."  # before the names of what a solver keeps beside the state
IN_SUMS = "in sums"  # of alpha: it is a view of the sums
LATER = {"break_ties": "True", "probability": "None", "probability_cv": "5"}  # parameters that format 1 does not know
LEAST_BETWEEN = 10.0  # between two writes lies at least this many times what one takes


def write(
    path: str | os.PathLike, kind: str, identity: Mapping[str, str], values: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> None:  # fmt: skip
    """Write a checkpoint of this kind; `values` are what `container.values` can turn into JSON."""
    document = {
        "format": container.FORMAT,
        "checkpoint": kind,
        "identity": _with_versions(identity),
        "values": {name: encode(value, name) for name, value in values.items()},
    }
    container.write(path, document, dict(arrays))


def read(path: str | os.PathLike, kind: str, identity: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values and arrays of a checkpoint of this kind and identity; CheckpointError in a sentence otherwise."""
    place = Path(os.fsdecode(path))
    try:
        header, arrays = container.read(place)
        fields = Record(header.document, "the description")
        if "checkpoint" not in fields:
            raise CheckpointError(f"{place} is a model file, no checkpoint; give another file for the checkpoint.")
        found = fields.take("checkpoint", str)
        known = _present_identity(fields.take("identity", dict), fields.take("format", int))
        values = {name: decode(value) for name, value in fields.take("values", dict).items()}
    except ModelFormatError as error:
        raise CheckpointError(
            f"{place} is no checkpoint that can be read: {error}. Remove it to begin anew."
        ) from error
    if found != kind:
        raise CheckpointError(f"{place} is a checkpoint of a {found}, not of a {kind}; remove it to begin anew.")
    for name, fingerprint in _with_versions(identity).items():
        if known.get(name) != fingerprint:
            raise CheckpointError(
                f"{place} is the checkpoint of another fit: {name} changed. Restore what changed to go on from it, or "
                "remove the file to begin anew."
            )
    return values, arrays


def _present_identity(identity: dict[str, str], format: int) -> dict[str, str]:
    """The identity in a file of this format under the names that parameters have now; see `storage.models`."""
    if format > 1:
        return identity
    names = {"the parameter max_iter": "the parameter max_steps", "the parameter max_passes": "the parameter max_iter"}
    found = {names.get(name, name): text for name, text in identity.items()}
    if found.get("the parameter C") == "None":
        found["the parameter C"] = "1.0"
    return {f"the parameter {name}": text for name, text in LATER.items()} | found


def _with_versions(identity: Mapping[str, str]) -> dict[str, str]:
    """The identity with the versions: another one may round differently, and the model would be that of neither."""
    return {**identity, "the version of pegasos or NumPy": f"{version('pegasos')}, {version('numpy')}"}


# --- a state as values and arrays ---------------------------------------------------------------------------------


def pack_state(state: State, prefix: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A state as values and arrays, their names beginning with `prefix`."""
    columns = state.columns
    arrays = {
        f"{prefix}numbers": np.array([columns[name] for name in NUMBERS]),
        f"{prefix}counts": np.array([columns[name].astype(np.int64) for name in COUNTS]),
    }
    layouts = {}
    for name in ARRAYS:
        array = getattr(state, name)
        if name == "alpha" and array.size and state.alpha_in_sums:
            layouts[name] = IN_SUMS
            continue
        columns_first = array.flags.f_contiguous and not array.flags.c_contiguous  # steps round by the order in memory
        layouts[name] = "F" if columns_first else "C"
        arrays[prefix + name] = array.T if columns_first else array
    values = {
        f"{prefix}fields": [*NUMBERS, *COUNTS],
        f"{prefix}rule": state.rule.name,
        f"{prefix}average": state.average.name,
        f"{prefix}layouts": layouts,
        f"{prefix}position": None,  # steps are under way: none is at a place in the stream that all columns have met
        f"{prefix}alpha_rows": len(state.alpha),
    }
    return values, arrays


def unpack_state(values: Record, arrays: Tensors, prefix: str) -> State:
    """The state that `pack_state` was given, its arrays in the same order in memory; all of it is taken."""
    fields = values.take(f"{prefix}fields", list)
    if sorted(map(str, fields)) != sorted(COLUMN.names or ()) or len(fields) != len(set(fields)):
        raise CheckpointError(
            "This checkpoint holds other fields of a column than this version knows; remove it to begin anew."
        )
    numbers = arrays.take(f"{prefix}numbers", (FLOAT64,), (len(NUMBERS), None), finite=False)
    counts = arrays.take(f"{prefix}counts", (INT64,), (len(COUNTS), numbers.shape[1]))
    columns = readable(np.zeros(numbers.shape[1], COLUMN))
    for name, part in zip(fields, [*numbers, *counts], strict=True):
        truth = COLUMN[name] != np.bool_ or bool(np.isin(part, (0, 1)).all())
        if (name in NUMBERS) != (part.dtype == FLOAT64) or not truth:
            raise ModelFormatError(f"the field {name} is of the wrong type")
        columns[name] = part
    layouts, found = values.take(f"{prefix}layouts", dict), {}
    for name in ARRAYS:
        layout = layouts.get(name)
        if layout not in ("C", "F") and (name, layout) != ("alpha", IN_SUMS):
            raise ModelFormatError(f"{name} lies in memory in no known way")
        if layout != IN_SUMS:
            types = (INT32, *FLOATS) if name == "violations" else FLOATS  # floats where there are none
            array = arrays.take(prefix + name, types, (None, None))
            found[name] = array.T if layout == "F" else array
    n_alpha = values.take_integer(f"{prefix}alpha_rows")
    if "alpha" not in found:
        if n_alpha > len(found["sums"]):
            raise ModelFormatError("there are fewer sums than coefficients")
        found["alpha"] = found["sums"][:n_alpha]
    if values.take(f"{prefix}position", type(None), dict) is not None:
        raise ModelFormatError("there is a position, which no running fit has")
    rule = values.take_one_of(f"{prefix}rule", Rule.__members__)
    average = values.take_one_of(f"{prefix}average", Average.__members__)
    state = State(columns=columns, **found, rule=Rule[rule], average=Average[average], position=None)
    check_state(state)
    return state


# --- when they are written, and what an earlier run has left ----------------------------------------------------------


class CheckpointFile:
    """The checkpoint of one fit: read once if an earlier run has left it, written now and then.

    Parameters
    ----------
    checkpoint : Checkpoint
    kind : str
        What it is a checkpoint of, in a word or two: "fit".
    identity : mapping of str to str
        Fingerprints of what decides the result, by name.

    Attributes
    ----------
    left : tuple of two dicts or None
        Values and arrays that an earlier run has left.
    """

    def __init__(self, checkpoint: Checkpoint, kind: str, identity: Mapping[str, str]):
        self.checkpoint, self.kind, self.identity = checkpoint, kind, dict(identity)
        self.path = Path(os.fsdecode(checkpoint.path))
        self.left = self._read()
        self._next = time.perf_counter() + checkpoint.every

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        check_writable(self.path)
        if not self.path.exists():
            return None
        if not self.checkpoint.resume:
            raise CheckpointError(f"{self.path} exists already: resume from it, or remove it to begin anew.")
        return read(self.path, self.kind, self.identity)

    def due(self) -> bool:
        """Whether it is time to write again."""
        return time.perf_counter() >= self._next

    def write(self, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Write the checkpoint; the one before it stays until this one is complete."""
        began = time.perf_counter()
        remove_parts(self.path)
        write(self.path, self.kind, self.identity, values, arrays)
        ended = time.perf_counter()
        self._next = ended + max(self.checkpoint.every, LEAST_BETWEEN * (ended - began))

    def done(self) -> None:
        """Remove the file, unless it is to be kept: the fit is done."""
        remove_parts(self.path)
        if not self.checkpoint.keep:
            self.path.unlink(missing_ok=True)


class SnapshotFile(CheckpointFile):
    """The `SnapshotStore` of a solve: its snapshots in a checkpoint file, with the seed the draws began with."""

    def __init__(self, checkpoint: Checkpoint, identity: Mapping[str, str], seed: int):
        super().__init__(checkpoint, "fit", identity)
        self.seed, self.found = seed, None
        if self.left is not None:
            values, arrays = Record(self.left[0], "the checkpoint"), Tensors(self.left[1])
            try:
                self.seed = values.take_integer("seed", highest=2**64)
                self.found = _unpack_snapshot(values, arrays)
            except ValueError as error:
                raise self.refused() from error

    def refused(self) -> CheckpointError:
        """The error for a file whose snapshot cannot be one of this very fit."""
        return CheckpointError(f"{self.path} is no checkpoint of a fit; remove it to begin anew.")

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot to the file."""
        values, arrays = _pack_snapshot(snapshot)
        self.write({"seed": self.seed, **values}, arrays)


def _pack_snapshot(snapshot: Snapshot) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    values, arrays = pack_state(snapshot.whole, "whole.")
    if snapshot.state is not None:
        more, parts = pack_state(snapshot.state, "state.")
        values |= more
        arrays |= parts
    values |= {
        "apart": snapshot.state is not None,
        "lap": asdict(snapshot.lap),
        "stream": {name: value for name, value in snapshot.stream.items() if name != "waiting"},
        "pull_rate": float(snapshot.pull_rate),
        "seconds": float(snapshot.seconds),
        "history": snapshot.history,
    }
    arrays |= {
        "waiting": snapshot.stream["waiting"].astype(np.int64, copy=False),
        "order": snapshot.order.astype(np.int64, copy=False),
        "first_steps": snapshot.first_steps,
        "known": snapshot.known,
    }
    return values, arrays | {OWN + name: array for name, array in snapshot.own.items()}


def _unpack_snapshot(values: Record, arrays: Tensors) -> Snapshot:
    whole = unpack_state(values, arrays, "whole.")
    found = Snapshot(
        whole=whole,
        state=unpack_state(values, arrays, "state.") if values.take("apart", bool) else None,
        lap=checked_passes(values.take("lap", dict)),
        stream={
            "waiting": arrays.take("waiting", (INT64,), (None,)),
            **checked_stream(values.take("stream", dict)),
        },
        order=arrays.take("order", (INT64,), (None,)).astype(np.intp, copy=False),
        pull_rate=values.take("pull_rate", float),
        seconds=values.take("seconds", float),
        first_steps=arrays.take("first_steps", (INT64,), (len(whole.columns),)),
        known=arrays.take("known", (FLOAT64,), (None, len(whole.columns)), finite=False),
        history=checked_history(values.take("history", list)),
        own={name.removeprefix(OWN): arrays.left.pop(name) for name in [*arrays.left] if name.startswith(OWN)},
    )
    values.done()
    arrays.done()
    return found
