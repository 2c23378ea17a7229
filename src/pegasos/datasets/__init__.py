"""Data sets by name: embedded and generated ones, and larger ones from the folder PEGASOS_DATA or from OpenML."""

from __future__ import annotations

import difflib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pegasos.datasets.stand_ins import STAND_INS
from pegasos.io import DataError, Dataset, read
from pegasos.io.dataset import reason
from pegasos.io.labels import labels_from_array
from pegasos.io.options import ReadOptions
from pegasos.io.scaling import Scaling

FOLDER = "PEGASOS_DATA"


@dataclass(frozen=True)
class _Known:
    """A larger data set: its files in the folder (each group whole), its number at OpenML, and what is done to it."""

    files: tuple[tuple[str, ...], ...]
    data_id: int | None = None
    n_train: int | None = None  # rows of the training part, which OpenML has first
    finish: Callable[[Dataset], None] = lambda dataset: None
    image_shape: tuple[int, int] | None = None
    instead: str = ""  # what to do where it has no download


def _scale(dataset: Dataset, scaling: Scaling) -> None:
    """Scale all rows, and say so in the dataset; rows that are to stay raw stay as they are."""
    if dataset.raw:
        return
    dataset.scaling = scaling
    dataset.X = scaling.apply(dataset.X)
    if dataset.X_test is not None:
        dataset.X_test = scaling.apply(dataset.X_test)


def _pixels(dataset: Dataset) -> None:
    """Pixels from 0 to 255 to [0, 1]."""
    _scale(dataset, Scaling(divisor=255.0))


def _usps(dataset: Dataset) -> None:
    """OpenML has pixels from -1 to 1 and the digits as 1 to 10; the file has them from 0 to 1 and as 0 to 9."""
    if dataset.format != "openml" or dataset.y is None or dataset.y_test is None or dataset.X_test is None:
        return
    _scale(dataset, Scaling(shift=1.0, divisor=2.0))
    dataset.y, dataset.y_test = dataset.y - 1, dataset.y_test - 1


def _unit_rows(dataset: Dataset) -> None:
    """Rows of length 1."""
    _scale(dataset, Scaling(unit_rows=True))
    dataset.source += "" if dataset.raw else ", rows scaled to length 1"


_KNOWN = {
    "usps": _Known((("usps.h5",), ("usps.npz",)), 41082, 7291, _usps, (16, 16)),
    "mnist": _Known((("mnist.npz",),), 554, 60000, _pixels, (28, 28)),
    "fashion-mnist": _Known((("fashion_mnist.npz",),), 40996, 60000, _pixels, (28, 28)),
    "covtype": _Known((("covtype.npz",),), 1596),
    "adult": _Known((("a9a_train.npz", "a9a_test.npz"), ("a9a.bz2", "a9a.t.bz2"), ("a9a", "a9a.t")), 1430, 32561),
    "news20": _Known((("news20_multiclass_train.npz",),), 1594, finish=_unit_rows),
    "rcv1": _Known((("rcv1_ccat_subset.npz",),), 1577),
    "cs303": _Known(
        (("cs303_train_data.txt",),),
        instead="it is a course's file, ten numbers and 1.0 or -1.0 a line; 'cs303-like' is generated in its likeness",
    ),
    "breast-ljubljana": _Known(
        (("breast_cancer_ljubljana.npz",),),
        instead="it is made of OpenML's data set 13 (no rows with missing values, grades as numbers, standardised, "
        "arrays X and y of 1 and -1); 'breast-like' is generated in its likeness",
    ),
}
_EMBEDDED = ("digits", "breast-cancer", "iris", "wine")
NAMES: tuple[str, ...] = (*_EMBEDDED, *STAND_INS, *_KNOWN)


