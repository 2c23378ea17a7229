"""First fits: loops are compiled for what a fit needs, kept on disk, and compiled anew where that fails."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import pegasos
from pegasos.backends.cpu.loops import Loop, jit
from pegasos.backends.specialise import specialised
from pegasos.losses import Loss
from pegasos.rules.column import Rule
from pegasos.rules.step import pull_of

FIT = """
import warnings
import numpy as np
from pegasos import PegasosClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    model = PegasosClassifier(lam=0.1, solver="dcd", random_state=0).fit(X, X[:, 0] > 0)  # which needs few loops
from pegasos.backends.cpu.loops import kept_loops
print(sum("NUMBA_CACHE_DIR" in str(each.message) for each in said), len(kept_loops()), model.score(X, X[:, 0] > 0))
"""


QUICK = {"NUMBA_OPT": "0", "NUMBA_LOOP_VECTORIZE": "0"}  # nobody looks at how fast these loops are
KEPT = (0, 3)  # what `first_fit` returns where loops are kept


def first_fit(before=None, **environment):
    """Warnings about the cache, and loops on disk, after a fit in a new process, which calls `before` first."""
    done = subprocess.run(
        [sys.executable, "-c", FIT], env={**os.environ, **QUICK, **environment}, capture_output=True, text=True,
        check=False, preexec_fn=before,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said, kept, score = done.stdout.split()
    assert float(score) > 0.9
    return int(said), int(kept)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with the loops of a fit."""
    folder = tmp_path_factory.mktemp("loops")
    assert first_fit(NUMBA_CACHE_DIR=str(folder)) == KEPT
    assert list(folder.rglob("*.nbc"))
    return folder


def test_a_second_process_compiles_nothing(kept):
    before = sorted(kept.rglob("*.nb?"))
    times = [file.stat().st_mtime_ns for file in before]
    first_fit(NUMBA_CACHE_DIR=str(kept))
    assert sorted(kept.rglob("*.nb?")) == before
    assert [file.stat().st_mtime_ns for file in before] == times


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["truncated", "empty", "garbage", "another program's"])
def test_damaged_files_are_compiled_anew(kept, tmp_path, kind, damage):
    folder = tmp_path / "loops"
    shutil.copytree(kept, folder)
    for file in folder.rglob(f"*.{kind}"):
        content = file.read_bytes()
        file.write_bytes(
            {
                "truncated": content[: len(content) // 2],
                "empty": b"",
                "garbage": bytes(np.random.default_rng(0).integers(0, 256, 5000, np.uint8)),
                "another program's": b"PK\x03\x04" + bytes(1000),
            }[damage]
        )
    assert first_fit(NUMBA_CACHE_DIR=str(folder)) == KEPT
    assert first_fit(NUMBA_CACHE_DIR=str(folder)) == KEPT


def test_without_a_writable_folder_loops_are_compiled_in_memory_and_the_cure_is_said_once(tmp_path):
    """Files stand where Numba would make its folders, which stops root, too."""
    package = tmp_path / "site" / "pegasos"
    shutil.copytree(Path(pegasos.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    for folder in [package, *(each for each in package.rglob("*") if each.is_dir())]:
        (folder / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    home = str(tmp_path / "home")
    environment = {"HOME": home, "XDG_CACHE_HOME": home, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": ""}
    assert first_fit(**environment) == (1, 0)


@contextmanager
def full_disk(folder, n_bytes):
    """A disk of so many bytes at a folder, for those who may mount one."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "none", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this user may mount no disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_full_disk_is_said_once_and_every_fit_works(kept, tmp_path, share):
    """Some loops find room, others do not; neither this fit nor any later one minds what is left of them."""
    size = sum(file.stat().st_size for file in kept.rglob("*.nb?"))
    with full_disk(tmp_path, max(4096 * 8, int(share * size))):
        for _ in range(2):
            assert first_fit(NUMBA_CACHE_DIR=str(tmp_path))[0] == 1


def test_files_that_can_be_written_in_part_only_leave_nothing_behind(kept, tmp_path):
    """The system ends each file after a few bytes, as a quota may; without the limit, the next fit keeps its loops."""
    resource = pytest.importorskip("resource", reason="limits of processes are Unix's")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    assert first_fit(limit, NUMBA_CACHE_DIR=str(tmp_path))[0] == 1
    assert not list(tmp_path.rglob("*.tmp.*"))
    assert first_fit(NUMBA_CACHE_DIR=str(tmp_path)) == KEPT
    names = [sorted(file.name for file in folder.rglob("*.nb?")) for folder in (kept, tmp_path)]
    assert names[0] == names[1]


SOME = "from pegasos.cli import app, warmup; warmup.MODELS = [('linear, pegasos', {'solver': 'pegasos'})]; app.main()"


@pytest.mark.parametrize("kinds", ["all", "some"])
def test_warmup_says_what_it_compiled(tmp_path, kinds):
    start = ["-m", "pegasos"] if kinds == "all" else ["-c", SOME]
    done = subprocess.run(
        [sys.executable, *start, "warmup", "--json"],
        env={**os.environ, **QUICK, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(tmp_path) in done.stdout
    assert list(tmp_path.rglob("*direct_steps*.nbi"))
    assert list(tmp_path.rglob("*row_steps*.nbi"))


# --- text of loops --------------------------------------------------------------------------------------------------


def shifted(x, by):
    """Written out where it is called."""
    if x > by:
        return x - by
    return by - x


@jit()
def total(values, *, rule, by):
    """A loop of a constant, a branch that is left out, and calls."""
    found = 0.0
    for value in values:
        if rule == Rule.SDCA:
            found += unknown(value)  # noqa: F821  nobody compiles this
        else:
            found += shifted(value, by) + shifted(by, value)
    return found


def test_a_loop_is_its_original_with_the_constants():
    values = np.arange(5.0)
    expected = total.function(values, rule=Rule.PEGASOS, by=2.5)
    assert isinstance(total, Loop)
    assert total(values, rule=Rule.PEGASOS, by=2.5) == expected
    assert total(values, rule=Rule.PEGASOS, by=0.5) != expected


def returns_in_a_loop(values):
    """Not supported."""
    for value in values:
        if value > 0:
            return value
    return 0.0


def calls_it(values, *, rule):
    """Calls what is not supported."""
    return returns_in_a_loop(values)


def test_what_cannot_be_written_out_is_said():
    with pytest.raises(NotImplementedError, match="cannot be written out: for value"):
        specialised(calls_it, {"rule": Rule.PEGASOS})


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss", "epsilon_insensitive"])
def test_names_of_loops_tell_rules_and_losses_apart(rule, loss):
    names = {specialised(one_pull, {"rule": rule, "loss": Loss[each]}).__name__ for each in (loss, "hinge")}
    assert len(names) == 1 + (loss != "hinge")


def one_pull(column, y, f, *, rule, loss):
    """A loop of one step."""
    return pull_of(column, rule, loss, y, 1.0, f, 0.0, 1.0)
