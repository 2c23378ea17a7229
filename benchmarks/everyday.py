"""The everyday fit: scikit-learn's class and ours by the same arguments, defaults included, on the rows as they are.

Who swaps the class and changes nothing else gets a model whose objective is no worse, and sooner. Rows are float64, as
users have them. Objectives are evaluated in double precision with the intercept penalised, which it is in LinearSVC,
LinearSVR and ours; LogisticRegression does not penalise it, so that its objective here is a little above its own.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from benchmarks._everyday_data import Rows, for_classes, for_kernels, for_regression, small
from benchmarks._fits import Judge
from benchmarks._kernel_objective import KernelObjective
from benchmarks._objective import LinearObjective
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, race
from benchmarks._rows import Bar, What, against, alone
from pegasos import PegasosClassifier, PegasosRegressor

TITLE = "The everyday fit: default parameters in the place of scikit-learn's classes"
BY_DEFAULT = True

SLACK = 1.001  # times the peer's objective
LEAST, MEAN, SMOOTH, EPOCHS = Bar(least=1), Bar(least=3), Bar(least=1.5), Bar(least=1.5)
MEAN_OF = "geometric mean of"
TWO_CLASSES = (
    "breast cancer, standardised",
    "a9a",
    "RCV1",
    "covtype",
)  # LogisticRegression has one loss for all classes
MORE = Bar(most=0.5, unit="ms more")
SGD_EPOCHS, SGD_ALPHA = 5, 1e-4
KERNEL_MEAN, KERNEL_SVR = Bar(least=4), Bar(least=2)
KERNEL_ROWS, CACHE = 10_000, 2000  # rows of a regression; megabytes, which ours has by default
SMO = {"kernel": "rbf", "solver": "smo"}
PEERS = {  # in the order of the table, with the bar of the geometric mean
    "LinearSVC": MEAN, "LogisticRegression": None, "LinearSVR": None, "SGDClassifier": None, "SVC": KERNEL_MEAN,
    "SVR": None,
}  # fmt: skip


class Pair(NamedTuple):
    """Ours and the peer's class, unfitted, and the loss by which both are judged."""

    ours: Any
    peer: Any
    loss: str


def run(options: Options) -> dict:
    """A row for each task and pair."""
    rows: list[dict] = []
    for bar, pairs, tasks in (
        (LEAST, linear_svc, for_classes(options)),
        (SMOOTH, logistic, for_classes(options, TWO_CLASSES)),
        (SMOOTH, linear_svr, for_regression(options)),
    ):
        rows += [row for task in tasks for row in compared(task, pairs(), bar, options)]
    rows += epochs_of_sgd(options)
    rows += kernels(replace(options, only=None)) if options.wants("kernels") else []
    rows += [row for task in small(options) for row in more_than(task, options)]
    settings = {"threads": "as many as BLAS would use", "rows": "float64", "SGDClassifier": f"{SGD_EPOCHS} epochs"}
    return {"rows": rows, "settings": settings}


def conclude(rows: list[dict]) -> list[dict]:
    """The rows by peers, with the geometric means of the ratios to LinearSVC and to SVC; few rows at the end."""
    rows, ordered = [row for row in rows if not row["task"].startswith(MEAN_OF)], []
    few = [row for row in rows if row["ratio"] is None]
    for peer, bar in PEERS.items():
        beside = [row for row in rows if row["peer"].partition("(")[0] == peer and row["ratio"] is not None]
        ordered += beside
        if beside and bar is not None:
            ordered.append(geometric_mean(beside, bar))
    return ordered + few


def linear_svc() -> Iterator[Pair]:
    """Its two losses; the second is its default."""
    for loss in ("hinge", "squared_hinge"):
        yield Pair(PegasosClassifier(loss=loss), LinearSVC() if loss != "hinge" else LinearSVC(loss=loss), loss)


def logistic() -> Iterator[Pair]:
    """Log loss."""
    yield Pair(PegasosClassifier(loss="log_loss"), LogisticRegression(C=1.0), "log_loss")


def linear_svr() -> Iterator[Pair]:
    """The default of LinearSVR has no tube."""
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        yield Pair(PegasosRegressor(loss=loss, epsilon=0.0), LinearSVR(loss=loss), loss)


def kernels(options: Options) -> list[dict]:
    """Kernel machines with an intercept that is not penalised, pairs of classes as SVC has them."""
    rows = []
    for task, given in for_kernels(options):
        ours, peer = PegasosClassifier(**SMO, multi_class="ovo", **given), SVC(cache_size=CACHE, **given)
        rows.append(kernel_row(task, ours, peer, KernelObjective(task.X, task.y, given.get("C", 1.0)), options))
    (task,) = for_regression(options)
    task = Rows("California-like", task.X[:KERNEL_ROWS], task.y[:KERNEL_ROWS])
    ours, peer = PegasosRegressor(**SMO, epsilon=0.1), SVR(cache_size=CACHE)
    judge = KernelObjective(task.X, task.y, 1.0, epsilon=0.1)
    return [*rows, kernel_row(task, ours, peer, judge, options, KERNEL_SVR)]


