"""`pegasos train --checkpoint FILE`: its options, what they refuse, and how long the file stays."""

import os

import numpy as np
import pytest

import pegasos
from checkpointed import assert_same_file
from cli_runner import check_error, quick, tree

SHORT = ("train", "digits", "--max-iter", "3", "--solver", "sdca")  # which has checkpoints: others give way to it


def left_checkpoint(folder, *more):
    """A checkpoint of `SHORT` in the folder: its time is up before the first step."""
    result = quick(*SHORT, *more, "--checkpoint", "fit", "--max-time", "1e-9", cwd=folder)
    assert result.status == 0, result.err
    assert (folder / "fit").exists()


@pytest.mark.parametrize("words", [("--every", "3"), ("--resume",)], ids=str)
def test_options_that_need_a_checkpoint_say_so(tmp_path, words):
    check_error(quick(*SHORT, *words, cwd=tmp_path), words[0], "needs --checkpoint FILE")


@pytest.mark.parametrize("every", ["0", "-1", "nan", "inf", "often"])
def test_seconds_between_checkpoints_are_a_number_above_0(tmp_path, every):
    check_error(quick(*SHORT, "--checkpoint", "fit", "--every", every, cwd=tmp_path), "--every")
    assert tree(tmp_path) == {}


def test_a_checkpoint_that_exists_needs_resume(tmp_path):
    left_checkpoint(tmp_path)
    files = tree(tmp_path)
    check_error(quick(*SHORT, "--checkpoint", "fit", cwd=tmp_path), "fit exists already", "--resume", "remove it")
    assert tree(tmp_path) == files


def test_resume_without_a_file_begins_anew(tmp_path):
    quick(*SHORT, "-o", "plain", cwd=tmp_path).fine()
    quick(*SHORT, "-o", "model", "--checkpoint", "fit", "--resume", cwd=tmp_path).fine()
    assert_same_file(tmp_path / "model", tmp_path / "plain")
    assert sorted(tree(tmp_path)) == ["model", "plain"]


@pytest.mark.parametrize("more", [("--kernel", "rbf"), ("--kernel", "rbf", "--n-landmarks", "50")], ids=str)
def test_a_run_whose_time_was_up_goes_on_without_a_limit(tmp_path, more):
    left_checkpoint(tmp_path, *more, "-o", "early")
    quick(*SHORT, *more, "-o", "plain", cwd=tmp_path).fine()
    quick(*SHORT, *more, "-o", "model", "--checkpoint", "fit", "--resume", cwd=tmp_path).fine()
    found, expected = pegasos.load(tmp_path / "model"), pegasos.load(tmp_path / "plain")
    np.testing.assert_array_equal(found.t_, expected.t_)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-6)
    assert not (tmp_path / "fit").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_the_checkpoint_stays_if_the_model_cannot_be_saved(tmp_path):
    """A fit whose model is lost would have to begin anew."""
    left_checkpoint(tmp_path)
    result = quick(*SHORT, "-o", "/dev/full", "--checkpoint", "fit", "--resume", cwd=tmp_path)
    check_error(result, "/dev/full", "No space left")
    assert (tmp_path / "fit").exists()
    quick(*SHORT, "-o", "model", "--checkpoint", "fit", "--resume", cwd=tmp_path).fine()
    assert sorted(tree(tmp_path)) == ["model"]


def test_the_results_of_a_run_with_a_checkpoint_are_json(tmp_path):
    result = quick(*SHORT, "--checkpoint", "fit", "--json", cwd=tmp_path)
    assert result.status == 0, result.err
    assert result.json["results"]["steps"] == 3 * 1797
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("-o", "one", "--checkpoint", "one"), "two outputs"),
        (("-o", "one", "--checkpoint", "./one"), "two outputs"),
        (("--checkpoint", "page.html", "--report", "page.html"), "two outputs"),
        (("--checkpoint", "."), "folder"),
        (("--checkpoint", "nowhere/fit"), "does not exist"),
    ],
    ids=str,
)
def test_places_that_make_no_sense_are_refused(tmp_path, words, named):
    check_error(quick(*SHORT, *words, cwd=tmp_path), named)
    assert tree(tmp_path) == {}


def test_a_checkpoint_in_place_of_the_data_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,0\n2,1\n" * 20)
    files = tree(tmp_path)
    check_error(
        quick("train", "rows.csv", "--checkpoint", "rows.csv", "--resume", cwd=tmp_path), "rows.csv", "read from"
    )
    assert tree(tmp_path) == files


def test_files_that_are_no_checkpoint_of_the_run_are_refused(tmp_path):
    (tmp_path / "fit").write_text("my notes")
    check_error(quick(*SHORT, "--checkpoint", "fit", "--resume", cwd=tmp_path), "fit is no checkpoint that can be read")
    assert (tmp_path / "fit").read_text() == "my notes"
    (tmp_path / "fit").unlink()
    left_checkpoint(tmp_path)
    resumed = ("--checkpoint", "fit", "--resume")
    check_error(quick(*SHORT, *resumed, "--lam", "0.3", cwd=tmp_path), "the parameter lam changed")
    check_error(quick(*SHORT, *resumed, "--seed", "5", cwd=tmp_path), "the parameter random_state changed")
    check_error(quick("train", "iris", *SHORT[2:], *resumed, cwd=tmp_path), "the data changed")
    assert sorted(tree(tmp_path)) == ["fit"]


def test_the_help_shows_the_options(tmp_path):
    text = quick("train", "--help", cwd=tmp_path).out
    for option in ("--checkpoint", "--every", "--resume"):
        assert option in text
