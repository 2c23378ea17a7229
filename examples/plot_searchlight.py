"""
A searchlight: hundreds of thousands of small fits
==================================================

Where in a volume can two conditions be told apart, and could that be chance? Around
every voxel of a synthetic brain lies a small sphere, and each sphere has a permutation
test of its own.
"""

# %%
# A brain with a signal in one place
# ----------------------------------

import time

import matplotlib.pyplot as plt
import numpy as np

from pegasos import PegasosClassifier
from pegasos.model_selection import permutation_test_score

SHAPE, N_SCANS, RADIUS, N_PERMUTATIONS = (9, 9, 5), 60, 2, 200
SIGNAL_AT, SIGNAL = (3, 6, 2), 0.9

rng = np.random.default_rng(0)
labels = np.repeat(["face", "house"], N_SCANS // 2)
places = np.stack(np.indices(SHAPE), axis=-1)
near = np.exp(-((places - SIGNAL_AT) ** 2).sum(axis=-1) / 3)
sign = np.where(labels == "face", 1, -1)[:, None, None, None]
scans = rng.normal(size=(N_SCANS, *SHAPE)) + SIGNAL * near * sign

# %%
# A kernel matrix for each sphere
# -------------------------------
# The voxels of a sphere give a matrix of 60 × 60 inner products of the scans. All folds
# and permutations are columns over it: 1005 fits a sphere, while the matrix stays in
# the processor's cache.

model = PegasosClassifier(kernel="precomputed")
voxels, centres = scans.reshape(N_SCANS, -1), places.reshape(-1, 3)
scores, pvalues = np.empty(SHAPE), np.empty(SHAPE)
began = time.perf_counter()
for centre in centres:
    sphere = voxels[:, ((centres - centre) ** 2).sum(axis=1) <= RADIUS**2]
    kernel = sphere @ sphere.T / sphere.shape[1]
    scores[tuple(centre)], _, pvalues[tuple(centre)] = permutation_test_score(
        model, kernel, labels, n_permutations=N_PERMUTATIONS, random_state=0
    )
seconds = time.perf_counter() - began
fits = scores.size * (N_PERMUTATIONS + 1) * 5
best = np.unravel_index(np.argmax(scores), SHAPE)
print(f"{fits:,} fits in {seconds:.1f} s, {1e6 * seconds / fits:.1f} µs each")
print(
    f"best sphere at {tuple(map(int, best))}, accuracy {scores[best]:.2f}, p = "
    f"{pvalues[best]:.3g}"
)
print(f"the signal is at {SIGNAL_AT}")
print(f"{np.count_nonzero(pvalues <= 0.01)} of {scores.size} spheres have p ≤ 0.01")

# %%
# The slice that holds the signal
# -------------------------------
# The smallest p-value that 200 permutations can give is 1/201. Of 405 spheres without
# any signal about four would have p ≤ 0.01 by chance; those around the signal form a
# cluster.

fig, axes = plt.subplots(
    1, 2, figsize=(8, 3.6), layout="constrained", sharex=True, sharey=True
)
layers = ((scores, "accuracy", "viridis"), (-np.log10(pvalues), "−log₁₀ p", "magma"))
for ax, (volume, name, colours) in zip(axes, layers, strict=True):
    image = ax.imshow(volume[:, :, SIGNAL_AT[2]].T, origin="lower", cmap=colours)
    ax.plot(
        *SIGNAL_AT[:2],
        "o",
        markersize=26,
        markerfacecolor="none",
        markeredgecolor="white",
        markeredgewidth=1.5,
    )
    ax.set(title=name, xlabel="x", ylabel="y")
    fig.colorbar(image, ax=ax, shrink=0.85)
fig.suptitle("The spheres around the voxels of one slice")
plt.show()
