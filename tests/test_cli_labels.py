"""The labels that the program prints: one a line whatever is in them, of rows treated as the training rows were."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from cli_runner import PROGRAM, check_error, environment, quick, write_table
from pegasos import datasets

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="these commands run in forks")
ODD = ["two\nlines", "tab\tbed", "re\rturn", "form\x0cfeed", "next\x85line", "para\u2029graph"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A folder with a table whose labels hold whatever ends lines and fields, and a model of it."""
    folder = tmp_path_factory.mktemp("odd")
    write_table(folder / "odd.csv", [f'"{label}"' for label in ODD], rows=60)
    quick("train", "odd.csv", "-o", "odd.safetensors", cwd=folder).fine()
    return folder


@pytest.mark.parametrize(
    "words", [["predict", "odd.safetensors", "odd.csv"], ["classify", "odd.csv", "odd.csv", "-t", "20"]]
)
def test_labels_with_line_breaks_and_tabs_are_one_line_each(odd, words):
    lines = quick(*words, cwd=odd).fine().lines
    assert len(lines) == 60
    assert set(lines) <= {"two\\nlines", "tab\\tbed", "re\\rturn", "form\\x0cfeed", "next\\x85line", "para\\u2029graph"}
    assert len(set(lines)) > 3


def test_scores_stay_in_their_fields_beside_labels_with_tabs(odd):
    lines = quick("predict", "odd.safetensors", "odd.csv", "--scores", cwd=odd).fine().lines
    assert {line.count("\t") for line in lines} == {len(ODD)}


def test_labels_in_json_are_as_they_are(odd):
    labels = quick("predict", "odd.safetensors", "odd.csv", "--json", cwd=odd).fine().json["labels"]
    assert len(labels) == 60
    assert set(labels) <= set(ODD)
    assert len(set(labels)) > 3


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_nothing_but_labels_is_among_the_labels_when_stderr_is_closed(tmp_path, closed):
    write_table(tmp_path / "good.csv", ["yes", "no"])
    quick("train", "good.csv", "-o", "good.safetensors", cwd=tmp_path).fine()
    closing = " ".join("<&-" if number == 0 else f"{number}>&-" for number in closed)
    program = f"'{PROGRAM}' predict good.safetensors good.csv {closing}"
    done = subprocess.run(program, shell=True, stdout=subprocess.PIPE, cwd=tmp_path, env=environment(), check=True)
    assert set(done.stdout.split()) == (set() if 1 in closed else {b"yes", b"no"})
    done = subprocess.run(f"{program.replace(' 1>&-', '')} -o labels.txt", shell=True, stdout=subprocess.PIPE,
                          cwd=tmp_path, env=environment(), check=True)  # fmt: skip
    assert done.stdout == b""
    assert set((tmp_path / "labels.txt").read_text().split()) == {"yes", "no"}


def test_numbers_are_printed_by_their_value(tmp_path):
    write_table(tmp_path / "floats.csv", ["1.0", "-1e0"])
    quick("train", "floats.csv", "-o", "floats.safetensors", cwd=tmp_path).fine()
    assert set(quick("predict", "floats.safetensors", "floats.csv", cwd=tmp_path).fine().lines) == {"1", "-1"}
    shown = " ".join(quick("predict", "--help", cwd=tmp_path).fine().out.replace("│", " ").split())
    assert "written by their value" in shown
    assert r"written as \n and \t" in shown


@pytest.mark.parametrize("digits", ["12345678901234567", "9007199254740993"])
def test_long_whole_numbers_are_printed_to_the_last_digit(tmp_path, digits):
    write_table(tmp_path / "long.csv", [digits, str(int(digits) + 1)])
    quick("train", "long.csv", "-o", "long.safetensors", cwd=tmp_path).fine()
    lines = quick("predict", "long.safetensors", "long.csv", cwd=tmp_path).fine().lines
    assert set(lines) == {digits, str(int(digits) + 1)}


