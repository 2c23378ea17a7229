"""Where the tests keep compiled loops: another folder after an edit of what they are made of."""

import os

import pytest

import numba_cache

SOURCES = {
    "losses/hinge.py": "from numba import njit\n@njit\ndef hinge(z): ...",
    "backends/steps.py": "import njit\nfrom pegasos.rules.step import LIMIT\nfrom pegasos.losses import hinge",
    "rules/step.py": "def f():\n    import pegasos.utils.sizes",
    "utils/sizes.py": "SIZE = 64",
    "utils/__init__.py": "",
    "cli/train.py": "from pegasos.backends import steps",
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A package of a few files in the place of ours."""
    for name, text in SOURCES.items():
        path = tmp_path / "src" / "pegasos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    monkeypatch.setattr(numba_cache, "ROOT", tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    return tmp_path


def test_compiled_loops_are_made_of_what_they_import(root):
    found = {str(path.relative_to(root / "src" / "pegasos")) for path in numba_cache.sources()}
    assert found == set(SOURCES) - {"cli/train.py", "utils/__init__.py"}


@pytest.mark.parametrize("name", SOURCES)
def test_an_edit_of_what_they_are_made_of_gives_another_folder(root, name):
    before = numba_cache.folder()
    path = root / "src" / "pegasos" / name
    path.write_text(path.read_text() + "# edited\n")
    assert (numba_cache.folder() == before) == (name in ("cli/train.py", "utils/__init__.py"))


def test_a_folder_that_was_not_used_for_a_day_is_removed(root):
    old, recent = (root / ".numba_cache" / name for name in ("old", "recent"))
    for folder, age in ((old, 2 * numba_cache.KEPT), (recent, 0.5 * numba_cache.KEPT)):
        folder.mkdir(parents=True)
        (folder / "loops.nbc").touch()
        then = os.stat(folder).st_mtime - age
        os.utime(folder, (then, then))
    used = numba_cache.use()
    assert os.environ["NUMBA_CACHE_DIR"] == used == str(numba_cache.folder())
    assert not old.exists()
    assert recent.exists()


def test_a_folder_that_is_given_is_used(root, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "mine")
    assert numba_cache.use() == "mine"
    assert not (root / ".numba_cache").exists()


def test_the_loops_of_the_package_are_made_of_losses_rules_and_backends():
    found = {path.relative_to(numba_cache.ROOT / "src" / "pegasos").parts[0] for path in numba_cache.sources()}
    assert {"losses", "rules", "backends"} <= found
    assert not found & {"estimators", "search", "cli"}
