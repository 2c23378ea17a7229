"""Models of two-dimensional rows after T steps: what `pegasos watch` shows.

Pegasos as it is, projected and averaged, dual coordinate ascent, and the textbook's SMO, each with a certificate: the
objective P, a lower bound D of the optimum by duality, and their gap.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.textbook import smo

if TYPE_CHECKING:
    from pegasos.io import Dataset

FRAMES = 44
MOST_ROWS = 150  # each is evaluated at every point of the pictures
MARGIN = 0.12  # of the range of the rows, around them
TOYS = ("moons", "circles", "blobs")
VARIANTS: dict[str, dict[str, Any]] = {
    "Pegasos": {},
    "Pegasos, projected": {"project": True},
    "Pegasos, averaged": {"average": "weighted"},
    "SDCA": {"solver": "sdca", "sampling": "shuffle"},
}


@dataclass
class Plane:
    """Rows of two features with labels of ±1, and how they came about."""

    X: np.ndarray
    y: np.ndarray
    names: list[str]  # of the two features, then of the classes −1 and +1
    note: str


def toy(name: str, seed: int) -> Plane:
    """A generated set: two moons, a ring around a disc, or two clouds that overlap."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    if name == "moons":
        X, y = make_moons(MOST_ROWS, noise=0.22, random_state=seed)
    elif name == "circles":
        X, y = make_circles(MOST_ROWS, noise=0.13, factor=0.45, random_state=seed)
    else:
        X, y = make_blobs(MOST_ROWS, centers=[[-1, -0.6], [1, 0.6]], cluster_std=0.9, random_state=seed)
    return Plane(standardised(X), np.where(y == 1, 1.0, -1.0), ["x₁", "x₂", "0", "1"], f"{name}, {len(y)} rows")


def plane_of(data: Dataset, classes: tuple[str, str] | None, seed: int) -> Plane:
    """Two classes of a data set in the plane: its two features, or the two principal components of more."""
    found = np.unique(data.y)
    if classes is not None:
        texts = [str(label) for label in found]
        for name in classes:
            if name not in texts:
                raise ValueError(f"{data.name} has no class {name!r}; it has {', '.join(texts[:20])}.")
        found = found[[texts.index(name) for name in classes]]
    elif len(found) < 2:
        raise ValueError(f"{data.name} has one class only; two are needed to watch a boundary between them.")
    low, high = found[:2]
    rows = np.flatnonzero((data.y == low) | (data.y == high))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False))
    X = data.X[rows]
    X = standardised(X.toarray() if hasattr(X, "toarray") else np.asarray(X, float))
    names = list(data.feature_names or ["x₁", "x₂"])
    note = f"{data.name}, classes {low} and {high}, {len(rows)} rows"
    if X.shape[1] == 1:
        X = np.column_stack([X, np.zeros(len(X))])
        names = [names[0], ""]
    elif X.shape[1] > 2:
        from sklearn.decomposition import PCA

        X = standardised(PCA(2, random_state=seed).fit_transform(X))
        names = ["first principal component", "second principal component"]
        note += f", two principal components of {data.n_features} features"
    return Plane(X, np.where(data.y[rows] == high, 1.0, -1.0), [*names[:2], str(low), str(high)], note)


def standardised(X) -> np.ndarray:
    """Features of mean 0 and standard deviation 1; constant ones are 0."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def frames_of(plane: Plane, kernel: str, gamma: float, lam: float, steps: int, seed: int) -> dict[str, Any]:
    """Everything that the page draws: rows, the steps that are shown, and each algorithm's models at these steps.

    A model is its coefficients, f(x) = Σ a_i K(x_i, x) + b; the penalised constant feature of Pegasos and SDCA is b.
    """
    X, y = plane.X, plane.y
    K = X @ X.T if kernel == "linear" else np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    Ts = np.unique(np.geomspace(1, steps, FRAMES).astype(int))
    panels: list[dict[str, Any]] = [
        {"name": name, "frames": [frame_of(K, y, lam, int(T), seed, variant) for T in Ts]}
        for name, variant in VARIANTS.items()
    ]
    panels.append({"name": "SMO", "frames": smo_frames(K, y, lam, Ts)})
    best = max(frame["dual"] for panel in panels[:-1] for frame in panel["frames"])
    R = float(np.sqrt((K.diagonal() + 1).max()))
    reach = [[float(X[:, i].min()), float(X[:, i].max())] for i in (0, 1)]
    around = [[low - MARGIN * (high - low or 1), high + MARGIN * (high - low or 1)] for low, high in reach]
    return {
        "rows": np.round(X, 4).tolist(), "labels": y.astype(int).tolist(), "names": plane.names, "note": plane.note,
        "kernel": kernel, "gamma": gamma, "lam": lam, "steps": Ts.tolist(), "panels": panels, "around": around,
        "optimum": best, "bound": [float(2 * R**2 * (1 + np.log(T)) / (lam * T)) for T in Ts],
    }  # fmt: skip


def frame_of(K, y, lam: float, T: int, seed: int, variant: dict[str, Any]) -> dict[str, Any]:
    """A model of ours after T steps."""
    from pegasos import PegasosClassifier

    fixed: dict[str, Any] = {"solver": "pegasos", "sampling": "replacement", "average": False}
    model = PegasosClassifier(
        kernel="precomputed", lam=lam, max_steps=T, tol=None, fit_intercept=True, random_state=seed,
        **{**fixed, **variant},
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few steps
        model.fit(K, y)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    counts = np.zeros(len(y), int)
    counts[model.support_] = model.violations_[0]
    P, gap = float(model.objective_[0]), float(model.dual_gap_[0])
    return {"a": rounded(a), "b": float(model.intercept_[0]), "counts": counts.tolist(), "objective": P,
            "dual": P - gap, "gap": gap, "support": int((a != 0).sum())}  # fmt: skip


def smo_frames(K, y, lam: float, Ts) -> list[dict[str, Any]]:
    """The textbook's SMO after so many steps, at C = 1/(λ·rows); its b is not penalised."""
    C, found = 1 / (lam * len(y)), []
    for T in Ts:
        model = smo(K, y, C, tol=1e-4, max_steps=int(T))
        signed = model.alpha * y
        w2 = float(signed @ K @ signed)
        P = lam / 2 * w2 + float(np.maximum(0, 1 - y * (K @ signed + model.b)).mean())
        D = lam * (float(model.alpha.sum()) - w2 / 2)
        counts = np.bincount([row for step in model.history for row in step[:2]], minlength=len(y))
        found.append({"a": rounded(signed), "b": model.b, "counts": counts.tolist(), "objective": P, "dual": D,
                      "gap": P - D, "support": int((model.alpha > 0).sum())})  # fmt: skip
    return found


def rounded(values) -> list[float]:
    """Numbers of five significant digits, as a page holds thousands of them."""
    return [float(f"{value:.5g}") for value in values]
