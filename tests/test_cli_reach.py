"""What the documents name is within reach of the command line: widths, start vectors, subsets, ties, raw features."""

from __future__ import annotations

import numpy as np
import pytest

from cli_runner import quick
from pegasos import datasets, load, textbook


def test_a_width_is_the_gamma_that_it_stands_for(tmp_path):
    width = quick("train", "iris", "--kernel", "rbf", "--width", "0.25", "--json", cwd=tmp_path)
    gamma = quick("train", "iris", "--kernel", "rbf", "--gamma", "2", "--json", cwd=tmp_path)
    objective = "objective (mean)"
    assert width.json["results"][objective] == gamma.json["results"][objective]
    assert "1/(2γ)" in quick("train", "--help", cwd=tmp_path).out
    for words, sentence in [
        (["--width", "1", "--gamma", "1"], "Give --width or --gamma, not both"),
        (["--width", "0"], "--width 0: a width is positive and finite."),
        (["--width", "wide"], "--width 'wide' is no number"),
    ]:
        result = quick("train", "iris", "--kernel", "rbf", *words, cwd=tmp_path)
        assert result.status == 2
        assert sentence in result.err


def test_a_start_vector_comes_from_a_file(tmp_path):
    data = datasets.load("breast-like")
    start = np.linspace(-0.5, 0.5, 10)
    np.savetxt(tmp_path / "w1.txt", start[None])
    given = [
        "--solver",
        "pegasos",
        "--lam",
        "0.05",
        "--sampling",
        "cyclic",
        "--average",
        "uniform",
        "--max-steps",
        "50",
    ]
    result = quick(
        "train", "breast-like", *given, "--scale", "none", "--start", "w1.txt", "-o", "m.safetensors", cwd=tmp_path
    )
    assert result.status == 0, result.err
    model = load(tmp_path / "m.safetensors")
    X = np.column_stack([data.X, np.ones(len(data.y))])
    expected = textbook.average_of(textbook.pegasos(X, data.y.astype(float), 0.05, np.arange(50), start=start))
    np.testing.assert_allclose([*model.coef_[0], model.intercept_[0]], expected, rtol=1e-9)


@pytest.mark.parametrize(
    "words, text, sentence",
    [
        (["--solver", "pegasos"], "1 2 x", "a line of numbers for each problem"),
        (["--solver", "pegasos"], "1 2 3", "coef_init has shape"),
        ([], " ".join(["0.1"] * 10), "it needs solver='pegasos'"),
        (["--regression"], " ".join(["0.1"] * 10), "--start does not go with --regression"),
    ],
)
def test_a_start_vector_that_is_none_is_refused(words, text, sentence, tmp_path):
    (tmp_path / "w1.txt").write_text(text, encoding="utf-8")
    result = quick("train", "breast-like", *words, "--start", "w1.txt", cwd=tmp_path)
    assert result.status == 2
    assert sentence in result.err


def test_subsets_and_ties_are_options(tmp_path):
    words = ["--sampling", "subsets", "--batch-size", "5", "--max-steps", "30", "--multi-class", "ovo"]
    result = quick("train", "iris", *words, "--break-ties", "no", "-o", "m.safetensors", cwd=tmp_path)
    assert result.status == 0, result.err
    assert load(tmp_path / "m.safetensors")[-1].get_params()["break_ties"] is False
    assert load(tmp_path / "m.safetensors")[-1].sampling == "subsets"


def test_raw_features_are_raw_in_training_and_prediction(tmp_path):
    trained = quick("train", "digits", "--scale", "none", "--lam", "0.1", "-o", "m.safetensors", "--json", cwd=tmp_path)
    assert trained.status == 0, trained.err
    raw = datasets.load("digits", raw=True)
    assert raw.X.max() == 16
    labels = quick("predict", "m.safetensors", "digits", cwd=tmp_path).lines
    model = load(tmp_path / "m.safetensors")
    assert labels == [str(label) for label in model.predict(raw.X)]
    assert trained.json["results"]["training accuracy"] == model.score(raw.X, raw.y)


def test_info_shows_first_and_last_rows(tmp_path):
    result = quick("info", "digits", "--json", cwd=tmp_path)
    table = next(table for table in result.json["tables"] if table["name"] == "rows")
    assert table["title"] == "1797 rows × 64 features"
    assert [row[0] for row in table["rows"]] == ["0", "1", "2", "3", "4", "…", "1792", "1793", "1794", "1795", "1796"]
    data = datasets.load("digits")
    assert table["rows"][0][-1] == data.y[0]
    assert float(table["rows"][0][3]) == data.X[0, 2]
    small = quick("info", "iris", "--json", cwd=tmp_path).json["tables"][1]
    assert small["columns"] == ["row", *datasets.load("iris").feature_names, "label"]
