"""The data of the benchmarks, as tasks: rows to learn from and rows to be tested on, features in float32."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pegasos import datasets


class DataMissing(Exception):
    """A data set is missing; the message says how to get it."""


@dataclass
class Task:
    """Training and test rows of a race."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    _cast: dict = field(default_factory=dict, repr=False)

    @property
    def data(self) -> str:
        """The name with the number of rows and features."""
        n, d = self.X.shape
        return f"{self.name}, {n} × {d}"

    def as_type(self, dtype) -> tuple[Any, Any]:
        """Training and test rows in the type that a peer needs; converted once, untimed."""
        if dtype is None or np.dtype(dtype) == self.X.dtype:
            return self.X, self.X_test
        if dtype not in self._cast:
            self._cast[dtype] = self.X.astype(dtype), self.X_test.astype(dtype)
        return self._cast[dtype]

    def few(self, per_class: int = 100) -> np.ndarray:
        """Some rows of each class, to warm up on."""
        rows = [np.flatnonzero(self.y == label)[:per_class] for label in np.unique(self.y)]
        return np.sort(np.concatenate(rows))

    def first(self, n_rows: int) -> "Task":
        """The same with the first rows only."""
        return replace(self, X=self.X[:n_rows], y=self.y[:n_rows], _cast={})

    def one_class(self, label) -> "Task":
        """One class against the rest."""
        name = f"{self.name}, class {label}"
        return replace(self, name=name, y=(self.y == label) * 1, y_test=(self.y_test == label) * 1)

    def whole(self) -> tuple[Any, np.ndarray]:
        """All rows, as cross-validation takes them."""
        parts = [self.X, self.X_test]
        X = sparse.vstack(parts, format="csr") if sparse.issparse(self.X) else np.vstack(parts)
        return X, np.concatenate([self.y, self.y_test])


def loaded(name: str) -> datasets.Dataset:
    """A data set of the folder PEGASOS_DATA."""
    if not os.environ.get(datasets.FOLDER):
        raise DataMissing(f"set {datasets.FOLDER} to the folder that holds {name}, or use --quick.")
    try:
        return datasets.load(name)
    except (ValueError, OSError) as error:
        raise DataMissing(str(error)) from error


def _with_test_part(title: str, name: str) -> Task:
    found = loaded(name)
    return Task(title, found.X, found.y, found.X_test, found.y_test)


def usps() -> Task:
    """7291 + 2007 rows of 256 pixels in [0, 1], ten classes."""
    return _with_test_part("USPS", "usps")


def mnist() -> Task:
    """60000 + 10000 rows of 784 pixels in [0, 1], ten classes."""
    return _with_test_part("MNIST", "mnist")


def fashion_mnist() -> Task:
    """60000 + 10000 rows of 784 pixels in [0, 1], ten classes."""
    return _with_test_part("Fashion-MNIST", "fashion-mnist")


def news20() -> Task:
    """12748 + 3187 sparse rows of length 1 and 62061 features, twenty classes."""
    found = loaded("news20")
    X, X_test, y, y_test = train_test_split(found.X, found.y, test_size=0.2, stratify=found.y, random_state=0)
    return Task("news20", X.tocsr(), y, X_test.tocsr(), y_test)


def rcv1() -> Task:
    """20000 + 7613 sparse rows of length 1 and 47236 features, two classes; the file has them in random order."""
    found = loaded("rcv1")
    n = 20_000
    return Task("RCV1 subset", found.X[:n], found.y[:n], found.X[n:], found.y[n:])


def covtype() -> Task:
    """522911 + 58101 rows of 54 standardised features, class 2 against the rest."""
    found = loaded("covtype")
    y = (found.y == 2) * 1
    X, X_test, y, y_test = train_test_split(found.X, y, test_size=58_101, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = (scaler.transform(part).astype(np.float32, copy=False) for part in (X, X_test))
    return Task("covtype", X, y, X_test, y_test)


def digits(*, sparse_rows: bool = False, binary: bool = False) -> Task:
    """scikit-learn's embedded digits, 1347 + 450 rows of 64 pixels in [0, 1]; binary: above 4 or not."""
    found = datasets.load("digits")
    X = found.X.astype(np.float32)
    X, X_test, y, y_test = train_test_split(X, found.y, test_size=0.25, stratify=found.y, random_state=0)
    if sparse_rows:
        X, X_test = sparse.csr_matrix(X), sparse.csr_matrix(X_test)
    if binary:
        y, y_test = (y > 4) * 1, (y_test > 4) * 1
    return Task("digits", X, y, X_test, y_test)


def noise(n_rows: int, n_features: int, n_classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Dense rows of noise with a little signal, float32, and their classes."""
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    return X, (X[:, 0] * n_classes + 3 * rng.standard_normal(n_rows)).astype(int) % n_classes


def mixture(n_rows: int, n_features: int, spread: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of five Gaussian clusters each, standardised, float32; those of torchkm's simulation at spread 1.

    Centres are random and moved by 2 in one half of the features, which is another one in each class; rows lie around
    them with a standard deviation of 3. `spread` multiplies the centres: the smaller, the more the classes overlap.
    """
    half, per_class = n_features // 2, 5
    centres = rng.standard_normal((2, per_class, n_features))
    centres[0, :, :half] += 2
    centres[1, :, half:] += 2
    y = rng.integers(0, 2, n_rows)
    X = 3 * rng.standard_normal((n_rows, n_features), dtype=np.float32)
    X += spread * centres[y, rng.integers(0, per_class, n_rows)]
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32, copy=False), y


def sparse_noise(n_rows: int, n_features: int, n_classes: int, rng: np.random.Generator, per_row: int = 40):
    """CSR rows of 40 entries, and classes at random."""
    entries = n_rows * per_row
    parts = (
        rng.random(entries, dtype=np.float32),
        rng.integers(0, n_features, entries),
        np.arange(0, entries + 1, per_row),
    )
    X = sparse.csr_matrix(parts, shape=(n_rows, n_features))
    X.sum_duplicates()
    return X, rng.integers(0, n_classes, n_rows)
