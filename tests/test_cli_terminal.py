"""The command line at a terminal and in a pipe: progress, Ctrl-C, readers that leave early, help and completion."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time

import pytest

import pegasos
from cli_runner import PROGRAM, Result, cli, environment, quick, write_table

COMMANDS = ["train", "predict", "classify", "tune", "compare", "study", "info"]
pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")


def at_terminal(*words: object, cwd, interrupt_at: str = "") -> Result:
    """Run a command on a pseudo-terminal; press Ctrl-C once the screen shows `interrupt_at`."""
    ours, theirs = pty.openpty()
    began = time.perf_counter()
    program = subprocess.Popen(
        [str(PROGRAM), *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, start_new_session=True,
        env=environment(TERM="xterm", COLUMNS="100"), preexec_fn=_hear_ctrl_c,
    )  # fmt: skip
    os.close(theirs)
    screen = b""
    try:
        while time.perf_counter() - began < 60:
            ready, _, _ = select.select([ours], [], [], 0.5)
            try:
                part = os.read(ours, 65536) if ready else b""
            except OSError:  # Linux says so when the other side is closed
                break
            if ready and not part:
                break
            screen += part
            if interrupt_at and interrupt_at.encode() in screen:
                time.sleep(0.5)
                program.send_signal(signal.SIGINT)
                interrupt_at = ""
        status = program.wait(timeout=20)
    finally:
        program.kill()
        os.close(ours)
    return Result(status, screen.decode("utf-8"), "", time.perf_counter() - began)


def _hear_ctrl_c():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the shell of a test run may have it ignored


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A folder, and what the screen showed of a long training that Ctrl-C ended."""
    folder = tmp_path_factory.mktemp("interrupted")
    words = ["train", "digits", "--max-steps", "2000000000", "-o", "model.safetensors"]
    return folder, at_terminal(*words, cwd=folder, interrupt_at="%")


@pytest.fixture(scope="module")
def interrupted_search(tmp_path_factory):
    """The same of a long search."""
    folder = tmp_path_factory.mktemp("interrupted")
    words = ["tune", "digits", "--max-steps", "200000000", "-o", "model.safetensors"]
    return folder, at_terminal(*words, cwd=folder, interrupt_at="cells")


def test_a_training_shows_its_progress_at_a_terminal(interrupted):
    screen = interrupted[1].out
    assert "\x1b[" in screen
    assert "PegasosClassifier" in screen
    assert "gap" in screen


def test_ctrl_c_ends_a_training_with_the_model_reached(interrupted):
    folder, result = interrupted
    assert result.status == 0, result.out
    assert "warning: Interrupted after" in result.out
    assert "Traceback" not in result.out
    assert [path.name for path in folder.iterdir()] == ["model.safetensors"]
    assert pegasos.load(folder / "model.safetensors").n_iter_ > 0


def test_ctrl_c_ends_a_search_and_leaves_nothing(interrupted_search):
    folder, result = interrupted_search
    assert result.status == 130, result.out
    assert "Traceback" not in result.out
    assert not list(folder.iterdir())


def test_ctrl_c_during_a_search_is_confirmed_in_a_line(interrupted_search):
    assert "error: interrupted." in interrupted_search[1].out


def test_a_short_training_at_a_terminal_ends_with_its_table(tmp_path):
    write_table(tmp_path / "good.csv", ["[bold]yes", "no[/]"])
    result = at_terminal("train", "good.csv", cwd=tmp_path)
    assert result.status == 0
    assert "training accuracy" in result.out
    assert "100%" in result.out


def test_in_a_pipe_there_is_neither_progress_nor_colour(tmp_path):
    result = cli("train", "digits", "--max-steps", 20_000, cwd=tmp_path).fine()
    assert "\r" not in result.out + result.err
    assert "100%" not in result.out + result.err
    assert result.err == "The model is not saved; -o FILE saves it.\n"
    assert result.lines[0] == "PegasosClassifier on digits"


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory):
    """A folder, and what a training said whose output nobody read."""
    folder = tmp_path_factory.mktemp("left")
    write_table(folder / "good.csv", ["yes", "no"])
    words = [
        "train",
        "good.csv",
        "--scale",
        "none",
        "--max-steps",
        "10",
        "-o",
        "model.safetensors",
        "--report",
        "page.html",
    ]
    program = subprocess.Popen([str(PROGRAM), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=folder, env=environment())  # fmt: skip
    program.stdout.close()
    said = program.stderr.read()
    return folder, Result(program.wait(timeout=60), "", said, 0.0)


def test_a_reader_that_leaves_early_causes_no_words(left_alone):
    folder, result = left_alone
    assert "Traceback" not in result.err
    assert "rror" not in result.err
    assert pegasos.load(folder / "model.safetensors").n_iter_ == 10


def test_a_reader_that_leaves_early_ends_the_program_as_it_does_others(left_alone):
    assert left_alone[1].status == -signal.SIGPIPE


def test_a_reader_that_leaves_early_costs_no_report(left_alone):
    assert (left_alone[0] / "page.html").exists()


def test_a_closed_stdout_gives_no_traceback(tmp_path):
    write_table(tmp_path / "good.csv", ["yes", "no"])
    result = cli("info", "good.csv", cwd=tmp_path, preexec_fn=lambda: os.close(1))
    assert "Traceback" not in result.err


def test_the_version_is_told(tmp_path):
    assert cli("--version", cwd=tmp_path).fine().out == f"pegasos {pegasos.__version__}\n"


def test_help_lists_the_commands(tmp_path):
    shown = cli("--help", cwd=tmp_path).fine().out
    for command in COMMANDS:
        assert f" {command} " in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(tmp_path, command):
    result = quick(command, "--help", cwd=tmp_path).fine()
    assert f"$ pegasos {command}" in result.out
    assert quick(command, "-h", cwd=tmp_path).out == result.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script_for_completion(tmp_path, shell):
    result = cli(cwd=tmp_path, env=environment(_PEGASOS_COMPLETE=f"source_{shell}"))
    assert result.status == 0
    assert "_PEGASOS_COMPLETE" in result.out


def test_names_of_studies_are_completed(tmp_path):
    typed = environment(_PEGASOS_COMPLETE="complete_bash", COMP_WORDS="pegasos study p", COMP_CWORD="2")
    assert cli(cwd=tmp_path, env=typed).out.split() == ["pegasos-vs-smo", "paper"]
