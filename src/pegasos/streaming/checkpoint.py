"""Checkpoints of streamed fits: the state between two windows, and what the first look has found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.backends.threads import in_parallel
from pegasos.estimators.checkpoint import identity_of
from pegasos.io.source import Source
from pegasos.solver.checkpoint import Checkpoint, CheckpointError
from pegasos.solver.checkpoint_file import CheckpointFile, pack_state, unpack_state
from pegasos.streaming.run import Run, Standing
from pegasos.streaming.split import Split
from pegasos.streaming.survey import Look
from pegasos.utils.fingerprint import fingerprint

KIND = "streamed fit"
PIECE = 1 << 26  # bytes of a file that have a digest of their own: threads share them
BLOCK = 1 << 20
COUNTED = ("passes", "window", "next_check", "proven")
ARRAYS = ("dual", "limits", "first_steps")


def keeper_of(svm, source: Source, split: Split | None, scaling: str) -> Keeper | None:
    """Who keeps checkpoints of a fit, or None where nobody asks; `scaling` says how features are scaled."""
    checkpoint = Checkpoint.of(svm.checkpoint)
    if checkpoint is None:
        return None
    identity = {
        "the data": digest_of(source.path),
        "the label column": repr(source.label_column),
        "the choice of test rows": repr(split),
        "the scaling of features": scaling,
    }
    memory = getattr(svm, "_memory", None) if svm.warm_start else None
    if memory is not None:
        identity["the fit before"] = fingerprint(memory.state.sums)
    return Keeper(checkpoint, KIND, identity | identity_of(svm))


def digest_of(path: Path) -> str:
    """A digest of all bytes of a file, of pieces that several threads read."""
    size = path.stat().st_size
    places = range(0, max(1, size), PIECE)
    found = [b""] * len(places)

    def some(first: int, last: int) -> None:
        with open(path, "rb", buffering=0) as file:
            for number in range(first, last):
                digest, left = blake2b(digest_size=16), PIECE
                file.seek(places[number])
                while left > 0 and (block := file.read(min(BLOCK, left))):
                    digest.update(block)
                    left -= len(block)
                found[number] = digest.digest()

    in_parallel(some, len(places), size)
    return blake2b(b"".join(found) + str(size).encode(), digest_size=16).hexdigest()


class Keeper(CheckpointFile):
    """Keeps a streamed fit in a file."""

    def looked(self, source: Source, scaler_for: Callable[[Look], Any]) -> tuple[Look, Any] | None:
        """The look and the fitted scaler of an earlier run, or None; the source is told what the look had found."""
        if self.left is None:
            return None
        values, arrays = self.left
        try:
            classes = values["classes"] if values["classes"] is None else np.array(values["classes"])
            classes = arrays.get("classes", classes)
            look = Look(**values["look"], classes=classes, counts=arrays["counts"])
            scaler = scaler_for(look)
            for name, value in values["scaler"].items():
                setattr(scaler, name, value)
            for name in [name for name in arrays if name.startswith("scaler.")]:
                setattr(scaler, name.removeprefix("scaler."), arrays[name])
            source.text_labels, source.n_features, source.first_index = values["source"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"{self.path} is no checkpoint of a {KIND}; remove it to begin anew.") from error
        return look, scaler

    def restore(self, run: Run) -> None:
        """Let a run go on from where the earlier one was."""
        if self.left is None:
            return
        values, arrays = self.left
        run.setting.schedule = replace(run.setting.schedule, seed=values["seed"])
        state = unpack_state(values, arrays, "state.") if values["begun"] else None
        fields = {name: values[name] for name in COUNTED} | {name: arrays[name] for name in ARRAYS}
        run.at = run.kept = Standing(state=state, history=tuple(values["history"]), **fields)
        run.work.read, run.streamed.before = values["read"], values["passes_before"]
        run.clock.started -= values["seconds"]

    def keep(self, run: Run, at: Standing) -> None:
        """Write where a run stands."""
        values, arrays = ({}, {}) if at.state is None else pack_state(at.state, "state.")
        source, scaler = run.source, _fitted(run.streamed.scaler)
        look = asdict(run.streamed.look)
        classes, counts = look.pop("classes"), look.pop("counts")
        words = classes is not None and classes.dtype.kind == "U"
        values |= {
            "begun": at.state is not None,
            "history": list(at.history),
            "seed": run.setting.schedule.seed,
            "seconds": run.clock.seconds,
            "read": run.work.read,
            "passes_before": run.streamed.before + run.streamed.passes,
            "look": look,
            "classes": classes.tolist() if words else None,
            "source": [source.text_labels, source.n_features, source.first_index],
            "scaler": {name: value for name, value in scaler.items() if not isinstance(value, np.ndarray)},
        }
        values |= {name: getattr(at, name) for name in COUNTED}
        arrays |= {name: getattr(at, name) for name in ARRAYS} | {"counts": counts}
        arrays |= {f"scaler.{name}": value for name, value in scaler.items() if isinstance(value, np.ndarray)}
        if classes is not None and not words:
            arrays["classes"] = classes
        self.write(values, arrays)


def _fitted(scaler) -> dict[str, Any]:
    """What a scaler has learnt."""
    return {} if scaler is None else {name: value for name, value in vars(scaler).items() if name.endswith("_")}
