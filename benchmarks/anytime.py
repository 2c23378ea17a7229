"""Are time limits kept? Fits with `max_time` on all kinds of rows, wall clock beside the limit.

    python benchmarks/anytime.py [--quick]

The bar is 5 % + 0.2 s over the limit. A fit with the same limit goes before the three that are timed, and one without:
what a machine compiles for the first time (also float64 sums, after some million steps in float32) is compiled then.
"""

import argparse
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from pegasos import PegasosClassifier, PegasosRegressor


def dense(n_rows, n_features, n_classes, rng):
    """Noise with a little signal, float32."""
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (X[:, 0] * n_classes + 3 * rng.normal(size=n_rows)).astype(int) % n_classes


def sparse(n_rows, n_features, n_classes, rng, per_row=40):
    """CSR rows of 40 entries."""
    entries = n_rows * per_row
    parts = (
        rng.random(entries, dtype=np.float32),
        rng.integers(0, n_features, entries),
        np.arange(0, entries + 1, per_row),
    )
    X = sp.csr_matrix(parts, shape=(n_rows, n_features))
    X.sum_duplicates()
    return X, rng.integers(0, n_classes, n_rows)


def cases(scale, rng):
    """Yield a name, the data and the estimator of each case."""
    X, y = dense(int(500_000 * scale), 54, 2, rng)
    yield "dense, 2 classes", X, y, PegasosClassifier()
    yield "dense, sdca", X, y, PegasosClassifier(solver="sdca")
    yield "dense, log loss, replacement", X, y, PegasosClassifier(loss="log_loss", sampling="replacement")
    yield "dense, batches of 100", X, y, PegasosClassifier(batch_size=100)
    yield "dense, regression", X, X[:, 0], PegasosRegressor()
    X, y = sparse(int(200_000 * scale), 20_000, 20, rng)
    yield "CSR, 20 classes", X, y, PegasosClassifier()
    yield "CSR, 20 classes, sdca", X, y, PegasosClassifier(solver="sdca")
    X, y = dense(int(20_000 * scale), 300, 10, rng)
    yield "rbf", X, y, PegasosClassifier(kernel="rbf")
    yield "rbf, Crammer–Singer", X, y, PegasosClassifier(kernel="rbf", multi_class="crammer_singer")
    X, y = dense(int(60_000 * scale), 300, 10, rng)
    yield "rbf, beyond the cache", X, y, PegasosClassifier(kernel="rbf")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and a limit of one second only")
    quick = parser.parse_args().quick
    rng, kept, total = np.random.default_rng(0), 0, 0
    print("| case | limit (s) | wall clock, 3 fits (s) | steps | largest gap | kept |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, X, y, estimator in cases(0.1 if quick else 1.0, rng):
        estimator.set_params(max_passes=10**6, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(estimator).set_params(max_passes=1).fit(X[:2000], y[:2000])
            for limit in (1.0,) if quick else (1.0, 5.0):
                estimator.set_params(max_time=limit).fit(X, y)
                taken = []
                for _ in range(3):
                    began = time.perf_counter()
                    estimator.fit(X, y)
                    taken.append(time.perf_counter() - began)
                within = sum(seconds <= 1.05 * limit + 0.2 for seconds in taken)
                kept, total = kept + within, total + 3
                shown = ", ".join(f"{seconds:.2f}" for seconds in taken)
                gap = estimator.dual_gap_.max()
                print(f"| {name} | {limit} | {shown} | {estimator.n_iter_} | {gap:.3g} | {within} of 3 |", flush=True)
    print(f"\n{kept} of {total} fits within 5 % + 0.2 s of their limit.")


if __name__ == "__main__":
    main()
