"""
A file larger than its window
=============================

Rows that do not fit into memory are read in windows, several times over and in a new
random order each time.
"""

# %%
# A file
# ------
# An array file of 49 MB, written here piece by piece; some thirty megabytes of rows are
# in memory together. It may as well be LIBSVM text, CSV, Parquet or HDF5, and larger
# than the memory there is.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from pegasos import PegasosClassifier, streaming
from pegasos.plotting import ConvergenceDisplay

N_ROWS, N_FEATURES = 120_000, 100
rng = np.random.default_rng(0)
weights = rng.normal(size=N_FEATURES) / np.sqrt(N_FEATURES)
X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
y = np.sign(X @ weights + 0.5 * rng.normal(size=N_ROWS)).astype(int)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "big.npz"
np.savez(path, X=X, y=y)
print(f"{path.stat().st_size / 1e6:.0f} MB in {path.name}")

# %%
# Train on it
# -----------
# The first reading finds classes, features and counts; then come the passes. After
# passes 1, 2, 4, … one more reading gives objective and gap over all rows, and the run
# ends where the gap is small enough.

model = streaming.fit(PegasosClassifier(lam=1e-3, tol=0.02, random_state=0), path)
print(
    f"after {model.t_[0] / N_ROWS:.0f} passes: objective "
    f"{model.objective_[0]:.4f}, gap {model.dual_gap_[0]:.4f}"
)

# %%
# The same problem in memory
# --------------------------
# A fit in memory goes closer to the optimum. The streamed model lies above it by no
# more than its gap says.

exact = PegasosClassifier(lam=1e-3, tol=1e-4).fit(X, y)
print(
    f"optimum {exact.objective_[0]:.4f}: the stream is "
    f"{model.objective_[0] - exact.objective_[0]:.4f} above it"
)
print(
    f"same labels for {np.mean(model.predict(X) == exact.predict(X)):.2%} of the rows"
)

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=ax, name="streamed, and its certified gap")
ax.axhline(
    exact.objective_[0],
    color="black",
    linestyle="--",
    label="optimum, from a fit in memory",
)
ax.set(
    xlabel="rows taken",
    ylabel="objective",
    title="The optimum lies in the band below the curve",
)
ax.legend()
plt.show()
folder.cleanup()
