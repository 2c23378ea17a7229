"""The benchmark of streaming: its file, and a quick trial."""

import json

import numpy as np
import pytest

from benchmarks import _big_files, streaming
from benchmarks.__main__ import main
from pegasos import PegasosClassifier, io


def test_the_file_is_of_the_size_asked_for_and_its_labels_follow_a_model(tmp_path):
    path = tmp_path / "big.svm"
    _big_files.make_file(path, 1e6, seed=0)
    assert 1e6 <= path.stat().st_size < 1.5e6
    data = io.read(path)
    assert data.X.shape[1] <= _big_files.FEATURES
    assert set(np.unique(data.y)) == {-1, 1}
    np.testing.assert_allclose(np.sqrt(np.asarray(data.X.multiply(data.X).sum(axis=1))), 1.0, atol=1e-4)
    assert 50 < data.X.nnz / data.X.shape[0] <= _big_files.ENTRIES


def test_a_disk_without_room_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(OSError, match="GB left, and the file needs"):
        _big_files.make_file(tmp_path / "big.svm", 1e18, seed=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_are_of_the_size_asked_for_and_can_be_learnt_from(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"big{suffix}"
    _big_files.make_file(path, 2e6, seed=0)
    assert 1.9e6 <= path.stat().st_size < 3e6
    data = io.read(path)
    assert data.X.shape[1] == _big_files.COLUMNS
    assert set(np.unique(data.y)) == {-1, 1}
    assert 0.8 < PegasosClassifier(lam=1e-4).fit(data.X, data.y).score(data.X, data.y) < 0.95


def test_a_quick_trial_measures_a_share_and_memory_and_judges_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "QUICK_SIZE", 3e6)
    assert main(["run", "streaming", "--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "streaming.json").read_text(encoding="utf-8"))
    share, memory, rate, *_ = results["rows"]
    assert {row["data"].split(",")[0] for row in results["rows"]} == {"LIBSVM", "CSV", "Parquet"}
    assert all(row["met"] is None for row in results["rows"])
    assert share["value"] > 0
    assert share["bar"]["number"] == 0.8
    assert 50 < memory["value"] < 2000
    assert rate["detail"]
    assert 0 <= share["facts"]["error"] <= 1