def test_many_numbers_as_labels_are_said_to_be_classes_with_the_option_for_numbers(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(25, 347, 300)
    np.savetxt(tmp_path / "numbers.csv", np.column_stack([rng.normal(size=(300, 3)), y]), delimiter=",", fmt="%.9g")
    result = quick("train", "numbers.csv", "--max-iter", 1, cwd=tmp_path)
    sentence = f"numbers.csv has {len(set(y))} different labels in 300 rows, taken as classes; use --regression"
    assert sentence in result.err
    assert "different labels" not in quick("train", "numbers.csv", "--regression", "--max-iter", 1, cwd=tmp_path).err
    write_table(tmp_path / "few.csv", [str(label) for label in range(8)], rows=300)
    assert "different labels" not in quick("train", "few.csv", "--max-iter", 1, cwd=tmp_path).err


@pytest.fixture(scope="module")
def digits_model(tmp_path_factory):
    """A folder with a model of the digits, and the digits as scikit-learn has them in a file with other columns."""
    folder = tmp_path_factory.mktemp("digits")
    data = datasets.load("digits")
    np.savetxt(folder / "raw.csv", np.column_stack([data.X * 16, data.y]), delimiter=",", fmt="%d")
    np.savetxt(folder / "scaled.csv", np.column_stack([data.X, data.y]), delimiter=",", fmt="%.9g")
    np.savetxt(folder / "first.csv", np.column_stack([data.y, data.X * 16]), delimiter=",", fmt="%d")
    np.savetxt(folder / "pixels.csv", np.column_stack([data.y + 100, data.X * 16 + 0.5]), delimiter=",", fmt="%g")
    quick("train", "digits", "--kernel", "rbf", "--gamma", "0.25", "--max-iter", 5, "-o", "digits.safetensors",
          cwd=folder).fine()  # fmt: skip
    return folder


def test_rows_are_scaled_as_the_loader_scaled_the_named_data_set(digits_model):
    expected = quick("predict", "digits.safetensors", "digits", cwd=digits_model).fine().lines
    for file in ("raw.csv", "scaled.csv"):
        result = quick("predict", "digits.safetensors", file, cwd=digits_model).fine()
        assert result.lines == expected
        assert ("divided by 16" in result.err) == (file == "raw.csv")
        assert float(result.err.split("accuracy ")[1].split()[0]) > 0.95


def test_test_rows_are_scaled_as_the_named_data_set_is(digits_model):
    words = ("train", "digits", "--max-iter", 2, "--json", "--test")
    found = [quick(*words, file, cwd=digits_model).fine().json["results"] for file in ("raw.csv", "scaled.csv")]
    assert found[0]["test accuracy"] == found[1]["test accuracy"] > 0.9


def test_a_label_column_elsewhere_than_in_training_is_one_sentence(digits_model):
    result = quick("predict", "digits.safetensors", "pixels.csv", cwd=digits_model)
    check_error(result, "where its label should be, which is no class of the model", "--label", "--drop")
    assert result.out == ""
    given = quick("predict", "digits.safetensors", "first.csv", "--label", "0", cwd=digits_model).fine()
    assert given.lines == quick("predict", "digits.safetensors", "digits", cwd=digits_model).fine().lines


def test_words_as_labels_elsewhere_than_in_training_are_one_sentence(tmp_path):
    write_table(tmp_path / "last.csv", ["yes", "no"])
    write_table(tmp_path / "first.csv", ["yes", "no"], label_at=0)
    quick("train", "last.csv", "-o", "model", cwd=tmp_path).fine()
    check_error(quick("predict", "model", "first.csv", cwd=tmp_path), "'yes'", "--label 0")
    assert set(quick("predict", "model", "first.csv", "--label", "0", cwd=tmp_path).fine().lines) == {"yes", "no"}


def test_a_column_is_left_out_of_training_and_of_predicting(tmp_path):
    write_table(tmp_path / "rows.csv", ["yes", "no"], names=["a", "b", "c", "y"])
    quick("train", "rows.csv", "--drop", "b", "-o", "model", cwd=tmp_path).fine()
    result = quick("predict", "model", "rows.csv", cwd=tmp_path).fine()
    assert set(result.lines) == {"yes", "no"}
    assert "warning" not in result.err


def test_a_column_is_left_out_by_its_number_in_every_command(tmp_path):
    write_table(tmp_path / "rows.csv", ["yes", "no"])
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    (tmp_path / "coded.csv").write_text("".join(f"x{row % 7},{line}\n" for row, line in enumerate(lines)))
    check_error(quick("train", "coded.csv", cwd=tmp_path), "column 0 holds 'x0' (line 1)", "--drop 0")
    kept = quick("train", "coded.csv", "--drop", "0", "-o", "model", "--json", cwd=tmp_path).fine().json["results"]
    known = quick("train", "rows.csv", "-o", "other", "--json", cwd=tmp_path).fine().json["results"]
    assert kept["objective (mean)"] == known["objective (mean)"]
    streamed = quick("train", "coded.csv", "--drop", "0", "--stream", "yes", "--json", cwd=tmp_path).fine().json
    assert streamed["results"]["features"] == known["features"]
    expected = quick("predict", "other", "rows.csv", cwd=tmp_path).fine().lines
    for words in (["coded.csv"], ["coded.csv", "--drop", "0"], ["rows.csv", "--label", "3"]):
        assert quick("predict", "model", *words, cwd=tmp_path).fine().lines == expected
    check_error(quick("predict", "model", "rows.csv", cwd=tmp_path), "--drop 0 says", "--label 3")
    labels = quick("classify", "coded.csv", "coded.csv", "--drop", "0", "-t", "20", cwd=tmp_path).fine().lines
    assert set(labels) == {"yes", "no"}


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--drop", "9"], "there is no column 9"),
        (["--drop", "x"], "no column is called 'x'"),
        (["--label", "3", "--drop", "3"], "is the label, and cannot be dropped"),
    ],
)
def test_a_column_to_leave_out_has_to_be_there_and_no_label(tmp_path, words, sentence):
    write_table(tmp_path / "rows.csv", ["yes", "no"])
    check_error(quick("train", "rows.csv", *words, cwd=tmp_path), sentence)


