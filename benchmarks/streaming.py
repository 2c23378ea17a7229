"""A file of 4 GB, more than the memory it is given: how fast is it learnt from, and how much memory does that take?

The file is LIBSVM text made here: rows of about 75 of 47 236 features, whose labels follow a planted model but for a
tenth. `pegasos train --stream yes` reads it for a survey, for each pass and for the certificate. What bounds it is
reading alone, by the same reader in the same order, and the solver's own rate on rows that are in memory; the slower of
the two is the measure. All is measured in fresh processes, and the file is in the system's cache for all alike.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._options import Options
from benchmarks._processes import python
from benchmarks._race import Contestant, Record, Timed, race, say
from benchmarks._rows import Bar, What, alone

TITLE = "Streaming a file larger than memory"
BY_DEFAULT = True

SIZE, QUICK_SIZE = 4e9, 4e7  # bytes
PASSES = 2
FEATURES, ENTRIES = 47236, 75
LAM = 1e-6
DISTINCT = 20000  # rows that are made; the file repeats them in random order, with labels of their own
NOISE = 0.1
BARS = {"share": Bar(least=0.8), "memory": Bar(most=600, unit="MB")}

MEMORY = """
def peak():
    from pathlib import Path
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return 1024 * int(line.split()[1])
    import resource
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""
READING = """
import json, sys, time
from contextlib import closing
from pegasos.io import open_source
from pegasos.streaming.windows import chunks_per_window, pass_order, windows
path, features = sys.argv[1], int(sys.argv[2])
source = open_source(path, n_features=features, first_index=1)
first = next(iter(source.tasks()))()  # what is compiled is loaded
size = first.X.data.nbytes + first.X.indices.nbytes + first.X.indptr.nbytes
start, n_rows = time.perf_counter(), 0
with closing(windows(source, chunks_per_window(size), pass_order(source, 0, 0, "shuffle"))) as read:
    for window in read:
        n_rows += len(window.y)
print(json.dumps({"seconds": time.perf_counter() - start, "rows": n_rows, "peak": peak()}))
"""
SOLVER = """
import json, sys, time
from pegasos import PegasosClassifier
from pegasos.estimators.targets import recipe_of
from pegasos.solver.clock import Clock
from pegasos.streaming.survey import survey
from pegasos.streaming.run import StreamRun
from pegasos.io import open_source
from pegasos.io.source import InMemorySource
from pegasos.streaming.windows import chunks_per_window, windows
from pegasos.streaming.progress import StreamProgress
path, features, lam, repeats = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
file = open_source(path, n_features=features, first_index=1)
window = next(windows(file, 16))
source = InMemorySource("window", window.X, window.y)
svm = PegasosClassifier(lam=lam, solver="pegasos", max_iter=repeats + 2, random_state=0)
progress = StreamProgress(Clock(None))
run = StreamRun(recipe_of(svm, incremental=True), source, survey(source, progress, regression=False), progress)
(one,) = windows(source, source.n_places, prepare=run.prepare)
run.learn(one)
start = time.perf_counter()
for _ in range(repeats):
    run.learn(one)
seconds = (time.perf_counter() - start) / repeats
print(json.dumps({"seconds": seconds, "bytes": window.share * file.size}))
"""
TRAINING = """
import contextlib, io, json, sys
from pegasos.cli import app
sys.argv = ["pegasos", *sys.argv[1:]]
out = io.StringIO()
with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
    app.main()
print(json.dumps({"results": json.loads(out.getvalue())["results"], "peak": peak()}))
"""


def run(options: Options) -> dict:
    """The share of the bound, the memory, and what they come from."""
    size = QUICK_SIZE if options.quick else SIZE
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.svm"
        make_file(path, size, options.seed)
        megabytes = path.stat().st_size / 1e6
        contestants = [reading(path, options), solving(path, options), training(path, options)]
        records = race(contestants, options.times(), options.threads)
    settings = {"lam": LAM, "passes": PASSES, "features": FEATURES, "entries": ENTRIES, "noise": NOISE}
    notes = ["The first look at the file and the certificate are readings of their own; the share is that of passes."]
    return {"rows": judged(megabytes, *records), "settings": settings, "notes": notes}


