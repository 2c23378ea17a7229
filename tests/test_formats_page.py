"""The examples of docs/formats.md run as they stand."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "formats.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_examples(tmp_path, monkeypatch):
    for module in ("onnxruntime", "skl2onnx", "skops", "joblib"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    assert len(BLOCKS) == 11
    for block in BLOCKS[:-1]:
        exec(compile(block, str(PAGE), "exec"), space)
    assert space["smaller"].compression_["rms_change"] <= 0.1


def test_the_server(tmp_path, monkeypatch):
    pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    monkeypatch.chdir(tmp_path)
    space: dict = {"__name__": "serve"}
    exec(compile(BLOCKS[0] + 'model.save("model.safetensors")', str(PAGE), "exec"), space)
    exec(compile(BLOCKS[-1], str(PAGE), "exec"), space)
    with testclient.TestClient(space["app"]) as client:
        answer = client.post("/predict", json=space["X_new"][:5].tolist())
    assert answer.json() == space["model"].predict(space["X_new"][:5]).tolist()
