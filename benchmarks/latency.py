"""Start-up times: imports, help, and first fits, each in a fresh process.

A first fit is counted beyond `import sklearn.svm` in the same process and in units of it, since machines differ: once
with compiled code on disk and once with an empty cache of Numba, where a fit of another kind follows a linear one.
`classify` gets five seconds, and its wall clock, start included, has to stay within.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import _data
from benchmarks._options import Options
from benchmarks._processes import program, python
from benchmarks._race import Contestant, Record, Timed, race
from benchmarks._rows import Bar, What, alone

TITLE = "Imports, help, first fits and classify in fresh processes"
BY_DEFAULT = True

MODELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.25, "lam": 1e-4, "random_state": 0},
    "linear": {"kernel": "linear", "lam": 1e-4, "random_state": 0},
}
FURTHER = {
    "rbf": MODELS["rbf"],
    "float64": MODELS["linear"] | {"rows": "float64"},
    "CSR": MODELS["linear"] | {"rows": "csr"},
    "Crammer–Singer": MODELS["linear"] | {"multi_class": "crammer_singer"},
}
SECONDS = 5  # of classify; 2 in a quick trial
UNIT = "× import sklearn.svm"
BARS = {
    "import pegasos": Bar(most=0.1, unit="s"),
    "pegasos --help": Bar(most=0.6, unit="s"),
    "classify": Bar(most=SECONDS, unit="s"),
    "cache warm": Bar(most=0.3, unit=UNIT),
    "linear fit, cache cold": Bar(most=2, unit=UNIT),
    "rbf fit, cache cold": Bar(most=3, unit=UNIT),
    "after a linear one": Bar(most=1, unit=UNIT),
}
IMPORT = """
import time
start = time.perf_counter()
import pegasos
print(time.perf_counter() - start)
"""
FIRST = """
import json, sys, time
import numpy as np
with np.load(sys.argv[1]) as file:
    X, y = file["X"], file["y"]
began = time.perf_counter()
import scipy.sparse
import sklearn.svm
imported = start = time.perf_counter()
from pegasos import PegasosClassifier
for text in sys.argv[2:]:
    params = json.loads(text)
    kind = params.pop("rows", None)
    rows = X if kind is None else X.astype(np.float64) if kind == "float64" else scipy.sparse.csr_matrix(X)
    PegasosClassifier(**params).fit(rows, y)
    seconds, start = time.perf_counter() - start, time.perf_counter()
print(json.dumps([imported - began, seconds]))
"""


def run(options: Options) -> dict:
    """A row for each start-up time."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        task = write_data(place)
        contestants = [*started(options), labelled(place, task.y_test, options)]
        contestants += [first_fit(place, name, "warm", options) for name in models(options)]
        records = race(contestants, options.times(5), options.threads)
        if not options.quick:  # compiling takes ten seconds and more
            colds = [first_fit(place, name, "cold", options) for name in models(options)]
            colds += [first_fit(place, name, "cold", options, further=True) for name in FURTHER]
            records += race(colds, options.times(5), options.threads)
    notes = ["A quick trial leaves the cold start and the rbf fit out."] if options.quick else []
    return {"rows": [judged(record) for record in records], "notes": notes}


def models(options: Options) -> list[str]:
    """The models that are fitted first."""
    return ["linear"] if options.quick else list(MODELS)


def judged(record: Record) -> dict:
    """The row of one wait; its bar is the one whose words are in the name."""
    bar = next(bar for words, bar in BARS.items() if words in record.name)
    ratio, imported = record.facts.get("ratio"), record.facts.get("import")
    note = "" if imported is None else f"import sklearn.svm itself {imported:.2f} s"
    what = What("fresh process", "digits" if record.facts else "–", record.name)
    return alone(what, record, record.median if ratio is None else ratio, bar=bar, note=note)


def started(options: Options) -> list[Contestant]:
    """The import and the help."""
    return [
        Contestant("import pegasos", lambda: Timed(python(["-c", IMPORT], options.threads)), ours=True),
        Contestant("pegasos --help", lambda: program(["--help"], options.threads), ours=True),
    ]


def labelled(place: Path, labels: np.ndarray, options: Options) -> Contestant:
    """`pegasos classify` on digits as text."""
    limit = str(2 if options.quick else SECONDS)
    words = ["classify", str(place / "train.txt"), str(place / "test.txt"), "-t", limit]

    def judge(out: str) -> dict:
        predicted = np.array([float(line) for line in out.split()])
        return {"error": float(np.mean(predicted != labels))}

    return Contestant(f"pegasos classify -t {limit}", lambda: program(words, options.threads), judge, ours=True)


def first_fit(place: Path, model: str, cache: str, options: Options, *, further: bool = False) -> Contestant:
    """The first fit of a process, with compiled code on disk or without; or a `further` one, after a linear one."""
    fits = [MODELS["linear"], FURTHER[model]] if further else [MODELS[model]]
    words = ["-c", FIRST, str(place / "digits.npz"), *map(json.dumps, fits)]

    def fit() -> Timed:
        if cache == "warm":
            imported, seconds = python(words, options.threads)
        else:
            with tempfile.TemporaryDirectory() as empty:
                imported, seconds = python(words, options.threads, NUMBA_CACHE_DIR=empty)
        return Timed(seconds, {"import": imported, "ratio": seconds / imported})

    warm = fit if cache == "warm" and not options.quick else None
    name = f"{model} fit after a linear one, cache cold" if further else f"first {model} fit, cache {cache}"
    return Contestant(name, fit, dict, warm, ours=True)


def write_data(place: Path) -> _data.Task:
    """Digits as arrays and as text."""
    task = _data.digits()
    np.savez(place / "digits.npz", X=task.X, y=task.y)
    np.savetxt(place / "train.txt", np.column_stack([task.X, task.y]), fmt="%g")
    np.savetxt(place / "test.txt", task.X_test, fmt="%g")
    return task
