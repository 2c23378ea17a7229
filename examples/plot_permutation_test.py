"""
Could it be chance? A permutation test
======================================

Labels are shuffled a thousand times, and the classifier is cross-validated on each
version. How often is it as good as on the true labels?
"""

# %%
# Two data sets of the same size
# ------------------------------
# In one of them two of 50 features tell the classes apart, in the other nothing does.
# With 60 rows an accuracy well above one half may be luck, which is what the test is
# for.

import time

import matplotlib.pyplot as plt
import numpy as np

from pegasos import PegasosClassifier
from pegasos.model_selection import permutation_test_score
from pegasos.plotting import NullDistributionDisplay

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 30)
noise = rng.normal(size=(60, 50))
signal = noise.copy()
signal[:, :2] += 1.2 * y[:, None]

# %%
# All fits at once
# ----------------
# The function is that of scikit-learn, by name and parameters. The 1001 versions of the
# labels and their five folds are columns over one kernel matrix; ``gamma`` is a number,
# because "scale" would be another one in each training set.

model = PegasosClassifier(kernel="rbf", gamma=0.01)
permutation_test_score(
    model, signal, y, n_permutations=1
)  # the first call on a machine compiles its loops
fig, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharex=True, layout="constrained")
for ax, X, title in zip(
    axes, (signal, noise), ("Two features differ", "Nothing but noise"), strict=True
):
    began = time.perf_counter()
    score, null_scores, pvalue = permutation_test_score(
        model, X, y, n_permutations=1000, random_state=0
    )
    seconds = time.perf_counter() - began
    print(
        f"{title}: accuracy {score:.2f}, p = {pvalue:.3f}; 5005 fits in {seconds:.2f} s"
    )
    NullDistributionDisplay(
        null_scores, score, pvalue, score_name="cross-validated accuracy"
    ).plot(ax=ax)
    ax.set(title=title, ylim=(0, 1.3 * ax.get_ylim()[1]))
plt.show()

# %%
# The p-value counts the true labels among the permutations, so that it is never zero:
# (1 + those at least as good) / (1 + permutations).
