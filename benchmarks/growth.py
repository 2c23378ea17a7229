"""How time grows with the number of rows: exponents fitted by least squares on logarithms."""

import numpy as np

from benchmarks import _data, kernel_mnist
from benchmarks._fits import TEXTBOOK, certificate_of
from benchmarks._options import Options
from benchmarks._race import Contestant, race
from benchmarks._rows import Bar, What, alone
from pegasos import PegasosClassifier

TITLE = "Growth of time with the number of rows"
BY_DEFAULT = True

KERNEL = kernel_mnist.SETTINGS
LINEAR = dict(lam=1e-4, max_iter=5)
LINEAR_BAR = Bar(most=1.05, unit="exponent")
FEATURES = 54


def run(options: Options) -> dict:
    """A row with the exponent of each, and one for each size."""
    rng = np.random.default_rng(options.seed)
    whole = _data.digits() if options.quick else _data.mnist()
    sizes = [300, 600, 1200] if options.quick else [5_000, 10_000, 20_000]
    rows = grown("rbf fit", whole.name, sized(whole.X, whole.y, sizes, KERNEL, options), options)
    sizes = [1_000, 3_000, 10_000] if options.quick else [10_000, 31_623, 100_000, 316_228, 1_000_000]
    X, y = _data.noise(sizes[-1], FEATURES, 2, rng)
    linear = sized(X, y, sizes, LINEAR, options)
    rows += grown("linear, 5 epochs", f"noise, {FEATURES} features", linear, options, LINEAR_BAR)
    return {"rows": rows, "settings": {"kernel": KERNEL, "linear": LINEAR}}


def sized(X, y, sizes: list[int], settings: dict, options: Options) -> dict[int, Contestant]:
    """A contestant for each number of rows."""

    def fit(n: int):
        return PegasosClassifier(**TEXTBOOK | settings, random_state=options.seed).fit(X[:n], y[:n])

    def contestant(n: int) -> Contestant:
        return Contestant(f"{n:,} rows", lambda: fit(n), certificate_of, lambda: fit(n), ours=True)

    return {n: contestant(n) for n in sizes}


def grown(task: str, data: str, contestants: dict[int, Contestant], options: Options, bar: Bar | None = None) -> list:
    """The exponent over all sizes, then the times of each."""
    records = race(list(contestants.values()), options.times(), options.threads, options.memory)
    power = exponent(list(contestants), [record.median for record in records])
    sizes = f"{min(contestants):,} to {max(contestants):,} rows"
    what = What(task, f"{data}, {sizes}", f"times of {records[-1].name} shown")
    rows = [alone(what, records[-1], power, bar=bar, unit="exponent")]
    for n, record in zip(contestants, records):
        each = 1e6 * record.median / n
        rows.append(alone(What(task, f"{data}, {n:,} rows"), record, each, unit="µs a row", detail=True))
    return rows


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log seconds over log sizes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
