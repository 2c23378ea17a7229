"""Prediction of one row and of 10 000, ours beside scikit-learn's, and kernel models compressed.

Rows are float64 arrays, as servers have them. Single rows are predicted many times in a row; the time is that of one.
Compression takes the support vectors of digits down to a change of scores that a margin of 1 hardly feels, and to a
tenth of them; its figures are the time it takes, the change of scores of rows that have decided nothing, the labels
that change, and how much faster 10 000 rows are predicted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import make_classification

import pegasos.svm
from benchmarks import _data
from benchmarks._options import Options
from benchmarks._race import Contestant, Timed, race
from benchmarks._rows import Bar, What, against, alone
from pegasos import PegasosClassifier

TITLE = "Prediction of one row and of many, and compressed models"
BY_DEFAULT = True

MANY = 10_000
ONE_BAR, MANY_BAR = Bar(least=1), Bar(least=3)
SETTINGS = {"ours": "pegasos.svm.SVC() and LinearSVC(); PegasosClassifier(tol=0.05), with kernel='rbf' or without"}
PEERS = {"SVC": sklearn.svm.SVC, "LinearSVC": sklearn.svm.LinearSVC}
OURS = {
    "pegasos.svm.SVC": ("SVC", pegasos.svm.SVC),
    "PegasosClassifier, rbf": ("SVC", lambda: PegasosClassifier(kernel="rbf", tol=0.05)),
    "pegasos.svm.LinearSVC": ("LinearSVC", pegasos.svm.LinearSVC),
    "PegasosClassifier, linear": ("LinearSVC", lambda: PegasosClassifier(tol=0.05)),
}


@dataclass
class Fitted:
    """Models of the same rows."""

    data: str
    rows: np.ndarray
    models: dict[str, Any]


def run(options: Options) -> dict:
    """A row for each of our models beside its peer, for one row and for many; and rows of compressed ones."""
    rows: list[dict] = []
    for fitted in problems(options):
        calls = 20 if options.quick else 300
        rows += beside(fitted, fitted.rows[:1].copy(), calls, "one row", options)
        rows += beside(fitted, fitted.rows, 1, f"{len(fitted.rows)} rows", options)
    return {"rows": rows + list(compressed(options)), "settings": SETTINGS}


def problems(options: Options) -> Iterator[Fitted]:
    """Models of 30 and 64 features, of two classes and of ten."""
    n_train, n_rows = (300, 1000) if options.quick else (2000, MANY)
    for n_features, n_classes in [(30, 2)] if options.quick else [(30, 2), (30, 10), (64, 2), (64, 10)]:
        X, y = make_classification(
            n_train + n_rows, n_features, n_informative=20, n_classes=n_classes, random_state=options.seed
        )
        makers = PEERS | {name: make for name, (_, make) in OURS.items()}
        models = {name: make().fit(X[:n_train], y[:n_train]) for name, make in makers.items()}
        yield Fitted(f"{n_features} features, {n_classes} classes", X[n_train:], models)


def beside(fitted: Fitted, rows: np.ndarray, calls: int, what: str, options: Options) -> Iterator[dict]:
    """Ours beside the peers on these rows."""
    contestants = [predicting(name, model, rows, calls, fitted) for name, model in fitted.models.items()]
    records = {record.name: record for record in race(contestants, options.times(7), options.threads)}
    for name, (peer, _) in OURS.items():
        kernel = peer == "SVC"
        bar = ONE_BAR if calls > 1 else MANY_BAR if kernel else None
        support = f"{fitted.models['SVC'].n_support_.sum()} support vectors of the peer" if kernel else ""
        task = What(name, fitted.data, f"predict {what}")
        yield against(task, records[name], records[peer], bar=None if options.quick else bar, note=support)


def predicting(name: str, model, rows: np.ndarray, calls: int, fitted: Fitted) -> Contestant:
    """Predictions of the rows, so many times; the time is that of one."""

    def work() -> Timed:
        start = perf_counter()
        for _ in range(calls):
            found = model.predict(rows)
        return Timed((perf_counter() - start) / calls, found)

    return Contestant(name, work, warm=work, ours=name not in PEERS)


def compressed(options: Options) -> Iterator[dict]:
    """Compressed models of digits, and the time of many rows before and after."""
    task = _data.digits()
    X, X_valid = (rows.astype(np.float64) for rows in (task.X, task.X_test))
    many = np.tile(X_valid, (-(-MANY // len(X_valid)), 1))[: 500 if options.quick else MANY]
    for name, model in (
        ("pegasos.svm.SVC", pegasos.svm.SVC(C=5.0)),
        ("PegasosClassifier, rbf", PegasosClassifier(kernel="rbf", C=100.0, tol=0.01)),
    ):
        model.fit(X, task.y)
        for how in ({"tol": 0.05}, {"tol": 0.2}, {"max_support": model.support_vectors_.shape[0] // 10}):
            shrinking = Contestant("compress", partial(model.compress, X_valid=X_valid, **how), ours=True)
            (shrunk,) = race([shrinking], options.times(3), options.threads)
            said, smaller = shrunk.result.compression_, shrunk.result
            both = Fitted("", many, {"before": model, "after": smaller})
            times = race(
                [predicting(which, one, many, 1, both) for which, one in both.models.items()],
                options.times(5), options.threads,
            )  # fmt: skip
            right = [float(np.mean(one.predict(X_valid) == task.y_test)) for one in both.models.values()]
            setting = ", ".join(f"{key}={value}" for key, value in how.items())
            note = (
                f"{said['n_support_before']} support vectors to {said['n_support']} in {shrunk.median:.2f} s; scores "
                f"change by {said['rms_change']:.3f} (rms), {said['largest_change']:.2f} at most, labels of "
                f"{100 * said['changed_labels']:.2f} %; accuracy {100 * right[0]:.2f} to {100 * right[1]:.2f} %"
            )
            what = What(f"compress {name}", task.data, f"{setting}: predict {len(many)} rows, before / after")
            yield alone(what, times[1], times[0].median / times[1].median, unit="×", beside=times[0], note=note)