def test_the_diabetes_set_is_said_to_have_214_classes_with_the_option_for_numbers(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    np.savetxt(tmp_path / "diabetes.csv", np.column_stack([X, y]), delimiter=",")
    for words in ([], ["--stream", "yes"]):
        said = quick("train", "diabetes.csv", "--max-iter", 1, *words, cwd=tmp_path).fine().err
        assert "diabetes.csv has 214 different labels in 442 rows, taken as classes; use --regression to pred" in said


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """A folder with a model of numbers as labels, and files whose labels stand first: last comes a feature."""
    folder = tmp_path_factory.mktemp("shifted")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    X[np.arange(60), y] += 3
    np.savetxt(folder / "last.csv", np.column_stack([X, y]), delimiter=",", fmt="%.9g")
    np.savetxt(folder / "first.csv", np.column_stack([y, X]), delimiter=",", fmt="%.9g")
    whole = np.round(np.abs(X) * 2)
    np.savetxt(folder / "whole.csv", np.column_stack([whole, y]), delimiter=",", fmt="%d")
    np.savetxt(folder / "few.csv", np.column_stack([y, whole[:, :2], np.where(np.arange(60) < 5, 7, y)]), fmt="%d")
    (folder / "words.csv").write_text("".join(f"{a},{b},{c},c{label}\n" for (a, b, c), label in zip(X, y, strict=True)))
    for name in ("last", "words", "whole"):
        quick("train", f"{name}.csv", "-o", f"{name}.model", cwd=folder).fine()
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "last.model", "first.csv"],
        ["predict", "words.model", "first.csv"],
        ["predict", "last.model", "first.csv", "--json"],
        ["train", "last.csv", "--test", "first.csv"],
        ["classify", "last.csv", "first.csv", "-t", "20"],
    ],
)
def test_a_feature_where_the_label_was_in_training_is_one_sentence_and_no_labels(shifted, words):
    result = quick(*words, cwd=shifted)
    check_error(result, "first.csv holds", "where its label should be, which is no class of the model: --label says")
    assert result.out == ""


def test_labels_are_found_where_the_option_says(shifted):
    expected = quick("predict", "last.model", "last.csv", cwd=shifted).fine().lines
    assert quick("predict", "last.model", "first.csv", "--label", "0", cwd=shifted).fine().lines == expected


def test_a_label_column_of_classes_and_others_is_warned_of(shifted):
    result = quick("predict", "whole.model", "few.csv", cwd=shifted).fine()
    assert "few.csv holds 7 where its label should be, which is no class of the model: --label says" in result.err
    assert len(result.lines) == 60


def test_a_header_that_names_the_features_leaves_nothing_to_guess(tmp_path):
    write_table(tmp_path / "train.csv", ["1", "2"], names=["a", "b", "c", "y"])
    write_table(tmp_path / "other.csv", ["7", "8"], names=["a", "b", "c", "z"])
    quick("train", "train.csv", "-o", "model", cwd=tmp_path).fine()
    assert "where its label should be" not in quick("predict", "model", "other.csv", cwd=tmp_path).fine().err