def load(name_or_path: str | os.PathLike, *, raw: bool = False, **options) -> Dataset:
    """Load a data set by its name (`NAMES`), or read a file with the `options` of `pegasos.io.read`.

    A name is a data set even if a file is called the same; ./name is the file. `raw` leaves the features of a known
    set as they are: pixels from 0 to 255, for instance, which are divided by 255 otherwise.

    Examples
    --------
    >>> from pegasos.datasets import load
    >>> digits = load("digits")
    >>> digits.X.shape, digits.y[:3].tolist()
    ((1797, 64), [0, 1, 2])
    >>> with open("rows.csv", "w") as file:
    ...     _ = file.write("width,height,kind\\n1.5,2.0,a\\n0.5,3.0,b\\n")
    >>> rows = load("rows.csv", label="kind")
    >>> rows.X.shape, rows.y.tolist(), rows.feature_names
    ((2, 2), ['a', 'b'], ['width', 'height'])
    """
    name = os.fspath(name_or_path)
    if name not in NAMES:
        if not os.path.exists(name) and os.path.basename(name) == name:
            raise DataError(_unknown(name))
        return read(name, **options)
    asked = ReadOptions(**options)
    asked.check_no_table(name, "the labels of a known data set are its own")
    if name in STAND_INS:
        dataset = STAND_INS[name]()
    else:
        dataset = _embedded(name, raw) if name in _EMBEDDED else _larger(name, _KNOWN[name], raw)
    asked.check_width(name, dataset.n_features)
    return dataset


def load_or_stand_in(name: str) -> Dataset:
    """The data set of this name, or the generated one in its likeness where it is in no folder."""
    try:
        return load(name)
    except DataError:
        return load({"cs303": "cs303-like", "breast-ljubljana": "breast-like"}[name])


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name.lower().replace("_", "-"), NAMES, 1)
    hint = f"did you mean {close[0]!r}? Known" if close else "known"
    return f"{name!r} is neither a file nor a known data set; {hint}: {', '.join(NAMES)}."


def _embedded(name: str, raw: bool) -> Dataset:
    """A data set that scikit-learn brings along."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name.replace('-', '_')}")()
    dataset = Dataset(
        name,
        np.ascontiguousarray(bunch.data, np.float64),
        bunch.target.astype(np.int64),
        source="embedded in scikit-learn",
        format="embedded",
        feature_names=[str(feature) for feature in bunch.feature_names],
    )
    dataset.raw = raw
    if name == "digits":
        _scale(dataset, Scaling(divisor=16.0))
        dataset.image_shape = (8, 8)
    return dataset


def _larger(name: str, known: _Known, raw: bool) -> Dataset:
    folder = os.environ.get(FOLDER)
    for files in known.files if folder else ():
        paths = [Path(folder or "", file) for file in files]
        if all(path.is_file() for path in paths):
            dataset = _from_files(paths)
            break
    else:
        dataset = _downloaded(name, known)
    dataset.name, dataset.raw = name, raw
    if dataset.format != "text":  # float32 holds all digits of the larger sets
        dataset.X, dataset.X_test = _single(dataset.X), _single(dataset.X_test)
    dataset.image_shape = known.image_shape
    known.finish(dataset)
    return dataset


def _from_files(paths: list[Path]) -> Dataset:
    """One file, or a training and a test file with as many features."""
    dataset = read(paths[0])
    for path in paths[1:]:
        test = read(path, n_features=dataset.n_features)
        dataset.X_test, dataset.y_test = test.X, test.y
    return dataset


def _single(X):
    """Features in float32."""
    return None if X is None else X.astype(np.float32, copy=False)


def _downloaded(name: str, known: _Known) -> Dataset:
    """A data set from OpenML, kept in scikit-learn's data folder."""
    if known.data_id is None:
        raise DataError(_absent(name, known, "has no download"))
    from sklearn.datasets import fetch_openml

    parser = "auto" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        bunch = fetch_openml(data_id=known.data_id, as_frame=False, parser=parser, n_retries=1)
    except (OSError, ValueError, ImportError, MemoryError) as error:
        raise DataError(_absent(name, known, f"could not be downloaded ({reason(error)})")) from None
    source = f"OpenML (data id {known.data_id})"
    X, y = bunch.data, labels_from_array(bunch.target, name, "y")
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    else:
        X = np.ascontiguousarray(X, np.float32)
    cut = known.n_train
    if cut is None:
        return Dataset(name, X, y, source=source, format="openml")
    return Dataset(name, X[:cut], y[:cut], X[cut:], y[cut:], source=source, format="openml")


def _absent(name: str, known: _Known, download: str) -> str:
    files = " and ".join(known.files[0])
    where = f"is not in the folder that {FOLDER} names ({files})"
    if not os.environ.get(FOLDER):
        where = f"is in no folder ({FOLDER} is not set)"
    instead = f"; {known.instead}" if known.instead else ""
    return f"The data set {name!r} {where} and {download}{instead}; put {files} into a folder and set {FOLDER} to it."
