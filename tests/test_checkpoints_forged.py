"""Checkpoints with a right checksum and forged fields: each is refused in a sentence before any loop trusts it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from checkpointed import assert_same_bits, leave_checkpoint
from conftest import classes_problem
from pegasos import CheckpointError, ModelFormatError, PegasosClassifier
from pegasos.container import file as container
from pegasos.solver.checkpoint_file import COUNTS, NUMBERS
from pegasos.streaming.checkpoint_checks import set_learned
from textbook import pegasos_classifier

X, Y = classes_problem(3, n_rows=60)
MODEL = pegasos_classifier(kernel="rbf", gamma=0.3, lam=0.01, max_iter=5, random_state=0)


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Document and tensors of a checkpoint of MODEL."""
    path = tmp_path_factory.mktemp("left") / "fit"
    leave_checkpoint(MODEL, X, Y, path)
    header, arrays = container.read(path)
    return header.document, arrays


def forged(path, document, arrays):
    """A fit that finds a checkpoint of these parts."""
    container.write(path, document, arrays)
    return clone(MODEL).set_params(checkpoint=path).fit(X, Y)


def refused(path, document, arrays):
    with pytest.raises(CheckpointError, match="is no checkpoint of a fit; remove it to begin anew") as caught:
        forged(path, document, arrays)
    assert str(path) in str(caught.value)


def test_an_untouched_one_is_gone_on_from(left, tmp_path):
    assert_same_bits(forged(tmp_path / "fit", *left), clone(MODEL).fit(X, Y))


@pytest.mark.parametrize("number", [-1, 3, 2**40])
@pytest.mark.parametrize("name", sorted({*COUNTS} - {"pass_is_feasible"}))
def test_forged_counts_of_columns(left, tmp_path, name, number):
    """They once were indices into arrays, and ended the process."""
    document, arrays = left[0], {key: array.copy() for key, array in left[1].items()}
    arrays["whole.counts"][COUNTS.index(name), 1] = number
    reachable = {"steps", "average_start", "window_start", "window_end"}
    if (number == 3 and name in reachable) or (name, number) == ("window_end", 2**40):
        return
    refused(tmp_path / "fit", document, arrays)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, -1e9])
@pytest.mark.parametrize("name", sorted({*NUMBERS} - {"average", "dual_linear", "dual_excess", "norm_squared"}))
def test_forged_numbers_of_columns(left, tmp_path, name, number):
    document, arrays = left[0], {key: array.copy() for key, array in left[1].items()}
    arrays["whole.numbers"][NUMBERS.index(name), 1] = number
    if name == "best_dual" and number in (-np.inf, -1e9):
        return  # a bound that proves nothing
    refused(tmp_path / "fit", document, arrays)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["whole.sums", "whole.weighted", "whole.products"])
def test_sums_that_are_no_numbers(left, tmp_path, name, number):
    document, arrays = left[0], {key: array.copy() for key, array in left[1].items()}
    arrays[name][1, 2] = number
    refused(tmp_path / "fit", document, arrays)


@pytest.mark.parametrize("number", [-1, 60, 2**40, -(2**63)])
@pytest.mark.parametrize("name", ["waiting", "first_steps"])
def test_rows_and_steps_that_are_not_there(left, tmp_path, name, number):
    document, arrays = left[0], {key: array.copy() for key, array in left[1].items()}
    arrays[name] = np.array([number, *arrays[name][1:]])  # none waits at the end of a pass
    refused(tmp_path / "fit", document, arrays)


