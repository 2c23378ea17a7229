"""How long the files of the suite take: kept in durations.json, longest first in the queue of two processes.

script/test --all --save-durations      measures anew
"""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")


def known() -> dict[str, float]:
    """Seconds of each file with `--all`, else those of the default tier."""
    measured = json.loads(FILE.read_text(encoding="utf-8"))
    return {**measured["default"]["files"], **measured["all"]["files"]}


class Measured:
    """A plugin that adds up what the tests of each file took, and writes it at the end."""

    def __init__(self, tier: str) -> None:
        self.tier, self.seconds = tier, Counter()

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.location[0].removeprefix("tests/")] += report.duration

    def pytest_sessionfinish(self) -> None:
        measured = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        files = {name: round(seconds, 1) for name, seconds in self.seconds.most_common()}
        measured[self.tier] = {"host": _host(), "seconds": round(self.seconds.total(), 1), "files": files}
        FILE.write_text(json.dumps(measured, indent=1, sort_keys=False) + "\n", encoding="utf-8")


def _host() -> str:
    """The processor and the number of cores."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = (
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        )
        name = next(lines, name)
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"
