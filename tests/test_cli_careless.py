"""What careless users do: outputs onto inputs, labels of another kind, searches that cannot succeed, and worse."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cli_runner import check_error, cli, quick, write_table
from pegasos import PegasosClassifier, PegasosSearchCV
from pegasos.cli import time_limit
from pegasos.cli.anytime import AnytimeClassifier
from pegasos.io import Dataset

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="these commands run in forks")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good tables, and models of them."""
    place = tmp_path_factory.mktemp("careless")
    write_table(place / "good.csv", ["yes", "no"], names=["a", "b", "c", "y"])
    write_table(place / "one.csv", ["u"])
    write_table(place / "numbers.csv", ["1.5", "4", "7.25"], names=["a", "b", "c", "y"])
    write_table(place / "spaced.txt", ["-1", "1"], separator=" ")
    table = np.loadtxt(place / "spaced.txt")
    pairs = [" ".join([f"{x[-1]:g}", *(f"{place + 1}:{value}" for place, value in enumerate(x[:-1]))]) for x in table]
    (place / "spaced.libsvm").write_text("\n".join(pairs) + "\n")
    np.savetxt(place / "unlabelled.txt", table[:, :-1])
    quick("train", "good.csv", "-o", "good.safetensors", cwd=place).fine()
    quick("train", "spaced.txt", "-o", "spaced.safetensors", cwd=place).fine()
    quick("train", "numbers.csv", "--regression", "-o", "numbers.safetensors", cwd=place).fine()
    return place


# --- files that are lost ---------------------------------------------------------------------------------------------


def test_what_is_no_plain_file_is_not_replaced_by_one(folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # so that whoever writes into it need not wait
    try:
        quick("predict", "good.safetensors", "good.csv", "-o", pipe, cwd=folder)
        assert pipe.is_fifo()
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    "words",
    [
        ["train", "data.csv", "-o", "data.csv"],
        ["train", "data.csv", "--report", "./data.csv"],
        ["tune", "data.csv", "--lam", "1,2", "-o", "data.csv"],
        ["predict", "model", "data.csv", "-o", "data.csv"],
        ["predict", "model", "data.csv", "-o", "model"],
    ],
    ids=" ".join,
)
def test_an_output_in_the_place_of_an_input_is_refused(folder, tmp_path, words):
    for name, source in {"data.csv": "good.csv", "model": "good.safetensors"}.items():
        (tmp_path / name).write_bytes((folder / source).read_bytes())
    result = quick(*words, cwd=tmp_path)
    assert (tmp_path / "data.csv").read_bytes() == (folder / "good.csv").read_bytes()
    assert (tmp_path / "model").read_bytes() == (folder / "good.safetensors").read_bytes()
    check_error(result)


def test_a_report_in_the_place_of_the_model_is_refused(folder):
    check_error(quick("train", "good.csv", "-o", "same", "--report", "./same", cwd=folder))


def _small_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def test_a_full_disk_is_told_with_the_name_of_the_file(folder):
    result = cli("predict", "good.safetensors", "good.csv", "-o", "labels.txt", cwd=folder, preexec_fn=_small_disk)
    check_error(result, "labels.txt")
    assert "[Errno" not in result.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is full")
def test_labels_that_cannot_be_printed_are_an_error(folder):
    with open("/dev/full", "w") as full:
        result = cli("predict", "good.safetensors", "good.csv", cwd=folder, stdout=full, stderr=subprocess.PIPE)
    check_error(result, "The output cannot be written: No space left on device")


# --- classify --------------------------------------------------------------------------------------------------------


def test_sparse_rows_are_learned_where_nothing_is_compiled():
    X = csr_matrix(np.random.default_rng(0).normal(size=(60, 3)))
    data = Dataset("rows", X, (X[:, 0].toarray().ravel() > 0).astype(int))
    classifier = AnytimeClassifier(data, data, 0)
    classifier._learn(time.perf_counter() + 60, interpreted=False, compiled=False)
    assert np.mean(classifier.labels == data.y) > 0.9


def test_an_alarm_ends_a_search():
    def slow(A, B):
        time.sleep(0.5)
        return A @ B.T

    X = np.random.default_rng(0).normal(size=(20, 3))
    search = PegasosSearchCV(PegasosClassifier(kernel=slow, max_steps=10), {"lam": [0.1, 1.0]}, cv=2)
    ended = False
    try:
        with time_limit.alarm(0.2):
            search.fit(X, X[:, 0] > 0)
    except time_limit.TimeIsUp:
        ended = True
    assert ended


# --- predict ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [["predict", "spaced.safetensors", "spaced.libsvm"], ["classify", "spaced.txt", "spaced.libsvm", "-t", "30"]],
)
def test_sparse_rows_are_labelled_by_a_model_of_standardised_ones(folder, words):
    dense = quick(*(word.replace(".libsvm", ".txt") for word in words), cwd=folder).fine()
    assert quick(*words, cwd=folder).fine().lines == dense.lines


