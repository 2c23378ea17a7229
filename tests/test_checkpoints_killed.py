"""Programs that are killed at any moment of a fit: `--resume` ends in the file of a run that was left alone."""

import random
import signal
import subprocess
import time

import pytest

import pegasos
from checkpointed import assert_same_file
from cli_runner import PROGRAM, cli, environment, quick, tree

TRAIN = ("train", "digits", "--kernel", "rbf", "--gamma", "0.25", "--lam", "1e-4", "--json", "-o", "model")
CHECKPOINTED = ("--checkpoint", "fit", "--every", "0.05")
RUNS = {
    "steps by the kernel matrix": ("--max-iter", "80", "--average", "suffix"),
    "kernel values computed": ("--max-iter", "8", "--cache-size", "4", "--solver", "sdca", "--tol", "1e-9"),
    "dual coordinate ascent": ("--max-iter", "30", "--solver", "sdca", "--tol", "1e-9"),
}
KILLS = {False: 2, True: 7}  # of each, by default and with --all, when they are twenty in all
LONGEST = 120


def check_finished(folder, reference, result):
    """Assert that a run has ended well, in the model of the reference, and has left nothing else."""
    assert result.status == 0, result.err
    assert_same_file(folder / "model", reference)
    left = [name for name in tree(folder) if not name.startswith(".model-")]  # a save that was killed
    assert left == ["model"]
    (folder / "model").unlink()


@pytest.mark.parametrize("run", RUNS)
def test_killed_at_any_moment_a_run_resumes_to_the_same_bits(tmp_path, run, at_length):
    words = (*TRAIN, *RUNS[run])
    reference = tmp_path / "reference"
    quick(*words, cwd=tmp_path, timeout=LONGEST)  # what is compiled is loaded from now on
    whole = quick(*words, cwd=tmp_path, timeout=LONGEST)
    assert whole.status == 0, whole.err
    (tmp_path / "model").rename(reference)
    folder = tmp_path / "killed"
    folder.mkdir()
    begins, moments = whole.seconds - whole.json["results"]["seconds"], random.Random(run)
    draw = lambda: moments.uniform(begins, whole.seconds)
    kills = within = attempts = 0
    while kills < KILLS[at_length] or within < (3 if at_length else 1):
        attempts += 1
        assert attempts < 70, "the machine is too uneven to be killed in time"
        result = quick(*words, *CHECKPOINTED, cwd=folder, timeout=draw())
        for _ in range(moments.randrange(3)):
            if result.status == -signal.SIGKILL:
                kills, within = kills + 1, within + (folder / "fit").exists()
                assert len(list(folder.glob(".fit-*.part"))) <= 1, "what was being written at the latest kill"
                result = quick(*words, *CHECKPOINTED, "--resume", cwd=folder, timeout=draw())
        if result.status == -signal.SIGKILL:
            kills, within = kills + 1, within + (folder / "fit").exists()
            result = quick(*words, *CHECKPOINTED, "--resume", cwd=folder, timeout=LONGEST)
        check_finished(folder, reference, result)


def size_of(path):
    """Of a file, which is empty for a moment when it is tried whether there can be one; 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def started(folder, *words):
    """The installed program, once it has written a checkpoint or is done."""
    program = subprocess.Popen([str(PROGRAM), *words], cwd=folder, env=environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)  # fmt: skip
    while not size_of(folder / "fit") and program.poll() is None:
        time.sleep(0.002)
    return program


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
def test_the_installed_program_goes_on_after_a_signal(tmp_path, number):
    words = (*TRAIN, *RUNS["kernel values computed"])
    quick(*words, cwd=tmp_path, timeout=LONGEST)
    reference = (tmp_path / "model").rename(tmp_path / "reference")
    for attempt in range(5):
        folder = tmp_path / f"attempt {attempt}"
        folder.mkdir()
        program = started(folder, *words, *CHECKPOINTED)
        program.send_signal(number)
        _, said = program.communicate()
        if (folder / "fit").exists():
            break
    else:
        pytest.fail("no signal came in time")
    if number == signal.SIGINT:
        assert program.returncode == 0, said
        assert b"Interrupted after" in said
        assert pegasos.load(folder / "model").n_iter_ < pegasos.load(reference).n_iter_
    else:
        assert program.returncode == -number
        assert not (folder / "model").exists()
    check_finished(folder, reference, cli(*words, *CHECKPOINTED, "--resume", cwd=folder))
