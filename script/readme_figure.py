"""Draw docs/images/readme.png: a decision boundary with its margins, and the certificate closing in on the optimum."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from pegasos import PegasosClassifier

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "readme.png"
BLUE, RED, GREY = "#3b6fb6", "#c8503c", "#666666"


def boundary(axes) -> None:
    """An rbf machine in the plane: the boundary, the margins, the support vectors."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = PegasosClassifier(kernel="rbf", gamma=1.0, C=10).fit(X, y)
    across, up = np.meshgrid(np.linspace(-1.8, 2.8, 300), np.linspace(-1.3, 1.8, 220))
    scores = model.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    axes.contourf(across, up, scores, levels=[-9, 0, 9], colors=[BLUE, RED], alpha=0.12)
    axes.contour(across, up, scores, levels=[-1, 0, 1], colors=GREY, linestyles=["--", "-", "--"], linewidths=1.2)
    axes.scatter(*X.T, c=np.where(y == 1, RED, BLUE), s=14, linewidths=0)
    axes.scatter(*model.support_vectors_.T, s=44, facecolors="none", edgecolors=GREY, linewidths=0.8)
    axes.set(xticks=[], yticks=[], title=f"rbf, 300 rows, {len(model.support_)} support vectors")


def certificate(axes) -> None:
    """Objective and proven lower bound after passes 1, 2, 4, ...; the optimum lies between them."""
    X, y = load_digits(return_X_y=True)
    model = PegasosClassifier(lam=1e-3, solver="sdca", tol=1e-5, random_state=0).fit(X / 16, y == 8)
    passes = np.array([record["step"] for record in model.history_]) / len(X)
    above = np.array([record["objective"] for record in model.history_])
    below = above - [record["gap"] for record in model.history_]
    axes.fill_between(passes, below, above, color=BLUE, alpha=0.15, label="the optimum is in here")
    axes.plot(passes, above, "o-", color=BLUE, markersize=3.5, label="objective of the model")
    axes.plot(passes, below, "o-", color=RED, markersize=3.5, label="proven lower bound")
    axes.set(xscale="log", xlabel="passes over the rows", title="digits, 8 against the rest: the certificate")
    axes.legend(frameon=False, loc="center right")


def main() -> None:
    plt.rcParams.update({"font.size": 9.5, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
    boundary(left)
    certificate(right)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
