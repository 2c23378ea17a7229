"""Reading of LIBSVM, CSV and whitespace text of about 200 MB, ours beside the usual readers.

Slow peers read a part of the file, and their times are scaled to the whole. Every reader has to end with rows of
float64 and the labels apart, as a fit takes them.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks._fits import OURS
from benchmarks._options import Options
from benchmarks._race import Contestant, Timed, absent, race, seconds_of
from benchmarks._rows import Bar, What, against, alone
from pegasos import io

TITLE = "Reading text"
BY_DEFAULT = True

BAR = Bar(least=100, unit="MB/s")
BLOCK = 2000  # rows that are made once and written again and again
SIZE, PART = 200e6, 10e6  # bytes of a file, and of what slow peers read


@dataclass
class Reader:
    """One way to read a file, whether it gets a part only, and the package it needs."""

    name: str
    read: Callable[[Path], object]
    part: bool = False
    package: str = "numpy"


def numpy_text(delimiter: str | None) -> Callable[[Path], object]:
    """numpy.loadtxt, labels taken off."""

    def read(path: Path):
        table = np.loadtxt(path, delimiter=delimiter)
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]

    return read


def pandas_text(separator: str) -> Callable[[Path], object]:
    """pandas.read_csv, labels taken off."""

    def read(path: Path):
        import pandas

        table = pandas.read_csv(path, sep=separator, header=None).to_numpy()
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]

    return read


def arrow_text(path: Path):
    """pyarrow.csv, columns put side by side as rows."""
    from pyarrow import csv

    table = csv.read_csv(path, read_options=csv.ReadOptions(autogenerate_column_names=True))
    X = np.empty((table.num_rows, table.num_columns - 1))
    for place in range(X.shape[1]):
        X[:, place] = table.column(place).to_numpy()
    return X, table.column(X.shape[1]).to_numpy()


READERS = {
    "LIBSVM": [Reader("scikit-learn", load_svmlight_file, part=True)],
    "CSV": [
        Reader("pyarrow", arrow_text, package="pyarrow"),
        Reader("pandas", pandas_text(","), package="pandas"),
        Reader("numpy.loadtxt", numpy_text(","), part=True),
    ],
    "whitespace": [
        Reader("pandas", pandas_text(" "), package="pandas"),
        Reader("numpy.loadtxt", numpy_text(None), part=True),
    ],
}


def lines_of(kind: str) -> str:
    """A block of rows: short numbers in CSV and LIBSVM, numbers of full length in whitespace text."""
    X = np.random.default_rng(0).standard_normal((BLOCK, 40))
    if kind == "LIBSVM":
        rows = (" ".join(f"{3 * j + 1}:{value:.6g}" for j, value in enumerate(row)) for row in X)
        return "".join(f"{k % 2} {row}\n" for k, row in enumerate(rows))
    if kind == "CSV":
        return "".join(",".join(f"{value:.6g}" for value in row) + f",{k % 2}\n" for k, row in enumerate(X))
    return "".join(" ".join(repr(float(value)) for value in row) + f" {k % 2}\n" for k, row in enumerate(X))


def run(options: Options) -> dict:
    """Rows of all kinds of text."""
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, readers in READERS.items():
            rows += measure(kind, readers, Path(folder), options)
    notes = [f"Those that read a part read {PART / 1e6:g} MB; their times are scaled to the whole."]
    return {"rows": rows, "notes": notes}


def measure(kind: str, readers: list[Reader], folder: Path, options: Options) -> list[dict]:
    """Ours alone and beside each reader of one kind of text."""
    block, size = lines_of(kind), 2e6 if options.quick else SIZE
    whole, part = folder / f"{kind}.txt", folder / f"{kind}-part.txt"
    whole.write_text(block * max(1, round(size / len(block))))
    part.write_text(block * max(1, round(min(size, PART) / len(block))))
    megabytes = whole.stat().st_size / 1e6
    contestants = [contestant(reader, whole, part) for reader in (Reader(OURS, io.read), *readers)]
    ours, *peers = race(contestants, options.times(), options.threads)
    whole.unlink()
    part.unlink()
    what = What(f"reading {kind}", f"{megabytes:.0f} MB", "read")
    slow = {reader.name: "read a part" for reader in readers if reader.part}
    rows = [alone(what, ours, megabytes / ours.median, bar=BAR)]
    return rows + [against(what, ours, peer, note=slow.get(peer.name, "")) for peer in peers]


def contestant(reader: Reader, whole: Path, part: Path) -> Contestant:
    """A reader in the race, its time that of the whole file."""
    if find_spec(reader.package) is None:
        return absent(reader.name, f"{reader.package} is not installed")
    path = part if reader.part else whole
    scale = whole.stat().st_size / path.stat().st_size

    def read() -> Timed:
        return Timed(scale * seconds_of(lambda: reader.read(path))[0])

    return Contestant(reader.name, read, warm=lambda: reader.read(part), ours=reader.name == OURS)
