"""
Few of one class: class weights
===============================

When one class is rare, a classifier is right most of the time by never finding it.
Weights say what it is worth.
"""

# %%
# One row in twenty-five
# ----------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import precision_recall_curve, precision_score, recall_score

from pegasos import PegasosClassifier

rng = np.random.default_rng(0)


def sample(n_common, n_rare):
    """Rows of two overlapping classes, and which of them are rare."""
    common = rng.normal(size=(n_common, 2)) * (1.6, 1.0)
    rare = rng.normal(size=(n_rare, 2)) * 0.6 + (1.8, 1.9)
    return np.vstack([common, rare]), np.repeat([0, 1], [n_common, n_rare])


X, y = sample(1200, 50)
X_test, y_test = sample(12_000, 500)

# %%
# Three weights
# -------------
# ``class_weight`` multiplies the weight of a row in every column, as ``SVC`` does.
# "balanced" gives both classes the same weight in total; a dictionary says how much
# more an error of the rare class costs.

weights = {
    "no weights": None,
    "an error costs 5 times as much": {1: 5},
    "balanced": "balanced",
}
across, up = np.meshgrid(np.linspace(-5, 5, 150), np.linspace(-3.5, 4, 120))
plane = np.column_stack([across.ravel(), up.ravel()])
models = {
    name: PegasosClassifier(
        kernel="rbf", gamma=0.3, C=1, class_weight=weight, fit_intercept=True
    ).fit(X, y)
    for name, weight in weights.items()
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    predicted = model.predict(X_test)
    found = recall_score(y_test, predicted)
    right = precision_score(y_test, predicted, zero_division=0)
    print(
        f"{name}: {found:.0%} of the rare rows found, {right:.0%} of what is "
        f"called rare is so"
    )
    scores = model.decision_function(plane).reshape(across.shape)
    ax.contourf(across, up, scores, [0, np.inf], colors=["tab:red"], alpha=0.15)
    ax.contour(across, up, scores, [0], colors="black", linewidths=2)
    ax.scatter(*X[y == 0].T, s=5, color="steelblue")
    ax.scatter(*X[y == 1].T, s=10, color="firebrick")
    ax.set(title=f"{name}\n{found:.0%} found, {right:.0%} right", xticks=[], yticks=[])
plt.show()

# %%
# A threshold instead?
# --------------------
# Any model finds more of the rare class if less of a score is asked for. The curves
# show all thresholds; the dots are the models' own, at 0.

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name, model in models.items():
    precision, recall, _ = precision_recall_curve(
        y_test, model.decision_function(X_test)
    )
    (line,) = ax.plot(recall, precision, label=name)
    predicted = model.predict(X_test)
    own = (
        recall_score(y_test, predicted),
        precision_score(y_test, predicted, zero_division=0),
    )
    ax.plot(*own, "o", color=line.get_color(), markersize=8)
ax.set(
    xlabel="share of the rare rows that are found",
    ylabel="share that is right",
    title="All thresholds",
)
ax.legend()
ax.grid(alpha=0.3)
plt.show()
