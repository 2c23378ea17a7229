"""Many fits at once, beside scikit-learn's loops over single fits.

Permutation tests with a kernel matrix of 73 rows and with an RBF kernel on two digits; bootstraps of a linear model;
thousands of labels; calibrated probabilities; cross-validation of tiny data sets. Where all of it would take hours, the
peer is timed on a part and its time is multiplied; its name says so. Peers use a process for each core, which are
started before the clock where scikit-learn lets them stay.
"""

import resource
import sys
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn import datasets as sets
from sklearn import model_selection as theirs
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import f1_score, log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks import _data
from benchmarks._options import Options
from benchmarks._race import Contestant, Record, Timed, race
from benchmarks._rows import Bar, What, against
from pegasos import PegasosClassifier
from pegasos import model_selection as ours

TITLE = "Many fits at once: permutations, bootstraps, labels, probabilities, folds"
BY_DEFAULT = True
TINY = ("iris", "wine", "breast_cancer")


def run(options: Options) -> dict:
    """Rows of all tasks."""
    rows = [matrix_of_73_rows(options), two_digits(options), bootstraps(options), labels(options),
            probabilities(options), *tiny(options)]  # fmt: skip
    return {"rows": rows, "settings": {"ours": "default parameters, but for those named"}}


def in_part(name: str, work, share: float) -> Contestant:
    """A peer that does a share of the work, and whose time is multiplied."""

    def timed() -> Timed:
        began = perf_counter()
        found = work()
        return Timed((perf_counter() - began) / share, found)

    warm = None if share == 1 else work
    return Contestant(name, timed, score_of, warm, repeats=1)


def score_of(found) -> dict:
    """The score of a permutation test, and its p-value."""
    return {"score": float(found[0]), "p": float(found[2])}


def permutations(task: tuple[str, str], X, y, estimators: tuple, counts: tuple[int, int], options: Options) -> list:
    """Ours and scikit-learn's test, which does fewer permutations."""
    (what, data), (mine, peer), (many, few) = task, estimators, counts
    test = lambda: ours.permutation_test_score(mine, X, y, n_permutations=many)
    other = lambda: theirs.permutation_test_score(peer, X, y, n_permutations=few, n_jobs=options.processes)
    name = f"permutation_test_score({type(peer).__name__}, n_jobs={options.processes}), timed on {few}"
    share = (few + 1) / (many + 1)
    return [What(what, data, "permutation test"),
            *race([Contestant("pegasos", test, score_of, test, ours=True), in_part(name, other, share)],
                  options.times(), options.threads)]  # fmt: skip


def matrix_of_73_rows(options: Options) -> dict:
    """As brain images have them: few rows, many features, a precomputed linear kernel."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(73, 2000)), rng.integers(0, 2, 73)
    X[:, :20] += 0.15 * (2 * y - 1)[:, None]
    many, few = (200, 20) if options.quick else (10_000, 400)
    pair = PegasosClassifier(kernel="precomputed"), SVC(kernel="precomputed")
    task = f"precomputed linear kernel, C 1, {many} permutations × 5 folds", "73 × 2000"
    what, mine, peer = permutations(task, X @ X.T / 2000, y, pair, (many, few), options)
    return against(what, mine, peer, bar=Bar(least=40))


def two_digits(options: Options) -> dict:
    """Two classes of the embedded digits."""
    X, y = sets.load_digits(n_class=2, return_X_y=True)
    many, few = (20, 4) if options.quick else (1000, 40)
    pair = PegasosClassifier(kernel="rbf", gamma=0.05), SVC(gamma=0.05)
    task = f"rbf, gamma 0.05, C 1, {many} permutations × 5 folds", f"digits 0 and 1, {len(X)} × 64"
    what, mine, peer = permutations(task, X / 4, y, pair, (many, few), options)
    return against(what, mine, peer, bar=Bar(least=30))


def bootstraps(options: Options) -> dict:
    """A linear model on resamples."""
    X, y = standardised("breast_cancer")
    n = 20 if options.quick else 1000
    places = np.random.default_rng(0).integers(0, len(X), (n, len(X)))
    mine = lambda: ours.bootstrap(PegasosClassifier(), X, y, n_resamples=n, random_state=0)
    peer = lambda: [LinearSVC().fit(X[rows], y[rows]) for rows in places]
    one, other = race([Contestant("pegasos", mine, lambda found: {"out of bag": float(np.nanmean(found.scores))}, mine,
                                  ours=True), Contestant("a loop of LinearSVC", peer)],
                      options.times(), options.threads)  # fmt: skip
    what = What(f"linear, {n} bootstraps", f"breast cancer, standardised, {X.shape[0]} × {X.shape[1]}", "bootstrap")
    return against(what, one, other, bar=Bar(least=30))


def planted(n_rows: int, n_features: int, n_labels: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Sparse rows, and labels of about 1 row in 100 that few features and noise decide about."""
    rng = np.random.default_rng(0)
    X = sparse.random(
        n_rows, n_features, 0.01, "csr", random_state=rng, data_rvs=lambda size: rng.exponential(size=size)
    )
    W = sparse.random(n_features, n_labels, 0.01, "csc", random_state=rng, data_rvs=lambda size: rng.normal(size=size))
    columns = []
    for first in range(0, n_labels, 500):
        scores = (X @ W[:, first : first + 500]).toarray()
        scores += rng.normal(scale=scores.std(axis=0) / 2, size=scores.shape)
        columns.append(sparse.csc_matrix(scores > np.quantile(scores, 0.99, axis=0)))
    return X, sparse.hstack(columns, format="csr").astype(np.int64)


