"""The benchmark of the GPU: counts of operations and bytes, ceilings by a stand-in, and a trial on the processor."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import _ceilings, _fits, _floors, _results, _table, gpu
from benchmarks.__main__ import main
from benchmarks._ceilings import Ceilings
from benchmarks._data import DataMissing, digits, mixture
from benchmarks._options import Options
from benchmarks._race import Record
from benchmarks._rows import Bar, What, alone
from pegasos import PegasosClassifier

ABSENT = "CuPy finds no GPU"


@pytest.fixture(autouse=True)
def no_collecting(monkeypatch):
    """Garbage is collected before each measurement, which takes long beside so much that other tests have imported."""
    monkeypatch.setattr("benchmarks._race.gc.collect", lambda: 0)


class Array(np.ndarray):
    """An array that can be set as one of CuPy."""

    def set(self, rows):
        self[:] = rows


def stand_in(monkeypatch, *, count=lambda: 1, matmul=np.matmul) -> None:
    """Have NumPy pose as CuPy, on a GPU where everything takes two milliseconds."""
    event = lambda: SimpleNamespace(record=lambda: None, synchronize=lambda: None)
    runtime = SimpleNamespace(
        getDeviceCount=count,
        getDeviceProperties=lambda number: {"name": b"A card", "totalGlobalMem": 4 * 2**30},
        driverGetVersion=lambda: 13010,
        runtimeGetVersion=lambda: 13000,
    )
    device = lambda: SimpleNamespace(id=0, synchronize=lambda: None)
    pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    fake = SimpleNamespace(
        __version__="14.0", uint8=np.uint8, float64=np.float64, asarray=np.asarray, ones=np.ones, copyto=np.copyto,
        empty=lambda size, dtype: np.empty(size, dtype).view(Array), empty_like=np.empty_like, linalg=np.linalg,
        matmul=matmul, get_default_memory_pool=pool, get_default_pinned_memory_pool=pool,
        cuda=SimpleNamespace(runtime=runtime, Device=device, Event=event, get_elapsed_time=lambda first, last: 2.0),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(empty_pinned=np.empty))
    monkeypatch.setattr(_ceilings.shutil, "which", lambda name: None)


def test_a_kernel_matrix_is_half_a_product_and_a_pull_is_added_to_all_scores():
    pulls = _floors.Pulls(columns=7, rows=5)
    work = _floors.kernel_work(10, 3, pulls, draws=30, columns=2, kernels=4)
    assert work.operations == 10 * 10 * 3 + 2 * 10 * 7
    assert work.moved == 4 * (10 * 3 + 10 * 10 + 10 * 5)
    assert work.uploaded == 4 * 10 * 3
    assert work.blocks == 10 * 10 * 3 + 4 * 2 * 30 * 10 * 2


def test_a_row_of_pairs_is_scored_in_those_of_its_own_class():
    work = _floors.pairs_work(100, 8, classes=10, passes=5)
    assert work.operations == 2 * 5 * 100 * 8 * 9
    assert work.moved == 4 * 5 * 100 * 8
    assert work.blocks == 4 * 5 * 100 * 8 * 45


def test_columns_that_one_draw_pulls_share_the_reading():
    first = SimpleNamespace(support_=np.array([0, 2]), violations_=np.array([[3, 1], [2, 2]]))
    second = SimpleNamespace(support_=np.array([2, 3]), violations_=np.array([[4, 1]]))
    pulls = _floors.pulls_of([first, second], 5)
    assert pulls == _floors.Pulls(columns=13, rows=3 + 4 + 1)
    assert pulls.times(4) + pulls == _floors.Pulls(columns=65, rows=16)


def test_a_row_of_a_fit_is_read_once_a_pass_at_most():
    task = digits().first(300)
    model = PegasosClassifier(kernel="rbf", C=5, solver="sdca", max_iter=2, random_state=0).fit(task.X, task.y)
    pulls = _floors.pulls_of([model], 300)
    assert len(model.support_) <= pulls.rows <= 2 * 300
    assert pulls.rows <= pulls.columns <= 10 * pulls.rows


def test_the_floor_is_the_longer_of_arithmetic_and_memory_after_the_upload():
    ceilings = Ceilings(product=100.0, copy=10.0, bus=2.0, pageable=1.0)
    assert _floors.Work(500.0, 20.0, 4.0, 900.0).seconds(ceilings) == 5 + 2
    assert _floors.Work(500.0, 80.0, 4.0, 900.0).seconds(ceilings) == 8 + 2
    assert _floors.Work(500.0, 80.0, 4.0, 900.0).block_seconds(ceilings) == 9 + 2


def test_ceilings_are_what_was_done_over_the_seconds(monkeypatch):
    stand_in(monkeypatch)
    found = _ceilings.of_card(quick=True)
    assert found.product == pytest.approx(2 * 512**3 / 0.002)
    assert found.copy == pytest.approx(2 * 2**26 / 0.002)
    assert found.bus == found.pageable == pytest.approx(2**24 / 0.002)
    assert "host to device 8.39 GB/s pinned" in _ceilings.described(found)
    assert "host to device" not in _ceilings.described(_ceilings.of_host(64))


def test_a_product_that_is_not_one_of_float32_is_an_error(monkeypatch):
    def rounded(A, B, out):
        out[:] = A.astype(np.float16).astype(np.float32) @ B

    stand_in(monkeypatch, matmul=rounded)
    with pytest.raises(RuntimeError, match="is CUPY_TF32 set"):
        _ceilings.of_card(quick=True)


def test_the_card_is_named_in_the_line_of_the_machine(monkeypatch):
    stand_in(monkeypatch)
    card = _ceilings.card()
    assert card == {"name": "A card", "memory": "4 GiB", "driver": "for CUDA 13.1", "cuda": "13.0", "cupy": "14.0"}
    row = alone(What("task", "data"), Record("pegasos", [1.0], [{}]), 1.0)
    results = _results.results_of("gpu", "A title", {"rows": [row], "machine": {"gpu": card}}, Options(quick=True))
    line = _table.machine_line(results["machine"])
    assert line.startswith("A card, 4 GiB, driver for CUDA 13.1, CUDA 13.0, CuPy 14.0; ")


def test_what_is_missing_is_said_in_half_a_sentence(monkeypatch):
    def fail():
        raise RuntimeError("no driver")

    stand_in(monkeypatch)
    assert _ceilings.missing() is None
    stand_in(monkeypatch, count=lambda: 0)
    assert _ceilings.missing() == ABSENT
    stand_in(monkeypatch, count=fail)
    assert _ceilings.missing() == "CuPy finds no GPU (RuntimeError: no driver)"
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert _ceilings.missing() == "CuPy is not installed (pip install 'pegasos[cuda]')"


def test_a_figure_by_itself_may_have_further_conditions():
    ours = Record("pegasos", [1.0], [{}])
    row = alone(What("task", "data"), ours, 1.0, bar=Bar(most=2, unit="s"), also={"error ≤ 1 %": False})
    assert (row["met"], row["bar"]["text"]) == (False, "≤ 2 s, error ≤ 1 %")


def test_the_mixture_is_standardised_and_overlaps_where_its_centres_are_close():
    X, y = mixture(600, 40, 1.0, np.random.default_rng(0))
    close = mixture(600, 40, 0.15, np.random.default_rng(0))[0]
    assert X.dtype == np.float32
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-5)
    apart = lambda X: np.linalg.norm(X[y == 0].mean(axis=0) - X[y == 1].mean(axis=0))
    assert apart(close) < apart(X) / 2


def test_without_a_gpu_a_full_run_ends_with_a_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_ceilings, "missing", lambda: ABSENT)
    assert main(["run", "gpu", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"error: gpu: {ABSENT}; --quick tries the tasks on the processor." in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_a_quick_trial_on_the_processor_judges_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(_ceilings, "missing", lambda: ABSENT)
    assert main(["run", "gpu", "--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert [row["bar"]["number"] for row in results["rows"]] == [0.4, 0.8, 0.3, 0.3, 1.5, 0.5]
    assert f"{ABSENT}: all ran on the processor." in results["notes"]
    assert "gpu" not in results["machine"]
    for row in results["rows"]:
        assert row["met"] is None
        assert row["value"] == row["ours"][0]
        assert row["peer"] == "its limit"
        assert row["peer_facts"]["fraction"] == pytest.approx(row["peer_times"][0] / row["ours"][0])
        assert 0 <= row["facts"]["error"] <= 1


def test_a_device_that_is_refused_is_named_as_missing(monkeypatch):
    ours = _fits.ours

    def on_the_processor(settings, task, options):
        """The processor poses as a GPU that knows no TF32."""
        device = "cpu" if settings["device"] == "cuda" else "no such device"
        return ours(settings | {"device": device}, task, options)

    monkeypatch.setattr(_ceilings, "wait", lambda: None)
    monkeypatch.setattr(_fits, "ours", on_the_processor)
    full, rounded = gpu.mnist_part(Options(quick=True), gpu.Site("cuda", _ceilings.of_host(64)))
    assert full["missing"] is None
    assert rounded["peer"] == "pegasos, TF32"
    assert "device" in rounded["missing"]


def test_a_task_without_its_data_is_left_out_and_said_so(monkeypatch):
    def absent(options, site):
        raise DataMissing("there is no such file.")

    row = alone(What("task", "data"), Record("pegasos", [1.0], [{}]), 1.0)
    monkeypatch.setattr(_ceilings, "missing", lambda: ABSENT)
    monkeypatch.setattr(gpu, "PARTS", {"first": absent, "second": lambda options, site: [row]})
    found = gpu.run(Options(quick=True))
    assert found["rows"] == [row]
    assert "first was left out: there is no such file." in found["notes"]
    with pytest.raises(DataMissing, match="first was left out"):
        gpu.run(Options(quick=True), ["first"])
