"""The benchmarks: turns, medians, missing peers, JSON and the README's table; quick trials of small claims."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import _claims, _given, _page, _peers, _readme, _results, _table, everyday
from benchmarks.__main__ import main
from benchmarks._data import digits
from benchmarks._fits import peer
from benchmarks._objective import LinearObjective
from benchmarks._options import RESULTS, ROOT, Options
from benchmarks._race import Contestant, Record, Timed, absent, race
from benchmarks._reach import reaching
from benchmarks._rows import Bar, What, against, alone

WHAT = What("task", "data")


@pytest.fixture(autouse=True)
def no_collecting(monkeypatch):
    """Garbage is collected before each measurement, which takes long beside so much that other tests have imported."""
    monkeypatch.setattr("benchmarks._race.gc.collect", lambda: 0)


def timed(name: str, times: list[float], turns: list[str], **more) -> Contestant:
    """A contestant that says how long it took and notes when it had its turn."""
    left = iter(times)

    def work() -> Timed:
        turns.append(name)
        return Timed(next(left), name)

    return Contestant(name, work, **more)


def record(name: str, times: list[float], **facts) -> Record:
    return Record(name, times, [facts] * len(times))


def test_contestants_take_turns_the_other_way_round_in_every_other_repeat():
    turns: list[str] = []
    warm = lambda: turns.append("warm")
    ours, peer = race([timed("a", [1, 5, 3], turns, warm=warm), timed("b", [2, 2, 8], turns)], 3, 1)
    assert turns == ["warm", "a", "b", "b", "a", "a", "b"]
    assert (ours.times, ours.median, peer.median, peer.result) == ([1, 5, 3], 3, 2, "b")


def test_a_slow_contestant_may_have_fewer_repeats():
    turns: list[str] = []
    race([timed("a", [1] * 3, turns), timed("slow", [9], turns, repeats=1)], 3, 1)
    assert turns.count("slow") == 1
    assert turns.count("a") == 3


def test_facts_are_medians_of_numbers_and_the_last_of_other_values():
    found = Record("a", [1.0, 1.0, 1.0], [{"error": value, "best": str(value)} for value in (0.3, 0.1, 0.2)])
    assert found.facts == {"error": 0.2, "best": "0.2"}


def test_a_peer_that_fails_is_missing_with_the_reason_and_ours_is_an_error():
    def fail():
        raise ValueError("no such kernel")

    turns: list[str] = []
    ours, broken, other = race(
        [timed("a", [1, 1], turns), Contestant("b", fail), Contestant("c", lambda: 0, warm=fail)], 2, 1
    )
    assert ours.times == [1, 1]
    assert broken.missing == other.missing == "ValueError: no such kernel"
    with pytest.raises(ValueError, match="no such kernel"):
        race([Contestant("ours", fail, ours=True)], 1, 1)


def test_a_peer_that_is_not_installed_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(_peers.HOMES, "ghost", ("no-such-package", "no_such_package", "Ghost"))
    contestant = peer("ghost", lambda kind: kind(), digits())
    (found,) = race([contestant], 1, 1)
    row = against(WHAT, record("pegasos", [1.0], error=0.1), found, bar=Bar(least=2), slack=0.0)
    results = _results.results_of("latency", "A title", {"rows": [row]}, Options(quick=True))
    assert (row["ratio"], row["met"]) == (None, None)
    assert results["missing"] == {"ghost": "no-such-package is not installed"}
    assert "ghost: missing, no-such-package is not installed" in _table.peer(row)
    assert "ghost: missing" in _page.page([results | {"quick": False}])


def test_a_peer_that_cannot_be_imported_is_named(monkeypatch):
    monkeypatch.setitem(_peers.HOMES, "broken", ("numpy", "numpy.no_such_module", "Broken"))
    assert "numpy cannot be imported" in str(_peers.find("broken").missing)


@pytest.mark.parametrize(
    "times, error, met", [([30.0], 0.1, True), ([29.0], 0.1, False), ([30.0], 0.0985, False), ([30.0], 0.099, True)]
)
def test_a_bar_needs_the_ratio_and_the_error(times, error, met):
    ours, other = record("pegasos", [9.0, 10.0, 99.0], error=0.1), record("SVC", times, error=error)
    row = against(WHAT, ours, other, bar=Bar(least=3), slack=0.001)
    assert row["ratio"] == times[0] / 10
    assert row["met"] is met


def test_further_conditions_and_figures_by_themselves():
    ours, other = record("pegasos", [1.0], error=0.2), record("SVC", [9.0], error=0.3)
    row = against(WHAT, ours, other, bar=Bar(least=3), also={"accuracy ≥ 90 %": False})
    assert row["met"] is False
    assert row["bar"]["text"] == "≥ 3 ×, accuracy ≥ 90 %"
    row = alone(WHAT, ours, 4.2, bar=Bar(most=4, unit="GB"))
    assert (row["met"], row["bar"]["text"], _table.figure(row)) == (False, "≤ 4 GB", "4.2 GB")


def test_a_run_in_parts_keeps_the_other_rows(tmp_path):
    found = {"rows": [against(What("a", data), record("ours", [2.0]), record("p", [4.0])) for data in ("one", "two")]}
    _results.write(tmp_path, _results.results_of("everyday", "A title", found, Options()))
    again = against(What("a", "two"), record("ours", [1.0]), record("p", [4.0]))
    rows = _results.beside_earlier([again], tmp_path, "everyday")
    assert [(row["data"], row["ratio"]) for row in rows] == [("one", 2.0), ("two", 4.0)]


def test_the_everyday_s_mean_is_of_the_rows_beside_linear_svc():
    found = (("x", "SGDClassifier()", 9.0), ("a", "LinearSVC()", 2.0), ("b", "LinearSVC()", 8.0))
    rows = [against(What("ours", data), record("o", [1.0]), record(peer, [time])) for data, peer, time in found]
    concluded = everyday.conclude(everyday.conclude(rows))
    assert [row["ratio"] for row in concluded] == [2.0, 8.0, None, 9.0]
    assert concluded[2]["value"] == 4.0
    assert concluded[2]["met"]


def test_the_shortest_fit_that_is_good_enough_is_raced():
    make = lambda epochs: Contestant("sgd", lambda: epochs, lambda result: {"objective": 1 / result})
    good = lambda facts: facts["objective"] <= 0.2
    (found,) = race([reaching(make, good, "0.2")], 1, 1)
    assert found.facts == {"objective": 0.2, "epochs": 5}
    assert "does not reach 0.2 with epochs 3" in str(reaching(make, good, "0.2", ladder=(1, 2, 3)).missing)
    assert reaching(lambda epochs: absent("x", "not installed"), good, "0.2").missing == "not installed"


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_objectives_are_those_that_the_certificate_names(scheme):
    from pegasos import PegasosClassifier

    task = digits()
    model = PegasosClassifier(lam=1e-3, multi_class=scheme, max_iter=2, random_state=0).fit(task.X, task.y)
    found = LinearObjective(task.X, task.y, 1e-3, scheme)(model)["objective"]
    assert found == pytest.approx(model.objective_.mean(), rel=1e-4)


def test_json_comes_back_as_it_was_written(tmp_path):
    row = against(WHAT, record("pegasos", [1.0, 2.0], error=np.float32(0.5), gap=float("nan")), record("SVC", [3.0]))
    results = _results.results_of("engine", "A title", {"rows": [row]}, Options(out=tmp_path, quick=True))
    path = _results.write(tmp_path, results)
    assert path.name == "engine.json"
    (back,) = _results.read(tmp_path)
    assert back == _results.plain(results)
    assert back["rows"][0]["facts"] == {"error": 0.5, "gap": None}
    assert back["machine"]["threads"]["asked"] == 2


def test_a_quick_trial_judges_nothing_and_stays_out_of_the_readme():
    row = alone(WHAT, record("pegasos", [1.0]), 1.0, bar=Bar(most=2, unit="s"))
    quick = _results.results_of("latency", "A title", {"rows": [row]}, Options(quick=True))
    assert quick["rows"][0]["met"] is None
    assert _page.NOTHING == _readme.block([quick]) == _page.page([quick])


def test_every_module_that_is_a_claim_is_listed(capsys):
    found = {path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py")}
    assert found == set(_claims.NAMES)
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0].strip("[]") for line in lines] == list(_claims.NAMES)
    assert set(_claims.by_default()) == found - {"tuning_sharp", "gpu"}


def test_the_tables_of_the_pages_are_those_of_the_json():
    found = committed()
    assert not any(results["quick"] for results in found)
    for path, text in _readme.pages(ROOT, found).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m benchmarks readme"


def test_the_readme_selects_rows_that_there_are_and_some_that_are_not_flattering():
    found = committed()
    rows = [[row for results in found for row in _readme.rows_of(results, *claim)] for claim in _readme.SELECTED]
    assert all(rows)
    assert min(row["ratio"] for some in rows for row in some) < 1.1


def test_what_every_peer_was_given_is_told():
    for results in committed():
        for name in {row["peer"] for row in results["rows"]} - {None}:
            told = _given.peer_of(results["name"], name)
            assert told or re.fullmatch(r"\w+\(.*\)", name), f"_given.py says nothing of {name} in {results['name']}"
        assert results["name"] == "latency" or _given.ours_of(results)


def committed() -> list[dict]:
    """The results of full runs."""
    found = _results.read(RESULTS)
    if not found:
        pytest.skip("no results of a full run are committed")
    return found


def test_the_readme_keeps_what_stands_around_the_marks():
    text = f"before\n{_readme.BEGIN}\nold\n{_readme.END}\nafter\n"
    assert _readme.between(text, "new") == f"before\n{_readme.BEGIN}\nnew\n{_readme.END}\nafter\n"
    with pytest.raises(ValueError, match="README.md needs the lines"):
        _readme.between("nothing", "new")


def test_a_quick_trial_through_the_command(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "run", "news20", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "quick trial: not judged" in done.stdout
    check_quick(tmp_path / "news20.json")


def test_a_quick_trial_to_a_goal(tmp_path):
    assert main(["run", "covtype", "--quick", "--out", str(tmp_path)]) == 0
    check_quick(tmp_path / "covtype.json")


def test_data_that_are_not_there_are_an_error_of_that_claim_only(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("PEGASOS_DATA", raising=False)
    assert main(["run", "news20", "rcv1", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "error: news20: set PEGASOS_DATA" in said
    assert "error: rcv1: set PEGASOS_DATA" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words, said", [(["run", "nope"], "no claim 'nope'"), (["run", "--repeats", "2"], "at least 3")]
)
def test_wrong_words_are_errors(words, said, capsys):
    with pytest.raises(SystemExit) as ending:
        main(words)
    assert ending.value.code == 2
    assert said in capsys.readouterr().err


def check_quick(path) -> None:
    """Assert that a quick trial has measured ours beside both peers of scikit-learn and judged nothing."""
    results = json.loads(path.read_text(encoding="utf-8"))
    assert results["quick"]
    assert {row["peer"] for row in results["rows"]} == {"SGDClassifier", "LinearSVC"}
    for row in results["rows"]:
        assert row["ours"]
        assert row["met"] is None
        assert 0 <= row["facts"]["error"] <= 1
