"""covtype with a Gaussian kernel and 2000 landmarks, beside scikit-learn's Nystroem and SGDClassifier.

Both choose landmarks uniformly and learn a linear model of the same features. Ours never has the features of all rows
at once, and dual coordinate ascent needs fewer passes; the peer computes all features first (4 GB) and then takes
epochs until its loss no longer falls, or five of them with the average of its iterates. Rows are float32 for both.

Ours is measured as it comes, which ends at a gap of 1e-3, and after two passes of dual coordinate ascent. The width of
the kernel and λ are chosen for each of them, by fits of fewer landmarks to a part of the training rows and their error
on another part. The peers run once, since they take minutes, and so does ours as it comes.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count, product
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from benchmarks import _data, _fits
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, race, say
from benchmarks._rows import Bar, What, against, alone
from pegasos import PegasosClassifier

TITLE = "RBF with 2000 landmarks on covtype, 522 911 rows"
BY_DEFAULT = True

LANDMARKS, QUICK_LANDMARKS = 2000, 50
GAMMAS, LAMS = (0.03, 0.1, 0.3), (1e-5, 1e-6, 1e-7)
TUNED_ON, HELD_OUT, TUNED_LANDMARKS = 60_000, 20_000, 500  # training rows, others of them, and landmarks of tuning
KERNEL = {"kernel": "rbf"}
OURS = {
    "two passes": dict(solver="sdca", max_iter=2, tol=None),
    "as it comes": dict(solver="auto", tol=1e-3),
}
SGD: dict[str, dict[str, Any]] = {
    "Nystroem + SGDClassifier": {},
    "Nystroem + SGDClassifier, averaged, 5 epochs": dict(average=True, max_iter=5, tol=None),
}
BAR = Bar(least=5)
Make = Callable[[float, float, int, int], Any]  # of gamma, lam, landmarks and a seed


def run(options: Options) -> dict:
    """Ours in either way beside the peer, stopping by itself and averaged; and the memory that a fit takes."""
    task = _data.digits(binary=True) if options.quick else _data.covtype()
    n_landmarks = QUICK_LANDMARKS if options.quick else LANDMARKS
    found = {
        name: chosen(name, make, task, options) for name, make in (makers(OURS, of_ours) | makers(SGD, of_sgd)).items()
    }
    contestants = [ours(name, found[name], task, n_landmarks, options) for name in OURS]
    contestants += [peer(name, found[name], task, n_landmarks) for name in SGD]
    records = race(contestants, options.times(), options.threads, options.memory)
    rows = []
    for name, record in zip(OURS, records):
        what = What(f"rbf, {n_landmarks} landmarks, ours {name}", task.data)
        rows += [against(what, record, other, bar=BAR, slack=0.0) for other in records[len(OURS) :]]
        rows.append(_memory(what, record))
    rows += [
        _memory(What(f"rbf, {n_landmarks} landmarks, {name}", task.data), one) for name, one in zip(SGD, records[2:])
    ]
    features = n_landmarks * len(task.y) * task.X.dtype.itemsize / 1e9
    settings = {name: {"gamma": gamma, "lam": lam} for name, (gamma, lam) in found.items()}
    return {"rows": rows, "settings": settings, "notes": [f"All features would be {features:.2f} GB."]}


def makers(settings: dict[str, dict], make: Callable[[dict], Make]) -> dict[str, Make]:
    """How each contestant makes its model."""
    return {name: make(own) for name, own in settings.items()}


def of_ours(own: dict) -> Make:
    """Ours with these settings."""
    return lambda gamma, lam, n_landmarks, seed: PegasosClassifier(
        **KERNEL, **own, gamma=gamma, lam=lam, n_landmarks=n_landmarks, random_state=seed
    )


def of_sgd(own: dict) -> Make:
    """The peer with these settings."""
    return lambda gamma, lam, n_landmarks, seed: make_pipeline(
        Nystroem(gamma=gamma, n_components=n_landmarks, random_state=seed),
        SGDClassifier(alpha=lam, random_state=seed, **own),
    )


def chosen(name: str, make: Make, task: _data.Task, options: Options) -> tuple[float, float]:
    """The width and λ of the lowest error on training rows that are held out."""
    order = np.random.default_rng(options.seed).permutation(len(task.y))
    held_out = order[: min(HELD_OUT, len(order) // 4)]
    part = order[len(held_out) : len(held_out) + TUNED_ON]
    n_landmarks = QUICK_LANDMARKS if options.quick else TUNED_LANDMARKS
    errors = {}
    for gamma, lam in list(product(GAMMAS, LAMS))[: 2 if options.quick else None]:
        model = make(gamma, lam, n_landmarks, options.seed).fit(task.X[part], task.y[part])
        errors[gamma, lam] = 1 - model.score(task.X[held_out], task.y[held_out])
    best = min(errors, key=lambda pair: errors[pair])
    say(f"  {name}: gamma {best[0]:g}, λ {best[1]:g}, {100 * errors[best]:.2f} % on training rows held out")
    return best


def ours(name: str, found: tuple[float, float], task: _data.Task, n_landmarks: int, options: Options) -> Contestant:
    """Ours; it warms up on few rows whose features are not kept, as those of all rows cannot be."""
    gamma, lam = found
    settings = KERNEL | OURS[name] | {"gamma": gamma, "lam": lam, "n_landmarks": n_landmarks}
    few = task.few()
    warm = PegasosClassifier(**settings | {"n_landmarks": QUICK_LANDMARKS, "cache_size": 0})
    contestant = _fits.ours(settings, task, options)
    return replace(
        contestant, name=f"{contestant.name}, {name}", warm=lambda: warm.fit(task.X[few], task.y[few]),
        repeats=1 if name == "as it comes" else None,
    )  # fmt: skip


def peer(name: str, found: tuple[float, float], task: _data.Task, n_landmarks: int) -> Contestant:
    """The peer with the features of all rows."""
    (gamma, lam), seeds = found, count()

    def make(kind):
        seed = next(seeds)
        landmarks = Nystroem(gamma=gamma, n_components=n_landmarks, random_state=seed)
        return make_pipeline(landmarks, kind(**SGD[name], alpha=lam, random_state=seed))

    return _fits.peer("SGDClassifier", make, task, name=name, dtype=np.float32, repeats=1)


def _memory(what: What, record: Record) -> dict:
    value = record.facts.get("memory MB", float("nan"))
    return alone(replace(what, what="peak memory beyond the data"), record, value, unit="MB", detail=True)
