"""What the tests of streaming share: files cut into chunks of a few bytes, and windows of a few chunks."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from pegasos.io import DataError, open_source
from pegasos.solver.clock import Clock
from pegasos.streaming import windows
from pegasos.streaming.progress import StreamProgress
from pegasos.streaming.survey import survey
from pegasos.streaming.training import fit_stream
from pegasos.streaming.windows import chunks, joined


def opened(path, *, chunk=60, regression=False, **wishes):
    """A source that was surveyed, and what the survey has found."""
    source = open_source(path, chunk=chunk, **wishes)
    return source, survey(source, StreamProgress(Clock(None)), regression=regression)


def all_rows(source):
    """The rows and labels of all chunks, in the order of the file, and the number of chunks."""
    with closing(chunks(source)) as read:
        found = list(read)
    return *joined(found), len(found)


def complaint(path, *, chunk=60, regression=False, **wishes) -> str:
    """The sentence of the DataError that a survey raises."""
    with pytest.raises(DataError) as caught:
        opened(path, chunk=chunk, regression=regression, **wishes)
    assert path.name in str(caught.value)
    return str(caught.value)


def streamed(model, path, *, window=None, chunk=400, monkeypatch=None, **how):
    """Train a model on small chunks; `window` is the number of bytes that are in memory together."""
    if window is not None:
        monkeypatch.setattr(windows, "WINDOW", window)
    return fit_stream(model, open_source(path, chunk=chunk), **how)


def libsvm(X, y, *, first=1) -> str:
    """Rows as LIBSVM text, with all digits; zeros are left out."""
    lines = []
    for row, label in zip(np.asarray(X), y, strict=True):
        entries = " ".join(f"{j + first}:{value!r}" for j, value in enumerate(row.tolist()) if value)
        lines.append(f"{label} {entries}".rstrip() + "\n")
    return "".join(lines)


def csv(X, y, header=None) -> str:
    """Rows as CSV, with all digits, labels last."""
    lines = [] if header is None else [",".join(header)]
    lines += [
        ",".join([*map(repr, row.tolist()), str(label)]) for row, label in zip(np.asarray(X), y, strict=True)
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