def judged(megabytes: float, read: Record, solve: Record, train: Record) -> list[dict]:
    """The rows of the table."""
    data = f"{megabytes / 1000:.3g} GB of LIBSVM text"
    alone_rate, own_rate = read.facts["MB/s"], solve.facts["MB/s"]
    rate, memory = train.facts["MB/s"], train.facts["memory MB"]
    bound = read if alone_rate <= own_rate else solve
    note = f"{rate:.0f} MB/s; reading alone {alone_rate:.0f} MB/s, the solver's own rate {own_rate:.0f} MB/s"
    share = What("streaming", data, f"passes, as a share of {bound.name}")
    return [
        alone(share, train, rate / min(alone_rate, own_rate), bar=BARS["share"], beside=bound, note=note),
        alone(What("streaming", data, "peak memory"), train, memory, bar=BARS["memory"]),
        alone(What("streaming", data, "all readings"), train, train.facts["all MB/s"], unit="MB/s", detail=True),
    ]


def reading(path: Path, options: Options) -> Contestant:
    """One reading of the file by the reader that training uses, in its order."""

    def read() -> Timed:
        found = python(["-c", MEMORY + READING, str(path), str(FEATURES)], options.threads)
        return Timed(found["seconds"], found)

    judge = lambda found: {"MB/s": path.stat().st_size / 1e6 / found["seconds"], "memory MB": found["peak"] / 1e6}
    return Contestant("reading alone", read, judge, ours=True)


def solving(path: Path, options: Options) -> Contestant:
    """Passes of the solver over rows of the file that are in memory."""
    words = ["-c", SOLVER, str(path), str(FEATURES), str(LAM), "2" if options.quick else "20"]

    def solve() -> Timed:
        found = python(words, options.threads)
        return Timed(found["seconds"], found)

    return Contestant(
        "the solver alone", solve, lambda found: {"MB/s": found["bytes"] / 1e6 / found["seconds"]}, ours=True
    )


def training(path: Path, options: Options) -> Contestant:
    """The whole command."""
    words = ["train", str(path), "--stream", "yes", "--lam", str(LAM), "--max-iter", str(PASSES), "--json"]
    size = path.stat().st_size / 1e6

    def train() -> Timed:
        found = python(["-c", MEMORY + TRAINING, *words, "--seed", str(options.seed)], options.threads)
        return Timed(found["results"]["seconds"], found)

    def judge(found: dict) -> dict:
        results = found["results"]
        return {
            "MB/s": results["MB/s in these"],
            "all MB/s": (results["passes"] + 2) * size / results["seconds"],
            "memory MB": found["peak"] / 1e6,
            "error": 1 - results["training accuracy"],
            "gap": results["relative gap (largest)"],
        }

    return Contestant("pegasos train", train, judge, ours=True)


def make_file(path: Path, size: float, seed: int) -> None:
    """Write a file of about so many bytes, if the disk has room for it."""
    free = shutil.disk_usage(path.parent).free
    if free < 1.1 * size:
        raise OSError(f"{path.parent} has {free / 1e9:.3g} GB left, and the file needs {1.1 * size / 1e9:.3g} GB.")
    say(f"  making a file of {size / 1e9:.3g} GB")
    rng = np.random.default_rng(seed)
    signs, texts = rows_of(rng, min(DISTINCT, int(size / 5000)))
    lines = [(b"-1 " + text, b"+1 " + text) for text in texts]
    left = size
    with open(path, "wb") as file:
        while left > 0:
            order = rng.permutation(len(lines))
            labels = signs[order] != (rng.random(len(lines)) < NOISE)
            left -= file.write(b"".join([lines[i][label] for i, label in zip(order.tolist(), labels.tolist())]))


def rows_of(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, list[bytes]]:
    """On which side of the planted model each row lies, and its entries as text: rows of length 1."""
    model = rng.standard_normal(FEATURES)
    signs, texts = np.empty(n_rows, bool), []
    for row in range(n_rows):
        places = np.unique((FEATURES * rng.random(ENTRIES) ** 3).astype(int))  # some features are frequent, most rare
        values = rng.random(len(places))
        values /= np.linalg.norm(values)
        signs[row] = values @ model[places] > 0
        pairs = zip((places + 1).tolist(), values.tolist())
        texts.append(" ".join([f"{place}:{value:.6g}" for place, value in pairs]).encode() + b"\n")
    return signs, texts
