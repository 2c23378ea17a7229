"""Fits and searches on a GPU, from rows in the host's memory to a model, each beside the card's own limit.

All 60 000 rows of MNIST with a Gaussian kernel, ten classes; the same with TF32 products.
The USPS grid of 7 kernels × 7 λ × 5 numbers of steps × 5 folds × 10 classes.
torchkm's simulation of 10 000 rows and 1000 features, 50 C × 10 folds, beside the error of SVC; its classes lie so far
apart that nobody errs, so it is searched once more with classes that overlap.
All rows of MNIST, 7 C × 5 folds × 10 classes, and the refit.
45 pairs of Fashion-MNIST, linear.

The limit is the fewest operations and bytes of a task (`_floors`) at the rates of a large product, of a copy on the
device and of one to it, measured in the same run. How many rows pull is counted by fits outside of the clock.

    python -m benchmarks.gpu [--quick] TASK ...      some of the tasks: a table, and no JSON

A quick trial takes the GPU if there is one, or else the processor.
"""

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.svm import SVC

from benchmarks import _ceilings, _data, _fits, _floors, _results, _table, kernel_mnist, pairs, tuning
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, race, say
from benchmarks._rows import Bar, What, against, alone
from benchmarks._table import percent
from benchmarks._threads import fixed
from pegasos import PegasosClassifier, PegasosSearchCV

TITLE = "Fits and searches on a GPU"
BY_DEFAULT = False  # few machines have one

REPEATS = 5
Settings = dict[str, Any]
FIT: Settings = kernel_mnist.SETTINGS | {"max_iter": 3, "average": "suffix"}  # kernel_large's; the mean over a pass
SEARCH: Settings = tuning.RBF | {"gamma": kernel_mnist.GAMMA}
PAIRS: Settings = pairs.SETTINGS | {"max_iter": 5}
WIDTH = 1e-3  # of the mixture's kernel, 2 / (a usual squared distance), as torchkm chooses it
TEN_FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)
SVC_COSTS = slice(12, 24, 4)  # of the 50 C: 0.034, 0.091, 0.28; with overlap 0.1 was SVC's best of 0.01, 0.1, 0.3, 1
OVERLAP = 0.15  # of the mixture's centres: about 5 % of errors
BARS = {name: Bar(most=most, unit="s") for name, most in
        {"mnist": 0.4, "grid": 0.8, "mixture": 0.3, "search": 1.5, "pairs": 0.5}.items()}  # fmt: skip
ERROR = 0.0145
TORCHKM = "torchkm publishes 37.7 s, and 14 323 s of scikit-learn"  # on its authors' machine


@dataclass(frozen=True)
class Site:
    """The device of the fits, and its highest rates."""

    device: str
    ceilings: _ceilings.Ceilings

    @property
    def is_gpu(self) -> bool:
        """Whether work may still be under way when a call returns."""
        return self.device != "cpu"


def run(options: Options, names: list[str] | None = None) -> dict:
    """Rows of all tasks, or of those named."""
    absent = _ceilings.missing()
    if absent is not None and not options.quick:
        raise _ceilings.DeviceMissing(f"{absent}; --quick tries the tasks on the processor.")
    if absent is None:
        site, card = Site("cuda", _ceilings.of_card(options.quick)), _ceilings.card()
        machine, notes = {"gpu": card | {"ceilings": asdict(site.ceilings)}}, []
    else:
        site, machine = Site("cpu", _ceilings.of_host()), {}
        notes = [f"{absent}: all ran on the processor."]
    rows: list[dict] = []
    for name in names or PARTS:
        say(f"  {name}")
        try:
            rows += PARTS[name](options, site)
        except _data.DataMissing as error:  # the other tasks are still measured
            notes.append(f"{name} was left out: {error}")
        if site.is_gpu:
            _ceilings.release()
    if not rows:
        raise _data.DataMissing(notes[-1])
    settings = {"mnist": FIT, "grid": tuning.STEPPED, "mixture and search": SEARCH, "pairs": PAIRS}
    notes.append(_ceilings.described(site.ceilings))
    return {"rows": rows, "settings": settings, "notes": notes, "machine": machine}


