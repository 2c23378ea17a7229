"""A few files of each format by script/fuzz: read right in every way, or refused in a sentence.

Model files, which it changes, too, have a test of their own (test_storage_mutated).
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "script"))

CASES = {"tables": 60, "libsvm": 80, "npz": 80, "npy": 10, "hdf5": 80, "parquet": 60, "idx": 60, "checkpoints": 120}
NEEDS = {"tables": "pandas", "hdf5": "h5py", "parquet": "pyarrow"}


@pytest.mark.parametrize("name", CASES)
def test_files_made_at_random_are_read_right_or_refused(name, tmp_path, monkeypatch):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    module = import_module(f"fuzz.{name}")
    if name == "hdf5":
        monkeypatch.setattr(module, "DAMAGED", 0.0)
    outcomes = set()
    for number in range(CASES[name]):
        outcomes.add(module.case(np.random.default_rng([1, number]), tmp_path)[1])
    assert "refused" in outcomes
    assert name == "npy" or len(outcomes) > 1, "something is also read"
