"""
Probabilities that can be relied on
===================================

A support vector machine gives scores, not probabilities. They are calibrated by scores
of rows that a model has not seen, with the folds of that as columns of the same run.
"""

# %%
# Three ways
# ----------
# ``probability="sigmoid"`` fits Platt's sigmoid to the scores, "isotonic" a rising step
# function, and ``loss="log_loss"`` is logistic regression with a kernel, which needs no
# calibration. ``predict`` goes by the scores in any case.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split

from pegasos import PegasosClassifier
from pegasos.plotting import ReliabilityDisplay

X, y = make_classification(
    6000,
    10,
    n_informative=6,
    n_clusters_per_class=3,
    flip_y=0.15,
    class_sep=0.6,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=1500, random_state=0
)
rbf = dict(kernel="rbf", gamma=0.1, C=1.0)
models = {
    "sigmoid": PegasosClassifier(**rbf, probability="sigmoid"),
    "isotonic": PegasosClassifier(**rbf, probability="isotonic"),
    "log loss": PegasosClassifier(**rbf | {"C": 5.0}, loss="log_loss"),
}


class Squashed:
    """Scores made probabilities by hand: what calibration is there to mend."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_

    def predict_proba(self, X):
        positive = 1 / (1 + np.exp(-self.model.decision_function(X)))
        return np.column_stack([1 - positive, positive])


fitted = {name: model.fit(X_train, y_train) for name, model in models.items()}
fitted = {"scores squashed by hand": Squashed(fitted["sigmoid"]), **fitted}

# %%
# Reliability curves
# ------------------
# Of all rows that were given a probability near 0.8, eight in ten should be of that
# class: then the curve lies on the diagonal. Scores squashed by hand are too timid:
# most rows are surer than they say. The isotonic steps lie on the diagonal, too, but
# give some rows a probability of 0 or 1, which the log loss punishes where it is wrong.

fig, axes = plt.subplots(
    2, 2, figsize=(6.6, 6.6), layout="constrained", sharex=True, sharey=True
)
for ax, (name, model) in zip(axes.ravel(), fitted.items(), strict=True):
    ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=ax)
    given = model.predict_proba(X_test)
    ax.set_title(f"{name}: log loss {log_loss(y_test, given):.3f}", fontsize=10)
    ax.label_outer()
    print(
        f"{name:24} log loss {log_loss(y_test, given):.4f}, Brier score "
        f"{brier_score_loss(y_test, given[:, 1]):.4f}"
    )
plt.show()
