"""Work in fresh processes, which print their result as JSON on the last line."""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks._options import ROOT
from benchmarks._threads import environment


def python(words: Sequence[str], threads: int, **variables: str) -> Any:
    """Run Python with these arguments in the root of the repository; the JSON on its last line."""
    command = [sys.executable, *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(threads, **variables), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def program(words: Sequence[str], threads: int) -> str:
    """Run the installed program `pegasos`; its output."""
    path = Path(sys.executable).parent / "pegasos"
    command = [str(path)] if path.exists() else [sys.executable, "-m", "pegasos"]
    env = environment(threads)
    return subprocess.run([*command, *words], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout


def peak_memory() -> int:
    """Peak memory of this process in bytes.

    The kernel hands the figure of `getrusage` down from a parent to the program that it starts; VmHWM is of this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def peak_from_now() -> int:
    """Let the peak of this process begin anew, where the system can, and what it is now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()
