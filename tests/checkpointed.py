"""Fits that are killed right after they have written a checkpoint, as often as one likes, and gone on from."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone

from pegasos.container import file as container
from pegasos.solver.checkpoint_file import SnapshotFile

COMPARED = ("coef_", "dual_coef_", "support_", "intercept_", "t_", "n_iter_", "objective_", "dual_gap_", "violations_",
            "n_support_", "classes_")  # fmt: skip


class Killed(BaseException):
    """What ends a fit as a power cut would: nothing of ours may catch it."""


@contextmanager
def killed_after(writes):
    """Let fits write a checkpoint whenever they can, and end them after so many; None: never."""
    keep, count = SnapshotFile.keep, [0]

    def counted(self, snapshot):
        keep(self, snapshot)
        count[0] += 1
        if writes is not None and count[0] >= writes:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SnapshotFile, "due", lambda self: True)
        patch.setattr(SnapshotFile, "keep", counted)
        patch.setattr("pegasos.utils.files._flush", lambda path: None)  # no power cut here: the disk need not keep up
        yield count


def leave_checkpoint(model, X, y, path, writes=3, **given):
    """Fit a copy of the model and kill it after so many writes: its checkpoint is left."""
    with killed_after(writes), pytest.raises(Killed):
        fresh(model).set_params(checkpoint=path).fit(X, y, **given)
    assert path.exists()


def fit_in_pieces(model, X, y, path, writes, **given):
    """The model after a fit that was killed after every so many writes, and how often that was.

    The first write of a run that goes on is where it began, so at least two are needed to get on.
    """
    kills = 0
    while True:
        with killed_after(writes):
            try:
                found = fresh(model).set_params(checkpoint=path).fit(X, y, **given)
            except Killed:
                kills += 1
                assert kills < 2000
                continue
        assert not path.exists()
        return found, kills


def fresh(model):
    """A copy as another process would have it: of what an earlier fit left, only what warm_start goes on from."""
    copy = clone(model)
    if model.warm_start and hasattr(model, "_memory"):
        copy._memory = model._memory
    return copy


def quietly(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def assert_same_bits(found, expected):
    """Everything that a fit leaves is the same, bit for bit; only the seconds of the history may differ."""
    for name in COMPARED:
        assert hasattr(found, name) == hasattr(expected, name), name
        if hasattr(expected, name):
            one, other = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
            assert one.dtype == other.dtype, name
            np.testing.assert_array_equal(one, other, err_msg=name)
    timeless = [[{**record, "seconds": 0.0} for record in model.history_] for model in (found, expected)]
    np.testing.assert_equal(*timeless)


def assert_same_file(found, expected):
    """Two model files: all tensors bit for bit, and all that is said of them but the time and the command it took."""
    (header, arrays), (other, others) = container.read(found), container.read(expected)
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype
        assert array.tobytes() == others[name].tobytes(), name
    said = [_timeless(document) for document in (header.document, other.document)]
    assert said[0] == said[1]


def _timeless(document):
    records = [{name: value for name, value in record.items() if name != "seconds"} for record in document["history"]]
    return {**document, "history": records, "about": None}
