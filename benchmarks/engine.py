"""How fast the engine is: ours and the peer or the limit in one run, as a table.

    python benchmarks/engine.py                  all parts, on the data folder named by PEGASOS_DATA
    python benchmarks/engine.py --parts ab       some of them
    python benchmarks/engine.py --quick          a trial on the embedded digits; its ratios prove nothing

kernel   Ten-class RBF on USPS. The limit is the time of one X @ X.T plus T·n·P·2 floating-point operations at the
         rate of a large sgemm, all measured in this run: what the arithmetic alone costs.
pairs    45 one-vs-one columns on Fashion-MNIST beside 45 separate SGDClassifier fits of as many passes. The peer's
         rows of each pair are sliced outside of the clock. The peer fits one after another, as its user would; a
         second row gives it a thread for each core.
start    The first fit of a fresh process with a warm Numba cache, beyond `import sklearn.svm` in the same process.

Compilation is kept out of every clock. Ours and the peer take turns within each repeat, so that a slow spell of the
machine meets both. Figures are medians, and the ratio is the ratio of the medians.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.utils.multiclass import _ovr_decision_function

import _data
from _measure import cores, machine, render, row, seconds_of, sgemm_rate, write
from pegasos import PegasosClassifier

# --- kernel: ten-class RBF against the cost of its arithmetic ------------------------------------------------------


def kernel_part(options: argparse.Namespace, rates: list[float]) -> list[dict]:
    X_train, y_train, X_test, y_test = _data.digits() if options.quick else _data.usps()
    steps, size = (5_000, 1024) if options.quick else (50_000, 4096)
    n, columns = len(X_train), len(np.unique(y_train))

    def model(average, **changes) -> PegasosClassifier:
        settings = dict(
            kernel="rbf",
            gamma=0.25,
            lam=1e-5,
            max_iter=steps,
            sampling="replacement",
            average=average,
            random_state=options.seed,
        )
        return PegasosClassifier(**settings | changes)

    averages: dict[str, str | bool] = {"last iterate": False, "weighted average": "weighted"}
    times: dict[str, list[float]] = {name: [] for name in averages}
    errors: dict[str, float] = {}
    limits: list[float] = []
    for average in averages.values():
        model(average, max_iter=500).fit(X_train, y_train)
    sgemm_rate(size)

    for _ in range(options.repeats):
        rate = sgemm_rate(size)
        rates.append(rate)
        limits.append(seconds_of(lambda: X_train @ X_train.T) + 2 * steps * n * columns / rate)
        for name, average in averages.items():
            fitted = model(average)
            times[name].append(seconds_of(lambda fitted=fitted: fitted.fit(X_train, y_train)))
            errors[name] = 1 - fitted.score(X_test, y_test)

    rows = []
    for name in averages:
        ratio = median(times[name]) / median(limits)
        note = f"n {n}, T {steps:,}, test error {errors[name]:.2%}"
        what = f"kernel: rbf, {columns} classes, {name}, against its arithmetic"
        rows.append(row(what, times[name], limits, ratio=ratio, target="≤ 3 ×", met=ratio <= 3, note=note))
    return rows


# --- pairs: all one-vs-one columns at once against one fit a pair ---------------------------------------------------


def pairs_part(options: argparse.Namespace) -> list[dict]:
    X_train, y_train, X_test, y_test = _data.digits() if options.quick else _data.fashion_mnist()
    classes = np.unique(y_train)
    passes = 5

    def ours(**changes) -> PegasosClassifier:
        settings = dict(multi_class="ovo", lam=options.lam, max_passes=passes, random_state=options.seed)
        return PegasosClassifier(**settings | changes)

    def peer() -> SGDClassifier:
        return SGDClassifier(loss="hinge", alpha=options.lam, max_iter=passes, tol=None, random_state=options.seed)

    # (0, 1), (0, 2), …; the later class is +1, as in ours
    slices = []
    for first, second in itertools.combinations(classes, 2):
        members = (y_train == first) | (y_train == second)
        slices.append((X_train[members], (y_train[members] == second).astype(np.int8)))

    def fit_pair(pair: tuple[np.ndarray, np.ndarray]) -> SGDClassifier:
        return peer().fit(*pair)

    ours(max_passes=1).fit(X_train, y_train)
    fit_pair(slices[0])
    times: dict[str, list[float]] = {"ours": [], "one by one": [], "threads": []}
    for _ in range(options.repeats):
        fitted = ours()
        times["ours"].append(seconds_of(lambda fitted=fitted: fitted.fit(X_train, y_train)))
        peers: list[SGDClassifier] = []
        times["one by one"].append(seconds_of(lambda peers=peers: peers.extend(map(fit_pair, slices))))
        with ThreadPoolExecutor(cores()) as pool:
            times["threads"].append(seconds_of(lambda pool=pool: list(pool.map(fit_pair, slices))))

    coef = np.vstack([p.coef_ for p in peers])
    scores = X_test @ coef.T + np.concatenate([p.intercept_ for p in peers])
    votes = _ovr_decision_function(scores > 0, scores, len(classes))
    accuracy = fitted.score(X_test, y_test)
    peer_accuracy = float(np.mean(classes[votes.argmax(axis=1)] == y_test))

    ratio = median(times["one by one"]) / median(times["ours"])
    rows = [
        row(
            f"pairs: {len(slices)} one-vs-one columns, against as many SGDClassifier fits",
            times["ours"],
            times["one by one"],
            ratio=ratio,
            target="≥ 6 × faster, accuracy ≥ 84.5 %",
            met=ratio >= 6 and accuracy >= 0.845,
            note=f"{passes} passes, λ {options.lam:g}, accuracy {accuracy:.2%}, peer {peer_accuracy:.2%}",
        )
    ]
    if cores() > 1:
        threaded = median(times["threads"]) / median(times["ours"])
        what = f"pairs: the same, the peer on {cores()} threads"
        rows.append(row(what, times["ours"], times["threads"], ratio=threaded))
    return rows


# --- start: the first fit of a fresh process ------------------------------------------------------------------------

FRESH = """
import json, sys, time
import numpy as np
with np.load(sys.argv[1]) as file:
    X, y = file["X"], file["y"]
