"""A busy machine: how much slower fits get while other processes spin on all cores, ours beside scikit-learn's.

Each fit is timed with the machine to itself and with as many spinning processes as there are cores. A fit whose threads
only work is slowed down as much as one that has a single thread; one whose threads wait for each other much more.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.svm import SVC, LinearSVC

from benchmarks import _data
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, race
from benchmarks._rows import Bar, What, alone
from pegasos import PegasosClassifier

TITLE = "Slow-down of fits on a busy machine"
BY_DEFAULT = True

BAR = Bar(most=1.5, unit="× the peer's slow-down")
SPIN = "import time\nwhile True: time.perf_counter()"
Fit = Callable[[], object]


def run(options: Options) -> dict:
    """A row for each fit: its slow-down over that of the peer."""
    tasks = fits(options)
    contestants = [
        Contestant(f"{task}, {who}", fit, warm=fit, ours=who == "ours")
        for task, pair in tasks.items()
        for who, fit in zip(("ours", "the peer"), pair)
    ]
    times = options.times(5)
    quiet = race(contestants, times, options.threads)
    with spinning(options.threads):
        busy = race(contestants, times, options.threads)
    rows = []
    for number, task in enumerate(tasks):
        ours, peer = (busy[2 * number + k].median / quiet[2 * number + k].median for k in (0, 1))
        record = Record(task, busy[2 * number].times, [{}])
        note = (
            f"ours {quiet[2 * number].median:.4f} s, busy {ours:.2f} times as long; the peer "
            f"{quiet[2 * number + 1].median:.4f} s, busy {peer:.2f} times"
        )
        rows.append(alone(What(task, "see the task"), record, ours / peer, bar=BAR, note=note))
    return {"rows": rows, "settings": {"spinning processes": options.threads}}


def fits(options: Options) -> dict[str, tuple[Fit, Fit]]:
    """Our fit and the peer's of each task."""
    rng = np.random.default_rng(options.seed)
    n = 500 if options.quick else 4000
    X, y = _data.noise(n, 50, 2, rng)
    wide = _data.noise(n, 200, 20, rng)
    seed = dict(random_state=options.seed)

    def pair(ours: dict, peer, rows, labels) -> tuple[Fit, Fit]:
        return lambda: PegasosClassifier(**seed, **ours).fit(rows, labels), lambda: peer.fit(rows, labels)

    rbf = dict(kernel="rbf", gamma=0.02)
    return {
        "linear, 2 classes": pair(dict(lam=1e-3), LinearSVC(loss="hinge", max_iter=20), X, y),
        "linear, 20 classes one-vs-one": pair(dict(lam=1e-3, multi_class="ovo"), LinearSVC(max_iter=20), *wide),
        "rbf, the matrix kept": pair(rbf, SVC(**rbf), X, y),
        "rbf, 20 classes": pair(rbf, SVC(**rbf), *wide),
        "rbf, blocks computed": pair(rbf | {"cache_size": 0, "max_iter": 2}, SVC(**rbf), X, y),
        "landmarks": pair(rbf | {"n_landmarks": 300}, SVC(**rbf), X, y),
    }


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many processes that do nothing but take time."""
    processes = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
