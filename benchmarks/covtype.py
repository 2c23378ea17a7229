"""covtype, dense: the time until the test error is at most 24 %.

Ours and SGDClassifier take the shortest fit that gets there, searched outside of the clock: the number of passes, and
it alone, goes by the test error, as a time to reach it must. LinearSVC has no such search: its default of 1000
iterations takes more than three minutes, so it gets fewer; where it does not get there its time is a lower bound.
"""

from benchmarks import _data, _fits
from benchmarks._objective import LinearObjective
from benchmarks._options import Options
from benchmarks._race import race
from benchmarks._reach import reaching
from benchmarks._rows import Bar, What, against
from benchmarks._table import percent

TITLE = "Linear fit on covtype, to 24 % test error"
BY_DEFAULT = True

LAM, ERROR = 1e-6, 0.24
# Rule and average: the lowest errors on a tenth of the training rows held out, three splits: 24.2 % after one pass and
# after five; sdca 24.6. The goal is as near as the error's own spread, 0.2 points on so many test rows, so the search
# begins with eight passes: of fewer the seed decides.
SETTINGS = dict(lam=LAM, solver="pegasos", average="weighted")
PASSES = (8, 13, 20)
SGD_EPOCHS = (13, 50)
LINEAR_ITERATIONS = 250
BAR = Bar(least=50)


def run(options: Options) -> dict:
    """Rows beside LinearSVC and SGDClassifier."""
    task = _data.digits(binary=True) if options.quick else _data.covtype()
    judge = LinearObjective(task.X, task.y, LAM)

    def good(facts: dict) -> bool:
        return facts["error"] <= ERROR

    def ours(passes):
        return _fits.ours(SETTINGS | {"max_iter": passes}, task, options, judges=[judge])

    def sgd(epochs):
        settings = dict(loss="hinge", alpha=LAM, tol=None, max_iter=epochs, random_state=options.seed)
        return _fits.peer("SGDClassifier", lambda kind: kind(**settings), task, judges=[judge])

    def linear(kind):
        return kind(loss="hinge", C=1 / (LAM * len(task.y)), max_iter=LINEAR_ITERATIONS)

    goal = f"{percent(ERROR)} test error"
    contestants = [
        reaching(ours, good, goal, ladder=PASSES, setting="passes"),
        _fits.peer("LinearSVC", linear, task, repeats=1, judges=[judge]),
        reaching(sgd, good, goal, ladder=SGD_EPOCHS),
    ]
    ours_, linear_, sgd_ = race(contestants, options.times(), options.threads)
    lower = linear_.missing is None and not good(linear_.facts)
    note = f"LinearSVC does not reach {goal}: its time is a lower bound" if lower else ""
    what = What(f"linear, λ {LAM:g}", task.data, f"to {goal}")
    reached = {f"error ≤ {percent(ERROR)}": good(ours_.facts)}
    rows = [against(what, ours_, linear_, bar=BAR, also=reached, note=note), against(what, ours_, sgd_)]
    notes = [f"LinearSVC takes {LINEAR_ITERATIONS} iterations, once."]
    return {"rows": rows, "settings": SETTINGS, "notes": notes}
