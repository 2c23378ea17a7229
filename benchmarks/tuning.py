"""Speed of tuning: PegasosSearchCV beside GridSearchCV over the peers.

USPS, RBF, 7 C × 3 widths × 5 folds, beside GridSearchCV(SVC).
MNIST, first 10 000 rows, RBF, 7 C × 5 folds, beside GridSearchCV(SVC) and with scikit-learn-intelex's SVC.
RCV1 subset, linear, 10 C × 5 folds, beside GridSearchCV(LinearSVC).
The USPS grid of 7 kernels × 7 λ × 5 numbers of steps × 5 folds × 10 classes, beside the floating-point operations of
its steps, 2 · draws · rows · columns, at the rate of a large sgemm in the same run.

Both search the same values of C on the same folds without a refit. Peers use a process for each core, started before
the clock, and run once, since they take minutes; ours is one process with as many threads. The settings of ours (rule,
passes) were fixed beforehand.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks import _data, _peers
from benchmarks._fits import OURS, TEXTBOOK
from benchmarks._measure import arithmetic, gflops
from benchmarks._options import Options
from benchmarks._race import Contestant, absent, race
from benchmarks._rows import Bar, What, against, alone
from pegasos import PegasosClassifier, PegasosSearchCV

TITLE = "PegasosSearchCV beside GridSearchCV"
BY_DEFAULT = True

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
RBF = dict(kernel="rbf", solver="sdca", max_iter=5)
LINEAR = dict(solver="sdca", max_iter=5, average=False)
STEPPED = dict(sampling="replacement", average=False, fit_intercept=False)
WIDTHS = (1 / 8, 1 / 32, 1 / 128)
ARITHMETIC = Bar(most=2, unit="× its arithmetic")
Rows = tuple[str, Any, np.ndarray]  # name, rows, labels
Rivals = dict[str, tuple[dict, Any, Bar]]  # name of the peer: its settings, the type it likes, the bar


def run(options: Options) -> dict:
    """Rows of all four searches."""
    rows = usps_part(options) + mnist_part(options) + rcv1_part(options) + grid_part(options)
    return {"rows": rows, "settings": {"rbf": RBF, "linear": LINEAR, "grid": STEPPED}}


def usps_part(options: Options, gammas: tuple[float, ...] = WIDTHS) -> list[dict]:
    """Three widths of a Gaussian kernel on USPS."""
    widths = list(gammas[:1] if options.quick else gammas)
    grid: dict[str, Any] = {"C": costs(-1, 2, 7, options), "gamma": widths}
    rivals: Rivals = {"SVC": ({}, np.float64, Bar(least=10))}
    task = f"rbf, {len(grid['C'])} C × gamma {', '.join(f'{gamma:.2g}' for gamma in widths)} × 5 folds"
    return compare(task, rows_of(_data.usps, options), grid, RBF, rivals, options)


def mnist_part(options: Options) -> list[dict]:
    """One width on a part of MNIST."""
    rows = rows_of(lambda: _data.mnist().first(10_000), options, tested=False)
    grid = {"C": costs(-1, 2, 7, options)}
    width = {"gamma": 0.02}
    rivals: Rivals = {
        "SVC": (width, np.float64, Bar(least=15)),
        "intelex SVC": (width, np.float32, Bar(least=6)),
    }
    return compare(f"rbf, {len(grid['C'])} C × 5 folds", rows, grid, RBF | width, rivals, options)


def rcv1_part(options: Options) -> list[dict]:
    """Linear models of sparse rows."""
    rivals: Rivals = {"LinearSVC": ({"random_state": options.seed}, np.float64, Bar(least=5))}
    grid = {"C": costs(-2, 1, 10, options)}
    return compare(f"linear, {len(grid['C'])} C × 5 folds", rows_of(_data.rcv1, options), grid, LINEAR, rivals, options)


def compare(task: str, rows: Rows, grid: dict, settings: dict, rivals: Rivals, options: Options) -> list[dict]:
    """Rows of ours beside each rival."""
    name, X, y = rows

    def ours():
        estimator = PegasosClassifier(**TEXTBOOK | settings, random_state=options.seed)
        return PegasosSearchCV(estimator, grid, cv=FOLDS, refit=False)

    contestants = [searching(OURS, ours, X, y)]
    contestants += [rival(kind, X, y, grid, *rivals[kind][:2], options) for kind in rivals]
    found, *peers = race(contestants, options.times(), options.threads, options.memory)
    cells = int(np.prod([len(values) for values in grid.values()])) * FOLDS.get_n_splits()
    what, note = What(task, name, "search"), f"{cells} cells; CV errors"
    return [against(what, found, peer, bar=rivals[kind][2], slack=0.0, note=note) for kind, peer in zip(rivals, peers)]


def searching(name: str, make: Callable[[], Any], X, y, repeats: int | None = None) -> Contestant:
    """A search in the race. Peers warm up on twenty rows of each class, ours, which has code to compile, on all."""
    few = np.sort(np.concatenate([np.flatnonzero(y == label)[:20] for label in np.unique(y)]))
    search = lambda: make().fit(X, y)
    warm = search if name == OURS else lambda: make().fit(X[few], y[few])
    return Contestant(name, search, best, warm, repeats, ours=name == OURS)


def rival(kind: str, X, y, grid: dict, settings: dict, dtype, options: Options) -> Contestant:
    """GridSearchCV over a peer, a process for each core."""
    name = f"GridSearchCV({kind}, n_jobs={options.processes})"
    peer = _peers.find(kind)
    if peer.missing is not None:
        return absent(name, peer.missing)
    make = lambda: GridSearchCV(peer.make(**settings), grid, cv=FOLDS, refit=False, n_jobs=options.processes)
    return searching(name, make, X.astype(dtype, copy=False), y, repeats=1)


def grid_part(options: Options) -> list[dict]:
    """A grid of kernels, λ and steps beside the cost of its arithmetic."""
    name, X, y = rows_of(_data.usps, options)
    grid, size = kernel_grid(options), 1024 if options.quick else 4096
    lams, steps = grid[0]["lam"], grid[0]["max_steps"]
    operations = 2 * draws_of(max(steps), len(y)) * len(y) * (len(lams) * 5 * len(np.unique(y))) * 7

    def search():
        estimator = PegasosClassifier(**STEPPED, random_state=options.seed)
        return PegasosSearchCV(estimator, grid, cv=FOLDS, refit=False)

    def limit():
        return arithmetic(operations, size)

    contestants = [searching(OURS, search, X, y), Contestant("its arithmetic", limit, gflops, limit)]
    ours, least = race(contestants, options.times(), options.threads, options.memory)
    task = f"7 kernels × {len(lams)} λ × {len(steps)} T × 5 folds × 10 classes"
    what, note = What(task, name, "search"), f"{operations / 1e12:.2f} TFLOP; CV error"
    return [alone(what, ours, ours.median / least.median, bar=ARITHMETIC, beside=least, note=note)]


def kernel_grid(options: Options) -> list[dict]:
    """Seven kernels × 7 λ × 5 numbers of steps; one λ and few steps in a quick trial."""
    steps = [100, 300] if options.quick else [1000, 5000, 10_000, 25_000, 50_000]
    shared = {"lam": [1e-3] if options.quick else [10.0**power for power in range(-5, 2)], "max_steps": steps}
    return [
        {"kernel": ["rbf"], "gamma": [2.0, 2 / 3, 0.25], **shared},
        {"kernel": ["poly"], "gamma": [1.0], "coef0": [1.0], "degree": [2, 3, 4, 7], **shared},
    ]


def draws_of(steps: int, n_rows: int) -> float:
    """Draws of all rows until every one of five folds has taken so many steps."""
    return steps * n_rows / (n_rows - n_rows // 5)


def best(search) -> dict:
    """The best cell of a search."""
    parameters = {name: str(value) for name, value in search.best_params_.items()}
    return {"error": float(1 - search.best_score_), "best": parameters}


def costs(low: float, high: float, count: int, options: Options) -> np.ndarray:
    """Values of C; two in a quick trial."""
    return np.logspace(low, high, 2 if options.quick else count)


def rows_of(load: Callable[[], _data.Task], options: Options, tested: bool = True) -> Rows:
    """The name and the rows of a task, those it tests on included or not; some digits in a quick trial."""
    task = _data.digits().first(500) if options.quick else load()
    X, y = task.whole() if tested and not options.quick else (task.X, task.y)
    return f"{task.name}, {X.shape[0]} × {X.shape[1]}", X, y
