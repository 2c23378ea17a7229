"""
Outliers from one class
=======================

What is ordinary is learned from rows without labels, and what lies outside is an
outlier.
"""

# %%
# Rows without labels
# -------------------
# ``OneClassSVM`` is scikit-learn's by name, parameters and attributes. ``nu`` is,
# about, the share of the training rows that come to lie outside.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from pegasos.svm import OneClassSVM

rng = np.random.default_rng(0)
ordinary, _ = make_blobs(
    600,
    centers=[(-2, -1), (2, 1), (1.5, -2)],
    cluster_std=(0.5, 0.8, 0.4),
    random_state=0,
)
strange = rng.uniform(-5, 5, (40, 2))
across, up = np.meshgrid(np.linspace(-5, 5, 160), np.linspace(-5, 5, 160))
plane = np.column_stack([across.ravel(), up.ravel()])

# %%
# A tighter and a wider border
# ----------------------------

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.5), layout="constrained", sharey=True)
for ax, nu in zip(axes, (0.01, 0.05, 0.2), strict=True):
    model = OneClassSVM(nu=nu, gamma=0.2).fit(ordinary)
    outside = model.predict(ordinary) == -1
    caught = model.predict(strange) == -1
    ax.contourf(
        across,
        up,
        model.decision_function(plane).reshape(across.shape),
        15,
        cmap="Blues",
        alpha=0.6,
    )
    ax.contour(
        across,
        up,
        model.decision_function(plane).reshape(across.shape),
        [0],
        colors="black",
        linewidths=2,
    )
    ax.scatter(
        *ordinary.T,
        s=6,
        color="white",
        edgecolors="tab:blue",
        linewidths=0.6,
        label="ordinary",
    )
    ax.scatter(*strange.T, s=24, marker="x", color="tab:red", label="strange")
    ax.set(
        title=f"nu = {nu}: {outside.mean():.1%} outside,\n{caught.sum()} of "
        f"{len(strange)} strange rows found"
    )
    ax.set(xticks=[], yticks=[])
axes[0].legend(loc="lower left")
plt.show()

# %%
# Learning as rows arrive
# -----------------------
# With landmarks in the place of all rows the machine learns online: each call of
# ``partial_fit`` takes further rows, and none is kept.

online = OneClassSVM(nu=0.05, gamma=0.2, n_landmarks=50, random_state=0)
shares = []
for _ in range(40):
    online.partial_fit(ordinary[rng.choice(len(ordinary), 150)])
    shares.append((online.predict(ordinary) == -1).mean())
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(150 * np.arange(1, len(shares) + 1), shares)
ax.axhline(0.05, color="black", linestyle="--", linewidth=1, label="nu")
ax.set(xlabel="rows seen", ylabel="share outside", title="Online, on 50 landmarks")
ax.legend()
plt.show()