def kernel_row(task: Rows, ours: Any, peer: Any, judge: Judge, options: Options, bar: Bar = LEAST) -> dict:
    """A row of one kernel task."""
    one, other = race([fitting(ours, task, judge, mine=True), fitting(peer, task, judge)],
                      options.times(3), options.threads)  # fmt: skip
    return row_of(task, shown(ours), one, other, bar)


def compared(task: Rows, pairs: Iterator[Pair], bar: Bar, options: Options) -> Iterator[dict]:
    """Rows of one task."""
    for ours, peer, loss in pairs:
        judge = LinearObjective(task.X, task.y, 1.0 / len(task.y), loss=loss)  # as C = 1 has it
        one, other = race([fitting(ours, task, judge, mine=True), fitting(peer, task, judge)],
                          options.times(5), options.threads)  # fmt: skip
        yield row_of(task, shown(ours), one, other, bar)


def row_of(task: Rows, what: str, ours: Record, peer: Record, bar: Bar) -> dict:
    """Ours beside the peer's, whose objective ours has to reach."""
    reached = ours.facts["objective"] <= SLACK * peer.facts["objective"]
    also = {"objective ≤ peer's + 0.1 %": bool(reached)}
    note = f"relative gap {ours.facts['gap']:.2g}; the peer took {peer.facts['iterations']} iterations"
    return against(What(what, task.name), ours, peer, bar=bar, also=also, note=note)


def fitting(model: Any, task: Rows, judge: Judge, *, mine: bool = False) -> Contestant:
    """The contestant that fits this model."""

    def facts(fitted: Any) -> dict:
        gap = {"gap": float(np.max(fitted.relative_gap_))} if mine else {}
        return judge(fitted) | gap | {"iterations": int(np.max(fitted.n_iter_))}

    fit = lambda: model.fit(task.X, task.y)
    return Contestant("pegasos" if mine else shown(model), fit, facts, fit if mine else None, ours=mine)


def epochs_of_sgd(options: Options) -> Iterator[dict]:
    """As many passes as epochs of SGDClassifier, on one sparse column: the textbook's steps, and the default."""
    settings = dict(lam=SGD_ALPHA, max_iter=SGD_EPOCHS, random_state=options.seed)
    textbook, default = PegasosClassifier(solver="pegasos", **settings), PegasosClassifier(**settings)
    peer = SGDClassifier(alpha=SGD_ALPHA, max_iter=SGD_EPOCHS, tol=None, random_state=options.seed)
    for task in for_classes(options, ("a9a", "RCV1")):
        judge = LinearObjective(task.X, task.y, SGD_ALPHA)
        ours = [fitting(model, task, judge, mine=True) for model in (textbook, default)]
        *records, other = race([*ours, fitting(peer, task, judge)], options.times(9), options.threads)
        for model, record in zip((textbook, default), records, strict=True):
            yield row_of(task, shown(model), record, other, EPOCHS)


def more_than(task: Rows, options: Options) -> Iterator[dict]:
    """What a fit of few rows costs beyond that of the peer."""
    for ours, peer, loss in linear_svc():
        judge = LinearObjective(task.X, task.y, 1.0 / len(task.y), loss=loss)
        one, other = race([fitting(ours, task, judge, mine=True), fitting(peer, task, judge)],
                          options.times(25), options.threads)  # fmt: skip
        also = {"objective ≤ peer's + 0.1 %": bool(one.facts["objective"] <= SLACK * other.facts["objective"])}
        more = 1000 * (one.median - other.median)
        yield alone(What(shown(ours), task.name), one, more, bar=MORE, beside=other, also=also)


def geometric_mean(rows: list[dict], bar: Bar) -> dict:
    """Of the ratios of these rows."""
    ratios = [row["ratio"] for row in rows]
    mean = float(np.exp(np.mean(np.log(ratios))))
    return alone(What(f"{MEAN_OF} the {len(rows)} rows above", "–"), Record("all", [], [{}]), mean, bar=bar,
                 note=f"least {min(ratios):.2f}, largest {max(ratios):.1f}")  # fmt: skip


def shown(model: Any) -> str:
    """A model as it is written, `random_state` left out."""
    return str(model.__class__(**{k: v for k, v in model.get_params().items() if k != "random_state"}))
