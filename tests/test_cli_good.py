"""The command line on good input: train, predict and info, through the installed program."""

from __future__ import annotations

import bz2
import re

import numpy as np
import pytest

import pegasos
from cli_runner import cli, quick, tree, write_table
from pegasos import datasets
from pegasos.io import read

NAMES = ["width", "height", "depth", "kind"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every kind that the tests below train on."""
    place = tmp_path_factory.mktemp("good")
    write_table(place / "kinds.csv", ["small one", "größer"], names=NAMES, rows=60)
    lines = (place / "kinds.csv").read_text("utf-8").splitlines()
    swapped = [",".join(line.split(",")[::-1]) for line in lines]
    (place / "swapped.csv").write_text("\n".join(swapped) + "\n", encoding="utf-8")
    (place / "unlabelled.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    write_table(place / "spaced.txt", ["1.0", "2.0"], separator="  ", rows=60)
    write_table(place / "spaced_test.txt", ["1.0", "2.0"], separator="\t", rows=20)
    write_table(place / "numbers.csv", ["1.5", "4", "7.25"], names=["a", "b", "c", "y"], rows=60)
    rows = np.random.default_rng(0).normal(size=(60, 3))
    sparse = "".join(f"{'+1' if x[0] > 0 else '-1'} 1:{x[0]:.4f} {3 + (x[1] > 0)}:{x[2]:.4f}\n" for x in rows)
    (place / "sparse.bz2").write_bytes(bz2.compress(sparse.encode()))
    return place


@pytest.fixture(scope="module")
def trained(folder):
    """Trainings, that on digits by the installed program, by the name of their data."""
    gaussian = ["--kernel", "rbf", "--gamma", "0.25", "--lam", "1e-4"]
    words = {
        "digits": ["digits", *gaussian, "-o", "digits.safetensors", "--json"],
        "kinds": ["kinds.csv", "--label", "kind", "--test", "0.25", "-o", "kinds.safetensors", "--report=kinds.html"],
        "sparse": ["sparse.bz2", "-o", "sparse.safetensors"],
        "spaced": ["spaced.txt", "--test", "spaced_test.txt", "-o", "spaced.safetensors"],
        "numbers": ["numbers.csv", "--regression", "-o", "numbers.safetensors", "--json"],
    }
    return {
        name: (cli if name == "digits" else quick)("train", *given, cwd=folder).fine() for name, given in words.items()
    }


def value(result, name: str) -> str:
    """A value of the table of results."""
    return next(re.split(r"  +", line.strip(), maxsplit=1)[1] for line in result.lines if line.strip().startswith(name))


def test_training_on_digits_gives_a_model_and_one_json_object(trained, folder):
    found = trained["digits"].json
    assert found["results"]["training accuracy"] > 0.99
    assert found["results"]["training rows"] == 1797
    assert found["results"]["features scaled by"] == "none"
    assert found["results"]["relative gap (largest)"] >= 0
    assert found["settings"]["kernel"] == "rbf"
    assert found["command"].startswith("pegasos train digits --kernel rbf")
    assert trained["digits"].err == "model: digits.safetensors\n"
    assert pegasos.load(folder / "digits.safetensors").lam == 1e-4


def test_a_table_with_a_header_and_a_held_out_part_is_trained_on(trained):
    result = trained["kinds"]
    assert value(result, "training rows") == "45"
    assert value(result, "test rows") == "15"
    assert float(value(result, "test accuracy")) > 0.9
    assert value(result, "features scaled by") == "StandardScaler"
    assert result.err == "report: kinds.html\nmodel: kinds.safetensors\n"


def test_a_report_is_one_page_that_needs_nothing_else(trained, folder):
    page = (folder / "kinds.html").read_text("utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "größer" in page
    assert page.count("<svg") >= 3
    assert not re.search(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["'](?!data:|#)""", page)


def test_a_packed_sparse_file_is_trained_on(trained):
    assert value(trained["sparse"], "features scaled by") == "MaxAbsScaler"
    assert value(trained["sparse"], "features") != ""
    assert float(value(trained["sparse"], "training accuracy")) > 0.9


def test_a_test_file_is_tested_with(trained):
    assert value(trained["spaced"], "test rows") == "20"
    assert float(value(trained["spaced"], "test accuracy")) > 0.9


def test_numbers_are_predicted_with_regression(trained, folder):
    found = trained["numbers"].json["results"]
    assert found["model"] == "PegasosRegressor, linear"
    assert found["training R²"] > 0.8
    result = quick("predict", "numbers.safetensors", "numbers.csv", cwd=folder).fine()
    expected = pegasos.load(folder / "numbers.safetensors").predict(read(folder / "numbers.csv").X)
    np.testing.assert_array_equal(np.array(result.lines, float), expected)
    assert result.err.startswith("R² 0.")


@pytest.mark.usefixtures("trained")
def test_labels_stand_as_in_the_training_file_whatever_the_order_of_the_columns(folder):
    swapped = cli("predict", "kinds.safetensors", "swapped.csv", cwd=folder).fine()
    without = quick("predict", "kinds.safetensors", "unlabelled.csv", cwd=folder).fine()
    straight = quick("predict", "kinds.safetensors", "kinds.csv", cwd=folder).fine()
    expected = pegasos.load(folder / "kinds.safetensors").predict(read(folder / "kinds.csv").X)
    assert swapped.lines == without.lines == straight.lines == expected.tolist()
    assert set(swapped.lines) == {"small one", "größer"}
    assert re.fullmatch(r"accuracy [01]\.\d{4} on 60 rows\n", swapped.err)
    assert without.err == ""


