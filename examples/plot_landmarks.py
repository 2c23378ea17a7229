"""
Landmarks against the exact kernel
==================================

A kernel model of a few hundred chosen rows (Nyström's method) beside the model of all
rows: how many does it take?
"""

# %%
# What landmarks are for
# ----------------------
# The kernel matrix of n rows has n² numbers. With ``n_landmarks=m`` each row gets m
# features that stand for the kernel, and a linear model of them is trained: memory
# grows with n · m, and predicting costs m kernel values a row.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from pegasos import PegasosClassifier

X, y = make_classification(
    6000,
    12,
    n_informative=8,
    n_classes=4,
    n_clusters_per_class=3,
    class_sep=1.4,
    flip_y=0.02,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=4000, random_state=0
)
settings = dict(kernel="rbf", gamma=0.05, C=3.0, random_state=0)


def measured(**more):
    """Seconds of a fit, and the accuracy on rows it has not seen."""
    began = time.perf_counter()
    model = PegasosClassifier(**settings, **more).fit(X_train, y_train)
    return time.perf_counter() - began, model.score(X_test, y_test)


for warm_up in ({}, {"n_landmarks": 10}, {"n_landmarks": 20, "landmarks": "k-means++"}):
    measured(**warm_up)  # the first fit of its kind on a machine compiles its loops
exact_seconds, exact_score = measured()
print(f"exact: {exact_score:.2%} in {exact_seconds:.2f} s")

# %%
# Two ways to choose them
# -----------------------
# "uniform" draws rows, "k-means++" prefers rows that are far from those it has.

counts = [10, 20, 50, 100, 200, 400, 800]
found = {
    name: np.array([measured(n_landmarks=count, landmarks=name) for count in counts])
    for name in ("uniform", "k-means++")
}
for count, (seconds, score) in zip(counts, found["uniform"], strict=True):
    print(f"{count:4} landmarks: {score:.2%} in {seconds:.2f} s")

# %%
# Where it pays
# -------------
# Some hundred landmarks come close to the exact model. With only 4000 rows the exact
# kernel is quick as well; what grows with the square of the rows is its matrix, which
# landmarks do without.

fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
for name, values in found.items():
    left.plot(counts, values[:, 1], "o-", label=name)
    right.plot(counts, values[:, 0], "o-", label=name)
left.axhline(exact_score, color="black", linestyle="--", label="all 4000 rows")
right.axhline(exact_seconds, color="black", linestyle="--", label="all 4000 rows")
left.set(
    xscale="log",
    xlabel="landmarks",
    ylabel="accuracy on rows not trained on",
    title="Accuracy",
)
right.set(
    xscale="log",
    yscale="log",
    xlabel="landmarks",
    ylabel="seconds",
    title="Time of a fit on this machine",
)
left.legend()
right.legend()
plt.show()
