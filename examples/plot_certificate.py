"""
The certificate and the true distance from the optimum
======================================================

Each fit says how far its objective can be above the best possible one. Is that true,
and how much too careful is it?
"""

# %%
# The objective of a linear support vector machine is λ/2‖w‖² + mean of max(0, 1 − y⟨w,
# x⟩). For every model of a fit there is a point of the dual problem whose value lies
# below the optimum, and ``dual_gap_`` is the distance between the two. Here the optimum
# itself is found to twelve digits first, so that both can be compared.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from pegasos import PegasosClassifier
from pegasos.plotting import ConvergenceDisplay, Curve

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
lam = 1e-3
best = PegasosClassifier(lam=lam, tol=1e-10, max_iter=100_000).fit(X, y)
print(f"optimum {best.objective_[0]:.8f}, known up to {best.dual_gap_[0]:.0e}")

# %%
# The textbook's algorithm and dual coordinate ascent
# ---------------------------------------------------
# ``solver="pegasos"`` takes the steps 1/(λt) of the Pegasos algorithm;
# ``solver="sdca"`` maximises the dual problem one coordinate at a time. Both are read
# off after 4, 8, 16, … passes over the rows.

passes = 2 ** np.arange(2, 10)
curves = []
for solver, average, colour in (("pegasos", "weighted", 0), ("sdca", False, 1)):
    fits = [
        PegasosClassifier(
            lam=lam,
            solver=solver,
            average=average,
            tol=None,
            max_iter=int(count),
            random_state=0,
        ).fit(X, y)
        for count in passes
    ]
    gaps = np.array([fit.dual_gap_[0] for fit in fits])
    distances = np.array([fit.objective_[0] for fit in fits]) - best.objective_[0]
    print(
        f"{solver}: never above its gap: {(distances <= gaps).all()}, gap / "
        f"distance {np.median(gaps / distances):.1f}"
    )
    curves += [
        Curve(f"{solver}: certified gap", passes, gaps, "dashed", colour=colour),
        Curve(f"{solver}: true distance", passes, distances, "both", colour=colour),
    ]

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ConvergenceDisplay(
    curves,
    xlabel="passes over the rows",
    ylabel="objective − optimum",
    logy=True,
    title="The gap is never below the true distance",
).plot(ax=ax)
plt.show()

# %%
# By default a fit chooses its solver and ends as soon as the gap is at most ``tol``
# times the objective of the model that is zero everywhere, 1 for the hinge loss.

model = PegasosClassifier(lam=lam).fit(X, y)
print(f"relative gap {model.relative_gap_[0]:.1e}, converged {model.converged_[0]}")
