"""MNIST's first 20 000 rows with a Gaussian kernel: the fit, and predicting 10 000 test rows with the models fitted.

As for USPS the objectives of SVC's pairs and our columns cannot be compared; the test error has to be no worse.
"""

import numpy as np

from benchmarks import _data, _fits
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, race
from benchmarks._rows import Bar, What, against

TITLE = "RBF fit on 20 000 rows of MNIST, and predicting 10 000"
BY_DEFAULT = True

C, GAMMA = 5.0, 0.02
SETTINGS = dict(kernel="rbf", gamma=GAMMA, C=C, solver="sdca", max_iter=4)  # as on USPS, where held-out rows chose
FIT = "rbf, C 5, gamma 0.02"
FITS = {"SVC": Bar(least=12), "intelex SVC": Bar(least=2.5)}
PREDICTIONS = {"SVC": Bar(least=15), "intelex SVC": Bar(least=1.3)}
DTYPES = {"SVC": np.float64, "intelex SVC": np.float32}


def task_of(options: Options) -> _data.Task:
    """20 000 rows, or digits."""
    return _data.digits() if options.quick else _data.mnist().first(20_000)


def svc(task: _data.Task) -> Contestant:
    """SVC at these settings; kernel_large needs its time, too."""
    return _fits.peer("SVC", lambda kind: kind(C=C, gamma=GAMMA), task, tested=False)


def run(options: Options) -> dict:
    """Rows of the fit and of the predictions; errors come from the latter."""
    task = task_of(options)
    contestants = [
        _fits.ours(SETTINGS, task, options, tested=False),
        svc(task),
        _fits.peer("intelex SVC", lambda kind: kind(C=C, gamma=GAMMA), task, dtype=np.float32, tested=False),
    ]
    fits = race(contestants, options.times(), options.threads, options.memory)
    labels = predictions(fits, task, options)
    for record, predicted in zip(fits, labels):
        record.seen = [facts | predicted.facts for facts in record.seen]
    fit = What(FIT, task.data)
    predict = What(FIT, f"{task.name}, {len(task.y_test)} test rows", "predict with the models fitted")
    rows = [against(fit, fits[0], peer, bar=FITS[peer.name], slack=0.0) for peer in fits[1:]]
    rows += [against(predict, labels[0], peer, bar=PREDICTIONS[peer.name], slack=0.0) for peer in labels[1:]]
    return {"rows": rows, "settings": SETTINGS}


def predictions(fits: list[Record], task: _data.Task, options: Options) -> list[Record]:
    """The race of the models just fitted."""
    contestants = [
        _fits.predicting(fit, task, dtype=DTYPES.get(fit.name), is_ours=fit.name == _fits.OURS) for fit in fits
    ]
    return race(contestants, options.times(), options.threads)