@pytest.mark.usefixtures("trained")
def test_labels_go_to_a_file_and_nothing_to_stdout(folder):
    before = set(tree(folder))
    result = cli("predict", "spaced.safetensors", "spaced.txt", "-o", "labels.txt", cwd=folder).fine()
    assert result.out == ""
    labels = (folder / "labels.txt").read_text().splitlines()
    assert set(labels) == {"1", "2"}  # 1.0 in the file
    assert labels == [str(label) for label in pegasos.load(folder / "spaced.safetensors").predict(
        read(folder / "spaced.txt").X)]  # fmt: skip
    assert set(tree(folder)) - before == {"labels.txt"}


@pytest.mark.usefixtures("trained")
def test_scores_stand_beside_the_labels(folder):
    model, rows = pegasos.load(folder / "digits.safetensors"), datasets.load("digits").X
    lines = quick("predict", "digits.safetensors", "digits", "--scores", cwd=folder).fine().lines
    fields = np.array([line.split() for line in lines], float)
    np.testing.assert_array_equal(fields[:, 0], model.predict(rows))
    np.testing.assert_allclose(fields[:, 1:], model.decision_function(rows), rtol=1e-8)
    found = quick("predict", "digits.safetensors", "digits", "--scores", "--json", cwd=folder).fine().json
    assert found["labels"] == model.predict(rows).tolist()
    np.testing.assert_array_equal(found["scores"], model.decision_function(rows))
    assert found["score"] == pytest.approx(model.score(rows, datasets.load("digits").y))


@pytest.mark.usefixtures("trained")
def test_info_tells_what_a_model_file_holds(folder):
    shown = quick("info", "kinds.safetensors", cwd=folder).fine().out
    assert "größer" in shown
    found = quick("info", "kinds.safetensors", "--json", cwd=folder).fine().json["results"]
    assert found["class"] == "PegasosClassifier"
    assert found["about feature_names"] == NAMES[:3]
    assert found["about usual_label"] == "kind"
    assert sorted(found["classes"]) == ["größer", "small one"]
    assert found["scaler"] == "StandardScaler"


def test_info_tells_what_data_hold(folder):
    found = quick("info", "kinds.csv", "--json", cwd=folder).fine().json["results"]
    assert found["feature names"] == NAMES[:3]
    assert sorted(found["labels"]) == ["größer (30)", "small one (30)"]
    sparse = quick("info", "sparse.bz2", cwd=folder).fine()
    assert value(sparse, "kind").startswith("sparse")


@pytest.mark.parametrize(
    ("how", "scaler"),
    [("auto", "StandardScaler"), ("standard", "StandardScaler"), ("max", "MaxAbsScaler"), ("none", "none")],
)
def test_features_are_scaled_as_asked(folder, how, scaler):
    found = quick("train", "spaced.txt", "--scale", how, "--max-steps", 50, "--json", cwd=folder).fine().json
    assert found["results"]["features scaled by"] == scaler


ODD_LABELS = {
    "brackets": ["[bold]x[/bold]", "[/red]"],
    "quoted commas": ['"a, b"', '"say ""c"""'],
    "spaces and signs": ["New York", "<script>"],
    "codes": ["007", "01"],
    "unicode": ["日本", "ñandú"],
}


@pytest.mark.parametrize("kind", ODD_LABELS)
def test_odd_labels_and_names_come_back_as_they_are(tmp_path, kind):
    write_table(tmp_path / "my data.csv", ODD_LABELS[kind], names=["[red]a", "b[/]", "c d", "the label"])
    quick("train", "my data.csv", "-o", "my model", "--max-steps", 400, cwd=tmp_path).fine()
    lines = quick("predict", "my model", "my data.csv", cwd=tmp_path).fine().lines
    expected = ["a, b", 'say "c"'] if kind == "quoted commas" else ODD_LABELS[kind]
    assert set(lines) == set(expected)
    shown = quick("info", "my data.csv", cwd=tmp_path).fine().out
    assert "[red]a, b[/], c d" in shown
    assert expected[0] in shown


@pytest.mark.parametrize(("begin", "end"), [("\ufeff", "\n"), ("", "\r\n"), ("# a comment\n\n", "\n")])
def test_marks_of_encodings_and_ends_of_lines_do_not_matter(tmp_path, begin, end):
    write_table(tmp_path / "d.csv", ["u", "v"], names=["a", "b", "c", "y"], begin=begin, end=end)
    found = quick("info", "d.csv", "--json", cwd=tmp_path).fine().json["results"]
    assert found["feature names"] == ["a", "b", "c"]
    assert found["labels"] == ["u (20)", "v (20)"]


def test_a_file_named_as_a_known_set_is_read_with_its_folder(tmp_path):
    write_table(tmp_path / "digits", ["u", "v"])
    assert quick("info", "./digits", "--json", cwd=tmp_path).fine().json["results"]["labels"] == ["u (20)", "v (20)"]
    assert len(quick("info", "digits", "--json", cwd=tmp_path).fine().json["results"]["labels"]) == 10


def test_rows_alike_and_columns_that_do_not_vary_do_no_harm(tmp_path):
    (tmp_path / "same.csv").write_text("".join(f"5,0,{'pq'[row % 2]}\n" for row in range(20)))
    found = quick("train", "same.csv", "--json", "--report", "same.html", cwd=tmp_path).fine().json["results"]
    assert found["training accuracy"] == 0.5
