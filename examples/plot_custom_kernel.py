"""
A kernel of your own
====================

Hours of a day have no beginning: 23:30 is near 0:30. A kernel that knows it is one
Python function.
"""

# %%
# Nothing is known of the evening
# -------------------------------
# The temperature of a machine follows the hour, and more than a degree above its usual
# course is a fault. Records exist from midnight to 20:00 only.

import matplotlib.pyplot as plt
import numpy as np

from pegasos import PegasosClassifier

rng = np.random.default_rng(0)


def usual(hour):
    return 20 + 5 * np.cos(2 * np.pi * hour / 24)


def records(n, first, last):
    """Hours and temperatures, and which of them are faults."""
    hours = rng.uniform(first, last, n)
    degrees = usual(hours) + rng.normal(scale=3, size=n)
    return np.column_stack([hours, degrees]), np.where(
        degrees > usual(hours) + 1, "fault", "usual"
    )


X, y = records(600, 0, 20)
X_evening, y_evening = records(1000, 20, 24)

# %%
# The kernel
# ----------
# A function gets two matrices of rows and returns the matrix of their kernel values.
# ``kernel_params`` are its keyword arguments. A product of kernels is a kernel again:
# one of the hour, which is periodic, times one of the temperature.


def daily(A, B, width=4.0):
    """Periodic in the hour, Gaussian in the temperature."""
    hour = np.sin(np.pi * (A[:, :1] - B[:, 0]) / 24) ** 2
    degrees = ((A[:, 1:] - B[:, 1]) / width) ** 2
    return np.exp(-2 * hour - degrees / 2)


gaussian = dict(kernel="rbf", gamma=0.05)
periodic = dict(kernel=daily, kernel_params={"width": 4.0})
models = {
    "rbf: the evening is far off": PegasosClassifier(**gaussian, C=10),
    "daily: midnight is near": PegasosClassifier(**periodic, C=10),
}

# %%
# The two boundaries
# ------------------
# Two days side by side. The boundary of the Gaussian kernel breaks off at midnight;
# that of the daily one goes on, and bridges the evening from both of its ends.

hour, degrees = np.meshgrid(np.linspace(0, 24, 120), np.linspace(11, 29, 100))
plane = np.column_stack([hour.ravel(), degrees.ravel()])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    scores = model.fit(X, y).decision_function(plane).reshape(hour.shape)
    for day in (0, 24):
        shown = np.clip(-scores, -2, 2)
        ax.contourf(hour + day, degrees, shown, 20, cmap="RdBu_r", alpha=0.5)
        ax.contour(hour + day, degrees, scores, [0], colors="black", linewidths=2)
        ax.plot(hour[0] + day, usual(hour[0]) + 1, color="black", linestyle=":")
        colours = np.where(y == "fault", "firebrick", "steelblue")
        ax.scatter(X[:, 0] + day, X[:, 1], c=colours, s=7)
    right = model.score(X_evening, y_evening)
    print(f"{name}: {right:.1%} right in the evening")
    ax.set_title(f"{name}\n{right:.0%} right in the evening")
    hours = np.arange(0, 49, 8)
    ax.set_xticks(hours, [f"{hour % 24}:00" for hour in hours])
    ax.set(xlabel="hour", xlim=(0, 48), ylim=(11, 29))
axes[0].set_ylabel("temperature (dotted: the true border)")
plt.show()
