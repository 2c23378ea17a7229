"""The examples run, show what they say, and are in the format of sphinx-gallery."""

from __future__ import annotations

import ast
import os
import re
import runpy
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pegasos import PegasosClassifier

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
NAMES = [path.stem for path in FILES if path.stem.startswith("plot_")]
NEEDS = {"plot_callbacks": "sklearn.callback", "plot_dask": "dask", "plot_onnx": "onnxruntime"}

# What the texts of the examples say of what they find.
CLAIMS = {
    "plot_boundary_animation": lambda its: np.array_equal(its["whole"].dual_coef_, its["model"].dual_coef_),
    "plot_bootstrap": lambda its: (its["low"] <= its["high"]).all(),
    "plot_c_path": lambda its: sum(its["warm"]) < sum(its["cold"]),
    "plot_callbacks": lambda its: len(its["watch"].scores) == its["best"] + 1 + 10,
    "plot_certificate": lambda its: (its["distances"] <= its["gaps"]).all(),
    "plot_custom_kernel": lambda its: its["right"] > 0.85,
    "plot_dask": lambda its: its["model"].converged_.all(),
    "plot_imbalanced": lambda its: its["found"] > 0.9,
    "plot_landmarks": lambda its: abs(its["found"]["uniform"][-1, 1] - its["exact_score"]) < 0.03,
    "plot_multilabel_text": lambda its: its["model"].converged_.all(),
    "plot_one_class": lambda its: 0 < its["shares"][-1] < 0.1,
    "plot_onnx": lambda its: all(np.array_equal(found["label"], its["model"].predict(its["X_test"]))
                                 for found in its["outputs"].values()),
    "plot_permutation_test": lambda its: its["pvalue"] > 0.05,  # of the noise, which comes last
    "plot_regression": lambda its: its["svm"].converged_.all(),
    "plot_searchlight": lambda its: its["pvalues"][its["SIGNAL_AT"]] < 0.01,
    "plot_streaming": lambda its: 0 <= its["model"].objective_[0] - its["exact"].objective_[0] + 1e-4
                                  <= its["model"].dual_gap_[0],
    "plot_swap_svc": lambda its: its["theirs"].n_support_.tolist() == its["ours"].n_support_.tolist(),
    "plot_ten_lines": lambda its: its["search"].score(its["X_test"], its["y_test"]) > 0.98,
    "plot_textbook": lambda its: np.array_equal(its["same"], its["counts"]),
    "plot_tuning_245_cells": lambda its: its["cells"] == 245,
}  # fmt: skip


HERE = (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0", socket.gethostname())


def only_here(function):
    """A function of `socket` that knows no other machine than this one."""

    def refusing(address, *arguments, **options):
        host = address[0] if isinstance(address, tuple) else address
        assert host in HERE, f"an example asked the network for {host!r}"
        return function(address, *arguments, **options)

    return refusing


@pytest.fixture
def figures(monkeypatch, tmp_path):
    """Where an example runs: in an empty folder, without data and network, drawing on nothing."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg", force=True)
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PEGASOS_DATA", raising=False)
    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, only_here(getattr(socket, name)))
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_and_finds_what_it_says(name, figures):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*non-interactive|Animation was deleted")
        for module in ("distributed", "dask", "skl2onnx", "onnx"):  # their own
            warnings.filterwarnings("ignore", module=module)
        its = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert figures.get_fignums(), "an example in the gallery has a figure"
    for number in figures.get_fignums():
        figure = figures.figure(number)
        axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
        assert any(ax.get_title() or ax.get_title(loc="left") or ax.get_legend() for ax in axes), (
            "it says what it shows"
        )
        figure.canvas.draw()
    if name in CLAIMS:
        assert CLAIMS[name](its)
    assert not list(Path.cwd().iterdir()), "an example leaves nothing behind"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_is_short(path):
    text = path.read_text(encoding="utf-8")
    first, line, *rest = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert first
    assert line == "=" * len(first), "a title with a line of = below it"
    assert "".join(rest).strip(), "a sentence on what it is about"
    assert len(text.splitlines()) <= 120
    assert not re.search("PEGASOS_DATA|fetch_", text), "data that come with scikit-learn, or are made"
    if path.stem.startswith("plot_"):
        assert "# %%" in text
        assert "plt.show()" in text


def test_claims_are_of_examples_that_exist():
    assert {*CLAIMS, *NEEDS} <= set(NAMES)
    assert len(NAMES) >= 20


def test_what_is_not_installed_is_a_sentence(tmp_path):
    """MLflow is not needed by the tests: without it the example says so."""
    (tmp_path / "mlflow.py").write_text("raise ImportError\n", encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "mlflow_model.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 1
    assert done.stderr.strip() == "This example needs MLflow, which is not installed: pip install mlflow."


def test_a_model_file_is_served(tmp_path, monkeypatch):
    """FastAPI is not needed by the tests: what stands for it here hands on the function and the status."""

    class HTTPException(Exception):
        pass

    app = SimpleNamespace(post=lambda path: lambda function: function)
    monkeypatch.setitem(sys.modules, "fastapi", SimpleNamespace(FastAPI=lambda: app, HTTPException=HTTPException))
    monkeypatch.setenv("MODEL", str(tmp_path / "model.safetensors"))
    PegasosClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [3, 5]).save(tmp_path / "model.safetensors")
    predict = runpy.run_path(str(EXAMPLES / "serve_fastapi.py"))["predict"]
    assert predict([[0.0, 2.0], [2.0, 0.0]]) == [3, 5]
    with pytest.raises(HTTPException, match="expecting 2 features") as refused:
        predict([[1.0]])
    assert refused.value.args[0] == 422


def test_mlflow_is_told_to_trust_what_a_model_is_made_of():
    skops = pytest.importorskip("skops.io")
    tree = ast.parse((EXAMPLES / "mlflow_model.py").read_text(encoding="utf-8"))
    trusted = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "TRUSTED")
    model = PegasosClassifier(kernel="rbf").fit([[0.0], [1.0]], [0, 1])
    assert sorted(ast.literal_eval(trusted)) == sorted(skops.get_untrusted_types(data=skops.dumps(model)))
