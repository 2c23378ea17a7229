"""Checkpoints of streamed fits: whatever interrupts one, it goes on to the same model bit for bit."""

import signal
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from conftest import classes_problem
from pegasos import PegasosClassifier, PegasosRegressor
from pegasos.container import file as container
from pegasos.container.values import decode
from pegasos.solver.checkpoint import Checkpoint, CheckpointError
from pegasos.streaming import checkpoint
from pegasos.streaming import run as running
from pegasos.streaming.prepare import Split
from pegasos.streaming.survey import survey
from streams import csv, libsvm, streamed
from textbook import pegasos_classifier

SETTINGS = dict(lam=1e-2, max_iter=3, random_state=0)
KINDS = {
    "ovr": dict(),
    "ovo": dict(multi_class="ovo", average="suffix"),
    "crammer_singer": dict(multi_class="crammer_singer", class_weight="balanced"),
    "log_loss": dict(loss="log_loss", average=False),
    "projected": dict(project=True, lam=1e-4),
    "batches": dict(batch_size=4),
    "replacement": dict(sampling="replacement"),
    "tol": dict(tol=1e-3, max_iter=5),
    "landmarks": dict(kernel="rbf", n_landmarks=15),
}


class Killed(Exception):
    """What ends a run in a test."""


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("pegasos.streaming.windows.WINDOW", 700)
    return monkeypatch


def killed_at(small, at):
    """Let the run fail in the window of this number; what it does is to be undone."""
    over, seen = running.one_pass, []

    def one_pass(*args, **kwargs):
        seen.append(True)
        if len(seen) == at:
            raise Killed
        return over(*args, **kwargs)

    small.setattr(running, "one_pass", one_pass)
    return over


def killed_and_gone_on(model, path, small, at, checkpoint, **how):
    """A model whose fit was killed and then gone on with, by another estimator of the same parameters."""
    before = clone(model).set_params(checkpoint=Checkpoint(checkpoint, every=1e-9))
    over = killed_at(small, at)
    with pytest.raises(Killed):
        streamed(before, path, **how)
    small.setattr(running, "one_pass", over)
    assert checkpoint.exists()
    after = clone(model).set_params(checkpoint=str(checkpoint))
    found = streamed(after, path, **how)
    assert not checkpoint.exists()
    return after, found


