"""
In the place of scikit-learn's SVC
==================================

One line changes: the import. What is the same, and what is new?
"""

# %%
# The same model
# --------------
# :mod:`pegasos.svm` has scikit-learn's support vector machines by name, with their
# parameters, defaults and attributes.

import time

import matplotlib.pyplot as plt
import numpy as np
import sklearn.svm
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

import pegasos.svm

X, y = make_classification(
    4000,
    40,
    n_informative=15,
    n_classes=5,
    n_clusters_per_class=2,
    class_sep=1.5,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
theirs = sklearn.svm.SVC(C=2.0).fit(X_train, y_train)
ours = pegasos.svm.SVC(C=2.0).fit(X_train, y_train)
same = np.mean(theirs.predict(X_test) == ours.predict(X_test))
print(f"accuracy {ours.score(X_test, y_test):.4f}, same labels for {same:.2%} of rows")
print(f"support vectors {theirs.n_support_.tolist()} and {ours.n_support_.tolist()}")

# %%
# Both end at ``tol=1e-3``, the largest violation of the conditions of the optimum, so
# scores differ by about as much.

pairs = [
    pair.set_params(decision_function_shape="ovo").decision_function(X_test)
    for pair in (theirs, ours)
]
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.hist((pairs[1] - pairs[0]).ravel(), bins=60)
ax.set(xlabel="score of ours − score of theirs", ylabel="scores of pairs")
ax.set_title("Ten pairs of classes, 1000 rows")
plt.show()

# %%
# What is new
# -----------
# Each pair says how far from its optimum it can be, a fit can be limited in time, and a
# model can be kept in a file without pickle.

print(
    f"relative gap at most {ours.relative_gap_.max():.1e}, converged "
    f"{ours.converged_.all()}"
)

# %%
# Time
# ----
# All pairs of classes share their kernel values. Medians of three fits on the machine
# that made this page, where neither is given more than one thread.

for machine in (sklearn.svm.SVC(C=2.0), pegasos.svm.SVC(C=2.0, n_jobs=1)):
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        machine.fit(X_train, y_train)
        seconds.append(time.perf_counter() - began)
    print(f"{type(machine).__module__}: {np.median(seconds):.3f} s")

# %%
# A fitted machine of scikit-learn can be taken over, and given back:

taken_over = pegasos.from_sklearn(theirs)
given_back = pegasos.to_sklearn(taken_over)
print(np.array_equal(given_back.predict(X_test), theirs.predict(X_test)))
