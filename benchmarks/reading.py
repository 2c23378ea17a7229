"""How fast is text read? LIBSVM, CSV and whitespace text of about 200 MB, ours beside the usual readers, in MB/s.

    python benchmarks/reading.py [--quick] [--json FILE]

All readers run in one process, warm-up outside the clock, and their turns alternate; the median of three counts. Slow
peers read a part of the file. Every reader has to end with rows of float64 and the labels apart, as a fit takes them.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_svmlight_file

from _measure import cores, machine, seconds_of, sgemm_rate, write
from pegasos import io

BAR = 100.0  # MB/s
BLOCK = 2000  # rows that are made once and written again and again
PART = 10e6  # bytes that slow peers read


@dataclass
class Reader:
    """One way to read a file, and whether it gets a part only."""

    name: str
    read: Callable[[Path], object]
    part: bool = False


def numpy_text(delimiter: str | None) -> Callable[[Path], object]:
    """numpy.loadtxt, labels taken off."""

    def read(path: Path):
        table = np.loadtxt(path, delimiter=delimiter)
        return np.ascontiguousarray(table[:, :-1]), table[:, -1]

    return read


def pandas_text(separator: str) -> Callable[[Path], object]:
    """pandas.read_csv, labels taken off."""
    import pandas

    def read(path: Path):
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


def lines_of(kind: str) -> str:
    """A block of rows: short numbers in CSV and LIBSVM, numbers of full length in whitespace text."""
    X = np.random.default_rng(0).standard_normal((BLOCK, 40))
    if kind == "LIBSVM":
        rows = (" ".join(f"{3 * j + 1}:{value:.6g}" for j, value in enumerate(row)) for row in X)
        return "".join(f"{k % 2} {row}\n" for k, row in enumerate(rows))
    if kind == "CSV":
        return "".join(",".join(f"{value:.6g}" for value in row) + f",{k % 2}\n" for k, row in enumerate(X))
    return "".join(" ".join(repr(float(value)) for value in row) + f" {k % 2}\n" for k, row in enumerate(X))


def readers(kind: str) -> list[Reader]:
    """Ours, and the peers that are installed."""
    ours = Reader("pegasos", io.read)
    if kind == "LIBSVM":
        return [ours, Reader("scikit-learn", load_svmlight_file, part=True)]
    found = [ours]
    if kind == "CSV" and find_spec("pyarrow"):
        found.append(Reader("pyarrow", arrow_text))
    if find_spec("pandas"):
        found.append(Reader("pandas", pandas_text("," if kind == "CSV" else " ")))
    return [*found, Reader("numpy.loadtxt", numpy_text("," if kind == "CSV" else None), part=True)]


def measure(kind: str, folder: Path, size: float, repeats: int) -> list[dict]:
    """The rates of all readers on one kind of text."""
    block = lines_of(kind)
    files = {}
    for part, target in ((False, size), (True, min(size, PART))):
        files[part] = folder / f"{kind.split()[0]}-{'part' if part else 'whole'}.txt"
        files[part].write_text(block * max(1, round(target / len(block))))
    found = readers(kind)
    for reader in found:
        reader.read(files[reader.part])
    seconds: dict[str, list[float]] = {reader.name: [] for reader in found}
    for _ in range(repeats):
        for reader in found:
            seconds[reader.name].append(seconds_of(lambda reader=reader: reader.read(files[reader.part])))
    rows = []
    for reader in found:
        bytes_read = files[reader.part].stat().st_size
        rates = [bytes_read / 1e6 / taken for taken in seconds[reader.name]]
        rows.append({"kind": kind, "reader": reader.name, "megabytes": bytes_read / 1e6, "rates": rates})
    for path in files.values():
        path.unlink()
    return rows


def render(results: dict) -> None:
    """Show the rates as a table, and the machine below it."""
    title = "Reading text" + (" (quick trial: not judged)" if results["quick"] else "")
    table = Table(title=title)
    for name in ("text", "reader", "MB read", "MB/s", "min–max", f"≥ {BAR:.0f} MB/s"):
        table.add_column(name, justify="left" if name in ("text", "reader") else "right")
    for row in results["rows"]:
        rates = row["rates"]
        judged = row["reader"] == "pegasos" and not results["quick"]
        met = ("yes" if median(rates) >= BAR else "NO") if judged else "–"
        spread = f"{min(rates):.0f}–{max(rates):.0f}"
        table.add_row(row["kind"], row["reader"], f"{row['megabytes']:.0f}", f"{median(rates):.0f}", spread, met)
    console = Console()
    console.print(table)
    host = results["machine"]
    console.print(f"{host['processor']}, {host['cores']} cores, Python {host['python']}, numba {host['numba']}.")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="files of 5 MB, once each: whether it runs at all")
    parser.add_argument("--json", type=Path, help="write every measurement to this file")
    options = parser.parse_args()
    size, repeats = (5e6, 1) if options.quick else (200e6, 3)
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("LIBSVM", "CSV", "whitespace"):
            rows += measure(kind, Path(folder), size, repeats)
    results = {"quick": options.quick, "repeats": repeats, "cores": cores(), "rows": rows}
    results["machine"] = machine([sgemm_rate(500)])
    render(results)
    if options.json:
        write(options.json, results)


if __name__ == "__main__":
    main()