@pytest.mark.parametrize("words", [["good.safetensors", "good.csv", "--label", "z"],
                                   ["spaced.safetensors", "unlabelled.txt", "--label", "0"]])  # fmt: skip
def test_a_label_column_that_is_not_there_is_an_error(folder, words):
    check_error(quick("predict", *words, cwd=folder), words[-1])


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["train", "good.csv", "--test", "numbers.csv"], "numbers.csv"),
    ],
)
def test_labels_of_another_kind_are_named(folder, words, file):
    check_error(quick(*words, cwd=folder), file)


def test_labels_of_another_kind_are_not_compared_with_predictions(folder):
    result = quick("predict", "numbers.safetensors", "good.csv", cwd=folder)
    assert result.status == 0
    assert len(result.lines) == len((folder / "good.csv").read_text().splitlines()) - 1
    assert "warning: The labels of good.csv are of another kind" in result.err


def test_a_score_that_is_no_number_is_null_in_json(folder):
    rows = (folder / "numbers.csv").read_text().splitlines()[:2]
    (folder / "row.csv").write_text("\n".join(rows) + "\n")
    assert quick("predict", "numbers.safetensors", "row.csv", "--json", cwd=folder).json["score"] is None


# --- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["train", "large.csv"], ["classify", "large.csv", "large.csv", "-t", "30"]])
def test_labels_of_many_digits_are_classes_or_an_error(tmp_path, command):
    write_table(tmp_path / "large.csv", ["90071992547409930", "90071992547409950"])
    result = quick(*command, cwd=tmp_path)
    assert result.status in (0, 2), result.err


def test_values_that_are_too_large_to_scale_are_named(tmp_path):
    (tmp_path / "huge.csv").write_text("".join(f"{row}.5e300,{row},{'pq'[row % 2]}\n" for row in range(20)))
    result = quick("train", "huge.csv", cwd=tmp_path)
    check_error(result)
    assert "missing values" not in result.err


@pytest.mark.parametrize("words", [["compare", "numbers.csv"], ["classify", "numbers.csv", "numbers.csv", "-t", "30"]])
def test_no_option_is_proposed_that_the_command_does_not_have(folder, words):
    result = quick(*words, cwd=folder)
    check_error(result, "numbers.csv")
    assert "--regression" not in result.err or "pegasos train" in result.err


# --- tune and compare ------------------------------------------------------------------------------------------------

WRONG_SEARCHES = {
    "one class": ["one.csv"],
    "lam and C": ["good.csv", "--lam", "1,2", "--C", "1"],
    "a value that is not allowed": ["good.csv", "--lam", "1,-1"],
    "nan": ["good.csv", "--lam", "1,nan"],
    "a score for other labels": ["good.csv", "--scoring", "f1"],
    "a score for numbers": ["good.csv", "--scoring", "r2"],
    "no such score": ["good.csv", "--scoring", "right"],
    "no time for any": ["good.csv", "--time-limit", "1e-9"],
}


@pytest.mark.parametrize("case", WRONG_SEARCHES)
def test_a_search_that_cannot_succeed_is_an_error_in_one_sentence(folder, case):
    result = quick("tune", *WRONG_SEARCHES[case], "-o", "new.safetensors", cwd=folder)
    made = folder / "new.safetensors"
    was_made = made.exists()
    made.unlink(missing_ok=True)
    check_error(result)
    assert not was_made


def test_a_search_with_time_left_ends_no_fit_early(folder):
    result = quick("tune", "good.csv", "--lam", "1e-5:10:3", "--time-limit", 10, cwd=folder).fine()
    assert "ended some fits early" not in result.err


def test_a_range_of_very_many_values_is_refused(folder):
    check_error(quick("tune", "good.csv", "--lam", "1:2:1e7", cwd=folder, timeout=3))


def test_a_comparison_takes_one_gamma(folder):
    check_error(quick("compare", "good.csv", "--gamma", "1,2", cwd=folder), "--gamma takes one value")


# --- the program itself ----------------------------------------------------------------------------------------------


def test_the_program_alone_shows_its_help_without_an_empty_error(tmp_path):
    result = quick(cwd=tmp_path)
    assert "Usage" in result.out + result.err
    assert not re.search(r"error: \W*See", result.err)


def test_a_ragged_second_line_is_not_blamed_on_a_header(tmp_path):
    (tmp_path / "ragged.csv").write_text("1,2,a\n1,2,3,b\n")
    result = quick("train", "ragged.csv", cwd=tmp_path)
    check_error(result, "ragged.csv")
    assert "header" not in result.err
