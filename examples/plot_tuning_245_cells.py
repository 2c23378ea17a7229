"""
Tuning over 245 cells
=====================

Seven widths, seven values of λ and five lengths of training, each by five-fold
cross-validation: 1225 fits.
"""

# %%
# Which of them share work
# ------------------------
# The values of λ, the folds and the ten classes are columns of one run. Shorter
# trainings are read off as the longest one passes by, so that the five values of
# ``max_steps`` cost their scores alone. What is left are seven kernels, whose matrices
# come from one product of the rows.

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from pegasos import PegasosClassifier, PegasosSearchCV

X, y = load_digits(return_X_y=True)
X, y = X[:1000] / 16, y[:1000]
grid = {
    "gamma": [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2],
    "lam": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0],
    "max_steps": [50, 150, 500, 1500, 5000],
}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
search = PegasosSearchCV(
    PegasosClassifier(kernel="rbf", random_state=0), grid, cv=folds
)
began = time.perf_counter()
search.fit(X, y)
seconds = time.perf_counter() - began
cells = len(search.cv_results_["params"])
print(
    f"{cells} cells × 5 folds × 10 classes in {seconds:.1f} s on {len(X)} rows of "
    f"{X.shape[1]} features"
)
print(f"best: {search.best_params_}, {search.best_score_:.2%} right")

# %%
# Errors over λ and T
# -------------------
# At the best width: after a few steps no model is good; how good it becomes with more
# of them depends on λ.

import matplotlib.pyplot as plt

from pegasos.plotting import PathsDisplay, SearchHeatmapDisplay

fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
SearchHeatmapDisplay.from_estimator(search, x="lam", y="max_steps", ax=ax)
plt.show()

# %%
# Errors over λ and the width
# ---------------------------
# At the longest training. Good cells lie next to each other, and the best is not at an
# edge of the grid.

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
SearchHeatmapDisplay.from_estimator(
    search, x="lam", y="gamma", at={"max_steps": 5000}, ax=ax
)
plt.show()

# %%
# The first map as curves, one for each λ:

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
PathsDisplay.from_estimator(search, x="max_steps", by="lam", ax=ax)
plt.show()

# %%
# ``cv_results_`` is that of scikit-learn's ``GridSearchCV``:

first = np.argsort(search.cv_results_["rank_test_score"])[:5]
for place in first:
    print(
        search.cv_results_["params"][place],
        f"{search.cv_results_['mean_test_score'][place]:.4f}",
    )
