"""
Callbacks, and stopping early
=============================

Something that looks at the model after each pass, keeps what it has seen, and ends the
fit when it has seen enough.
"""

# %%
# A callback
# ----------
# Callbacks are scikit-learn's, of version 1.9 or newer: any object with these four
# methods. After each pass ``on_fit_task_end`` gets a model that predicts; when it
# returns True the fit ends, with a certificate as always.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from pegasos import PegasosClassifier


class StopEarly:
    """End a fit whose score on rows of its own has not improved for some passes."""

    def __init__(self, X, y, patience=5):
        self.X, self.y, self.patience = X, y, patience

    def setup(self, estimator, context):
        self.scores, self.training = [], []

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, fitted_estimator=None
    ):
        if context.parent is None:  # the end of the whole fit
            return False
        self.scores.append(fitted_estimator.score(self.X, self.y))
        self.training.append(fitted_estimator.score(X, y))
        return len(self.scores) - 1 - int(np.argmax(self.scores)) >= self.patience

    def teardown(self, estimator, context):
        pass


# %%
# A fit that would take 200 passes
# --------------------------------

X, y = make_classification(
    3000,
    200,
    n_informative=15,
    n_redundant=0,
    flip_y=0.1,
    class_sep=0.8,
    random_state=0,
)
X_train, X_own, y_train, y_own = train_test_split(X, y, train_size=1000, random_state=0)
watch = StopEarly(X_own, y_own, patience=10)
model = PegasosClassifier(
    kernel="rbf", gamma=0.002, lam=1e-4, solver="pegasos", max_iter=200, random_state=0
)
model.set_callbacks(watch).fit(X_train, y_train)
best = int(np.argmax(watch.scores))
print(
    f"ended after {len(watch.scores)} of 200 passes; best after {best + 1}: "
    f"{watch.scores[best]:.2%}"
)
print(f"relative gap then: {model.relative_gap_[0]:.3f}")

# %%
# What it has seen
# ----------------
# Training goes on to fit the rows it has; rows of its own tell when that is no longer
# of use.

passes = np.arange(1, len(watch.scores) + 1)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(passes, watch.training, "o-", label="rows trained on")
ax.plot(passes, watch.scores, "o-", label="rows of the callback")
ax.axvline(best + 1, color="black", linestyle="--", label="best")
ax.set(xlabel="passes", ylabel="accuracy", title="Stopped ten passes after the best")
ax.legend(loc="center right")
ax.grid(alpha=0.3)
plt.show()

# %%
# ``sklearn.callback.ProgressBar`` is a callback, too:
# ``model.set_callbacks(ProgressBar())``. A search passes callbacks of its own on to all
# fits.
