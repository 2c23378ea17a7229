"""
A decision boundary as T grows
==============================

Pegasos with a Gaussian kernel on two moons, from the first step to the
twenty-thousandth: how the boundary bends, and how the certified gap closes.
"""

# %%
# One run, many models
# --------------------
# With ``warm_start=True`` a fit goes on where the last one ended, so that all frames
# belong to one run of the algorithm; ``max_steps`` counts the further steps. The last
# iterate is shown, not an average, because it moves the most.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from pegasos import PegasosClassifier

# The first models are worse than none at all, which is to be seen here.
warnings.simplefilter("ignore", ConvergenceWarning)
X, y = make_moons(200, noise=0.2, random_state=0)
steps = np.unique(np.geomspace(1, 20_000, 40).astype(int))
across, up = np.meshgrid(np.linspace(-1.8, 2.8, 140), np.linspace(-1.3, 1.8, 100))
plane = np.column_stack([across.ravel(), up.ravel()])
settings = dict(
    kernel="rbf", gamma=2.0, lam=1e-3, solver="pegasos", average=False, random_state=0
)
model = PegasosClassifier(**settings, warm_start=True)
frames = []
for more in np.diff(steps, prepend=0):
    model.set_params(max_steps=int(more)).fit(X, y)
    scores = model.decision_function(plane).reshape(across.shape)
    frames.append(
        (scores, model.support_.copy(), model.objective_[0], model.dual_gap_[0])
    )
objectives, gaps = np.array([frame[2:] for frame in frames]).T
print(
    f"after {model.t_[0]} steps: objective {objectives[-1]:.4f}, at most "
    f"{gaps[-1]:.4f} above the optimum"
)

# %%
# The run as an animation
# -----------------------
# The boundary is the solid line, the margins where the score is ±1 are dashed, and
# rings are the support vectors. On the right the objective, and the bound below which
# no model can be: the optimum lies in between.

fig, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.6), layout="constrained", width_ratios=(1.4, 1)
)


def draw(number):
    scores, support, _, gap = frames[number]
    left.clear()
    shades, lines = np.linspace(-2, 2, 21), ("--", "-", "--")
    left.contourf(across, up, np.clip(scores, -2, 2), shades, cmap="RdBu_r", alpha=0.5)
    left.contour(across, up, scores, [-1, 0, 1], colors="black", linestyles=lines)
    left.scatter(*X.T, c=np.where(y, "firebrick", "steelblue"), s=14, edgecolors="none")
    left.scatter(
        *X[support].T, s=44, facecolors="none", edgecolors="black", linewidths=0.7
    )
    left.set_title(f"T = {steps[number]:,}: {len(support)} support vectors")
    left.set(xticks=[], yticks=[])
    right.clear()
    so_far = slice(0, number + 1)
    right.plot(steps[so_far], objectives[so_far], label="objective")
    right.plot(steps[so_far], (objectives - gaps)[so_far], "--", label="lower bound")
    right.set(xscale="log", xlim=(0.9, 2.2e4), ylim=(-0.05, 1.6))
    right.set(xlabel="steps T", title=f"gap {gap:.3f}")
    right.legend(loc="upper right")


animation = FuncAnimation(fig, draw, frames=len(frames), interval=250)
draw(len(frames) - 1)
plt.show()

# %%
# One fit of all 20 000 steps gives the same coefficients, to the last bit:

whole = PegasosClassifier(**settings, max_steps=int(steps[-1])).fit(X, y)
print(np.array_equal(whole.dual_coef_, model.dual_coef_))
