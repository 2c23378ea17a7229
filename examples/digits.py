"""
A first run on the digits
=========================

Train on scikit-learn's embedded digits and show test error, time and certificate side
by side.
"""

import warnings
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pegasos import PegasosClassifier

LAM = 1e-4
RBF = {"kernel": "rbf", "gamma": 0.25}

MODELS = {
    "rbf, pegasos": PegasosClassifier(**RBF, lam=LAM, solver="pegasos", random_state=0),
    "rbf, sdca": PegasosClassifier(
        **RBF, lam=LAM, solver="sdca", tol=1e-2, random_state=0
    ),
    "linear, pegasos": PegasosClassifier(lam=LAM, solver="pegasos", random_state=0),
    "linear, sdca": PegasosClassifier(lam=LAM, solver="sdca", tol=1e-2, random_state=0),
    "linear, auto": PegasosClassifier(lam=LAM, tol=1e-2),
}


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X /= 16.0  # pixels are 0..16
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=0
    )

    table = Table(
        title=f"Handwritten digits: {len(X_train)} rows to train on, "
        f"{len(X_test)} to test, λ = {LAM:g}"
    )
    table.add_column("model")
    for name in ("test error", "seconds", "steps", "worst objective", "worst gap"):
        table.add_column(name, justify="right")

    for name, model in MODELS.items():
        # The first fit of its kind on a machine compiles the inner loops: keep that out
        # of the clock.
        with warnings.catch_warnings(action="ignore"):
            clone(model).set_params(tol=None, max_iter=1).fit(X_train, y_train)
        start = perf_counter()
        model.fit(X_train, y_train)
        seconds = perf_counter() - start
        table.add_row(
            name,
            f"{1 - model.score(X_test, y_test):.2%}",
            f"{seconds:.3f}",
            f"{np.max(model.n_iter_):,}",
            f"{np.max(model.objective_):.4f}",
            f"{np.max(model.dual_gap_):.4f}",
        )

    console = Console()
    console.print(table)
    console.print(
        "Ten one-vs-rest problems are solved at once; the gap is a certified bound on "
        "how far an objective is from the best possible one, the worst of the ten is "
        "shown, and sdca and auto run until every gap is at most 0.01."
    )


if __name__ == "__main__":
    main()
