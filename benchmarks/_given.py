"""What each contestant is given, in words for the tables: every other parameter is the library's default.

Ours is in the settings of the results. A peer whose name in the results is how it is made needs no words here.
"""

_SOONEST = "as few epochs as get there"
_PAIRS = "OneVsOneClassifier(LinearSVC(loss='hinge', C=1/12), n_jobs={}), float64"
_PERMUTED = "permutation_test_score({}, n_jobs=2), timed on {} permutations, times {}"

PEERS: dict[str, dict[str, str]] = {
    "many": {
        "permutation_test_score(SVC, n_jobs=2), timed on 400": _PERMUTED.format(
            "SVC(kernel='precomputed')", 400, "10001/401"
        ),
        "permutation_test_score(SVC, n_jobs=2), timed on 40": _PERMUTED.format("SVC(gamma=0.05)", 40, "1001/41"),
        "a loop of LinearSVC": "a loop of LinearSVC(), a fit for each resample, with the rows copied",
        "OneVsRestClassifier(LinearSVC(loss='hinge'), n_jobs=2), timed on 100 labels": "OneVsRestClassifier("
        "LinearSVC(loss='hinge'), n_jobs=2), timed on 100 labels, times 40",
        "CalibratedClassifierCV(SVC, ensemble=False, n_jobs=2)": "CalibratedClassifierCV(SVC(gamma=0.02), "
        "ensemble=False, n_jobs=2), 5 folds",
        "cross_val_score(SVC)": "cross_val_score(SVC())",
    },
    "engine": {
        "its arithmetic": "one X @ X.T, and the multiplications of the steps at the rate of a large sgemm, in turns",
        "45 SGDClassifier fits": "SGDClassifier(loss='hinge', alpha=1e-4, max_iter=5, tol=None) on rows cut out before",
        "45 SGDClassifier fits, 2 threads": "the same, two fits at a time",
    },
    "kernel_usps": {
        "SVC": "SVC(C=10, gamma=1/32), float64",
        "intelex SVC": "scikit-learn-intelex's SVC(C=10, gamma=1/32), float32",
        "snapml SVM": "SupportVectorMachine(kernel='rbf', gamma=1/32, regularizer=1/10, n_components=1000, n_jobs=2)",
        "Nystroem + LinearSVC": "Nystroem(gamma=1/32, n_components=1000), LinearSVC(loss='hinge', C=10), float64",
        "torchkm SVC": "TorchKMSVC(kernel='rbf', rbf_sigma=1/64, Cs=[10], cv=2, device='cpu'), once",
    },
    "kernel_mnist": {
        "SVC": "SVC(C=5, gamma=0.02), float64",
        "intelex SVC": "scikit-learn-intelex's SVC(C=5, gamma=0.02), float32",
    },
    "kernel_large": {"9 × SVC on a third": "SVC(C=5, gamma=0.02) on 20 000 rows, times (60 000 / 20 000)²: not run"},
    "pairs": {"LinearSVC pairs": _PAIRS.format(None), "LinearSVC pairs, n_jobs=2": _PAIRS.format(2) + ", once"},
    "news20": {
        "SGDClassifier": "SGDClassifier(loss='hinge', alpha=1e-4, max_iter=10, tol=None, n_jobs=2), float64",
        "LinearSVC": "LinearSVC(loss='hinge', C=1/(1e-4 n)), float64",
    },
    "rcv1": {
        "LinearSVC": f"LinearSVC(loss='hinge', C=1/(1e-4 n), fit_intercept=False, tol=1e-9), {_SOONEST}",
        "SGDClassifier": "SGDClassifier(loss='hinge', alpha=1e-4, average=True, fit_intercept=False, tol=None), "
        + _SOONEST,
        "snapml SVM": f"SupportVectorMachine(regularizer=1e-4 n, tol=0, n_jobs=2), float32, {_SOONEST}",
        "skglm LinearSVC": "LinearSVC(C=1/(1e-4 n), p0=1000, fit_intercept=False), the largest tol that gets there",
    },
    "covtype": {
        "LinearSVC": "LinearSVC(loss='hinge', C=1/(1e-6 n), max_iter=250), once",
        "SGDClassifier": "SGDClassifier(loss='hinge', alpha=1e-6, tol=None), up to 50 epochs",
    },
    "prediction": {
        "SVC": "SVC(), float64, fitted on the same rows",
        "LinearSVC": "LinearSVC(), float64, fitted on the same rows",
        "before": "the model as it was fitted",
    },
    "gpu": {"its limit": "multiplications and bytes moved, at the rates measured in the same run"},
}


def ours_of(results: dict) -> list[str]:
    """Ours in code: the settings of a claim, or those of each of its parts."""
    settings = results["settings"]
    if not settings:
        return []
    parts = {name: value for name, value in settings.items() if isinstance(value, dict)}
    if parts:
        return [f"{name}: `{call(part)}`" for name, part in parts.items()]
    if any(isinstance(value, str) and " " in value for value in settings.values()):  # told, not set
        return [f"{value}" if name == "ours" else f"{name} {value}" for name, value in settings.items()]
    return [f"`{call(settings)}`"]


def call(settings: dict) -> str:
    """Settings as the arguments of a call."""
    shown = lambda value: f"{value:.4g}" if isinstance(value, float) else repr(value)
    return ", ".join(f"{name}={shown(value)}" for name, value in settings.items())


def peer_of(claim: str, name: str) -> str | None:
    """What a peer was given; None: its name says it all."""
    return PEERS.get(claim, {}).get(name)