def mnist_part(options: Options, site: Site) -> list[dict]:
    """A fit of ten columns; errors are medians over seeds."""
    task = _data.digits() if options.quick else _data.mnist()
    n, d = task.X.shape
    contestants = [finishing(_fits.ours(FIT | {"device": site.device}, task, options), site)]
    if site.is_gpu:
        rounded = finishing(_fits.ours(FIT | {"device": "cuda:tf32"}, task, options), site)
        contestants.append(replace(rounded, name=f"{_fits.OURS}, TF32", ours=False))
    ours, *others = race(contestants, options.times(REPEATS), options.threads)
    passes, columns = FIT["max_iter"], len(ours.result.classes_)
    work = _floors.kernel_work(n, d, _floors.pulls_of([ours.result], n), passes * n, columns)
    also = {f"error ≤ {percent(ERROR)}": ours.facts["error"] <= ERROR}
    what = What(f"{kernel_mnist.FIT}, {passes} passes", task.data)
    rows = [limited(what, ours, BARS["mnist"], work, site, also=also)]
    for other in others:
        same = replace(what, task=f"{what.task}, TF32")
        rows.append(alone(same, other, other.median, unit="s") if other.times else against(same, ours, other))
    return rows


def grid_part(options: Options, site: Site) -> list[dict]:
    """The grid of kernels, λ and steps."""
    name, X, y = tuning.rows_of(_data.usps, options)
    grid = tuning.kernel_grid(options)
    settings = tuning.STEPPED | {"device": site.device}
    (ours,) = race([searching(settings, grid, X, y, options, site)], options.times(REPEATS), options.threads)
    (n, d), lams, steps = X.shape, grid[0]["lam"], grid[0]["max_steps"]
    kernels = [dict(values) for part in grid for values in ParameterGrid(_without(part, "lam", "max_steps"))]
    pulls = _floors.Pulls(0, 0)
    for kernel in kernels:
        models = fits(settings | kernel | {"max_steps": max(steps)}, {"lam": lams}, X, y, options)
        pulls += _floors.pulls_of(models, n).times(5)  # a fold takes as many steps as all rows do
    columns = len(lams) * 5 * len(np.unique(y))
    work = _floors.kernel_work(n, d, pulls, tuning.draws_of(max(steps), n), columns, len(kernels))
    task = f"{len(kernels)} kernels × {len(lams)} λ × {len(steps)} T × 5 folds × 10 classes"
    return [limited(What(task, name, "search"), ours, BARS["grid"], work, site, note="CV error")]


def mixture_part(options: Options, site: Site) -> list[dict]:
    """Many values of C on many folds of two classes, far apart and then not."""
    n, d = (400, 20) if options.quick else (10_000, 1000)
    width = 1.0 / d if options.quick else WIDTH
    costs = np.logspace(-3, 3, 50)
    settings = SEARCH | {"gamma": width, "device": site.device}
    rows = []
    for spread, data in ((1.0, "torchkm's mixture"), (OVERLAP, "the mixture with overlap")):
        X, y = _data.mixture(n, d, spread, np.random.default_rng(options.seed))
        grid = {"C": costs[SVC_COSTS] if options.quick else costs}
        search = searching(settings, grid, X, y, options, site, TEN_FOLDS)
        (ours,) = race([search], options.times(REPEATS), options.threads)
        pulls = _floors.pulls_of(fits(settings, grid, X, y, options), n).times(9)  # ten folds of nine tenths
        work = _floors.kernel_work(n, d, pulls, SEARCH["max_iter"] * n, 10 * len(grid["C"]))
        svc = svc_error(X, y, width, costs[SVC_COSTS])
        also = {"CV error no worse than SVC's": ours.facts["error"] <= svc + 1e-12}
        what = What(f"rbf, {len(grid['C'])} C × 10 folds", f"{data}, {n} × {d}", "search")
        note = f"CV errors; SVC's, of {len(costs[SVC_COSTS])} C, is {percent(svc)}"
        note += f"; {TORCHKM}" if spread == 1 else ""
        rows.append(limited(what, ours, BARS["mixture"], work, site, also=also, note=note))
    return rows


def search_part(options: Options, site: Site) -> list[dict]:
    """One width on all rows, and the refit."""
    task = _data.digits().first(500) if options.quick else _data.mnist()
    (n, d), grid = task.X.shape, {"C": tuning.costs(-1, 2, 7, options)}
    settings = SEARCH | {"device": site.device}
    search = searching(settings, grid, task.X, task.y, options, site, refit=True)
    (ours,) = race([search], options.times(REPEATS), options.threads)
    refitted = _floors.pulls_of([ours.result.best_estimator_], n)
    pulls = _floors.pulls_of(fits(settings, grid, task.X, task.y, options), n).times(4) + refitted  # 5 of four fifths
    classes, draws = len(np.unique(task.y)), SEARCH["max_iter"] * n
    work = _floors.kernel_work(n, d, pulls, draws, 5 * len(grid["C"]) * classes)
    work = replace(work, blocks=work.blocks + _floors.block_products(draws, n, classes))
    what = What(f"rbf, gamma {kernel_mnist.GAMMA:g}, {len(grid['C'])} C × 5 folds × {classes} classes", task.data,
                "search and refit")  # fmt: skip
    return [limited(what, ours, BARS["search"], work, site, note="CV error")]


