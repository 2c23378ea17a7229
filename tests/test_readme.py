"""The README: its code runs, each block by itself, and it says what it may say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.M | re.S)
PYTHON = [code for language, code in BLOCKS if language == "python"]
COMMANDS = [line for language, code in BLOCKS if language == "bash" for line in code.splitlines() if line.strip()]
PROMISED = {  # the beginning of what a block prints
    "PegasosSearchCV": r"\{'C': [\d.]+, 'gamma': [\d.]+\} accuracy 0\.99\d\nrelative gap at most [\d.e-]+\n\[",
    "pegasos.svm": r"\[\d+ \d+\] \[[\d.e-]+\] \[ True\]",
    "bootstrap": r"accuracy 0\.9\d\d, p = 0\.001; \d+ weights",
}


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_a_block_of_python_runs_by_itself(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    (expected,) = [pattern for name, pattern in PROMISED.items() if name in code]
    assert re.match(expected, capsys.readouterr().out)


def test_the_commands_run(tmp_path):
    commands = [line for line in COMMANDS if line.startswith("pegasos ")]
    assert len(commands) >= 3
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    for line in commands:
        words = [sys.executable, "-m", *shlex.split(line, comments=True)]
        done = subprocess.run(
            words, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert done.stdout.strip()


def test_it_is_short_and_has_a_picture():
    assert len(TEXT.splitlines()) <= 150
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert pictures
    assert all((ROOT / picture).stat().st_size < 100_000 for picture in pictures)


def test_names_of_extras_are_those_of_the_package():
    import tomllib

    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = {name for names in re.findall(r"\.\[([\w,]+)\]", TEXT) for name in names.split(",")}
    assert asked <= set(known)
