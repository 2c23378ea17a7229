"""
Rows on the workers of Dask
===========================

A linear model of rows that stay where they are: each worker learns from its own, and
the gap is certified over all.
"""

# %%
# A small cluster
# ---------------
# Two workers within this process, so that the example runs anywhere. For a real cluster
# only the address differs: ``Client("tcp://scheduler:8786")``.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.datasets import make_classification

from pegasos import PegasosClassifier as LocalClassifier
from pegasos.distributed import PegasosClassifier

X, y = make_classification(
    20_000, 30, n_informative=12, n_classes=4, n_clusters_per_class=1, random_state=0
)
rows, labels = da.from_array(X, chunks=(2500, -1)), da.from_array(y, chunks=2500)

# %%
# Fit
# ---
# A round is some passes of each worker over its rows, the sum of what the workers have
# changed (CoCoA+), and the gap over all rows. The fit ends when that is small enough.
# Predictions are Dask arrays again.

options = dict(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
)
with LocalCluster(**options) as cluster, Client(cluster) as client:
    model = PegasosClassifier(lam=1e-4, tol=1e-2, random_state=0, client=client).fit(
        rows, labels
    )
    predicted = model.predict(rows).compute()
print(f"{model.n_rounds_} rounds; relative gap at most {model.relative_gap_.max():.4f}")
print(f"accuracy {np.mean(predicted == y):.3f}")

# %%
# Beside a fit in memory
# ----------------------

local = LocalClassifier(lam=1e-4, tol=1e-3).fit(X, y)
print(
    f"mean objective {model.objective_.mean():.4f} on the cluster, "
    f"{local.objective_.mean():.4f} in memory"
)
print(f"same labels for {np.mean(local.predict(X) == predicted):.2%} of the rows")

history = model.history_
rounds = [record["round"] for record in history]
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.plot(rounds, [record["gap"] for record in history], "o-")
left.axhline(1e-2, color="black", linestyle="--", label="tol")
left.set(
    yscale="log",
    xlabel="round",
    ylabel="largest certified gap",
    title="The gap over all rows",
)
left.legend()
sent = np.cumsum([record["bytes"] for record in history]) / 1e3
right.plot(rounds, sent, "o-", color="tab:orange", label="models")
right.axhline(
    X.nbytes / 1e3, color="black", linestyle="--", label="the rows, which stay"
)
right.set(xlabel="round", ylabel="kB", yscale="log", title="What was sent")
right.legend()
plt.show()
