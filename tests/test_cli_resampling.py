"""The commands permute and bootstrap, and calibrated probabilities on the command line."""

from __future__ import annotations

import numpy as np
import pytest

import pegasos
from cli_runner import cli, quick, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small tables."""
    place = tmp_path_factory.mktemp("resampling")
    write_table(place / "good.csv", ["yes", "no"], names=["a", "b", "c", "y"])
    write_table(place / "numbers.csv", ["1.5", "4", "7.25"], names=["a", "b", "c", "y"])
    return place


def test_a_permutation_test(folder):
    result = quick("permute", "good.csv", "--permutations", 49, "--report", "p.html", "--json", cwd=folder).fine()
    results = result.json["results"]
    assert results["p-value"] == pytest.approx(1 / 50)
    assert results["score"] > 0.9 > results["mean score of permuted labels"]
    assert {figure["name"] for figure in result.json["figures"]} == {"null-distribution"}
    assert (folder / "p.html").stat().st_size > 10_000


def test_a_bootstrap(folder):
    words = ("--resamples", 50, "--level", 0.9, "--bca", "--report", "b.html", "--json")
    found = quick("bootstrap", "good.csv", *words, cwd=folder).fine().json
    assert found["results"]["interval from"] <= found["results"]["interval to"]
    weights = next(table for table in found["tables"] if table["name"] == "weights")
    assert {row[0] for row in weights["rows"]} == {"a", "b", "c"}
    assert all(row[2] <= row[3] for row in weights["rows"])
    assert {figure["name"] for figure in found["figures"]} == {"weights"}


def test_regression_and_kernels(folder):
    words = ("--regression", "--kernel", "rbf", "--json")
    found = quick("permute", "numbers.csv", "--permutations", 9, *words, cwd=folder).fine().json["results"]
    assert found["p-value"] == pytest.approx(0.1)
    found = quick("bootstrap", "numbers.csv", "--resamples", 9, *words, cwd=folder).fine().json
    assert [table["name"] for table in found["tables"]] == ["results"]


def test_probabilities_are_calibrated_and_saved(folder):
    words = ("--probability", "sigmoid", "-o", "m.safetensors", "--report", "t.html", "--json")
    found = cli("train", "good.csv", *words, cwd=folder).fine().json
    assert "reliability" in {figure["name"] for figure in found["figures"]}
    model = pegasos.load(folder / "m.safetensors")
    chances = model.predict_proba(np.zeros((1, 3)))
    assert chances.sum() == pytest.approx(1)


def test_wrong_use_is_one_sentence(folder):
    for words, message in (
        (("permute", "good.csv", "--permutations", 0), "permutations"),
        (("bootstrap", "good.csv", "--level", 1.5), "--level 1.5"),
        (("bootstrap", "good.csv", "--scoring", "nonsense"), "--scoring 'nonsense'"),
        (("permute", "good.csv", "--C", "1,2"), "--C takes one value here"),
        (("train", "numbers.csv", "--regression", "--probability", "sigmoid"), "--probability"),
    ):
        result = quick(*words, cwd=folder)
        assert result.status == 2
        assert message in result.err
        assert "Traceback" not in result.err