start = time.perf_counter()
import sklearn.svm
imported = time.perf_counter()
from pegasos import PegasosClassifier
PegasosClassifier(**json.loads(sys.argv[2])).fit(X, y)
print(json.dumps([imported - start, time.perf_counter() - imported]))
"""


def start_part(options: argparse.Namespace) -> list[dict]:
    repeats = 2 if options.quick else max(5, options.repeats)
    models = {
        "rbf": {"kernel": "rbf", "gamma": 0.25, "lam": 1e-4, "random_state": options.seed},
        "linear": {"kernel": "linear", "lam": 1e-4, "random_state": options.seed},
    }
    X, y, _, _ = _data.digits()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "digits.npz"
        np.savez(data, X=X, y=y)

        def fresh(settings: dict) -> tuple[float, float]:
            command = [sys.executable, "-c", FRESH, str(data), json.dumps(settings)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            imported, beyond = json.loads(done.stdout.splitlines()[-1])
            return imported, beyond

        for settings in models.values():
            fresh(settings)  # warms the Numba cache
        for _ in range(repeats):
            for name, settings in models.items():
                times[name].append(fresh(settings))

    rows = []
    for name, pairs in times.items():
        imports, beyond = [i for i, _ in pairs], [b for _, b in pairs]
        what = f"start: first {name} fit on digits, beyond import sklearn.svm"
        note = f"import pegasos and fit; peer: import sklearn.svm itself; {repeats} processes"
        rows.append(row(what, beyond, imports, target="≤ 0.9 s", met=median(beyond) <= 0.9, note=note))
    return rows


# --- the command ---------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the engine beside its peers.")
    parser.add_argument("--parts", default="abc", help="a: kernel, b: pairs, c: start (default: abc)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each measurement, at least 3 (default: 5)")
    parser.add_argument("--lam", type=float, default=1e-4, help="λ of the pairs, ours and the peer's (default: 1e-4)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a short trial on the embedded digits, not judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write every measurement here")
    options = parser.parse_args()
    if not options.parts or set(options.parts) - set("abc"):
        parser.error(f"--parts takes letters of abc, got {options.parts!r}")
    if options.repeats < 3:
        parser.error(f"--repeats must be at least 3, got {options.repeats}")
    if options.quick:
        options.repeats = 3
    return options


def main() -> None:
    options = arguments()
    rates: list[float] = []
    rows: list[dict] = []
    if "a" in options.parts:
        rows += kernel_part(options, rates)
    if "b" in options.parts:
        rows += pairs_part(options)
    if "c" in options.parts:
        rows += start_part(options)
    if not rates:
        rates += [sgemm_rate(1024 if options.quick else 4096) for _ in range(options.repeats)]
    if options.quick:
        for line in rows:
            line["met"] = None

    results = {"machine": machine(rates), "quick": options.quick, "repeats": options.repeats, "rows": rows}
    render("The engine", results)
    if options.json:
        write(options.json, results)


if __name__ == "__main__":
    main()
