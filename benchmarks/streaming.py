"""Files of 4 GB, more than the memory they are given: how fast are they learnt from, and how much memory is that?

LIBSVM text of 4 GB, CSV and Parquet of half that (`--size` sets it), whose labels follow a planted model but for a
tenth. `pegasos train --stream yes` reads a file for a survey, for each pass and for the certificate. What bounds it is
reading alone, by the same reader in the same order, and the solver's own rate on rows that are in memory; the slower of
the two is the measure. All is measured in fresh processes, and the file is in the system's cache for all alike.
"""

import json
import tempfile
from pathlib import Path

from benchmarks._big_files import COLUMNS, ENTRIES, FEATURES, NOISE, make_file
from benchmarks._options import Options
from benchmarks._processes import python
from benchmarks._race import Contestant, Record, Timed, race
from benchmarks._rows import Bar, What, alone

TITLE = "Streaming files larger than memory"
BY_DEFAULT = True

SIZE, QUICK_SIZE = 4e9, 4e7  # bytes
PASSES = 2
BARS = {"share": Bar(least=0.8), "memory": Bar(most=600, unit="MB")}
KINDS = {  # name: how it ends, its part of the size, lam, and what its reader is told
    "LIBSVM": (".svm", 1.0, 1e-6, {"n_features": FEATURES, "first_index": 1}),
    "CSV": (".csv", 0.5, 1e-4, {}),
    "Parquet": (".parquet", 0.5, 1e-4, {}),
}

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
from pegasos.streaming.windows import chunks_per_window, n_bytes, pass_order, windows
path, given = sys.argv[1], json.loads(sys.argv[2])
source = open_source(path, **given)
size = n_bytes(next(iter(source.tasks()))().X)  # what is compiled is loaded
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
from pegasos.streaming.windows import chunks_per_window, n_bytes, windows
from pegasos.streaming.progress import StreamProgress
path, given, lam, repeats = sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
file = open_source(path, **given)
window = next(windows(file, chunks_per_window(n_bytes(next(iter(file.tasks()))().X))))
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
print(json.dumps({"seconds": seconds, "bytes": window.share * file.size, "peak": peak()}))
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
    """For each kind of file the share of the bound, the memory, and what they come from."""
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, (suffix, part, _, _) in KINDS.items():
            if not options.wants(kind):
                continue
            path = Path(folder) / f"big{suffix}"
            make_file(path, part * (QUICK_SIZE if options.quick else options.size or SIZE), options.seed)
            megabytes = path.stat().st_size / 1e6
            contestants = [reading(path, kind, options), solving(path, kind, options), training(path, kind, options)]
            rows += judged(kind, megabytes, *race(contestants, options.times(), options.threads))
            path.unlink()
    lam = {kind: lam for kind, (_, _, lam, _) in KINDS.items()}
    settings = {"lam": lam, "passes": PASSES, "features": FEATURES, "entries": ENTRIES, "columns": COLUMNS}
    notes = [
        "The first look at the file and the certificate are readings of their own; the share is that of passes.",
        f"{100 * NOISE:g} % of the labels are wrong.",
    ]
    return {"rows": rows, "settings": settings, "notes": notes}


def judged(kind: str, megabytes: float, read: Record, solve: Record, train: Record) -> list[dict]:
    """The rows of the table."""
    data = f"{kind}, {megabytes / 1000:.3g} GB"
    alone_rate, own_rate = read.facts["MB/s"], solve.facts["MB/s"]
    rate, memory = train.facts["MB/s"], train.facts["memory MB"]
    bound = read if alone_rate <= own_rate else solve
    note = f"{rate:.0f} MB/s; reading alone {alone_rate:.0f} MB/s, the solver's own rate {own_rate:.0f} MB/s"
    share = What("streaming", data, f"passes, as a share of {bound.name}")
    return [
        alone(share, train, rate / min(alone_rate, own_rate), bar=BARS["share"], beside=bound, note=note),
        alone(What("streaming", data, "peak memory"), train, memory, bar=BARS["memory"]),
        alone(What("streaming", data, "all readings"), train, train.facts["all MB/s"], unit="MB/s", detail=True),
        alone(What("streaming", data, "reading alone"), read, alone_rate, unit="MB/s", detail=True),
        alone(What("streaming", data, "the solver alone"), solve, own_rate, unit="MB/s", detail=True),
    ]


def reading(path: Path, kind: str, options: Options) -> Contestant:
    """One reading of the file by the reader that training uses, in its order."""

    def read() -> Timed:
        found = python(["-c", MEMORY + READING, str(path), json.dumps(KINDS[kind][3])], options.threads)
        return Timed(found["seconds"], found)

    judge = lambda found: {"MB/s": path.stat().st_size / 1e6 / found["seconds"], "memory MB": found["peak"] / 1e6}
    return Contestant("reading alone", read, judge, ours=True)


def solving(path: Path, kind: str, options: Options) -> Contestant:
    """Passes of the solver over rows of the file that are in memory."""
    _, _, lam, given = KINDS[kind]
    words = ["-c", MEMORY + SOLVER, str(path), json.dumps(given), str(lam), "2" if options.quick else "20"]

    def solve() -> Timed:
        found = python(words, options.threads)
        return Timed(found["seconds"], found)

    judge = lambda found: {"MB/s": found["bytes"] / 1e6 / found["seconds"], "memory MB": found["peak"] / 1e6}
    return Contestant("the solver alone", solve, judge, ours=True)


def training(path: Path, kind: str, options: Options) -> Contestant:
    """The whole command."""
    words = ["train", str(path), "--stream", "yes", "--lam", str(KINDS[kind][2]), "--max-iter", str(PASSES), "--json"]
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
