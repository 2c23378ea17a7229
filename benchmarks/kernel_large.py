"""All 60 000 rows of MNIST with a kernel matrix that does not fit into the cache: time, memory and error.

Each fit is a fresh process, so that its peak of memory, data included, can be told. SVC would take hours; it stands
beside ours with nine times what it takes for 20 000 rows (its time grows with the square of the rows, or faster).

    python -m benchmarks.kernel_large JSON      one fit, as the benchmark starts it
"""

import json
import sys

from benchmarks import _data, _fits, kernel_mnist
from benchmarks._measure import same_machine
from benchmarks._options import Options
from benchmarks._processes import peak_memory, python
from benchmarks._race import Contestant, Record, Timed, race, say, seconds_of
from benchmarks._results import read
from benchmarks._rows import Bar, What, against, alone

TITLE = "RBF fit on 60 000 rows of MNIST, beyond the cache"
BY_DEFAULT = True

CACHE = 2000  # MB; the matrix has 14 400
SETTINGS = kernel_mnist.SETTINGS | {"cache_size": CACHE, "max_iter": 3}  # three times the rows, so fewer passes
GROWTH = 9  # (60 000 / 20 000)²
SPEED, MEMORY, ERROR = Bar(least=5), Bar(most=4, unit="GB"), Bar(most=1.6, unit="%")


def run(options: Options) -> dict:
    """Three rows: the time, the memory and the error."""
    fits = Contestant(_fits.OURS, lambda: fresh_fit(options), dict, ours=True)
    (ours,) = race([fits], options.times(), options.threads)
    svc = svc_record(options)
    scaled = Record(f"{GROWTH} × {svc.name} on a third", [GROWTH * t for t in svc.times], svc.seen, svc.missing)
    data = "digits, beyond the cache" if options.quick else f"MNIST, 60000 × 784, cache {CACHE} MB"
    error, peak = 100 * ours.facts["error"], ours.facts["peak_gb"]
    fit, memory, tested = (What(kernel_mnist.FIT, data, what) for what in ("fit", "peak memory", "test error"))
    rows = [
        against(fit, ours, scaled, bar=SPEED, note="the peer's time is extrapolated"),
        alone(memory, ours, peak, bar=MEMORY, note="data included"),
        alone(tested, ours, error, bar=ERROR),
    ]
    return {"rows": rows, "settings": SETTINGS, "notes": [f"SVC's time: {svc.facts['source']}."]}


def fresh_fit(options: Options) -> Timed:
    """One fit in a process of its own."""
    wish = json.dumps({"quick": options.quick, "seed": options.seed})
    facts = python(["-m", "benchmarks.kernel_large", wish], options.threads)
    return Timed(facts.pop("seconds"), facts)


def svc_record(options: Options) -> Record:
    """SVC's times on 20 000 rows: those of kernel_mnist, if it ran on this machine, or one measured now."""
    for results in read(options.out, ["kernel_mnist"]):
        if not results["quick"] and not options.quick and same_machine(results["machine"], options.threads):
            for row in results["rows"]:
                if row["peer"] == "SVC" and row["what"] == "fit" and row["peer_times"]:
                    return Record("SVC", row["peer_times"], [{"source": f"kernel_mnist of {results['date']}"}])
    say("  SVC on 20 000 rows is measured once")
    (record,) = race([kernel_mnist.svc(kernel_mnist.task_of(options))], 1, options.threads)
    record.seen = [{"source": "measured once in this run"}]
    return record


def child(quick: bool, seed: int) -> dict:
    """What the fresh process does: load, warm up on a tenth of the rows and of the cache, fit, test."""
    task, cache = (_data.digits(), 2.0) if quick else (_data.mnist(), float(CACHE))
    options = Options(quick, seed=seed)
    small = _fits.ours(SETTINGS | {"cache_size": cache / 100}, task.first(len(task.y) // 10), options)
    small.work()
    whole = _fits.ours(SETTINGS | {"cache_size": cache}, task, options)
    seconds, model = seconds_of(whole.work)
    peak = peak_memory()
    return {"seconds": seconds, "peak_gb": peak / 1e9, **whole.judge(model)}


if __name__ == "__main__":
    print(json.dumps(child(**json.loads(sys.argv[1]))))
