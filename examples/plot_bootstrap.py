"""
How sure are the coefficients? Bootstrap intervals
==================================================

A linear model is fitted to a thousand resamples of the rows, and the spread of each
coefficient tells how far it can be relied on.
"""

# %%
# A thousand resamples in one call
# --------------------------------
# A row that is drawn twice has twice the weight, so that all resamples share the same
# rows and differ only in weights. With ``bca=True`` the model is also fitted without
# each row in turn, which corrects the intervals for bias and skew.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from pegasos import PegasosClassifier
from pegasos.model_selection import bootstrap
from pegasos.plotting import IntervalsDisplay

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
model = PegasosClassifier(C=0.1)
began = time.perf_counter()
resampled = bootstrap(model, X, data.target, n_resamples=1000, bca=True, random_state=0)
print(
    f"{1001 + len(X)} fits of {len(X)} × {X.shape[1]} in "
    f"{time.perf_counter() - began:.1f} s"
)

# %%
# Which features matter
# ---------------------
# Intervals in blue do not contain 0: these features speak for benign (right) or
# malignant (left) in nearly all resamples.

low, high = resampled.interval("coef", method="bca")[:, 0]
coef = resampled.estimate["coef"][0]
fig, ax = plt.subplots(figsize=(6.5, 6.5), layout="constrained")
IntervalsDisplay(
    data.feature_names, coef, low, high, value_name="coefficient, 95 % interval"
).plot(ax=ax)
ax.set_title("Coefficients of a linear model for breast cancer")
plt.show()

# %%
# The score has an interval, too
# ------------------------------
# Each model is scored on the rows that its resample left out.

ends = resampled.interval("scores")
print(
    f"accuracy {np.nanmean(resampled.scores):.3f}, 95 % of the resamples between "
    f"{ends[0]:.3f} and {ends[1]:.3f}"
)
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.hist(resampled.scores, bins=20, color="tab:blue", alpha=0.75)
ax.axvspan(*ends, color="tab:orange", alpha=0.2, label="95 % of the resamples")
ax.set(
    xlabel="accuracy on rows left out",
    ylabel="resamples",
    title="What another sample might have given",
)
ax.legend()
plt.show()
