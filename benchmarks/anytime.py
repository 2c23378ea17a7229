"""Are time limits kept? Fits with `max_time` on all kinds of rows, wall clock beside the limit.

The bar is 5 % + 0.2 s over the limit. A fit with the same limit goes before those that are timed, and one without: what
a machine compiles for the first time (also float64 sums, after some million steps in float32) is compiled then.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks._data import noise, sparse_noise
from benchmarks._fits import certificate_of
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, race
from benchmarks._rows import Bar, What, alone
from pegasos import PegasosClassifier, PegasosRegressor

TITLE = "Are time limits kept?"
BY_DEFAULT = True

LIMITS = (1.0, 5.0)
Case = tuple[str, Any, np.ndarray, Any]  # name, rows, targets, estimator


def cases(scale: float, seed: int) -> Iterator[Case]:
    """All kinds of rows and columns; data are made when their turn comes."""
    rng = np.random.default_rng(seed)
    X, y = noise(int(500_000 * scale), 54, 2, rng)
    yield "dense, 2 classes", X, y, PegasosClassifier(solver="pegasos")
    yield "dense, descent", X, y, PegasosClassifier(tol=None)
    yield "dense, sdca", X, y, PegasosClassifier(solver="sdca", tol=None)
    yield "dense, log loss, replacement", X, y, PegasosClassifier(loss="log_loss", sampling="replacement")
    yield "dense, batches of 100", X, y, PegasosClassifier(batch_size=100)
    yield "dense, regression", X, X[:, 0], PegasosRegressor(solver="pegasos")
    X, y = sparse_noise(int(200_000 * scale), 20_000, 20, rng)
    yield "CSR, 20 classes", X, y, PegasosClassifier(solver="pegasos")
    yield "CSR, 20 classes, sdca", X, y, PegasosClassifier(solver="sdca", tol=None)
    X, y = noise(int(20_000 * scale), 300, 10, rng)
    yield "rbf", X, y, PegasosClassifier(kernel="rbf", solver="pegasos")
    yield "rbf, Crammer–Singer", X, y, PegasosClassifier(kernel="rbf", multi_class="crammer_singer", tol=None)
    X, y = noise(int(60_000 * scale), 300, 10, rng)
    yield "rbf, beyond the cache", X, y, PegasosClassifier(kernel="rbf", tol=None)


def run(options: Options) -> dict:
    """A row that counts the fits within their limits, and one for each case and limit."""
    rows, everything, kept = [], Record("all"), 0
    limits = (0.2,) if options.quick else LIMITS
    for case in cases(0.02 if options.quick else 1.0, options.seed):
        for limit, record in zip(limits, race(limited(case, limits, options), options.times(), options.threads)):
            bar = Bar(most=round(1.05 * limit + 0.2, 3), unit="s")
            kept += sum(bar.holds(seconds) for seconds in record.times)
            everything.times += record.times
            what = What("max_time", case[0], f"limit {limit:g} s, slowest fit")
            rows.append(alone(what, record, max(record.times), bar=bar, detail=True))
    total = len(everything.times)
    what = What("max_time", "dense, CSR and rbf rows", "fits within 5 % + 0.2 s of their limit")
    share = alone(what, everything, 100 * kept / total, bar=Bar(least=100, unit="%"), note=f"{kept} of {total} fits")
    return {"rows": [share, *rows]}


def limited(case: Case, limits: tuple[float, ...], options: Options) -> list[Contestant]:
    """The same fit with each limit."""
    name, X, y, estimator = case
    estimator.set_params(max_iter=10**6, random_state=options.seed)

    def contestant(limit: float) -> Contestant:
        model = clone(estimator).set_params(max_time=limit)

        def warm() -> None:
            clone(estimator).set_params(max_iter=1).fit(X[:2000], y[:2000])
            model.fit(X, y)

        def judge(fitted) -> dict:
            return certificate_of(fitted) | {"steps": int(fitted.n_iter_)}

        return Contestant(f"{name}, {limit:g} s", lambda: model.fit(X, y), judge, warm, ours=True)

    return [contestant(limit) for limit in limits]
