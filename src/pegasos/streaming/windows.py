"""Windows: several chunks, from all over the file, whose rows are in memory together.

Each pass reads the chunks in a new random order, so that a window mixes rows that lie far apart, and within a window
the solver draws the rows in its own order. All orders follow from the seed and the number of the pass: threads do not
change them, and a fit can go on from a checkpoint in the middle of a pass. ``sampling="cyclic"`` keeps the order of the
file, and so do files that can only be read from their beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import vstack

from pegasos.backends.threads import blas_threads
from pegasos.io.source import Chunk, Source
from pegasos.streaming.prefetch import read_ahead

WINDOW = 32 << 20  # bytes of rows in a window; about as many again are read ahead

Prepare = Callable[[Chunk], Chunk]


@dataclass(frozen=True)
class Window:
    """Rows that are in memory together."""

    number: int  # within its pass
    X: Any
    y: np.ndarray
    share: float  # of the file


def pass_order(source: Source, seed: int, passes: int, sampling: str) -> Sequence[int] | None:
    """The order in which one pass reads the places of a file; None: that of the file."""
    if source.n_places is None or sampling == "cyclic":
        return None
    return np.random.default_rng([seed, passes]).permutation(source.n_places).tolist()


def chunks_per_window(bytes_per_chunk: float) -> int:
    """Chunks that make a window."""
    return max(1, round(WINDOW / max(1.0, bytes_per_chunk)))


def chunks(source: Source, prepare: Prepare | None = None) -> Generator[Chunk, None, None]:
    """All chunks in the order of the file, read ahead."""
    yield from read_ahead(_prepared(source.tasks(), prepare), 2 * blas_threads())


def windows(
    source: Source, n_chunks: int, order: Sequence[int] | None = None, *, prepare: Prepare | None = None, skip: int = 0
) -> Generator[Window, None, None]:
    """Windows of so many chunks each, without the first `skip`; those without rows are left out.

    `prepare` is what is done to each chunk by the thread that reads it. About one window is read ahead.
    """
    tasks = islice(source.tasks(order), skip * n_chunks, None)
    with closing(read_ahead(_prepared(tasks, prepare), n_chunks + blas_threads())) as read:
        number = skip
        while found := list(islice(read, n_chunks)):
            share = sum(chunk.share for chunk in found)
            X, y = joined(found)
            del found  # or the chunks would be in memory beside the window that was made of them
            if len(y):
                yield Window(number, X, y, share)
            del X, y
            number += 1


def _prepared(tasks, prepare: Prepare | None):
    if prepare is None:
        yield from tasks
        return
    for task in tasks:
        yield lambda task=task: prepare(task())


def joined(found: Sequence[Chunk]) -> tuple[Any, np.ndarray]:
    """The rows of all chunks as one matrix, and their labels."""
    filled = [chunk for chunk in found if len(chunk.y)] or list(found[:1])
    if len(filled) == 1:
        return filled[0].X, filled[0].y
    y = np.concatenate([chunk.y for chunk in filled])
    if not hasattr(filled[0].X, "indptr"):
        return np.concatenate([chunk.X for chunk in filled]), y
    X = vstack([chunk.X for chunk in filled], format="csr")
    X.has_canonical_format = True  # each chunk is
    return X, y


def n_bytes(X) -> int:
    """Bytes that rows take in memory."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if hasattr(X, "indptr") else X.nbytes
