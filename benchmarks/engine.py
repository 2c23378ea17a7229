"""The speed of the solver, beside the cost of its arithmetic and beside one fit per problem.

kernel   Ten-class RBF on USPS. The limit is the time of one X @ X.T plus T·n·P·2 floating-point operations at the
         rate of a large sgemm, all measured in this run: what the arithmetic alone costs.
pairs    45 one-vs-one columns on Fashion-MNIST beside 45 separate SGDClassifier fits of as many passes. The peer's
         rows of each pair are sliced outside of the clock. The peer fits one after another, as its user would; a
         second row gives it a thread for each core.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.utils.multiclass import _ovr_decision_function

from benchmarks import _data, _fits
from benchmarks._measure import arithmetic, gflops
from benchmarks._options import Options
from benchmarks._race import Contestant, race
from benchmarks._rows import Bar, What, against, alone
from benchmarks._table import percent
from pegasos import PegasosClassifier

TITLE = "The engine beside its arithmetic, and pairs beside SGDClassifier"
BY_DEFAULT = True

STEPS, PASSES, LAM = 50_000, 5, 1e-4
KERNEL = dict(kernel="rbf", gamma=0.25, lam=1e-5, sampling="replacement")
PAIRS = dict(multi_class="ovo", lam=LAM, max_iter=PASSES)
AVERAGES: dict[str, str | bool] = {"last iterate": False, "weighted average": "weighted"}
ARITHMETIC, SPEED, ACCURACY = Bar(most=3, unit="× its arithmetic"), Bar(least=6), 0.845


def run(options: Options) -> dict:
    """Rows of both parts."""
    rows = kernel_part(options) + pairs_part(options)
    return {"rows": rows, "settings": {"kernel": KERNEL | {"max_steps": STEPS}, "pairs": PAIRS}}


def kernel_part(options: Options) -> list[dict]:
    """Last iterate and average beside what the arithmetic costs."""
    task = _data.digits() if options.quick else _data.usps()
    steps, size = (5_000, 1024) if options.quick else (STEPS, 4096)
    operations = 2 * steps * len(task.y) * len(np.unique(task.y))

    def contestant(name: str, average) -> Contestant:
        settings = KERNEL | {"average": average, "max_steps": steps, "random_state": options.seed}
        fit = lambda: PegasosClassifier(**settings).fit(task.X, task.y)
        judge = lambda fitted: _fits.error_of(fitted, task.X_test, task.y_test) | _fits.certificate_of(fitted)
        return Contestant(name, fit, judge, fit, ours=True)

    def limit():
        return arithmetic(operations, size, lambda: task.X @ task.X.T)

    contestants = [Contestant("its arithmetic", limit, gflops, limit), *itertools.starmap(contestant, AVERAGES.items())]
    least, *fits = race(contestants, options.times(5), options.threads, options.memory)
    rows = []
    for record in fits:
        what = What(f"rbf, {steps:,} steps a class", task.data, record.name)
        rows.append(alone(what, record, record.median / least.median, bar=ARITHMETIC, beside=least))
    return rows


def pairs_part(options: Options) -> list[dict]:
    """All pairs at once beside a fit for each."""
    task = _data.digits() if options.quick else _data.fashion_mnist()
    classes = np.unique(task.y)
    slices = []
    for first, second in itertools.combinations(classes, 2):  # the later class is +1, as in ours
        members = (task.y == first) | (task.y == second)
        slices.append((task.X[members], (task.y[members] == second).astype(np.int8)))

    def fit_pair(pair) -> SGDClassifier:
        settings = dict(loss="hinge", alpha=LAM, max_iter=PASSES, tol=None, random_state=options.seed)
        return SGDClassifier(**settings).fit(*pair)

    def side_by_side() -> list[SGDClassifier]:
        with ThreadPoolExecutor(options.threads) as pool:
            return list(pool.map(fit_pair, slices))

    def judge(fitted: list[SGDClassifier]) -> dict:
        scores = task.X_test @ np.vstack([one.coef_ for one in fitted]).T
        scores += np.concatenate([one.intercept_ for one in fitted])
        votes = _ovr_decision_function(scores > 0, scores, len(classes))
        return {"error": float(np.mean(classes[votes.argmax(axis=1)] != task.y_test))}

    pairs = f"{len(slices)} SGDClassifier fits"
    contestants = [
        _fits.ours(PAIRS, task, options),
        Contestant(pairs, lambda: list(map(fit_pair, slices)), judge, lambda: fit_pair(slices[0])),
        Contestant(f"{pairs}, {options.threads} threads", side_by_side, judge),
    ]
    ours, one_by_one, threaded = race(contestants, options.times(5), options.threads)
    accurate = {f"accuracy ≥ {percent(ACCURACY)}": 1 - ours.facts["error"] >= ACCURACY}
    what = What(f"linear pairs, {PASSES} passes, λ {LAM:g}", task.data)
    return [against(what, ours, one_by_one, bar=SPEED, also=accurate), against(what, ours, threaded)]