VALUES = {
    "seconds before the beginning": ("seconds", -1.0),
    "endless seconds": ("seconds", {"float": "inf"}),
    "a rate above 1": ("pull_rate", 1.5),
    "no rate": ("pull_rate", {"float": "nan"}),
    "a rule that is none": ("whole.rule", "NEWTON"),
    "an average that is none": ("whole.average", "MEDIAN"),
    "a seed that is text": ("seed", "7"),
    "more coefficients than sums": ("whole.alpha_rows", 2**40),
    "fewer coefficients than rows": ("whole.alpha_rows", 3),
    "columns apart that are not there": ("apart", True),
    "history of nothing": ("history", [1]),
    "a position": ("whole.position", {"dict": []}),
    "passes below 0": (
        "lap",
        {"dict": [["group", 0], ["first", 0], ["passes", -1], ["refreshed", 0], ["next_check", 1]]},
    ),
    "no such group": (
        "lap",
        {"dict": [["group", 9], ["first", 0], ["passes", 1], ["refreshed", 0], ["next_check", 1]]},
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_forged_values(left, tmp_path, name):
    key, value = VALUES[name]
    document, arrays = left
    refused(tmp_path / "fit", document | {"values": document["values"] | {key: value}}, arrays)


@pytest.mark.parametrize("name", ["whole.sums", "whole.counts", "whole.numbers", "waiting", "order", "known"])
def test_tensors_of_another_shape_or_type(left, tmp_path, name):
    document, arrays = left
    for other in (arrays[name][:-1], arrays[name].astype(np.float32), arrays[name][None].reshape(-1, 1)):
        if (other.shape == arrays[name].shape and other.dtype == arrays[name].dtype) or not other.size:
            continue
        refused(tmp_path / "fit", document, arrays | {name: np.ascontiguousarray(other)})


ACTIVE_SET = PegasosClassifier(kernel="rbf", gamma=0.3, lam=1e-4, tol=1e-6, solver="smo", cache_size=0.01)


@pytest.mark.parametrize("name", ["up", "down", "counts"])
def test_a_forged_active_set_does_not_go_on_for_ever(tmp_path, name):
    """Slopes of other variables once kept a column from its end; steps that nobody took are refused, too."""
    path = tmp_path / "fit"
    leave_checkpoint(ACTIVE_SET, X, Y, path, writes=2)
    header, arrays = container.read(path)
    arrays = {key: array.copy() for key, array in arrays.items()}
    forged_part = next(key for key in arrays if key.endswith(f"own.{name}"))
    arrays[forged_part] = arrays[forged_part][::-1].copy() if name != "counts" else arrays[forged_part] + 1
    container.write(path, header.document, arrays)
    with pytest.raises(CheckpointError, match="is no checkpoint of a fit"):
        clone(ACTIVE_SET).set_params(checkpoint=path).fit(X, Y)


def test_windows_that_have_ended_are_refused(tmp_path):
    suffix, path = clone(MODEL).set_params(average="suffix"), tmp_path / "fit"
    leave_checkpoint(suffix, X, Y, path)
    header, arrays = container.read(path)
    arrays = {key: array.copy() for key, array in arrays.items()}
    arrays["whole.counts"][COUNTS.index("window_end")] = 1
    container.write(path, header.document, arrays)
    with pytest.raises(CheckpointError, match="is no checkpoint of a fit"):
        clone(suffix).set_params(checkpoint=path).fit(X, Y)


@pytest.mark.parametrize("name", ["mean_", "scale_"])
def test_a_scaler_that_lacks_what_it_has_learned(name):
    learned = {key: value for key, value in vars(StandardScaler().fit(X)).items() if key.endswith("_")}
    set_learned(StandardScaler(), learned, X.shape[1])
    del learned[name]
    with pytest.raises(ModelFormatError, match=f"the scaler has no '{name}'"):
        set_learned(StandardScaler(), learned, X.shape[1])


def test_classes_of_one_problem_take_their_steps_together(tmp_path):
    grouped, path = clone(MODEL).set_params(kernel="linear", multi_class="crammer_singer"), tmp_path / "fit"
    leave_checkpoint(grouped, X, Y, path)
    header, arrays = container.read(path)
    arrays = {key: array.copy() for key, array in arrays.items()}
    arrays["whole.counts"][COUNTS.index("steps"), 2] = 3
    container.write(path, header.document, arrays)
    with pytest.raises(CheckpointError, match="is no checkpoint of a fit"):
        clone(grouped).set_params(checkpoint=path).fit(X, Y)
