"""Options of a run of the benchmarks."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"  # of full runs, committed
TRIALS = ROOT / "out" / "benchmarks"  # of --quick, ignored by git

MEMORY = 3e9


@dataclass(frozen=True)
class Options:
    """The choices of the command line."""

    quick: bool = False
    repeats: int | None = None  # None: the claim's own number, three or more
    seed: int = 0
    threads: int = 2
    out: Path = RESULTS
    only: str | None = None  # rows of data whose name begins so; claims that take long look at it
    size: float | None = None  # bytes of the largest file; None: the claim's own number

    def wants(self, data: str) -> bool:
        """Whether rows of this data are to be measured."""
        return self.only is None or data.startswith(self.only)

    @property
    def processes(self) -> int:
        """Processes of peers that start some; in a quick trial, starting them would take longest."""
        return 1 if self.quick else self.threads

    @property
    def memory(self) -> float:
        """Bytes of memory that are touched before a fit that needs much."""
        return 0.0 if self.quick else MEMORY

    def times(self, usual: int = 3) -> int:
        """Repeats of each measurement; a quick trial has one."""
        if self.repeats is not None:
            return self.repeats
        return 1 if self.quick else usual
