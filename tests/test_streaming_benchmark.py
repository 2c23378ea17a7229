"""The benchmark of streaming: its file, and a quick trial."""

import json

import numpy as np
import pytest

from benchmarks import streaming
from benchmarks.__main__ import main
from pegasos import io


def test_the_file_is_of_the_size_asked_for_and_its_labels_follow_a_model(tmp_path):
    path = tmp_path / "big.svm"
    streaming.make_file(path, 1e6, seed=0)
    assert 1e6 <= path.stat().st_size < 1.5e6
    data = io.read(path)
    assert data.X.shape[1] <= streaming.FEATURES
    assert set(np.unique(data.y)) == {-1, 1}
    np.testing.assert_allclose(np.sqrt(np.asarray(data.X.multiply(data.X).sum(axis=1))), 1.0, atol=1e-4)
    assert 50 < data.X.nnz / data.X.shape[0] <= streaming.ENTRIES


def test_a_disk_without_room_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(OSError, match="GB left, and the file needs"):
        streaming.make_file(tmp_path / "big.svm", 1e18, seed=0)
    assert not list(tmp_path.iterdir())


def test_a_quick_trial_measures_a_share_and_memory_and_judges_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "QUICK_SIZE", 3e6)
    assert main(["run", "streaming", "--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "streaming.json").read_text(encoding="utf-8"))
    share, memory, rate = results["rows"]
    assert all(row["met"] is None for row in results["rows"])
    assert share["value"] > 0
    assert share["bar"]["number"] == 0.8
    assert 50 < memory["value"] < 2000
    assert rate["detail"]
    assert 0 <= share["facts"]["error"] <= 1
