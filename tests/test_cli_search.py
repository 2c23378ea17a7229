"""The commands tune, compare and study on good input."""

from __future__ import annotations

import csv
import json

import pytest

import pegasos
from cli_runner import cli, quick, write_table
from pegasos.io import read


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two small tables."""
    place = tmp_path_factory.mktemp("search")
    write_table(place / "good.csv", ["yes", "no"], names=["a", "b", "c", "y"])
    write_table(place / "numbers.csv", ["1.5", "4", "7.25"], names=["a", "b", "c", "y"])
    return place


def test_a_range_is_tuned_over_and_the_best_model_saved(folder):
    result = cli("tune", "good.csv", "--lam", "1e-5:10:3", "--time-limit", 60, "-o", "best.safetensors", "--json",
                 cwd=folder).fine()  # fmt: skip
    found = result.json
    assert found["results"]["combinations"] == 3
    assert found["results"]["folds"] == 5
    cells = next(table for table in found["tables"] if table["name"] == "cells")
    assert sorted(row[0] for row in cells["rows"]) == pytest.approx([1e-5, 1e-2, 10])
    assert found["results"]["best score"] == cells["rows"][0][1] > 0.9
    model = pegasos.load(folder / "best.safetensors")
    assert model[-1].lam == found["results"]["best lam"]
    data = read(folder / "good.csv")
    assert model.score(data.X, data.y) > 0.9
    assert "model: best.safetensors" in result.err


def test_lists_of_several_options_are_all_combined(folder):
    found = quick("tune", "good.csv", "--C", "1,10", "--kernel", "rbf", "--gamma", "scale,0.5", "--cv", 3, "--report",
                  "tune.html", "--json", cwd=folder).fine().json  # fmt: skip
    assert found["results"]["combinations"] == 4
    assert found["results"]["folds"] == 3
    assert {figure["name"] for figure in found["figures"]} >= {"scores-gamma-C"}
    assert (folder / "tune.html").stat().st_size > 10_000


def test_without_a_grid_lambda_is_tuned_and_the_width_of_a_gaussian(folder):
    found = quick("tune", "good.csv", "--json", cwd=folder).fine().json["results"]
    assert found["combinations"] == 6
    words = ("--kernel", "rbf", "--max-steps", 100)
    found = quick("tune", "good.csv", *words, "--json", cwd=folder).fine().json["results"]
    assert found["combinations"] == 18
    assert found["best gamma"] > 0


def test_regression_is_tuned_too(folder):
    found = quick("tune", "numbers.csv", "--regression", "--epsilon", "0.1,0.5", "--json", cwd=folder).fine().json
    assert found["results"]["best score"] > 0.5


def test_a_comparison_has_errors_objectives_and_gaps(folder):
    result = quick("compare", "digits", "--max-rows", 300, "--json", cwd=folder).fine()
    found = result.json["results"]
    assert list(found) == [
        "ours, linear", "Pegasos, linear", "LinearSVC, hinge", "SGDClassifier", "SVC, linear (SMO)", "ours, rbf",
        "Pegasos, rbf", "SVC, rbf (SMO)", "textbook SMO, rbf",
    ]  # fmt: skip
    for name, row in found.items():
        assert set(row) == {"test error", "training error", "seconds", "objective", "gap"}
        assert 0 <= row["test error"] < 0.3
        assert row["seconds"] > 0
        if row["gap"] is not None:
            assert row["gap"] >= 0
            assert row["objective"] >= 0
        assert (row["gap"] is None) == ("SMO" in name)
    linear = [found[name]["objective"] for name in list(found)[:4]]
    assert found["LinearSVC, hinge"]["objective"] <= min(linear) * 1.1
    assert result.err == ""
    assert "300 of 1347 training rows were used" in result.json["remarks"][0]["text"]


def test_a_comparison_of_two_classes_has_an_objective_of_svc_too(folder):
    result = quick("compare", "good.csv", "--test", 0.5, cwd=folder).fine()
    assert sum("SVC" in line for line in result.lines) >= 3
    assert "on 20 test rows" in result.out
    found = quick("compare", "good.csv", "--test", 0.5, "--json", cwd=folder).fine().json["results"]
    assert found["SVC, linear (SMO)"]["gap"] >= 0


def test_a_study_leaves_tables_figures_and_results(folder):
    result = quick("study", "fashion-pairs", "--quick", "--out", "studies", "--json", cwd=folder).fine()
    place = folder / "studies" / "fashion-pairs"
    page = json.loads((place / "results.json").read_text("utf-8"))
    assert result.json["studies"][0]["tables"] == page["tables"]
    assert page["name"] == "fashion-pairs"
    tables = list(place.rglob("*.csv"))
    assert len(tables) == len(page["tables"]) > 0
    for table in tables:
        with open(table, encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) > 1
    figures = list(place.rglob("*.png"))
    assert len(figures) == len(page["figures"]) > 0
    assert all(figure.read_bytes().startswith(b"\x89PNG") for figure in figures)
    assert not list(folder.rglob("*.part"))
