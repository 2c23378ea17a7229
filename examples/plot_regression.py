"""
Regression with a tube
======================

Errors below ε cost nothing, and larger ones only as much as they exceed it: the curve
ignores noise within the tube, and rows far off do not drag it along.
"""

# %%
# A curve, noise, and some rows far off
# -------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge

from pegasos import PegasosRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 150))
truth = lambda x: np.sin(x) + 0.1 * x
y = truth(x) + 0.15 * rng.normal(size=150)
y[::12] += 2.5  # faulty readings, all on one side
X, grid = x[:, None], np.linspace(0, 10, 400)[:, None]

# %%
# Wider tubes have fewer support vectors
# --------------------------------------
# Only rows on the edge of the tube or beyond it are kept in the model.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
for ax, epsilon in zip(axes, (0.05, 0.2, 0.5), strict=True):
    model = PegasosRegressor(kernel="rbf", gamma=0.5, C=5, epsilon=epsilon).fit(X, y)
    curve = model.predict(grid)
    ax.scatter(x, y, s=10, color="silver", label="rows")
    ax.scatter(
        x[model.support_],
        y[model.support_],
        s=14,
        color="tab:orange",
        label="support vectors",
    )
    ax.plot(grid, curve, color="tab:blue", label="model")
    ax.fill_between(
        grid[:, 0], curve - epsilon, curve + epsilon, color="tab:blue", alpha=0.2
    )
    ax.set(title=f"ε = {epsilon}: {len(model.support_)} support vectors", xlabel="x")
axes[0].legend(loc="upper left")
axes[0].set(ylabel="y", ylim=(-1, 7))
plt.show()

# %%
# Beside least squares
# --------------------
# A squared error grows with the square of the distance, so that the faulty readings
# lift the whole curve.

svm = PegasosRegressor(kernel="rbf", gamma=0.5, C=5, epsilon=0.1).fit(X, y)
squares = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X, y - y.mean())
fitted = {
    "support vector regression": svm.predict(grid),
    "least squares": squares.predict(grid) + y.mean(),
}
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.scatter(x, y, s=10, color="silver")
ax.plot(grid, truth(grid), color="black", linestyle="--", label="truth")
for name, curve in fitted.items():
    error = np.abs(curve - truth(grid[:, 0])).mean()
    print(f"{name}: {error:.3f} from the truth on average")
    ax.plot(grid, curve, label=name)
ax.set(
    xlabel="x", ylabel="y", title="Faulty readings above the curve, and who minds them"
)
ax.legend()
plt.show()
print(f"relative gap {svm.relative_gap_[0]:.1e}, converged {svm.converged_[0]}")
