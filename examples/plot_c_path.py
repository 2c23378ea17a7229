"""
A path over C with warm starts
==============================

Forty values of C, from almost no model to one that fits every row it can: each fit
begins at the optimum of the last.
"""

# %%
# Warm and cold
# -------------
# With ``warm_start=True`` a fit of the same rows with another C begins where the last
# one ended. What is counted are steps, each a look at one row; both ways end at the
# same certified gap.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pegasos import PegasosClassifier

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
X_train, X_test, y_train, y_test = train_test_split(
    X, data.target, stratify=data.target, random_state=0
)
strengths = np.geomspace(1e-4, 10, 40)
settings = dict(solver="sdca", tol=1e-3, max_iter=100_000, random_state=0)
path = PegasosClassifier(**settings, warm_start=True)
warm, cold, coefs, scores, gaps = [], [], [], [], []
for C in strengths:
    before = getattr(path, "t_", np.zeros(1, int)).sum()
    path.set_params(C=C).fit(X_train, y_train)
    warm.append(path.t_.sum() - before)
    cold.append(PegasosClassifier(**settings, C=C).fit(X_train, y_train).t_.sum())
    coefs.append(path.coef_[0].copy())
    scores.append((path.score(X_train, y_train), path.score(X_test, y_test)))
    gaps.append(path.relative_gap_[0])
print(f"steps of all fits: {sum(warm):,} warm, {sum(cold):,} cold")
print(f"relative gaps at most {max(gaps):.1e}")

# %%
# The path
# --------
# With a small C all coefficients are near 0; as it grows the model trusts single rows
# more and more.

fig, axes = plt.subplots(3, 1, figsize=(6.5, 7.5), layout="constrained", sharex=True)
axes[0].plot(strengths, coefs, linewidth=1)
axes[0].set(title="Coefficients", ylabel="coefficient", xscale="log")
axes[1].plot(strengths, scores, label=["training rows", "other rows"])
axes[1].set(title="Accuracy", ylabel="accuracy")
axes[1].legend()
axes[2].plot(strengths, np.cumsum(cold), label="each from the beginning")
axes[2].plot(strengths, np.cumsum(warm), label="each from the last")
axes[2].set(title="Steps so far", xlabel="C", ylabel="steps", yscale="log")
axes[2].legend()
plt.show()
