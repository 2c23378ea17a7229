"""How fast tuning is: PegasosSearchCV beside GridSearchCV over the peers, in one run, as a table.

    python benchmarks/tuning.py                  all parts, on the data folder named by PEGASOS_DATA
    python benchmarks/tuning.py --parts ac       some of them
    python benchmarks/tuning.py --quick          a trial on the embedded digits; its ratios prove nothing

a  USPS, RBF, 7 C × 3 widths × 5 folds, beside GridSearchCV(SVC).
b  MNIST, first 10 000 rows, RBF, 7 C × 5 folds, beside GridSearchCV(SVC) and with scikit-learn-intelex's SVC.
c  RCV1 subset, linear, 10 C × 5 folds, beside GridSearchCV(LinearSVC).
d  The USPS grid of 7 kernels × 7 λ × 5 numbers of steps × 5 folds × 10 classes, beside the floating-point operations
   of its steps, 2 · draws · rows · columns, at the rate of a large sgemm in the same run.
e  As a, with the sharper widths of the source document; not by default, since SVC takes many minutes for it.

Both search the same values of C on the same folds without a refit. Peers use a process for each core; ours one process
with as many threads. Compilation is kept out of every clock. Ours and the peer take turns within each repeat, so that a
slow spell of the machine meets both. Figures are medians, and the ratio is the ratio of the medians. The settings of
ours (rule, passes) were fixed beforehand.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

import _data
from _measure import cores, machine, render, row, seconds_of, sgemm_rate, write
from pegasos import PegasosClassifier, PegasosSearchCV

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def peers(*names: str) -> dict[str, Callable]:
    """Classes of the peers that are installed, by name."""
    found: dict[str, Callable] = {}
    for name in names:
        if name != "intelex":
            found[name] = {"SVC": SVC, "LinearSVC": LinearSVC}[name]
            continue
        try:
            from sklearnex.svm import SVC as IntelexSVC
        except ImportError:
            print("scikit-learn-intelex is not installed; its rows are missing.")
        else:
            found["intelex SVC"] = IntelexSVC
    return found


def compare(
    what: str, X, y, grid: dict, ours: PegasosClassifier, rivals: dict[str, tuple], targets: dict[str, float], options
) -> list[dict]:
    """Rows of ours beside each rival, (unfitted estimator, X as it likes it)."""
    times: dict[str, list[float]] = {name: [] for name in ("ours", *rivals)}
    errors: dict[str, float] = {}

    def search(name: str):
        if name == "ours":
            return PegasosSearchCV(ours, grid, cv=FOLDS, refit=False), X
        return GridSearchCV(rivals[name][0], grid, cv=FOLDS, refit=False, n_jobs=cores()), rivals[name][1]

    few = np.unique(np.concatenate([np.flatnonzero(y == label)[:20] for label in np.unique(y)]))
    PegasosSearchCV(ours, grid, cv=FOLDS, refit=False).fit(X[few], y[few])
    for repeat in range(options.repeats):
        for name in times:
            if name != "ours" and repeat >= options.peer_repeats:
                continue
            tuned, rows = search(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                times[name].append(seconds_of(lambda tuned=tuned, rows=rows: tuned.fit(rows, y)))
            errors[name] = 1 - tuned.best_score_
            print(f"{what}, {name}: {times[name][-1]:.2f} s, best CV error {errors[name]:.2%}, {tuned.best_params_}")
    cells = np.prod([len(values) for values in grid.values()]) * FOLDS.get_n_splits()
    rows = []
    for name in rivals:
        ratio, least = median(times[name]) / median(times["ours"]), targets[name]
        no_worse = errors["ours"] <= errors[name]
        note = f"{cells} cells, best CV error {errors['ours']:.2%}, peer {errors[name]:.2%}"
        rows.append(
            row(
                f"{what}, beside GridSearchCV({name}, n_jobs={cores()})",
                times["ours"],
                times[name],
                ratio=ratio,
                target=f"≥ {least:g} × faster, error no worse",
                met=bool(ratio >= least and no_worse),
                note=note,
            )
        )
    return rows


def usps_part(options, gammas=(1 / 8, 1 / 32, 1 / 128)) -> list[dict]:
    X, y = _digits() if options.quick else _data.usps_all()
    grid = {"C": np.logspace(-1, 2, 7), "gamma": list(gammas)}
    ours = PegasosClassifier(kernel="rbf", solver="sdca", max_passes=5, random_state=options.seed)
    rivals = {"SVC": (SVC(), X)}
    what = f"USPS, rbf, 7 C × gamma {', '.join(f'{gamma:.2g}' for gamma in gammas)} × 5 folds"
    return compare(what, X, y, grid, ours, rivals, {"SVC": 10}, options)


def sharp_part(options) -> list[dict]:
    return usps_part(options, gammas=(2.0, 2 / 3, 0.25))


def mnist_part(options) -> list[dict]:
    X, y = _digits() if options.quick else tuple(part[:10_000] for part in _data.mnist()[:2])
    grid = {"C": np.logspace(-1, 2, 7)}
    ours = PegasosClassifier(kernel="rbf", gamma=0.02, solver="sdca", max_passes=5, random_state=options.seed)
    rivals = {name: (kind(gamma=0.02), X) for name, kind in peers("SVC", "intelex").items()}
    return compare("MNIST 10 000, rbf, 7 C × 5 folds", X, y, grid, ours, rivals, {"SVC": 15, "intelex SVC": 6}, options)


def rcv1_part(options) -> list[dict]:
    X, y = _digits() if options.quick else _data.rcv1()
    grid = {"C": np.logspace(-2, 1, 10)}
    ours = PegasosClassifier(solver="sdca", max_passes=5, average=False, random_state=options.seed)
    rivals = {"LinearSVC": (LinearSVC(random_state=options.seed), X.astype(np.float64))}
    return compare("RCV1 subset, linear, 10 C × 5 folds", X, y, grid, ours, rivals, {"LinearSVC": 5}, options)


def grid_part(options, rates: list[float]) -> list[dict]:
    X, y = _digits() if options.quick else _data.usps_all()
    steps, size = ([100, 500, 1000], 1024) if options.quick else ([1000, 5000, 10_000, 25_000, 50_000], 4096)
    lams = [10.0**power for power in range(-5, 2)]
    shared = {"lam": lams, "max_iter": steps}
    grid = [
        {"kernel": ["rbf"], "gamma": [2.0, 2 / 3, 0.25], **shared},
        {"kernel": ["poly"], "gamma": [1.0], "coef0": [1.0], "degree": [2, 3, 4, 7], **shared},
    ]
    ours = PegasosClassifier(sampling="replacement", average=False, fit_intercept=False, random_state=options.seed)
    times: list[float] = []
    limits: list[float] = []
    draws = max(steps) * len(y) / (len(y) - len(y) // 5)  # until every fold has met its rows
    operations = 2 * draws * len(y) * (len(lams) * 5 * len(np.unique(y))) * 7
    for _ in range(options.repeats):
        rates.append(sgemm_rate(size))
        limits.append(operations / rates[-1])
        search = PegasosSearchCV(ours, grid, cv=FOLDS, refit=False)
        times.append(seconds_of(lambda search=search: search.fit(X, y)))
        print(f"grid: {times[-1]:.1f} s, limit {limits[-1]:.1f} s at {rates[-1] / 1e9:.0f} GFLOP/s")
    ratio = median(times) / median(limits)
    note = f"{operations / 1e12:.2f} TFLOP, best CV error {1 - search.best_score_:.2%}"
    what = "USPS, 7 kernels × 7 λ × 5 T × 5 folds × 10 classes, against its arithmetic"
    return [row(what, times, limits, ratio=ratio, target="≤ 2 ×", met=ratio <= 2, note=note)]


def _digits():
    X_train, y_train, X_test, y_test = _data.digits()
    return np.vstack([X_train, X_test]), np.concatenate([y_train, y_test])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure tuning beside GridSearchCV.")
    parser.add_argument("--parts", default="abcd", help="letters of abcde, see above (default: abcd)")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of ours (default: 3)")
    parser.add_argument(
        "--peer-repeats", type=int, default=1, help="repeats of the peers, which take long (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a short trial on the embedded digits, not judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write every measurement here")
    options = parser.parse_args()
    if not options.parts or set(options.parts) - set("abcde"):
        parser.error(f"--parts takes letters of abcde, got {options.parts!r}")
    if options.repeats < 1 or options.peer_repeats < 1:
        parser.error("--repeats and --peer-repeats must be at least 1")
    return options


def main() -> None:
    options = arguments()
    rates: list[float] = []
    rows: list[dict] = []
    for letter, part in {"a": usps_part, "b": mnist_part, "c": rcv1_part, "e": sharp_part}.items():
        if letter in options.parts:
            rows += part(options)
    if "d" in options.parts:
        rows += grid_part(options, rates)
    if not rates:
        rates += [sgemm_rate(1024 if options.quick else 4096) for _ in range(3)]
    if options.quick:
        for line in rows:
            line["met"] = None
    results = {"machine": machine(rates), "quick": options.quick, "repeats": options.repeats, "rows": rows}
    render("Tuning", results)
    if options.json:
        write(options.json, results)


if __name__ == "__main__":
    main()
