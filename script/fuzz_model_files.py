"""Change model files in many ways and load them: each is rejected, or is a model that predicts.

    python script/fuzz_model_files.py --count 20000 --seed 0

Prints a table by kind of mutation. It is a failure if a file raises anything but ModelFormatError, takes more than a
second or 200 MB, or loads although its checksum is wrong; each is printed with its number, to repeat it with --only.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from model_files import originals
from mutations import judged_case

ROOM = 2**30  # bytes of address space beyond those in use: a larger allocation fails and is seen, touched or not


def main() -> int:
    """Run the mutations and print what became of them; 1 if any did harm."""
    options = _options()
    counts: Counter = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        files = originals(Path(folder))
        judged_case(0, options.seed, files, Path(folder) / "model")
        _limit_memory()
        for number in [options.only] if options.only is not None else range(options.count):
            try:
                counts[judged_case(number, options.seed, files, Path(folder) / "model")] += 1
            except Exception as error:
                failures.append(f"number {number}: {type(error).__name__}: {error}")
                if options.only is not None:
                    raise
    _print_table(counts)
    for failure in failures[:20]:
        print(failure)
    print(f"{sum(counts.values())} files, {len(failures)} failures, seed {options.seed}")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Change model files in many ways and load them.")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one mutation to run again, with its traceback")
    return parser.parse_args()


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    if pages is not None:
        most = pages * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _print_table(counts: Counter) -> None:
    print(f"{'mutation':<26}{'rejected':>10}{'valid':>10}")
    for name in dict.fromkeys(name for name, _ in counts):
        print(f"{name:<26}{counts[name, 'rejected']:>10}{counts[name, 'valid']:>10}")


if __name__ == "__main__":
    sys.exit(main())
