"""Files of any size for the benchmark of streaming: LIBSVM text, CSV and Parquet, whose labels follow a planted model.

Some thousand rows are made; a file repeats them in random order, with labels of their own, a tenth of which are wrong.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._race import say

FEATURES, ENTRIES = 47236, 75  # of LIBSVM text
COLUMNS = 50  # of tables
DISTINCT = 20000  # rows that are made
NOISE = 0.1


def make_file(path: Path, size: float, seed: int) -> None:
    """Write a file of about so many bytes, of the kind that its name ends in, if the disk has room for it."""
    free = shutil.disk_usage(path.parent).free
    if free < 1.1 * size:
        raise OSError(f"{path.parent} has {free / 1e9:.3g} GB left, and the file needs {1.1 * size / 1e9:.3g} GB.")
    say(f"  making {path.name}, {size / 1e9:.3g} GB")
    MAKERS[path.suffix](path, size, np.random.default_rng(seed))


def make_libsvm(path: Path, size: float, rng: np.random.Generator) -> None:
    """Rows of about 75 of 47 236 features, of length 1."""
    signs, texts = sparse_rows(rng, min(DISTINCT, int(size / 5000)))
    with open(path, "wb") as file:
        _write_lines(file, size, rng, signs, [(b"-1 " + text, b"+1 " + text) for text in texts])


def make_csv(path: Path, size: float, rng: np.random.Generator) -> None:
    """Rows of 50 numbers of six digits, and their label."""
    X, signs = dense_rows(rng, min(DISTINCT, int(size / 5000)))
    texts = [",".join([f"{value:.6g}" for value in row]).encode() for row in X.tolist()]
    with open(path, "wb") as file:
        file.write(",".join(NAMES).encode() + b"\n")
        _write_lines(file, size, rng, signs, [(text + b",-1\n", text + b",1\n") for text in texts])


def make_parquet(path: Path, size: float, rng: np.random.Generator) -> None:
    """Rows of 50 numbers of single precision, and their label; a row group has 100 000."""
    import pyarrow
    from pyarrow import parquet

    X, signs = dense_rows(rng, max(100, min(100_000, int(size / 500))))
    schema = pyarrow.schema([(name, pyarrow.float32()) for name in NAMES[:-1]] + [(NAMES[-1], pyarrow.int8())])
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        while not path.exists() or path.stat().st_size < size:
            order = rng.permutation(len(X))
            labels = 2 * _labels(rng, signs[order]).astype(np.int8) - 1
            rows = X[order].T
            writer.write_table(pyarrow.table([*rows, labels], schema=schema), row_group_size=len(X))


MAKERS: dict[str, Callable[[Path, float, np.random.Generator], None]] = {
    ".svm": make_libsvm,
    ".csv": make_csv,
    ".parquet": make_parquet,
}
NAMES = [*(f"x{place}" for place in range(COLUMNS)), "label"]


def sparse_rows(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, list[bytes]]:
    """On which side of the planted model each row lies, and its entries as text: rows of length 1."""
    model = rng.standard_normal(FEATURES)
    signs, texts = np.empty(n_rows, bool), []
    for row in range(n_rows):
        places = np.unique((FEATURES * rng.random(ENTRIES) ** 3).astype(int))  # some features are frequent, most rare
        values = rng.random(len(places))
        values /= np.linalg.norm(values)
        signs[row] = values @ model[places] > 0
        pairs = zip((places + 1).tolist(), values.tolist())
        texts.append(" ".join([f"{place}:{value:.6g}" for place, value in pairs]).encode() + b"\n")
    return signs, texts


def dense_rows(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of normal numbers, and on which side of the planted model each lies."""
    X = rng.standard_normal((n_rows, COLUMNS), np.float32)
    return X, X @ rng.standard_normal(COLUMNS) > 0


def _labels(rng: np.random.Generator, signs: np.ndarray) -> np.ndarray:
    return signs != (rng.random(len(signs)) < NOISE)


def _write_lines(file, size: float, rng: np.random.Generator, signs: np.ndarray, lines: list) -> None:
    """So many bytes of lines, of which there are two for each row: one for either label."""
    left = size
    while left > 0:
        order = rng.permutation(len(lines))
        labels = _labels(rng, signs[order])
        left -= file.write(b"".join([lines[i][label] for i, label in zip(order.tolist(), labels.tolist())]))
