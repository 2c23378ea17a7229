"""K. Stratos, "Notes on Pegasos": how fast the objective falls, and the bounds that the notes prove.

J(w) = λ/2‖w‖² + mean hinge. Section 2.1 gives for the full sub-gradient J(w̄) − J(w*) ≤ 2R²(1 + log T)/(λT), and with G
the largest gradient that was met, G²(1 + log T)/(2λT). J(w*) comes from dual coordinate ascent with its certificate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pegasos.plotting import ConvergenceDisplay, Curve
from pegasos.report.page import Figure, Page, Remark, Table
from pegasos.studies.base import Context, figure_of
from pegasos.studies.theorems import Theorems
from pegasos.textbook.gradient_descent import online_gradient_descent, rate_and_radius

if TYPE_CHECKING:
    from pegasos.io import Dataset
    from pegasos.problem.schedule import Schedule

SOURCE = "Karl Stratos, “Notes on Pegasos”; bounds of online gradient descent after Alessandro Mirone"
COVERS = [
    "A2", "A3", "A7", "A8", "A9", "A10", "A16", "A17", "A18", "A20", "A21", "A22", "E6", "M5", "M12",
]  # fmt: skip
LAM = 1e-3
POINTS = 15
SEEDS = 8  # of the comparison of orders
VARIANTS: dict[str, dict[str, dict]] = {
    "averages": {
        "last iterate": {},
        "uniform average": {"average": "uniform"},
        "weighted average": {"average": "weighted"},
        "suffix average": {"average": "suffix"},
    },
    "projection": {
        "last iterate": {},
        "last iterate, projected": {"project": True},
        "uniform average": {"average": "uniform"},
        "uniform average, projected": {"average": "uniform", "project": True},
    },
    "batches": {f"k = {k}": {"batch": k} for k in (1, 10, 100)} | {"k = n": {"batch": None}},
}
ORDERS = {
    "with replacement": "replacement",
    "without: each pass shuffled": "shuffle",
    "in the order of the file": "cyclic",
}


def run(context: Context) -> Page:
    """Run every variant for every T, and compare with the optimum and the bounds."""
    data = two_classes(context)
    problem = StudiedProblem(data, context.seed)
    longest = 4 * problem.n_rows
    steps = np.unique(np.geomspace(1, longest, POINTS).astype(int))
    found = {}
    for part, variants in VARIANTS.items():
        context.tell(f"{part}: {', '.join(variants)}")
        for name, fields in variants.items():
            found[part, name] = problem.path(
                np.minimum(steps, 2000) if fields.get("batch", 1) is None else steps, **fields
            )
    context.tell(f"orders of the rows over {SEEDS} seeds")
    for name, sampling in ORDERS.items():
        found["sampling", name] = problem.over_seeds(steps, SEEDS, sampling=sampling, average="weighted")
    context.tell("sequential averages and margins")
    theorems = Theorems(problem, LAM)
    context.tell("online gradient descent, and the full sub-gradient beside its bound")
    last, mean = problem.gradient_descent(steps)
    found["baseline", "OGD, step η/√t, last iterate"], found["baseline", "OGD, uniform average"] = last, mean
    found["baseline", "Pegasos, uniform average"] = found["averages", "uniform average"]
    full = problem.path(np.unique(np.geomspace(1, 2000, POINTS).astype(int)), batch=None, average="uniform")
    tables = [final_table(found, problem), bound_table(full, problem), *theorems.tables(), norm_table(found, problem),
              forms_table(problem)]  # fmt: skip
    worst = max(above / problem.bound(T) for T, above in zip(full["T"], full["above"], strict=True))
    return Page(
        "convergence",
        f"How fast Pegasos converges ({data.name}, λ = {LAM:g})",
        f"The optimum is {problem.optimum:.6f}, certified to {problem.certified:.1e}. The average of the full "
        f"sub-gradient stays below the bound at every T: it comes to at most {worst:.1%} of 2R²(1 + log T)/(λT).",
        tables,
        [*figures(found, full, problem), *theorems.figures()],
        [*remarks(problem, found), *theorems.remarks()],
        settings={"λ": LAM, "rows": problem.n_rows, "R": problem.R, "bias": "a constant feature of 1, penalised",
                  "online gradient descent": "U = 1/√λ, η = U/R",
                  "seed": context.seed},
        data=[data.facts()],
        source=SOURCE,
        covers=COVERS,
    )  # fmt: skip


def two_classes(context: Context) -> Dataset:
    """5000 rows of Adult, or in a quick study the digits, even against odd."""
    data = context.load("adult")
    if context.quick:
        return replace(data, y=np.where(data.y % 2, 1, -1), y_test=np.where(data.y_test % 2, 1, -1))
    rows = np.random.default_rng(context.seed).permutation(data.X.shape[0])[:5000]
    name = f"{data.name}, {len(rows)} rows"
    return replace(data, name=name, X=data.X[rows].toarray(), y=data.y[rows], X_test=None, y_test=None)


class StudiedProblem:
    """One problem, its certified optimum, and the objectives of models after T steps."""

    def __init__(self, data: Dataset, seed: int):
        from pegasos.problem.columns import one_vs_rest
        from pegasos.problem.schedule import Schedule
        from pegasos.rows import DenseRows
        from pegasos.rules.column import Rule

        X = np.ascontiguousarray(data.X, np.float64)
        classes, codes = np.unique(data.y, return_inverse=True)
        self.name = data.name
        self.X, self.y, self.n_rows, self.seed = X, np.where(codes == 1, 1.0, -1.0), len(codes), seed
        self.features = np.column_stack([X, np.ones(len(X))])
        self.rows = DenseRows(X, bias=1.0)
        self.R = float(np.sqrt(self.rows.squares.max()))
        self.problems = one_vs_rest(codes, len(classes), None).with_lam(LAM)
        solution = self.solve(Schedule(max_passes=2000, tol=1e-7, seed=seed), Rule.SDCA)
        best, self.optimal_weights = solution.certificate, solution.model[:, 0]
        self.certified = float(best.gap[0])
        self.optimum = float(best.objective[0])

    def solve(self, schedule: Schedule, rule):
        """Solve with this schedule and rule."""
        from pegasos.problem.job import Job
        from pegasos.solver.solve import solve

        return solve(Job(self.rows, self.problems, schedule, rule))

    def over_seeds(self, steps, seeds: int, **fields) -> dict:
        """Means of `path` over seeds, and the lowest and highest distance from the optimum."""
        paths = [self.path(steps, seed=self.seed + more, **fields) for more in range(seeds)]
        above = np.array([path["above"] for path in paths])
        mean = {name: np.mean([path[name] for path in paths], axis=0) for name in ("above", "gap", "norm")}
        return mean | {"T": paths[0]["T"], "lower": above.min(axis=0), "upper": above.max(axis=0)}

    def path(self, steps, *, seed: int | None = None, **fields) -> dict:
        """Objectives above the optimum and certified gaps after T steps, one run for each T."""
        from pegasos.problem.schedule import Schedule
        from pegasos.rules.column import Rule

        fields = {"sampling": "replacement"} | fields
        above, gaps, norms = [], [], []
        steps = np.unique(steps)
        for T in steps:
            schedule = Schedule(max_steps=int(T), max_passes=np.inf, seed=self.seed if seed is None else seed, **fields)
            solution = self.solve(schedule, Rule.PEGASOS)
            certificate = solution.certificate
            norms.append(float(np.linalg.norm(solution.model[:, 0])))
            above.append(max(float(certificate.objective[0]) - self.optimum, 0.0))
            gaps.append(float(certificate.gap[0]))
        return {"T": steps, "above": np.array(above), "gap": np.array(gaps), "norm": np.array(norms)}

    def gradient_descent(self, steps) -> tuple[dict, dict]:
        """The same for the last iterate and the uniform average of online gradient descent, on the draws of `path`."""
        from pegasos.problem.sampling import Stream

        X, y = self.features, self.y
        stream = Stream(np.arange(self.n_rows), "replacement", self.seed)
        draws = np.concatenate([stream.take(self.n_rows) for _ in range(-(-max(steps) // self.n_rows))])[: max(steps)]
        total = np.zeros(X.shape[1])
        last: list[tuple[float, float]] = []
        mean: list[tuple[float, float]] = []
        for t, (w, a) in enumerate(online_gradient_descent(X, y, draws, *rate_and_radius(X, LAM)), start=1):
            if t in steps:
                last.append(objective_and_gap(X, y, LAM, w, a))
                mean.append(objective_and_gap(X, y, LAM, total / t, a))
            total += w  # as with Pegasos, the average is that of the iterates before each step
        return self.above_and_gap(steps, last), self.above_and_gap(steps, mean)

    def above_and_gap(self, steps, pairs: list[tuple[float, float]]) -> dict:
        """Objectives above the optimum and gaps after each of the steps, from pairs of objective and gap."""
        objectives, gaps = np.array(pairs).T
        return {"T": steps, "above": np.maximum(objectives - self.optimum, 0.0), "gap": gaps}

    def bound(self, T):
        """2R²(1 + log T)/(λT)."""
        return 2 * self.R**2 * (1 + np.log(T)) / (LAM * np.asarray(T))

    def bound_of_gradients(self, T):
        """G²(1 + log T)/(2λT), G the largest gradient of the full run up to each T, w₁ = 0."""
        X = self.features
        S, largest, found = np.zeros(X.shape[1]), 0.0, {}
        for t in range(1, int(max(T)) + 1):
            w = S / (LAM * max(t - 1, 1))
            pull = (self.y * (self.y * (X @ w) < 1)) @ X / self.n_rows
            largest = max(largest, float(np.linalg.norm(LAM * w - pull)))
            S += pull
            found[t] = largest**2 * (1 + np.log(t)) / (2 * LAM * t)
        return np.array([found[int(t)] for t in T])


def objective_and_gap(X, y, lam: float, w, a) -> tuple[float, float]:
    """The objective of w, and its distance from the dual objective of the coefficients moved into their domain.

    The distance bounds how far w is above the optimum; the dual objective of 0 is 0, so the bound needs no other.
    """
    beta = np.clip(lam * len(y) * y * a, 0.0, 1.0)
    dual = beta.mean() - lam / 2 * np.sum(((beta * y) @ X / (lam * len(y))) ** 2)
    objective = lam / 2 * (w @ w) + np.maximum(0.0, 1 - y * (X @ w)).mean()
    return float(objective), float(objective - max(dual, 0.0))


# --- tables and remarks ----------------------------------------------------------------------------------------------


def final_table(found: dict, problem: StudiedProblem) -> Table:
    """Every variant after its last step."""
    rows = [
        [part, name, int(path["T"][-1]), path["above"][-1], path["gap"][-1]] for (part, name), path in found.items()
    ]
    columns = ["part", "variant", "T", "J − J*", "certified gap"]
    note = f"J* = {problem.optimum:.6f}. The gap is what a run can prove without knowing J*; nan: nothing."
    formats = {"J − J*": ".3g", "certified gap": ".3g"}
    return Table("final", "Distance from the optimum after T steps", columns, rows, note, formats)


def bound_table(full: dict, problem: StudiedProblem) -> Table:
    """Objectives of the averaged full sub-gradient beside both bounds."""
    tight = problem.bound_of_gradients(full["T"])
    rows = [[int(T), above, near, far] for T, above, near, far in
            zip(full["T"], full["above"], tight, problem.bound(full["T"]), strict=True)]  # fmt: skip
    columns = ["T", "J(w̄) − J*", "G²(1+log T)/(2λT)", "2R²(1+log T)/(λT)"]
    return Table("bounds", "Full sub-gradient, uniform average, beside its bounds", columns, rows,
                 formats=dict.fromkeys(columns[1:], ".4g"))  # fmt: skip


def norm_table(found: dict, problem: StudiedProblem) -> Table:
    """The norm of w after T steps beside R/λ, which bounds it, and 1/√λ, the radius of the ball of the optimum."""
    plain, projected = (found["projection", name] for name in ("last iterate", "last iterate, projected"))
    rows = [[int(T), free, held, problem.R / LAM, 1 / np.sqrt(LAM)] for T, free, held in
            zip(plain["T"], plain["norm"], projected["norm"], strict=True)]  # fmt: skip
    columns = ["T", "‖w_T‖", "‖w_T‖, projected", "R/λ", "1/√λ"]
    return Table("norms", "The length of the last iterate", columns, rows, formats=dict.fromkeys(columns[1:], ".4g"))


def forms_table(problem: StudiedProblem) -> Table:
    """The plain form and the form with violation counts, equations (1) and (2) of the notes, on the same draws."""
    from pegasos import PegasosClassifier

    shared = {"lam": LAM, "max_steps": 2000, "sampling": "replacement", "average": False, "random_state": problem.seed,
              "fit_intercept": True}  # fmt: skip
    plain = PegasosClassifier(**shared).fit(problem.X, problem.y)
    counts = PegasosClassifier(kernel="poly", degree=1, gamma=1.0, coef0=0.0, **shared).fit(problem.X, problem.y)
    scores, others = (model.decision_function(problem.X) for model in (plain, counts))
    rows = [["Σ v_l / (tλ), a weight for each feature", 0.0], ["Σ α_i y_i x_i / (tλ), a count for each row",
            float(np.abs(scores - others).max() / np.abs(scores).max())]]  # fmt: skip
    return Table("forms", "Two forms of one algorithm", ["form", "largest relative difference of scores"], rows,
                 "2000 steps on the same draws.", {"largest relative difference of scores": ".1e"})  # fmt: skip


def remarks(problem: StudiedProblem, found: dict) -> list[Remark]:
    """Where the notes are imprecise, and what they leave open."""
    after = {name: path["above"][-1] for (part, name), path in found.items() if part == "averages"}
    orders = {name: path["above"][-1] for (part, name), path in found.items() if part == "sampling"}
    listed = lambda of: ", ".join(f"{name} {above:.2g}" for name, above in of.items())
    return [
        Remark(
            "The test of a row",
            "The notes test the drawn row with 1/(tλ) on the counts of t − 1 steps. The exact test, used here, has "
            "1/((t−1)λ), and the first step always pulls.",
            "M5",
        ),
        Remark(
            "The counts",
            "α(i, t) as printed counts every step at which row i is below its margin; it has to count those at which "
            "row i was drawn, with the weights w_l of that step, not w_t. The factor that prediction may leave out is "
            "1/(λT), not 1/((T+1)λ).",
            "M12",
        ),
        Remark(
            "The bound",
            "The bound is proved for the full sub-gradient and the uniform average, including w₁ = 0 and without "
            f"w_(T+1). For single draws it holds in expectation. R = {problem.R:.3g} here, the constant feature "
            "included.",
            "A18",
        ),
        Remark("Averages", f"Above the optimum after the same single draws: {listed(after)}.", "A8"),
        Remark(
            "With and without replacement",
            f"The notes leave the draws open. Weighted averages of {SEEDS} seeds after the last step: {listed(orders)} "
            "above the optimum.",
            "A7",
        ),
    ]


TITLES = {
    "averages": "Last iterate and averages",
    "projection": "With and without projection",
    "batches": "Mini-batches",
    "sampling": "Draws with and without replacement",
    "baseline": "Online gradient descent",
}


def figures(found: dict, full: dict, problem: StudiedProblem) -> list[Figure]:
    """One figure for each part, and one for the bounds."""
    drawn = []
    low, high = (f(f(path["above"][path["above"] > 0]) for path in found.values()) for f in (min, max))
    low = max(low, problem.certified)
    for part, title in TITLES.items():
        own = {name: path for (own_part, name), path in found.items() if own_part == part}
        curves = [
            Curve(name, path["T"], np.maximum(path["above"], low / 2), "both", path.get("lower"), path.get("upper"))
            for name, path in own.items()
        ]
        display = ConvergenceDisplay(
            curves, ylabel="J − J*", xlabel="T", logy=True, limits=(low / 2, 2 * high),
            title=f"{title}, {problem.name}, λ = {LAM:g}",
        )  # fmt: skip
        caption = "Objective above the optimum after T steps, one run for each T; all such figures have the same axes."
        if part == "sampling":
            caption = f"Weighted averages: means over {SEEDS} seeds, from the lowest to the highest as a band."
        drawn.append(figure_of(part, title, display, caption))
    T = full["T"]
    bounds = [Curve("2R²(1+log T)/(λT)", T, problem.bound(T)),
              Curve("G²(1+log T)/(2λT)", T, problem.bound_of_gradients(T))]  # fmt: skip
    curves = [Curve("J(w̄) − J*", T, full["above"]), Curve("certified gap of w̄", T, full["gap"])]
    display = ConvergenceDisplay(curves, bound=bounds, ylabel="J − J*", xlabel="T", logy=True,
                                 title=f"Full sub-gradient, uniform average, {problem.name}, λ = {LAM:g}")  # fmt: skip
    drawn.insert(0, figure_of("bounds", "The bounds of the notes", display, "The bounds of section 2.1 are dashed."))
    return drawn