def labels(options: Options) -> dict:
    """Thousands of labels of sparse rows."""
    n_rows, n_features, n_labels, few = (600, 300, 40, 8) if options.quick else (15_000, 5_000, 4_000, 100)
    X, Y = planted(n_rows + n_rows // 5, n_features, n_labels)
    train, test = slice(0, n_rows), slice(n_rows, None)
    part, truth = Y[train, :few].toarray(), Y[test, :few].toarray()
    mine = lambda: PegasosClassifier().fit(X[train], Y[train])
    peer = lambda: OneVsRestClassifier(LinearSVC(loss="hinge"), n_jobs=options.processes).fit(X[train], part)

    def error(model) -> dict:
        found = model.predict(X[test])[:, :few]
        found = found.toarray() if sparse.issparse(found) else found
        return {"error": 1.0 - f1_score(truth, found, average="micro", zero_division=0), "peak GB": peak()}

    share = few / n_labels
    name = f"OneVsRestClassifier(LinearSVC(loss='hinge'), n_jobs={options.processes}), timed on {few} labels"
    rival = in_part(name, peer, share)
    rival.judge = error
    ours_first = Contestant("pegasos", mine, error, lambda: PegasosClassifier().fit(X[:600], Y[:600, :4]),
                            repeats=1, ours=True)  # fmt: skip
    one, other = race([ours_first, rival], options.times(), options.threads)
    what = What(f"linear, {n_labels} labels", f"planted, {n_rows} × {n_features} sparse", "fit")
    note = f"micro-F1 of {few} labels, ours {1 - one.facts['error']:.4f}, peer {1 - other.facts['error']:.4f}"
    return against(what, one, other, bar=Bar(least=5), slack=0.002, note=note)


def peak() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform != "darwin" else 1e9)


def probabilities(options: Options) -> dict:
    """Platt's calibration by five folds."""
    task = _data.digits() if options.quick else _data.mnist().first(6000)
    gamma = 0.02
    mine = lambda: PegasosClassifier(kernel="rbf", gamma=gamma, probability="sigmoid").fit(task.X, task.y)
    peer = lambda: CalibratedClassifierCV(SVC(gamma=gamma), ensemble=False, n_jobs=options.processes).fit(
        task.X, task.y
    )
    few = lambda: PegasosClassifier(kernel="rbf", probability="sigmoid").fit(task.X[:1200], task.y[:1200])
    judge = lambda model: {"log loss": float(log_loss(task.y_test, model.predict_proba(task.X_test)))}
    rival = f"CalibratedClassifierCV(SVC, ensemble=False, n_jobs={options.processes})"
    contestants = [Contestant("pegasos", mine, judge, few, 1, ours=True), Contestant(rival, peer, judge, repeats=1)]
    one, other = race(contestants, options.times(), options.threads)
    within = bool(one.facts["log loss"] <= 1.02 * other.facts["log loss"])
    what = What("rbf, sigmoid, 5 folds", f"{task.name}, {task.X.shape[0]} × {task.X.shape[1]}", "calibrated fit")
    note = f"log loss {one.facts['log loss']:.4f}, peer {other.facts['log loss']:.4f}"
    return against(what, one, other, bar=Bar(least=5), also={"log loss within 2 %": within}, note=note)


def tiny(options: Options) -> list[dict]:
    """Cross-validation where a fit takes less than a millisecond."""
    rows = []
    for name in TINY[:1] if options.quick else TINY:
        X, y = standardised(name)
        one, other = (folds(kind, estimator, X, y) for kind, estimator in
                      ((ours, PegasosClassifier(kernel="rbf")), (theirs, SVC())))  # fmt: skip
        found: list[Record] = race([one, other], options.times(9), options.threads)
        what = What("rbf, C 1, 5 folds", f"{name.replace('_', ' ')}, standardised, {X.shape[0]} × {X.shape[1]}", "CV")
        rows.append(against(what, *found, bar=Bar(least=1)))
    return rows


def folds(kind, estimator, X, y) -> Contestant:
    """`cross_val_score` of a library."""
    work = lambda: kind.cross_val_score(estimator, X, y)
    name = "pegasos" if kind is ours else "cross_val_score(SVC)"
    return Contestant(name, work, lambda scores: {"error": float(1 - scores.mean())}, work, ours=kind is ours)


def standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    """One of scikit-learn's data sets."""
    X, y = getattr(sets, f"load_{name}")(return_X_y=True)
    return StandardScaler().fit_transform(X), y