def pairs_part(options: Options, site: Site) -> list[dict]:
    """All pairs of classes, linear."""
    task = _data.digits() if options.quick else _data.fashion_mnist()
    contestant = finishing(_fits.ours(PAIRS | {"device": site.device}, task, options), site)
    (ours,) = race([contestant], options.times(REPEATS), options.threads)
    (n, d), passes = task.X.shape, PAIRS["max_iter"]
    work = _floors.pairs_work(n, d, len(np.unique(task.y)), passes)
    also = {f"accuracy ≥ {percent(pairs.ACCURACY)}": 1 - ours.facts["error"] >= pairs.ACCURACY}
    what = What(f"linear pairs, C 1/12, {passes} epochs", task.data)
    return [limited(what, ours, BARS["pairs"], work, site, also=also)]


PARTS: dict[str, Callable[[Options, Site], list[dict]]] = {
    "mnist": mnist_part,
    "grid": grid_part,
    "mixture": mixture_part,
    "search": search_part,
    "pairs": pairs_part,
}


def searching(settings: dict, grid, X, y, options: Options, site: Site, cv=tuning.FOLDS, refit=False) -> Contestant:
    """A search in the race, with a seed of its own in each turn; it warms up by the same search."""
    seeds = itertools.count(options.seed)

    def search() -> PegasosSearchCV:
        estimator = PegasosClassifier(**_fits.TEXTBOOK | settings, random_state=next(seeds))
        return PegasosSearchCV(estimator, grid, cv=cv, refit=refit)

    return finishing(tuning.searching(_fits.OURS, search, X, y), site)


def finishing(contestant: Contestant, site: Site) -> Contestant:
    """The same, whose turn ends when the GPU is done."""

    def work():
        result = contestant.work()
        if site.is_gpu:
            _ceilings.wait()
        return result

    return replace(contestant, work=work)


def limited(
    what: What,
    ours: Record,
    bar: Bar,
    work: _floors.Work,
    site: Site,
    *,
    also: dict[str, bool] | None = None,
    note: str = "",
) -> dict:
    """A row of seconds beside the limit of the device."""
    least, blocks = work.seconds(site.ceilings), work.block_seconds(site.ceilings)
    fraction, of_blocks = least / ours.median, blocks / ours.median
    facts = asdict(work) | {"fraction": fraction, "fraction_of_blocks": of_blocks}
    limit = (
        f"{percent(fraction)} of the limit: {work.operations / 1e12:.3g} TFLOP, {work.moved / 1e9:.3g} GB, "
        f"{work.uploaded / 1e9:.3g} GB up; {percent(of_blocks)} with the {work.blocks / 1e12:.3g} TFLOP of blocks"
    )
    beside = Record("its limit", [least], [facts])
    return alone(what, ours, ours.median, bar=bar, beside=beside, also=also, note=f"{limit}. {note}".strip())


def fits(settings: dict, grid: dict, X, y, options: Options) -> Iterator[PegasosClassifier]:
    """A fit on all rows for each candidate, one after another, to count pulls by."""
    for values in ParameterGrid(grid):
        yield PegasosClassifier(**_fits.TEXTBOOK | settings | values, random_state=options.seed).fit(X, y)


def svc_error(X, y, gamma: float, costs: np.ndarray) -> float:
    """The lowest error of SVC on the same folds, at some of the values of C: outside of every clock, and with the
    kernel computed beforehand, since only the error is wanted."""
    say(f"  SVC at {len(costs)} values of C")
    K = rbf_kernel(X.astype(np.float64), gamma=gamma)
    with parallel_config("threading", n_jobs=-1):  # libsvm lets other threads run
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": costs}, cv=TEN_FOLDS, refit=False).fit(K, y)
    return float(1 - search.best_score_)


def _without(values: dict, *names: str) -> dict:
    return {name: value for name, value in values.items() if name not in names}


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="Some tasks of the benchmark.")
    parser.add_argument("names", nargs="+", choices=PARTS, metavar="TASK", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    options = Options(chosen.quick, threads=chosen.threads)
    try:
        with fixed(options.threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits that are short on purpose do not converge
            found = run(options, chosen.names)
    except (_ceilings.DeviceMissing, _data.DataMissing) as error:
        parser.exit(2, f"error: {error}\n")
    _table.render(_results.results_of("gpu", TITLE, found, options))


if __name__ == "__main__":
    _main()
