"""The measured examples of docs/from-sklearn.md: scikit-learn's class and ours by turns, as a table in Markdown."""

import warnings
from collections.abc import Callable
from statistics import median
from time import perf_counter

from sklearn import datasets, model_selection, svm
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import pegasos.model_selection
import pegasos.svm
from pegasos import PegasosClassifier, PegasosSearchCV

SECONDS = 20.0  # a case takes turns for so long, three at least


def race(ours: Callable, theirs: Callable) -> tuple[list[float], list[float]]:
    """Seconds of both, which take turns; the first call of each is warm-up."""
    times: tuple[list[float], list[float]] = ([], [])
    started, turn = perf_counter(), 0
    while turn < 4 or perf_counter() - started < SECONDS:
        for k, job in sorted(enumerate((ours, theirs)), reverse=turn % 2 == 1):
            began = perf_counter()
            job()
            if turn > 0:
                times[k].append(perf_counter() - began)
        turn += 1
    return times


def shown(seconds: list[float]) -> str:
    """The least and the median, in milliseconds: where other work shares the machine, the least says more."""
    least, middle = 1000 * min(seconds), 1000 * median(seconds)
    digits = 0 if least >= 100 else 1
    return f"{least:.{digits}f} ms ({middle:.{digits}f})"


def main() -> None:
    """Print the rows of the table."""
    warnings.simplefilter("ignore")
    digits, numerals = datasets.load_digits(return_X_y=True)
    digits /= 16
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    friedman, target = datasets.make_friedman1(2000, random_state=0)
    grid = {"C": [0.1, 1, 10, 100], "gamma": [0.1, 0.25, 0.5]}
    sgd = SGDClassifier(alpha=1e-3, max_iter=20, tol=None, random_state=0)
    textbook = PegasosClassifier(lam=1e-3, solver="pegasos", max_iter=20, random_state=0)
    optimum = PegasosClassifier(lam=1e-3)
    permuted = dict(n_permutations=100, random_state=0)
    hinge = svm.LinearSVC(C=0.01, loss="hinge")
    cases = (
        ("`SVC(C=10)`", "digits, 1797 × 64", pegasos.svm.SVC(C=10), svm.SVC(C=10), (digits, numerals)),
        ("`LinearSVC()`", "breast cancer, 569 × 30", pegasos.svm.LinearSVC(), svm.LinearSVC(), (X, y)),
        ("`SVR(C=10)`", "Friedman 1, 2000 × 10", pegasos.svm.SVR(C=10), svm.SVR(C=10), (friedman, target)),
        ("`OneClassSVM(nu=0.1)`", "digits, 1797 × 64", pegasos.svm.OneClassSVM(nu=0.1), svm.OneClassSVM(nu=0.1),
         (digits,)),
        ("20 epochs, `solver='pegasos'`", "breast cancer", textbook, sgd, (X, y)),
        ("the same, to the optimum", "breast cancer", optimum, sgd, (X, y)),
        ("4 C × 3 gamma × 5 folds, rbf, n_jobs=2", "digits", PegasosSearchCV(PegasosClassifier(kernel="rbf"), grid),
         model_selection.GridSearchCV(svm.SVC(), grid, n_jobs=2), (digits, numerals)),
    )  # fmt: skip
    for what, data, ours, theirs, rows in cases:
        mine, other = race(
            lambda model=ours, rows=rows: model.fit(*rows), lambda model=theirs, rows=rows: model.fit(*rows)
        )
        print(f"| {what} | {data} | {shown(mine)} | {shown(other)} | {min(other) / min(mine):.2g} × |", flush=True)
    mine, other = race(
        lambda: pegasos.model_selection.permutation_test_score(PegasosClassifier(C=0.01), X, y, **permuted),
        lambda: model_selection.permutation_test_score(hinge, X, y, n_jobs=2, **permuted),
    )
    what = "100 permutations × 5 folds, linear, hinge, C 0.01, n_jobs=2"
    print(f"| {what} | breast cancer | {shown(mine)} | {shown(other)} | {min(other) / min(mine):.2g} × |")


if __name__ == "__main__":
    main()
