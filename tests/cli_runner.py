"""Running the command line as a user does, and a quicker way that pays the start of the interpreter only once.

`cli` starts the installed program. `quick` hands the arguments to a process that has imported everything already and
forks: the same main(), in a process of its own, without the two or three seconds of its start.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PROGRAM = Path(sys.executable).parent / "pegasos"
CHANGING = ("PEGASOS_DEBUG", "PEGASOS_DATA", "FORCE_COLOR", "PY_COLORS", "NO_COLOR", "GITHUB_ACTIONS", "PYTHONWARNINGS",
            "COLUMNS", "NUMBA_DISABLE_JIT")  # fmt: skip


@dataclass
class Result:
    """What a command left behind."""

    status: int
    out: str
    err: str
    seconds: float

    @property
    def lines(self) -> list[str]:
        """The lines on stdout."""
        return self.out.splitlines()

    @property
    def json(self):
        """The one JSON object on stdout, which holds no NaN."""
        return json.loads(self.out, parse_constant=_no_constant)

    def fine(self) -> Result:
        """The result of a command that must have worked."""
        assert self.status == 0, self.err
        assert "Traceback" not in self.err + self.out
        assert "\x1b" not in self.out + self.err
        assert "error:" not in self.err
        return self


def environment(**more: str) -> dict[str, str]:
    """The variables of this process without those that change what a command does or shows."""
    kept = {name: value for name, value in os.environ.items() if name not in CHANGING}
    return kept | {"OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"} | more


def cli(*words: object, cwd: Path, timeout: float = 120, env: dict[str, str] | None = None, **how) -> Result:
    """Run the installed program and wait for it."""
    began = time.perf_counter()
    done = subprocess.run(
        [str(PROGRAM), *map(str, words)],
        cwd=cwd, env=env or environment(), timeout=timeout, encoding="utf-8", check=False,
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | how),
    )  # fmt: skip
    return Result(done.returncode, done.stdout or "", done.stderr or "", time.perf_counter() - began)


def check_error(result: Result, *words: str) -> None:
    """Assert that a command ended as one must on wrong input: one sentence, status 2, no traceback."""
    said = [line for line in result.err.splitlines() if not line.startswith("warning: ")]
    assert len(said) == 1, result.err
    assert said[0].startswith("error: ")
    assert len(said[0]) < 500
    assert said[0].endswith((".", "?", "!"))
    assert result.status == 2, result.err
    assert "Traceback" not in result.err
    for word in words:
        assert word in said[0]


def tree(folder: Path) -> dict[str, bytes]:
    """All files under a folder with what they hold, to see that nothing was written or half written."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write_table(path: Path, labels, *, names=None, separator=",", rows: int = 40, end="\n", begin="", label_at=-1):
    """A table of three features of which the first tells the labels apart; `labels` take turns."""
    X = np.random.default_rng(0).normal(size=(rows, 3))
    lines = [] if names is None else [separator.join(names)]
    for row, x in enumerate(X):
        turn = row % len(labels)
        fields = [f"{value:.4f}" for value in (x[0] + 6 * turn, *x[1:])]
        fields.insert(len(fields) if label_at == -1 else label_at, labels[turn])
        lines.append(separator.join(fields))
    path.write_text(begin + end.join([*lines, ""]), encoding="utf-8", newline="")
    return path


def quick(*words: object, cwd: Path, timeout: float = 60) -> Result:
    """Run a command in a fork of a process that has everything imported."""
    if not _servers:
        _servers.append(
            subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
            )
        )
        atexit.register(_servers[0].stdin.close)
    server = _servers[0]
    server.stdin.write(json.dumps([[str(word) for word in words], str(cwd), timeout]) + "\n")
    server.stdin.flush()
    return Result(*json.loads(server.stdout.readline()))


_servers: list[subprocess.Popen] = []


def _no_constant(name: str):
    raise AssertionError(f"{name} is no JSON")


# --- the process that forks ------------------------------------------------------------------------------------------


def _serve() -> None:
    import gc
    import signal
    import tempfile
    from importlib import import_module

    import numba

    from pegasos.cli import app

    for used in ("sklearn.linear_model", "sklearn.model_selection", "sklearn.pipeline", "sklearn.svm",
                 "matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg",
                 "pegasos.plotting", "pegasos.report.html", "pegasos.search", "pegasos.streaming"):  # fmt: skip
        import_module(used)
    numba.njit(lambda x: x)(1)  # Numba imports most of itself when it first compiles or loads something
    gc.freeze()  # or the first collection of each child would copy all pages

    for line in sys.stdin:
        words, folder, timeout = json.loads(line)
        began = time.perf_counter()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                _become(app.main, words, folder, out, err)
            status = None
            while status is None and time.perf_counter() - began < timeout:
                time.sleep(0.005)
                ended, code = os.waitpid(child, os.WNOHANG)
                status = os.waitstatus_to_exitcode(code) if ended else None
            if status is None:
                os.kill(child, signal.SIGKILL)
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = [file.read().decode("utf-8") for file in (out, err) if file.seek(0) == 0]
        print(json.dumps([status, *texts, time.perf_counter() - began]), flush=True)


def _become(main, words: list[str], folder: str, out, err) -> None:
    """Run the program in this process, and never come back."""
    status = 70
    try:
        os.chdir(folder)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["pegasos", *words]
        main()
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


if __name__ == "__main__":
    _serve()
