"""What a release is made of: both distributions, their metadata, the files beside them, and the stranger's path."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STRANGER = ROOT / "script" / "stranger"


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


# --- the distributions ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not find_spec("hatchling"), reason="hatchling is not installed: it builds the distributions")
def test_both_distributions_hold_what_they_should(tmp_path, monkeypatch):
    monkeypatch.setenv("PEGASOS_PROJECT_URL", "https://code.example/pegasos/")
    monkeypatch.setenv("PEGASOS_DOCS_URL", "https://docs.example/stable")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", tmp_path], cwd=ROOT, check=True, capture_output=True
    )
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    runpy.run_path(str(STRANGER))["check_contents"](sdist, wheel)
    with zipfile.ZipFile(wheel) as file:
        (name,) = [name for name in file.namelist() if name.endswith("/METADATA")]
        said = file.read(name).decode()
    assert f"Version: {PROJECT['version']}\n" in said
    assert "Project-URL: Documentation, https://docs.example/stable\n" in said
    assert "Project-URL: Source, https://code.example/pegasos\n" in said


def test_what_is_missing_from_a_distribution_is_said(tmp_path):
    import tarfile

    script = runpy.run_path(str(STRANGER))
    sdist, wheel = tmp_path / "a.tar.gz", tmp_path / "a.whl"
    with tarfile.open(sdist, "w:gz") as file:
        for name in script["IN_SDIST"][1:]:
            file.add(ROOT / "LICENSE", f"pegasos-1/{name}")
    zipfile.ZipFile(wheel, "w").close()
    with pytest.raises(script["Unexpected"], match="a.tar.gz lacks pyproject.toml"):
        script["check_contents"](sdist, wheel)
    with tarfile.open(sdist, "w:gz") as file:
        for name in script["IN_SDIST"]:
            file.add(ROOT / "LICENSE", f"pegasos-1/{name}")
    with pytest.raises(script["Unexpected"], match=r"a.whl holds \[\] too much and lacks .*py.typed"):
        script["check_contents"](sdist, wheel)


def test_a_stranger_gets_what_is_promised(tmp_path):
    """Builds, installs from the index of packages, and runs everything; it takes minutes."""
    if not find_spec("build"):
        pytest.skip("build is not installed")
    done = subprocess.run([sys.executable, STRANGER, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(": all as it should be.\n")
    assert len(list(tmp_path.iterdir())) == 2


# --- metadata and the files beside it ---------------------------------------------------------------------------------


def test_the_version_is_one():
    assert f"\nversion: {PROJECT['version']}\n" in text("CITATION.cff")
    assert f"## [{PROJECT['version']}]" in text("CHANGELOG.md")


def test_every_python_that_is_named_is_tried():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={named[0]}"
    tried = re.search(r"python: \[(.*)\]", text(".github/workflows/ci.yml")).group(1)
    assert re.findall(r'"(.*?)"', tried) == named


def test_dependencies_have_lower_bounds_and_no_upper_ones():
    done = subprocess.run([sys.executable, ROOT / "script" / "oldest.py"], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(PROJECT["dependencies"])
    assert "scikit-learn==1.6.1" in done.stdout
    for line in PROJECT["dependencies"]:
        assert re.fullmatch(r"[\w-]+>=[\d.]+", line), line


def test_every_import_of_the_package_is_a_dependency_or_an_extra():
    """What `import` lines at the top of modules name is installed with the package."""
    import ast

    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                found |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.split(".")[0])
    ours = {"pegasos"} | set(sys.stdlib_module_names)
    with_scikit_learn = {"joblib", "threadpoolctl"}
    extras = {"dask", "distributed", "cupy", "cupy_backends", "onnx", "skl2onnx"}
    named = {re.split(r"[>\[]", line)[0] for line in PROJECT["dependencies"]}
    named = (named - {"scikit-learn"}) | {"sklearn"}
    assert found - ours - with_scikit_learn - extras <= named


def test_the_workflow_builds_tries_and_publishes_without_a_token():
    workflow = text(".github/workflows/ci.yml")
    for word in (".ci/run", "macos-latest", "windows-latest", "script/docs", "script/stranger", "id-token: write"):
        assert word in workflow
    assert "secrets." not in workflow
    for script in re.findall(r"(?:script|tests)/[\w./]+", workflow):
        assert (ROOT / script).exists() or script == "script/docs", script


def test_the_conda_recipe_takes_its_numbers_from_the_project():
    jinja2, yaml = pytest.importorskip("jinja2"), pytest.importorskip("yaml")
    known = {"project": PROJECT}
    recipe = jinja2.Template(text("conda/meta.yaml")).render(load_file_data=lambda *_, **__: known, PYTHON="python")
    found = yaml.safe_load(recipe)
    assert found["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    assert [line.replace(" ", "") for line in found["requirements"]["run"][1:]] == PROJECT["dependencies"]
    assert found["requirements"]["run"][0] == f"python {PROJECT['requires-python']}"
    assert found["about"]["summary"] == PROJECT["description"]
    assert found["build"]["entry_points"] == [f"pegasos = {PROJECT['scripts']['pegasos']}"]


def test_the_citation_has_what_citation_files_must_have():
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(text("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= found.keys()
    assert found["license"] == PROJECT["license"]
    assert [author["name"] for author in found["authors"]] == [author["name"] for author in PROJECT["authors"]]
