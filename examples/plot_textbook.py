"""
Pegasos, SDCA and SMO side by side
==================================

Three algorithms for one problem, as textbooks have them, and the estimator that gives
the same numbers.
"""

# %%
# Plain NumPy
# -----------
# :mod:`pegasos.textbook` has the algorithms to be read: one step at a time, numbered
# like the lines of their documents. Kernel Pegasos counts how often each drawn row was
# short of its margin.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from pegasos import PegasosClassifier, textbook
from pegasos.plotting import ConvergenceDisplay, Curve

X, labels = make_moons(150, noise=0.25, random_state=0)
y, lam, gamma = np.where(labels == 1, 1, -1), 0.01, 1.0
K = rbf_kernel(X, gamma=gamma)
draws = textbook.draws_of(len(X), 5000, random_state=0)
counts = textbook.kernel_pegasos(K, y, lam, draws)

# %%
# The estimator takes the same steps, if it draws the same rows; only sooner.

settings = dict(kernel="rbf", gamma=gamma, lam=lam, random_state=0)
as_written = dict(solver="pegasos", sampling="replacement", average=False)
model = PegasosClassifier(**settings, **as_written, max_steps=5000).fit(X, y)
same = np.zeros(len(X), int)
same[model.support_] = model.violations_[0]
print(f"the same counts for all {len(counts)} rows: {np.array_equal(same, counts)}")

# %%
# Three ways to the optimum
# -------------------------
# Pegasos goes down the objective by the row that was drawn, SDCA up the dual by the row
# that was drawn, SMO up the dual by the pair of rows that is worst, for which it looks
# at all of them. (SMO has an intercept that is not penalised, so that its optimum is
# another one.)


def objective(coefficients):
    """λ/2‖w‖² + the mean hinge loss of the model Σ c_i K(x_i, ·)."""
    scores = K @ coefficients
    return lam / 2 * coefficients @ scores + np.maximum(0, 1 - y * scores).mean()


def after(T, **more):
    """The objective after T steps."""
    model = PegasosClassifier(**settings, **more, tol=None, max_steps=int(T))
    return model.fit(X, y).objective_[0]


best = PegasosClassifier(**settings, tol=1e-10, max_iter=100_000).fit(X, y)
optimum = best.objective_[0]
steps = np.unique(np.geomspace(50, 30_000, 30).astype(int))
last = [
    objective(textbook.kernel_pegasos(K, y, lam, draws[:T]) * y / (lam * T))
    for T in steps[steps <= len(draws)]
]
averaged = [after(T, solver="pegasos") - optimum for T in steps]
ascent = [after(T, solver="sdca", average=False) - optimum for T in steps]
curves = [
    Curve("Pegasos, last model", steps[: len(last)], np.array(last) - optimum),
    Curve("Pegasos, weighted average", steps, averaged),
    Curve("SDCA", steps, ascent),
]

# %%
# SMO says of itself how far the dual has come; C = 1/(λ n), and its dual is n times as
# large.

C = 1 / (lam * len(X))
duals = np.array([record[3] for record in textbook.smo(K, y, C, tol=1e-6).history])
behind = (duals[-1] - duals[:-1]) / (C * len(X))
curves.append(Curve("SMO, its dual", np.arange(1, len(duals)), behind))
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
display = ConvergenceDisplay(
    curves, xlabel="steps", ylabel="distance from the optimum", logy=True
)
display.plot(ax=ax)
ax.legend(loc="lower left")
ax.set(xlim=(0.05, 5e4), ylim=(1e-8, 3), title="150 rows, a Gaussian kernel, λ = 0.01")
plt.show()

# %%
# Pegasos comes near the optimum within a few passes and then takes its time: its
# distance falls like 1/T. That is why a fit ends at the optimum by another solver
# unless its steps are asked for.
