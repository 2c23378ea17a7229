"""Checkpoints of a fit: the file, and what identifies the fit."""

from __future__ import annotations

from numbers import Integral

from pegasos.estimators.solving import is_textbook, tol_of
from pegasos.solver.checkpoint import Checkpoint
from pegasos.utils.arrays import on_gpu, to_host
from pegasos.utils.fingerprint import fingerprint

NOT_DECISIVE = ("checkpoint", "max_time", "verbose", "warm_start", "n_jobs")  # parameters that no step depends on


def snapshot_store(estimator, where, problems, start, seed: int):
    """The checkpoint file of a fit that goes on from the state `start` or from nothing; None where none is asked for.

    `where` are its rows: as given and on the device of the work.
    """
    checkpoint = Checkpoint.of(estimator.checkpoint)
    if checkpoint is None:
        return None
    from pegasos.solver.checkpoint_file import SnapshotFile

    identity = identity_of(estimator)
    problems = problems.written()
    identity["the data"] = fingerprint(to_host(where.rows), problems.labelings, problems.weights, problems.row_sets)
    identity["the device"] = "a GPU" if on_gpu(where.on_device) else "the CPU"
    identity["the fit before"] = "none" if start is None else fingerprint(start.sums)
    return SnapshotFile(checkpoint, identity, seed)


def identity_of(estimator) -> dict[str, str]:
    """The parameters that decide the result, in words."""
    found = {"the kind of model": type(estimator).__name__}
    for name, value in estimator.get_params(deep=False).items():
        if name in NOT_DECISIVE or (name == "random_state" and not isinstance(value, Integral)):
            continue  # a generator is used up: the seed it gave is in the checkpoint
        found[f"the parameter {name}"] = _named(value)
    found["the parameter tol"] = _named(tol_of(estimator, is_textbook(estimator)))
    return found


def _named(value) -> str:
    """A value in words that are the same in another process: no address."""
    import re

    return getattr(value, "__qualname__", None) or re.sub(r" at 0x[0-9a-f]+", "", repr(value))
