"""`pegasos train` on files larger than memory: which files are streamed, the fit, and its results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegasos.cli.data import HINT, layout_of, load_rows_like, test_share, warn_of_many
from pegasos.cli.model import scaler_for_range, scaler_name, svm_of, with_scaler
from pegasos.utils.memory import available_memory

if TYPE_CHECKING:
    from pegasos.io.source import Source
    from pegasos.streaming.prepare import Split
    from pegasos.streaming.run import StreamResult

CHOICES = ("auto", "yes", "no")
LARGE = 1 << 30  # files of more bytes are streamed ...
SHARE = 0.25  # ... and those of more than this share of the available memory
UNPACKED = 4  # assumed ratio of the size of a compressed file unpacked and packed


@dataclass(frozen=True)
class StreamedData:
    """A file that was streamed, with the attributes of a Dataset that saving and reporting a model need."""

    source: Source
    found: StreamResult
    test: Source | None  # test rows
    split: Split | None  # which rows of the file are held out, where `test` is the file itself
    fingerprint: str | None = None  # unknown: it would take one more reading
    scaling: None = None  # files are read as they are ...
    raw: bool = False  # ... which has to be asked for of known data sets alone

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.source.name

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features of a table."""
        return self.source.feature_names

    @property
    def label_name(self) -> str | None:
        """The name of the label column."""
        return self.source.label_name

    @property
    def first_index(self) -> int | None:
        """Where features of LIBSVM text count from."""
        return self.source.first_index

    @property
    def left_out(self) -> Sequence[str | int]:
        """Columns of a table that were left out on purpose."""
        return self.source.left_out

    def facts(self) -> dict[str, Any]:
        """Facts about the data for a report."""
        return {"name": self.name, "source": str(self.source.path), **self.found.survey.facts}


def source_for(how: str, data: str, table: dict[str, Any], svm) -> Source | None:
    """The source to stream a file from, or None for data that is read into memory."""
    if how not in CHOICES:
        raise ValueError(f"--stream {how!r} is not known; choose from {', '.join(CHOICES)}.")
    known = _is_known(data)
    if how == "no" or (how == "auto" and (known or not _is_large(Path(data)))):
        return None
    if known:
        raise ValueError(f"{data} is a known data set, which is read into memory; --stream yes is for files.")
    from pegasos.io import NotInPieces, open_source
    from pegasos.streaming.training import missing_for_stream

    missing = missing_for_stream(svm)
    if missing is not None:
        if how == "auto":
            return None
        raise ValueError(f"--stream yes: {missing}")
    try:
        return open_source(data, **table)
    except NotInPieces:
        if how == "auto":
            return None
        raise


def _is_known(data: str) -> bool:
    from pegasos.datasets import NAMES

    return data in NAMES or (not os.path.exists(data) and os.path.basename(data) == data)


def _is_large(path: Path) -> bool:
    """Whether a file is too large to be read into memory."""
    from pegasos.io.detect import COMPRESSIONS, kind_of_file

    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    with open(path, "rb") as file:
        packed = kind_of_file(file) in COMPRESSIONS
    return path.stat().st_size * (UNPACKED if packed else 1) > min(LARGE, SHARE * available_memory())


def fit(
    svm, source: Source, test: str | None, table: dict[str, Any], scale: str, seed: int
) -> tuple[Any, StreamedData]:
    """Fit on a stream; the model, with its scaler if there is one, and the data."""
    from pegasos.estimators.totals import ClassTotals
    from pegasos.io import DataError
    from pegasos.streaming.prepare import Split
    from pegasos.streaming.training import fit_stream

    share = test_share(test)
    split = None if share is None else Split(share, seed)

    def scaler_for(survey):
        if split is not None and 0 in (survey.n_rows, survey.n_test):
            raise DataError(
                f"{source.name}: --test {test} leaves no rows to {'test with' if survey.n_rows else 'train on'}."
            )
        if isinstance(survey.totals, ClassTotals) and survey.totals.labels.dtype.kind == "i":
            warn_of_many(source.name, len(survey.totals.labels), survey.n_rows, HINT)
        return scaler_for_range(survey.sparse, survey.largest, scale)

    found = fit_stream(svm, source, scaler_for=scaler_for, scaling=scale, split=split, scored=True)
    model = with_scaler(svm, found.scaler)
    if share is not None:
        return model, StreamedData(source, found, source, split)
    own = source.test_part() if test is None else test_source(test, source, table)
    return model, StreamedData(source, found, own, None)


def test_source(test: str, source: Source, table: dict[str, Any]) -> Source:
    """The source of a test file with the features of the training file; a known data set comes from memory."""
    from pegasos.io import DataError, NotInPieces, open_source
    from pegasos.io.source import InMemorySource

    like = layout_of(source, table)
    found: Source | None = None
    if not _is_known(test):
        with suppress(NotInPieces):
            found = open_source(test, **like)
    if found is None:
        rows = load_rows_like(test, like)
        found = InMemorySource(rows.name, rows.X, rows.y)
        found.labelled = rows.y is not None
    if not found.labelled:
        raise DataError(f"{found.name} has no labels to test with; `pegasos predict` labels such a file.")
    found.text_labels = source.text_labels
    return found


def results_of(model, stream: StreamedData) -> dict[str, Any]:
    """Facts about a model that was trained on a stream, by name."""
    import numpy as np

    svm, found = svm_of(model), stream.found
    score = "accuracy" if hasattr(svm, "classes_") else "R²"
    results = {
        "model": f"{type(svm).__name__}, {svm.kernel}",
        "features scaled by": scaler_name(model),
        "training rows": found.survey.n_rows,
        "features": found.survey.n_features,
        "classes": len(svm.classes_) if hasattr(svm, "classes_") else None,
        "streamed": f"{stream.source.size / 1e6:.4g} MB",
        "passes": round(found.earlier_passes + found.passes, 3),
        "MB/s in these": found.bytes_per_second / 1e6,
        "seconds": found.seconds,
        "steps": svm.n_iter_,
        "objective (mean)": float(np.mean(svm.objective_)),
        "relative gap (largest)": float(np.max(svm.relative_gap_)),
        f"training {score}": found.score,
    }
    if stream.test is not None:
        tested = test_score(model, stream)
        results |= {"test rows": tested.n_rows, f"test {score}": tested.score}
    return {name: value for name, value in results.items() if value is not None}


def test_score(model, stream: StreamedData):
    """The score of the model on the test rows."""
    import numpy as np

    from pegasos.cli.output import StatusLine
    from pegasos.io.text.libsvm import warn_unseen
    from pegasos.streaming.evaluate import score_of

    test = stream.test
    assert test is not None
    scaler = model[0] if hasattr(model, "steps") else None
    prepare = None if stream.split is None else stream.split.test
    with StatusLine(f"testing on {test.name}"):
        found = score_of(model, test, prepare, dense=bool(getattr(scaler, "with_mean", False)))
    unseen = getattr(test, "unseen", ())
    if unseen:
        warn_unseen(test.name, np.array(sorted(unseen)), svm_of(model).n_features_in_)
    return found
