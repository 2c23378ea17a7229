"""
Ten lines to a tuned model
==========================

From data to a model whose parameters were chosen by cross-validation, a look at its
errors, and a file that holds it.
"""

# %%
# Ten lines
# ---------
# The digits come with scikit-learn. :class:`~pegasos.PegasosSearchCV` takes the place
# of ``GridSearchCV``: all values of C, all folds and all classes of a kernel are
# trained in one run, and the best candidate is fitted on all rows.

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pegasos import PegasosClassifier, PegasosSearchCV

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, stratify=y, random_state=0
)
grid = {"C": [0.1, 1, 10, 100], "gamma": [0.1, 0.2, 0.4, 0.8]}
search = PegasosSearchCV(PegasosClassifier(kernel="rbf"), grid, cv=5).fit(
    X_train, y_train
)
print(
    f"best: {search.best_params_}, {search.best_score_:.2%} right in cross-validation"
)
print(f"on rows it has not seen: {search.score(X_test, y_test):.2%}")

# %%
# Is it done?
# -----------
# A fit goes on until the model is proven to be near the best possible one. There are
# ten columns here, one for each digit against the rest, and each says how far from its
# optimum it can be at most.

model = search.best_estimator_
print(
    f"converged: {model.converged_.all()}; relative gap at most "
    f"{model.relative_gap_.max():.1e}"
)

# %%
# What it gets wrong
# ------------------

import matplotlib.pyplot as plt
import numpy as np

from pegasos.plotting import ConfusionDisplay, SampleImagesDisplay

predicted = search.predict(X_test)
fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
ConfusionDisplay.from_predictions(y_test, predicted, ax=ax)
ax.set_title("Digits that were not trained on")

wrong = np.flatnonzero(predicted != y_test)
labels = [f"{y_test[row]} as {predicted[row]}" for row in wrong]
fig, ax = plt.subplots(figsize=(5, 2))
SampleImagesDisplay(X_test[wrong].reshape(-1, 8, 8), labels, per_row=len(wrong)).plot(
    ax=ax
)
ax.set_title("All its errors")
plt.show()

# %%
# Keep it
# -------
# A model file holds numbers and text only, and the loaded model predicts the same to
# the last bit.

import tempfile
from pathlib import Path

import pegasos

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.safetensors"
    model.save(path)
    loaded = pegasos.load(path)
    print(
        f"{path.stat().st_size / 1000:.0f} kB, same predictions: "
        f"{np.array_equal(loaded.predict(X_test), predicted)}"
    )
