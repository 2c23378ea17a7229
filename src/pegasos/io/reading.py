"""Opening a file by what its first bytes say it is, to read it whole or in chunks."""

from __future__ import annotations

import os
from pathlib import Path

from pegasos.io.dataset import DataError, Dataset
from pegasos.io.detect import (
    TEXT_HEAD,
    check_is_text,
    check_readable,
    decompressed,
    kind_of,
    kind_of_file,
)
from pegasos.io.options import ReadOptions
from pegasos.io.source import CHUNK, NotInPieces, Source


def read(path: str | os.PathLike, **options) -> Dataset:
    """Read rows and labels from a file.

    Parameters
    ----------
    path : str or path-like
        The file. Its format is told by its content, not by its name.
    **options
        How it is to be read: the attributes of `pegasos.io.ReadOptions`, such as ``label``, ``drop`` and ``header``.

    Returns
    -------
    Dataset
        Its rows are float32 or float64, dense or CSR.

    Raises
    ------
    DataError
        If the file cannot be read as data, in a sentence that names the file and the thing.

    Examples
    --------
    >>> from pegasos.io import read
    >>> with open("rows.svm", "w") as file:
    ...     _ = file.write("1 1:0.5 3:2\\n-1 2:1\\n")
    >>> data = read("rows.svm")
    >>> data.format, data.X.shape, data.y.tolist()
    ('libsvm', (2, 3), [1, -1])
    """
    path = Path(path)
    check_readable(path)
    asked = ReadOptions(**options)
    with open(path, "rb") as file:
        kind = kind_of_file(file)
        if kind in ("zip", "hdf5", "parquet"):
            return _binary_source(path, kind, asked, CHUNK).read()
        if kind == "text":
            check_is_text(path.name, file.peek(TEXT_HEAD))
        data = decompressed(path.name, file, kind)
    inner = kind_of(data)
    if inner == "idx":
        from pegasos.io.idx import read_idx

        return read_idx(path, data, asked)
    if inner != "text":
        raise DataError(f"{path.name} is a {inner} file packed with {kind}; unpack it first.")
    from pegasos.io.text.sources import text_in_memory

    return text_in_memory(path, data, asked).read()


def open_source(path: str | os.PathLike, *, chunk: int = CHUNK, **options) -> Source:
    """Open a file to be read in chunks, which hold the same rows and labels and raise the same errors as `read`.

    Parameters
    ----------
    path : str or path-like
        The file.
    chunk : int
        About how many bytes of the file, or of its rows in memory, make a chunk.
    **options
        As for `read`.

    Returns
    -------
    Source
        The file, of which only the beginning has been read.

    Raises
    ------
    NotInPieces
        If the file may be good data, but cannot be read in chunks.
    DataError
        If it cannot be read as data.
    """
    path, asked = Path(path), ReadOptions(**options)
    check_readable(path)
    if not path.is_file():
        raise NotInPieces(f"{path} is a pipe, which can be read once; read it into memory (--stream no).")
    with open(path, "rb") as file:
        kind = kind_of_file(file)
    if kind == "idx":
        raise NotInPieces(
            f"{path.name} is an IDX file, which cannot be read in pieces; read it into memory (--stream no)."
        )
    if kind in ("zip", "hdf5", "parquet"):
        source = _binary_source(path, kind, asked, chunk)
    else:
        from pegasos.io.text.sources import open_text

        source = open_text(path, kind, asked, chunk)
    source.check_in_pieces()
    return source


def _binary_source(path: Path, kind: str, options: ReadOptions, chunk: int) -> Source:
    if not path.is_file():
        raise DataError(f"{path} is a pipe, and {kind} is not read from its beginning to its end; make it a file.")
    if kind == "parquet":
        from pegasos.io.parquet import ParquetSource

        return ParquetSource(path, options, chunk)
    from pegasos.io.arrays import open_arrays

    return open_arrays(path, kind, options, chunk)
