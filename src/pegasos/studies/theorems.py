"""What the documents prove, measured: Lemma 2.1 and equation (6), the sequential bounds, and the maximum margin.

The sequences are those of `pegasos.textbook`: every iterate, every loss that was met, one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.plotting import ConvergenceDisplay, Curve
from pegasos.report.page import Figure, Remark, Table
from pegasos.studies.base import figure_of
from pegasos.textbook import online_gradient_descent, pegasos

if TYPE_CHECKING:
    from pegasos.studies.convergence import StudiedProblem

STEPS = 3000
BATCH = 10
POINTS = 25
MARGIN_LAMS = [10.0**-power for power in np.arange(1, 7.1, 0.5)]


def hinge(X, y, w) -> np.ndarray:
    """max(0, 1 − y⟨w, x⟩) of each row."""
    return np.maximum(0.0, 1 - y * (X @ w))


def sequential_averages(X, y, lam: float, draws, others: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Both sides of Lemma 2.1 after each step t: (1/t)Σ J_B(w_s), (1/t)Σ J_B(u) for each u, and the slack.

    J_B is the objective over the batch of a step, G the largest gradient met, "slack" G²(1 + log t)/(2λt), and "by R"
    2R²(1 + log t)/(λt) of equation (6).
    """
    draws = np.asarray(draws).reshape(len(draws), -1)
    steps, largest = np.arange(1, len(draws) + 1), 0.0
    sums: dict[str, list] = {name: [] for name in ("w", "G", *others)}
    for rows, w in zip(draws, pegasos(X, y, lam, draws)):  # the last iterate meets no batch
        below = y[rows] * (X[rows] @ w) < 1
        gradient = lam * w - (y[rows] * below) @ X[rows] / len(rows)
        largest = max(largest, float(np.linalg.norm(gradient)))
        sums["G"].append(largest)
        for name, u in {"w": w, **others}.items():
            sums[name].append(lam / 2 * (u @ u) + hinge(X[rows], y[rows], u).mean())
    found = {name: np.cumsum(sums[name]) / steps for name in ("w", *others)}
    grown = (1 + np.log(steps)) / (lam * steps)
    R = np.linalg.norm(X, axis=1).max()
    return found | {"T": steps, "G": np.array(sums["G"]), "slack": np.square(sums["G"]) / 2 * grown,
                    "by R": 2 * R**2 * grown}  # fmt: skip


def sequential_risk(X, y, draws, radius: float, u: np.ndarray) -> dict[str, np.ndarray]:
    """The sequential risk of online gradient descent on the hinge, that of one u in the ball, and UG√(8/T).

    The step size is √2·U/G/√t, with which the bound is proved; G = max‖x‖ bounds the gradients of the hinge.
    """
    draws = np.ravel(draws)
    steps, G = np.arange(1, len(draws) + 1), np.linalg.norm(X, axis=1).max()
    w, own = np.zeros(X.shape[1]), []
    for i, (after, _) in zip(draws, online_gradient_descent(X, y, draws, np.sqrt(2) * radius / G, radius)):
        own.append(max(0.0, 1 - y[i] * (X[i] @ w)))
        w = after.copy()
    risk = hinge(X[draws], y[draws], u)
    return {"T": steps, "OGD": np.cumsum(own) / steps, "u": np.cumsum(risk) / steps,
            "slack": radius * G * np.sqrt(8 / steps)}  # fmt: skip


def margins(X, y, lams) -> dict[str, Any]:
    """Separable rows: the margin of w/‖w‖ and 1/‖w‖ at the optimum of each λ, and the largest margin there is.

    The largest margin γ* is the distance of 0 from the convex hull of the rows y·x, found by non-negative least
    squares; w*, the shortest w with y⟨w, x⟩ ≥ 1 for all rows, is the limit of small λ.
    """
    from scipy.optimize import nnls

    from pegasos import PegasosClassifier

    Z = y[:, None] * X
    large = 1e3 * np.abs(Z).max()  # weight of Σα = 1
    alpha, _ = nnls(np.vstack([Z.T, np.full(len(Z), large)]), np.append(np.zeros(Z.shape[1]), large), maxiter=10_000)
    best = (alpha / alpha.sum()) @ Z
    found: dict[str, list] = {"margin": [], "inverse": [], "angle": []}
    for lam in lams:
        model = PegasosClassifier(lam=lam, fit_intercept=False, solver="sdca", tol=1e-9 * lam, max_iter=50_000)
        w = model.fit(X, y).coef_[0]
        norm = np.linalg.norm(w)
        found["margin"].append((Z @ w).min() / norm)
        found["inverse"].append(1 / norm)
        found["angle"].append(w @ best / norm / np.linalg.norm(best))
    return {name: np.array(values) for name, values in found.items()} | {"best": float(np.linalg.norm(best))}