def assert_same_bits(model, expected):
    for name in ("coef_", "dual_coef_", "intercept_", "t_", "objective_", "dual_gap_"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
    steps = [record["step"] for record in model.history_]
    assert steps == [record["step"] for record in expected.history_]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("at", [2, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_was_killed_goes_on_to_the_same_bits(kind, at, write, tmp_path, small):
    X, y = classes_problem(4)
    path = write(csv(X, y))
    model = pegasos_classifier(**SETTINGS | KINDS[kind])
    expected = clone(model)
    streamed(expected, path)
    found, facts = killed_and_gone_on(model, path, small, at, tmp_path / "part")
    assert_same_bits(found, expected)
    assert facts.earlier_passes + facts.passes == pytest.approx(model.max_iter)


@pytest.mark.parametrize("layout", ["words", "numbers", "regression"])
def test_what_the_survey_and_the_scaler_found_is_kept(layout, write, tmp_path, small):
    X, codes = classes_problem(4)
    y = {"words": np.array(["a", "b", "a b", "ä"])[codes], "numbers": codes - 2, "regression": X[:, 0] + 0.5}[layout]
    path = write(csv(30 * X, y) if layout != "numbers" else libsvm(30 * X, y), "rows.txt")
    model = (PegasosRegressor if layout == "regression" else PegasosClassifier)(**SETTINGS)
    scaler_for = lambda found: MaxAbsScaler() if found.sparse else StandardScaler()
    how = dict(scaler_for=scaler_for, scaling="by us", split=Split(0.2, 0), scored=True)
    expected = clone(model)
    first = streamed(expected, path, **how)
    surveys = []
    small.setattr("pegasos.streaming.training.survey", lambda *args, **kw: surveys.append(1) or survey(*args, **kw))
    found, second = killed_and_gone_on(model, path, small, 6, tmp_path / "part", **how)
    assert len(surveys) == 1  # the run that goes on has no survey of its own
    assert_same_bits(found, expected)
    np.testing.assert_array_equal(first.scaler.scale_, second.scaler.scale_)
    assert first.score == second.score
    assert second.survey.n_test == first.survey.n_test
    if layout != "regression":
        np.testing.assert_array_equal(found.classes_, expected.classes_)
        assert found.classes_.dtype == expected.classes_.dtype


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(write, tmp_path, small):
    X, y = classes_problem(4)
    path, part = write(csv(X, y)), tmp_path / "part"
    model = pegasos_classifier(**SETTINGS)
    expected = clone(model)
    streamed(expected, path)
    over, seen = running.one_pass, []

    def one_pass(*args, **kwargs):
        seen.append(True)
        if len(seen) == 5:
            signal.raise_signal(signal.SIGINT)
        return over(*args, **kwargs)

    small.setattr(running, "one_pass", one_pass)
    with pytest.warns(UserWarning, match="Interrupted after"):
        streamed(model.set_params(checkpoint=part), path)
    assert part.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        streamed(model, path)
    assert_same_bits(model, expected)
    assert not part.exists()


def test_time_counts_over_all_runs(write, tmp_path, small):
    X, y = classes_problem(4)
    path, part = write(csv(X, y)), tmp_path / "part"
    over = killed_at(small, 5)
    with pytest.raises(Killed):
        streamed(pegasos_classifier(**SETTINGS, checkpoint=Checkpoint(part, every=1e-9)), path)
    small.setattr(running, "one_pass", over)
    header, _ = container.read(part)
    seconds = decode(header.document["values"]["seconds"])
    model = pegasos_classifier(**SETTINGS, checkpoint=part)
    found = streamed(model, path)
    assert found.seconds > seconds
    assert model.history_[-1]["seconds"] > seconds


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda path, model, how: path.write_text(path.read_text()[:-2] + "0\n"), "the data changed"),
        (lambda path, model, how: model.set_params(lam=0.5), "the parameter lam changed"),
        (lambda path, model, how: how.update(split=Split(0.5, 1)), "the choice of test rows changed"),
        (lambda path, model, how: how.update(scaling="otherwise"), "the scaling of features changed"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(change, said, write, tmp_path, small):
    X, y = classes_problem(4)
    path, part, how = write(csv(X, y)), tmp_path / "part", {}
    model = pegasos_classifier(**SETTINGS, checkpoint=Checkpoint(part, every=1e-9))
    over = killed_at(small, 4)
    with pytest.raises(Killed):
        streamed(model, path)
    small.setattr(running, "one_pass", over)
    change(path, model, how)
    with pytest.raises(CheckpointError, match=said):
        streamed(model, path, **how)
    assert part.exists()


def test_a_damaged_checkpoint_and_one_of_a_fit_in_memory_are_refused(write, tmp_path):
    X, y = classes_problem(4)
    path, part = write(csv(X, y)), tmp_path / "part"
    model = pegasos_classifier(**SETTINGS, checkpoint=Checkpoint(part, keep=True, every=1e-9))
    model.fit(X, y)
    if part.exists():
        with pytest.raises(CheckpointError, match="not of a streamed fit"):
            streamed(model, path)
    part.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="is no checkpoint that can be read"):
        streamed(model, path)


def test_the_digest_of_a_file_is_that_of_all_its_bytes(write, monkeypatch):
    monkeypatch.setattr(checkpoint, "PIECE", 100)
    monkeypatch.setattr(checkpoint, "BLOCK", 30)
    content = bytes(range(256)) * 3
    whole = checkpoint.digest_of(write(content, "rows"))
    assert checkpoint.digest_of(write(content, "same")) == whole
    digests = {whole}
    for place in (0, 99, 100, 250, len(content) - 1):
        other = bytearray(content)
        other[place] ^= 1
        digests.add(checkpoint.digest_of(write(bytes(other), "other")))
    digests.add(checkpoint.digest_of(write(content[:-1], "short")))
    digests.add(checkpoint.digest_of(write(b"", "empty")))
    assert len(digests) == 8
