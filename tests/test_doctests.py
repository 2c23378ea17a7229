"""The examples in the docstrings: every public class and function has one, and each runs as it stands."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import pegasos

ROOT = Path(pegasos.__file__).parent
MODULES = ["", ".datasets", ".distributed", ".io", ".model_selection", ".plotting", ".storage", ".streaming", ".svm"]
BY_HAND = {".datasets": ["DataError", "Dataset", "load"], ".io": ["read"]}  # the rest of these is for ourselves
# pegasos.textbook is read as a whole: one example stands above all of it.
NEEDS = {"plotting": "matplotlib", "distributed": "dask", "to_onnx": "onnxruntime"}


def public():
    """Every public class and function by its name."""
    for suffix in MODULES:
        module = import_module(f"pegasos{suffix}")
        for name in BY_HAND.get(suffix) or module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield f"{module.__name__}.{name}", found


def modules_with_examples():
    """The names of the modules in which a prompt stands."""
    names = [module.name for module in pkgutil.walk_packages([str(ROOT)], "pegasos.")]
    for name in ["pegasos", *names]:
        path = Path(ROOT.parent, *name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if ">>> " in path.read_text(encoding="utf-8"):
            yield name


def examples():
    """The docstrings with prompts, as doctest finds them; of what cannot be imported, the modules."""
    for name in modules_with_examples():
        if (needed := needs(name)) and not find_spec(needed):
            yield pytest.param(None, id=name, marks=pytest.mark.skip(reason=f"{needed} is not installed"))
            continue
        for test in doctest.DocTestFinder().find(import_module(name)):
            if test.examples:
                yield pytest.param(test, id=test.name)


def needs(name: str) -> str | None:
    return next((package for part, package in NEEDS.items() if part in name.split(".")), None)


@pytest.mark.skipif(not find_spec("dask"), reason="pegasos.distributed needs Dask")
def test_everything_public_has_an_example():
    found = dict(public())
    assert len(found) > 50
    section = re.compile(r"Examples\n\s*-{8}\n\s*>>> ")
    assert not [name for name, thing in found.items() if not section.search(thing.__doc__ or "")]


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("test", list(examples()))
def test_example(test, tmp_path, monkeypatch):
    """Files are written where the example runs; no line of any is skipped."""
    monkeypatch.chdir(tmp_path)
    if (needed := needs(test.name)) is not None:
        pytest.importorskip(needed)
    assert not [line for line in test.examples if doctest.SKIP in line.options]
    lines: list[str] = []
    doctest.DocTestRunner().run(test, out=lines.append, clear_globs=False)
    assert not lines, "".join(lines)
