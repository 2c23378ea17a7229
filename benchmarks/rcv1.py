"""RCV1, sparse: the time until the objective is at most 1 % above the optimum.

The shortest fit of each contestant that gets there (ours by its `tol`, the others by epochs) is searched outside of the
clock, then timed. Objectives are
evaluated in double precision; the optimum is the lower bound that a long run of ours proves.
"""

from typing import Any

import numpy as np

from benchmarks import _data, _fits
from benchmarks._objective import LinearObjective
from benchmarks._options import Options
from benchmarks._race import Contestant, absent, race
from benchmarks._reach import reaching
from benchmarks._rows import Bar, What, against
from benchmarks._table import percent
from pegasos import PegasosClassifier

TITLE = "Linear fit on RCV1, sparse, to 1 % above the optimum"
BY_DEFAULT = True

LAM, WITHIN = 1e-4, 0.01
SETTINGS = dict(lam=LAM, solver="auto", fit_intercept=False)
BARS = {"LinearSVC": Bar(least=2), "SGDClassifier": Bar(least=2)}
TOLERANCES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.003, 0.001)  # ours; skglm counts working sets, too


def run(options: Options) -> dict:
    """Rows beside all of the peers."""
    task = _data.digits(sparse_rows=True, binary=True) if options.quick else _data.rcv1()
    least = lower_bound(task, options)
    contestants = shortest(task, least, options)
    ours, *peers = race(contestants, options.times(), options.threads)
    what = What(f"linear, λ {LAM:g}, no intercept", task.data, f"to {percent(within(options))} above the optimum")
    rows = []
    for peer in peers:
        bar = BARS.get(peer.name)
        rows.append(against(what, ours, peer, bar=bar, slack=0.001, note=effort(ours, peer)))
    return {"rows": rows, "settings": SETTINGS, "notes": [f"The optimum is at least {least:.6f}."]}


def within(options: Options) -> float:
    """The accepted distance above the optimum; the digits of a quick trial converge slowly at so small a λ."""
    return 1.0 if options.quick else WITHIN


def lower_bound(task: _data.Task, options: Options) -> float:
    """The dual bound of a long run in double precision."""
    settings = dict(lam=LAM, solver="sdca", fit_intercept=False, tol=1e-2 if options.quick else 1e-5)
    model = PegasosClassifier(**settings, random_state=options.seed).fit(task.as_type(np.float64)[0], task.y)
    return float(model.objective_[0] - model.dual_gap_[0])


def shortest(task: _data.Task, least: float, options: Options) -> list[Contestant]:
    """Each contestant with the smallest setting that reaches the goal."""
    judges = [LinearObjective(task.X, task.y, LAM)]
    seed, cost = options.seed, 1 / (LAM * len(task.y))

    def reach(make, **how) -> Contestant:
        goal = f"{percent(within(options))} above the optimum"
        return reaching(make, lambda facts: facts["objective"] <= (1 + within(options)) * least, goal, **how)

    def peer(kind: str, by: str = "max_iter", dtype: type = np.float64, **settings: Any):
        return lambda value: _fits.peer(
            kind, lambda make: make(**settings | {by: value}), task, dtype=dtype, judges=judges
        )

    hinge: dict[str, Any] = dict(loss="hinge", fit_intercept=False, random_state=seed)
    snapml: dict[str, Any] = dict(regularizer=1 / cost, tol=0.0, n_jobs=options.threads, random_state=seed)
    skglm: dict[str, Any] = dict(p0=1000, fit_intercept=False)  # with its default p0, 10, it stays far from the optimum
    return [
        reach(
            lambda tol: _fits.ours(SETTINGS | {"tol": tol}, task, options, judges=judges),
            ladder=TOLERANCES,
            setting="tol",
        ),
        reach(peer("LinearSVC", C=cost, tol=1e-9, **hinge)),
        reach(peer("SGDClassifier", alpha=LAM, average=True, tol=None, **hinge)),
        reach(peer("snapml SVM", dtype=np.float32, **snapml)),
        absent("skglm LinearSVC", "it compiles for ten seconds, too long for a quick trial")
        if options.quick
        else reach(peer("skglm LinearSVC", by="tol", C=cost, **skglm), ladder=TOLERANCES, setting="tol"),
    ]


def effort(*records) -> str:
    """The settings that were needed."""
    words = []
    for record in records:
        if record.missing is None:
            facts = record.facts
            words.append(f"{record.name} {facts['epochs']} epochs" if "epochs" in facts else f"tol {facts['tol']:g}")
    return ", ".join(words)
