"""The rows of the everyday fit: float64, as users have them after a scaler or a vectoriser."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks import _data
from benchmarks._options import Options

FASHION_ROWS = 3_000  # of 60 000, for which LinearSVC takes minutes
COVTYPE_ROWS = 50_000


class Rows(NamedTuple):
    """Rows with their labels or targets, and a name with their number."""

    name: str
    X: Any
    y: np.ndarray


def for_classes(options: Options, only: tuple[str, ...] | None = None) -> list[Rows]:
    """The tasks of classification, or those of them whose names begin so."""
    makers = {name: MAKERS[name] for name in QUICK} if options.quick else MAKERS
    chosen = [name for name in makers if only is None or options.quick or name.startswith(only)]
    chosen = [name for name in chosen if options.wants(name)]
    return [_rows(name, *makers[name]()) for name in chosen]


def small(options: Options) -> list[Rows]:
    """Tasks of a few hundred rows."""
    noise = lambda: _data.noise(300, 10, 2, np.random.default_rng(0))
    makers = {"iris": lambda: load_iris(return_X_y=True), "wine": lambda: _standardised(load_wine), "noise": noise}
    return [_rows(name, *make()) for name, make in makers.items() if options.wants(name)]


def for_regression(options: Options) -> list[Rows]:
    """One like California housing: skewed features, standardised, and a target that is cut off and has heavy tails."""
    if not options.wants("California-like"):
        return []
    rng = np.random.default_rng(0)
    n = 500 if options.quick else 20_000
    income, rooms, bedrooms = rng.lognormal(1.2, 0.5, n), rng.lognormal(1.6, 0.4, n), rng.lognormal(0.1, 0.15, n)
    people, household = rng.lognormal(7, 0.8, n), rng.lognormal(1.05, 0.25, n)
    age, north = rng.uniform(1, 52, n), rng.choice([34.0, 37.5], n) + rng.standard_normal(n)
    east = -120 - 0.8 * (north - 36) + 0.6 * rng.standard_normal(n)
    X = np.column_stack([income, age, rooms, bedrooms, people, household, north, east])
    price = 0.42 * income + 0.01 * age - 0.1 * rooms + 0.5 * bedrooms - 0.13 * (north + east + 84)
    y = np.clip(price + 0.4 * rng.standard_t(3, n), 0.15, 5.0)
    return [_rows("California-like", StandardScaler().fit_transform(X), y)]


def for_kernels(options: Options) -> list[tuple[Rows, dict[str, float]]]:
    """The tasks of kernels, each with the parameters that are not SVC's defaults."""
    names = [name for name in KERNEL_MAKERS if not options.quick or name.startswith(QUICK_KERNELS)]
    found = []
    for name in names:
        make, given = KERNEL_MAKERS[name]
        found.append((_rows(name, *make()), given))
    return found


def _rows(name: str, X, y: np.ndarray) -> Rows:
    return Rows(f"{name}, {X.shape[0]} × {X.shape[1]}", X.astype(np.float64), y)


def _of(task: _data.Task) -> tuple[Any, np.ndarray]:
    return task.X, task.y


def _adult() -> tuple[Any, np.ndarray]:
    found = _data.loaded("adult")
    return found.X, found.y


def _dense(task: tuple[Any, np.ndarray], n_rows: int) -> tuple[Any, np.ndarray]:
    X, y = task
    return (X.toarray() if hasattr(X, "toarray") else X)[:n_rows], y[:n_rows]


def _covtype() -> tuple[Any, np.ndarray]:
    task = _data.covtype().first(COVTYPE_ROWS)
    return task.X, task.y


def _standardised(load: Callable) -> tuple[Any, np.ndarray]:
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def _synthetic() -> tuple[Any, np.ndarray]:
    return _data.noise(100_000, 50, 4, np.random.default_rng(0))


MAKERS: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "breast cancer, unscaled": lambda: load_breast_cancer(return_X_y=True),
    "breast cancer, standardised": lambda: _standardised(load_breast_cancer),
    "digits, standardised": lambda: _standardised(load_digits),
    "a9a": _adult,
    "RCV1": lambda: _of(_data.rcv1()),
    "news20": lambda: _of(_data.news20()),
    "covtype": _covtype,
    "100 000 × 50": _synthetic,
    "Fashion-MNIST": lambda: _of(_data.fashion_mnist().first(FASHION_ROWS)),
}
QUICK_KERNELS = ("breast cancer", "digits")
KERNEL_MAKERS: dict[str, tuple[Callable[[], tuple[Any, np.ndarray]], dict[str, float]]] = {
    "breast cancer, standardised": (lambda: _standardised(load_breast_cancer), {}),
    "digits": (lambda: load_digits(return_X_y=True), {}),
    "USPS": (lambda: _of(_data.usps()), {}),
    "MNIST": (lambda: _of(_data.mnist().first(6000)), {}),
    "MNIST, more": (lambda: _of(_data.mnist().first(20_000)), {}),
    "MNIST, 8 against the rest": (lambda: _of(_data.mnist().first(20_000).one_class(8)), {"gamma": 0.02, "C": 5.0}),
    "a9a, 1/gamma = 20": (lambda: _dense(_adult(), 15_000), {"gamma": 0.05}),
    "covtype": (lambda: _of(_data.covtype().first(15_000)), {}),
    "covtype, 1/gamma = 10": (lambda: _of(_data.covtype().first(15_000)), {"gamma": 0.1, "C": 10.0}),
}
QUICK = ("breast cancer, standardised", "digits, standardised")
