"""What a report of a fault says about the installation: `show_versions` and `pegasos info --versions`."""

import os
import sys
from importlib import import_module
from importlib.metadata import version

import numpy as np
import pytest

import pegasos
from cli_runner import quick


def lines_of(text):
    return dict(line.split(": ", 1) for line in text.splitlines())


def test_show_versions_prints_what_is_installed(capsys):
    assert pegasos.show_versions() is None
    shown = lines_of(capsys.readouterr().out)
    assert shown["python"] == sys.version.split()[0]
    assert shown["pegasos"] == pegasos.__version__
    assert shown["numpy"] == np.__version__
    assert shown["safetensors"] == version("safetensors")
    assert shown["executable"] == sys.executable
    assert shown["CPUs"] == str(os.cpu_count())
    assert shown["memory available"].endswith(" GB")
    assert any(name.startswith("threads of ") for name in shown)
    assert "not installed" not in shown.values()


def test_what_is_missing_is_said_of_required_packages_only(monkeypatch, capsys):
    versions = import_module("pegasos.report.versions")

    monkeypatch.setattr(versions, "PACKAGES", ("no-such-package",))
    monkeypatch.setattr(versions, "OTHERS", ("another-such-package",))
    pegasos.show_versions()
    shown = lines_of(capsys.readouterr().out)
    assert shown["no-such-package"] == "not installed"
    assert "another-such-package" not in shown


def test_the_command_line_prints_the_same(tmp_path):
    shown = lines_of(quick("info", "--versions", cwd=tmp_path).fine().out)
    found = quick("info", "--versions", "--json", cwd=tmp_path).fine().json["results"]
    changing = {"memory available"}
    assert {name: shown[name] for name in shown.keys() - changing} == {
        name: found[name] for name in found.keys() - changing
    }
    assert shown["pegasos"] == pegasos.__version__


@pytest.mark.parametrize("words", [["info"], ["info", "iris", "--versions"]])
def test_it_is_one_or_the_other(tmp_path, words):
    result = quick(*words, cwd=tmp_path)
    assert result.status == 2
    assert result.err == "error: Give either a model file or a data set, or --versions.\n"
