"""Types as a program that uses the package sees them: mypy on a snippet, with the package as it would be installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pegasos

pytest.importorskip("mypy", reason="types are checked by mypy")

PACKAGE = Path(pegasos.__file__).parent
USE = """\
import pegasos
from pegasos import Checkpoint, PegasosClassifier, PegasosSearchCV, load, save, show_versions
from pegasos.datasets import Dataset
from pegasos.datasets import load as load_data
from pegasos.model_selection import Resampled, bootstrap
from pegasos.plotting import Curve, HeatmapDisplay
from pegasos.svm import SVC

data: Dataset = load_data("iris")
model = PegasosClassifier(kernel="rbf", checkpoint=Checkpoint("fit.checkpoint", every=5.0))
reveal_type(model)
reveal_type(PegasosSearchCV(model, {"C": [1.0]}))
reveal_type(SVC(C=2.0))
reveal_type(pegasos.__version__)
reveal_type(Curve("error", [1.0], [0.5]).label)
save(model, "model.safetensors", about={"made by": "me"})
show_versions()
HeatmapDisplay([[1.0]], ["a"], ["b"]).plot()
"""
WRONG = """\
from pegasos import Checkpoint, PegasosClassifier, no_such_name, save, show_versions

PegasosClassifier(no_such_parameter=1)
Checkpoint(every="often", path="fit.checkpoint")
save(PegasosClassifier(), 3)
show_versions(1)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of both texts, beside an installed copy of the package, not within its source."""
    folder = tmp_path_factory.mktemp("outside")
    packages = folder / "site"
    shutil.copytree(PACKAGE, packages / "pegasos", ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    texts = {"use.py": USE, "wrong.py": WRONG}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    # Other packages are passed over, which takes seconds; ours is read as one that is installed.
    (folder / "mypy.ini").write_text(
        "[mypy]\nmypy_path = site\nfollow_imports = skip\nignore_missing_imports = True\n"
        "[mypy-pegasos,pegasos.*]\nfollow_imports = silent\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", "cache", *texts],
        cwd=folder, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not found.stderr
    return lambda name: [line for line in found.stdout.splitlines() if line.startswith(f"{name}:")]


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").read_bytes() == b""


def test_right_use_is_right_and_types_are_known(said):
    lines = said("use.py")
    assert [line for line in lines if "error:" in line] == []
    revealed = [re.search(r'Revealed type is "(.*)"', line).group(1) for line in lines if "Revealed" in line]
    assert [name.replace("builtins.", "") for name in revealed] == [
        "pegasos.estimators.classifier.PegasosClassifier",
        "pegasos.search.search.PegasosSearchCV",
        "pegasos.svm.svc.SVC",
        "str",
        "str",
    ]


def test_wrong_use_is_found(said):
    found = {int(line.split(":")[1]): line for line in said("wrong.py") if "error:" in line}
    assert sorted(found) == [1, 3, 4, 5, 6]
    assert "no_such_name" in found[1]
    assert "no_such_parameter" in found[3]
