"""Make and change files of a format at random, read them, and count what became of them.

    python script/fuzz tables --minutes 5
    python script/fuzz all --minutes 1 --seed 7
    python script/fuzz hdf5 --seed 0 --only 1234

It is a failure if a file is read wrongly, or raises anything but the error that the reader promises in one sentence, or
ends the process, or takes more than some seconds or a gigabyte; each is printed with its number, for --only.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[0] = str(Path(__file__).resolve().parent.parent)
sys.path.insert(1, str(Path(__file__).resolve().parent.parent.parent / "tests"))

import numpy as np  # noqa: E402

FORMATS = ("tables", "libsvm", "npz", "npy", "hdf5", "parquet", "idx", "models", "checkpoints")
IN_C = ("hdf5", "parquet")  # formats that libraries in C read: where one of them loops, no reader in Python can help
PATIENCE = 40  # seconds for one case
LOT = 200  # cases of one process, so that one that dies costs no others


def main() -> int:
    """Run the formats that are asked for; 1 if any file did harm."""
    options = _options()
    failed = 0
    for name in FORMATS if options.format == "all" else (options.format,):
        if options.only is not None:
            print(_one(import_module(f"fuzz.{name}"), options.seed, options.only, Path(tempfile.mkdtemp())))
            continue
        failed += _run(name, options.minutes, options.seed)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/fuzz", description="Make files at random, and read them.")
    parser.add_argument("format", choices=[*FORMATS, "all"])
    parser.add_argument("--minutes", type=float, default=1.0, help="for each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one case to run again, with its traceback")
    return parser.parse_args()


def _run(name: str, minutes: float, seed: int) -> int:
    """Lots of cases in processes of their own until the time is over; how many did harm."""
    counts: Counter = Counter()
    failures, hung, begin, until = [], [], 0, time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        with tempfile.TemporaryFile("w+") as said:
            child = os.fork()
            if child == 0:
                _lot(name, seed, begin, until, said)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            lines = said.read().splitlines()
        for line in lines:
            what, _, rest = line.partition("\t")
            if what == "harm":
                failures.append(rest)
            else:
                counts[tuple(rest.split("\t"))] += 1
        if status == -signal.SIGALRM and name in IN_C:
            hung.append(begin + len(lines))
            begin += len(lines) + 1
        elif status != 0:
            failures.append(f"number {begin + len(lines)}: the process ended with {status}")
            begin += len(lines) + 1
        else:
            begin += LOT
    if hung:
        print(f"{name}: files that the library hangs on for {PATIENCE} s, by number: {hung}")
    _print(name, counts, failures, seed)
    return len(failures)


def _lot(name: str, seed: int, begin: int, until: float, said) -> None:
    """Some cases, each with a line of what became of it; this process ends here."""
    from fuzz.judging import limit_memory

    module = import_module(f"fuzz.{name}")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(begin, begin + LOT):
            if time.monotonic() > until and number > begin:
                break
            signal.alarm(PATIENCE)  # which ends the process, within a library in C, too
            try:
                line = "\t".join(["done", *_one(module, seed, number, Path(folder))])
            except Exception as error:
                line = f"harm\tnumber {number}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            print(line, file=said, flush=True)
            if number == begin:  # everything is imported now
                limit_memory()
    os._exit(0)


def _one(module, seed: int, number: int, folder: Path) -> tuple[str, str]:
    return module.case(np.random.default_rng([seed, number]), folder)


def _print(name: str, counts: Counter, failures: list[str], seed: int) -> None:
    outcomes = ("right", "read", "refused")
    print(f"{name:<26}" + "".join(f"{outcome:>10}" for outcome in outcomes))
    for kind in sorted({kind for kind, _ in counts}):
        print(f"  {kind:<24}" + "".join(f"{counts[kind, outcome]:>10}" for outcome in outcomes))
    total = [sum(count for (_, found), count in counts.items() if found == outcome) for outcome in outcomes]
    print(f"  {'in all':<24}" + "".join(f"{number:>10}" for number in total))
    for failure in failures[:20]:
        print(f"  {failure}")
    print(f"  {sum(total) + len(failures)} files, {len(failures)} failures, seed {seed}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