def separable(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """60 rows of two features and a gap between the classes around a line through 0."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(400, 2))
    score = X @ [1.0, -0.6]
    kept = np.abs(score) > 0.35
    return X[kept][:60], np.where(score[kept][:60] > 0, 1.0, -1.0)


class Theorems:
    """The sequences of a studied problem, their tables, remarks and figures."""

    def __init__(self, problem: StudiedProblem, lam: float):
        X, y, rng = problem.features, problem.y, np.random.default_rng(problem.seed)
        self.name, self.lam, self.best = problem.name, lam, problem.optimal_weights
        aside = self.best + rng.normal(size=len(self.best)) * np.linalg.norm(self.best) / np.sqrt(len(self.best))
        others = {"u = w*": self.best, "u = 0": np.zeros(len(self.best)), "u aside of w*": aside}
        draws = {k: rng.integers(len(y), size=(STEPS, k)) for k in (1, BATCH)}
        self.averages = {k: sequential_averages(X, y, lam, rows, others) for k, rows in draws.items()}
        self.others = list(others)
        self.risk = sequential_risk(X, y, draws[1], 1 / np.sqrt(lam), self.best)
        self.margins = margins(*separable(problem.seed), MARGIN_LAMS)

    def tables(self) -> list[Table]:
        """Lemma 2.1 and equation (6), the sequential bounds, and the margins."""
        places = np.unique(np.geomspace(1, STEPS, 10).astype(int)) - 1
        lemma = [
            [k, int(path["T"][at]), path["w"][at], *(path[u][at] + path["slack"][at] for u in self.others),
             path["u = w*"][at] + path["by R"][at]]
            for k, path in self.averages.items() for at in places
        ]  # fmt: skip
        columns = ["k", "T", "(1/T)Σ J_B(w_t)", *(f"right side, {u}" for u in self.others), "equation (6), u = w*"]
        single, risk = self.averages[1], self.risk
        sequential = [
            [int(risk["T"][at]), risk["OGD"][at], risk["u"][at] + risk["slack"][at],
             single["w"][at] - single["u = w*"][at], single["slack"][at], self._as_printed(single)[at]]
            for at in places
        ]  # fmt: skip
        names = ["T", "sequential risk of OGD", "risk of w* + UG√(8/T)", "Pegasos: regret to w*",
                 "G²(1+ln T)/(2λT)", "as printed: G² ln(T+1)/(2λT)"]  # fmt: skip
        found = self.margins
        shown = [
            [
                f"{lam:.2g}",
                float(found["margin"][at]),
                float(found["inverse"][at]),
                found["best"],
                float(found["angle"][at]),
            ]
            for at, lam in enumerate(MARGIN_LAMS)
        ]
        heads = ["λ", "margin of w/‖w‖", "1/‖w‖", "γ*", "cosine of w and u*"]
        return [
            Table("lemma", "Lemma 2.1 and equation (6) of Stratos: left and right sides", columns, lemma,
                  "The lemma holds for every u, here for three; R is the longest row.",
                  dict.fromkeys(columns[2:], ".4g")),
            Table("sequential", "Bounds (1) and (2) of Mirone", names, sequential,
                  "U = 1/√λ. Bound (2) as printed is too small by a little: see the remark.",
                  dict.fromkeys(names[1:], ".4g")),
            Table("margin", "The maximum-margin theorem (Mirone, section 3)", heads, shown,
                  "60 separable rows of two features, no bias; each λ at its optimum. As λ falls, w comes to w*, and "
                  "both numbers to γ*: u* = γ*·w*.", dict.fromkeys(heads[1:4], ".6f") | {heads[4]: ".8f"}),
        ]  # fmt: skip

    @staticmethod
    def _as_printed(path: dict[str, np.ndarray]) -> np.ndarray:
        return path["slack"] / (1 + np.log(path["T"])) * np.log(path["T"] + 1)

    def remarks(self) -> list[Remark]:
        """Where the proofs are imprecise."""
        single = self.averages[1]
        used = max(
            float(((path["w"] - path[u]) / path["slack"]).max()) for path in self.averages.values() for u in self.others
        )
        gap = 1 - self.margins["inverse"][-1] / self.margins["best"]
        return [
            Remark(
                "Sequential averages",
                "Lemma 2.1 and equation (6) bound the average of the losses met on the way, for every u. At "
                f"{'every' if used <= 1 else 'not every'} one of {STEPS} steps, for single rows and batches of "
                f"{BATCH}, it lies below: the regret to {', '.join(self.others)} uses at most {used:.0%} of the bound "
                "with the largest gradient.",
                "A20",
            ),
            Remark(
                "The bound for strongly convex losses",
                "Mirone prints G²/(2σ)·ln(T+1)/T. What the proof gives is 1 + 1/2 + … + 1/T, which is above ln(T+1): "
                "at T = 1, with one row of ‖x‖² = λ, the regret is 1/2 and the printed bound 0.35. 1 + ln T is right. "
                f"After {STEPS} steps the regret here is {single['w'][-1] - single['u = w*'][-1]:.3g} below a bound of "
                f"{single['slack'][-1]:.3g}. Bound (1) needs the step size √2·U/(G√t), which the text leaves open.",
                "A21",
            ),
            Remark(
                "The maximum margin",
                "Theorem u* = γ*·w*: the largest margin is one over the length of the shortest w that has all margins "
                f"at least 1. On 60 separable rows γ* is {self.margins['best']:.6f}, found without any SVM, and "
                f"1/‖w‖ at λ = {MARGIN_LAMS[-1]:g} differs from it by {abs(gap):.1e} of it. Two slips around it: (5) "
                "has y⟨u, x⟩ ≥ 1 and γ > 1 where ≥ γ and γ > 0 are meant, and a margin of 1 is the least, not most.",
                "A22",
            ),
        ]  # fmt: skip

    def figures(self) -> list[Figure]:
        """Left and right sides against T, and the margins against λ."""
        at = np.unique(np.geomspace(1, STEPS, POINTS).astype(int)) - 1
        found = []
        for k, path in self.averages.items():
            T = path["T"][at]
            curves = [Curve("(1/T) Σ J_B(w_t)", T, path["w"][at], "both")]
            bounds = [Curve("u = w*, with the largest gradient", T, (path["u = w*"] + path["slack"])[at]),
                      Curve("u = w*, with R: equation (6)", T, (path["u = w*"] + path["by R"])[at])]  # fmt: skip
            display = ConvergenceDisplay(
                curves, bound=bounds, ylabel="average over the steps", xlabel="T", logy=True,
                title=f"Sequential averages, k = {k}, {self.name}, λ = {self.lam:g}",
            )  # fmt: skip
            found.append(figure_of(f"lemma-{k}", f"Lemma 2.1 and equation (6), k = {k}", display, "Bounds are dashed."))
        T, risk = self.risk["T"][at], self.risk
        display = ConvergenceDisplay(
            [Curve("online gradient descent", T, np.maximum(risk["OGD"][at], 1e-4), "both"),
             Curve("w*", T, np.maximum(risk["u"][at], 1e-4), "both")],
            bound=Curve("w*, and UG√(8/T)", T, (risk["u"] + risk["slack"])[at]), ylabel="mean hinge of the rows met",
            xlabel="T", logy=True, title=f"Sequential risk, {self.name}, U = 1/√λ, η = √2·U/G",
        )  # fmt: skip
        found.append(
            figure_of("sequential", "Sequential risk of online gradient descent", display, "Bound (1) of Mirone.")
        )
        single = self.averages[1]
        regret = single["w"] - single["u = w*"]
        display = ConvergenceDisplay(
            [Curve("Pegasos: mean loss met − that of w*", T, np.maximum(regret[at], 1e-5), "both")],
            bound=[Curve("G²(1+ln T)/(2λT)", T, single["slack"][at]),
                   Curve("as printed: G² ln(T+1)/(2λT)", T, self._as_printed(single)[at])],
            ylabel="regret", xlabel="T", logy=True, title=f"Strongly convex losses, {self.name}, λ = {self.lam:g}",
        )  # fmt: skip
        found.append(
            figure_of(
                "strongly-convex",
                "Regret of Pegasos and the strongly convex bound",
                display,
                "Bound (2) of Mirone, as proved and as printed.",
            )
        )
        curves = [Curve("margin of w/‖w‖", MARGIN_LAMS, self.margins["margin"], "both"),
                  Curve("1/‖w‖", MARGIN_LAMS, self.margins["inverse"], "both")]  # fmt: skip
        best = Curve("γ*, the largest margin", MARGIN_LAMS, np.full(len(MARGIN_LAMS), self.margins["best"]))
        display = ConvergenceDisplay(curves, bound=best, ylabel="margin", xlabel="λ", logy=False,
                                     title="60 separable rows of two features, no bias")  # fmt: skip
        found.append(
            figure_of("margin", "The maximum-margin theorem", display, "u* = γ*·w*: as λ falls both come to γ*.")
        )
        return found
