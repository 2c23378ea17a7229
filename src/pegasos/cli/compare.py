"""`pegasos compare`: our models and those of scikit-learn on the same rows: error, time, objective, gap."""

import time
import warnings
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import takes_table, with_examples


@takes_table
@with_examples("pegasos compare digits", "pegasos compare train.csv --C 10 --test 0.2 --report out.html")
def compare(
    data: options.Data,
    test: options.Test = None,
    C: Annotated[float, typer.Option("--C", help="λ = 1/(C · rows), the same for all.")] = 1.0,
    gamma: Annotated[
        str | None, typer.Option("--gamma", metavar="N|scale|auto", help="Of the RBF kernels; scale unless given.")
    ] = None,
    width: Annotated[
        str | None, typer.Option("--width", metavar="N", help="The width γ of exp(−d²/(2γ)): --gamma 1/(2γ).")
    ] = None,
    max_rows: Annotated[
        int, typer.Option("--max-rows", min=10, help="Train on so many rows at most: SVC takes long on more.")
    ] = 10_000,
    scale: options.Scale = "auto",
    seed: options.Seed = 0,
    report: options.Report = None,
    json: options.Json = False,
    *,
    table: dict[str, Any],
) -> None:
    """Compare ours with LinearSVC, SVC (SMO; rbf and linear), SGDClassifier and, on a few rows, SMO in plain NumPy."""
    from pegasos.cli import output as out
    from pegasos.cli.data import load_labelled, test_share, with_test_part
    from pegasos.cli.model import check_scale
    from pegasos.cli.options import parse_single_values, settled

    if not 0 < C < float("inf"):
        raise ValueError(f"--C {C:g}: it must be positive and finite.")
    kernel_gamma = parse_single_values(settled({"gamma": gamma, "width": width})).get("gamma", "scale")
    check_scale(scale)
    test_share(test)
    out.check_outputs(report=report, inputs=(data, test))
    found = with_test_part(load_labelled(data, table, raw=scale == "none"), test, table, seed)
    if found.X_test is None:
        found = with_test_part(found, "0.25", table, seed)
    n_all = found.X.shape[0]
    found = limited_and_scaled(found, max_rows, scale, seed)
    rows = []
    with out.StatusLine("compare") as status:
        for name, model in models(C, kernel_gamma, found, seed).items():
            status.tell(name)
            rows.append(measured(name, model, found))
    add_objectives(rows, found, C)
    if report is not None:
        record(rows, found)
    page = page_of(
        found, rows, n_all, {"C": C, "gamma": kernel_gamma, "scale": scale, "seed": seed, "rows": found.X.shape[0]}
    )
    out.write_report(page, report)
    out.show(page, json, {row["model"]: {key: row[key] for key in COLUMNS} for row in rows})


def limited_and_scaled(data, max_rows: int, scale: str, seed: int):
    """The data with at most `max_rows` training rows, scaled for all models alike."""
    from dataclasses import replace

    import numpy as np

    from pegasos.cli.model import scaler_for

    chosen = np.sort(np.random.default_rng(seed).permutation(data.X.shape[0])[:max_rows])
    data = replace(data, X=data.X[chosen], y=data.y[chosen])
    scaler = scaler_for(data.X, scale)
    if scaler is None:
        return data
    return replace(data, X=scaler.fit_transform(data.X), X_test=scaler.transform(data.X_test))


def models(C: float, gamma, data, seed: int) -> dict[str, Any]:
    """The models to compare, by name, all with the same regularisation; the textbook's SMO on a few dense rows only."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.multiclass import OneVsOneClassifier
    from sklearn.svm import SVC, LinearSVC

    from pegasos import PegasosClassifier
    from pegasos.studies.textbook_smo import TextbookSmo

    n_rows = data.X.shape[0]

    def ours(**parameters):
        return PegasosClassifier(C=C, random_state=seed, **parameters)

    found = {
        "ours, linear": ours(),
        "Pegasos, linear": ours(solver="pegasos"),
        "LinearSVC, hinge": LinearSVC(C=C, loss="hinge", random_state=seed),
        "SGDClassifier": SGDClassifier(alpha=1 / (C * n_rows), random_state=seed),
        "SVC, linear (SMO)": SVC(C=C, kernel="linear"),
        "ours, rbf": ours(kernel="rbf", gamma=gamma),
        "Pegasos, rbf": ours(kernel="rbf", gamma=gamma, solver="pegasos"),
        "SVC, rbf (SMO)": SVC(C=C, kernel="rbf", gamma=gamma),
    }
    if n_rows <= TEXTBOOK_ROWS and not hasattr(data.X, "indptr"):
        found["textbook SMO, rbf"] = OneVsOneClassifier(TextbookSmo(C=C, kernel="rbf", gamma=gamma))
    return found


def measured(name: str, model, data) -> dict[str, Any]:
    """Fit one model; its errors and seconds. Ours are fitted on a few rows first, so that compiling is not timed."""
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models that have not converged, which their gaps show
        if type(model).__module__.startswith("pegasos"):
            model.fit(data.X[:200], data.y[:200]) if len(np.unique(data.y[:200])) > 1 else None
        started = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - started
    return {
        "model": name,
        "fitted": model,
        "test error": float(np.mean(model.predict(data.X_test) != data.y_test)),
        "training error": float(np.mean(model.predict(data.X) != data.y)),
        "seconds": seconds,
        "objective": None,
        "gap": None,
    }


TEXTBOOK_ROWS = 2000  # more are too many for SMO in plain NumPy
COLUMNS = ["test error", "training error", "seconds", "objective", "gap"]


def add_objectives(rows: list[dict], data, C: float) -> None:
    """Add objectives and gaps to the rows; for linear models of scikit-learn, from the lower bound that ours prove."""
    import numpy as np

    lam = 1.0 / (C * data.X.shape[0])
    ours = [row for row in rows if hasattr(row["fitted"], "dual_gap_")]
    for row in ours:
        row["objective"] = float(np.mean(row["fitted"].objective_))
        row["gap"] = float(np.max(row["fitted"].dual_gap_))
    linear = [row["fitted"] for row in ours if row["fitted"].kernel == "linear"]
    proved = np.max([model.objective_ - model.dual_gap_ for model in linear], axis=0)
    for row in rows:
        model = row["fitted"]
        if hasattr(model, "dual_gap_") or not hasattr(model, "coef_"):
            continue
        pairs = (
            hasattr(model, "support_") and len(model.classes_) > 2
        )  # one-vs-one, as SVC treats more than two classes
        if not pairs:
            objectives = linear_objectives(model, data, lam)
            row["objective"] = float(np.mean(objectives))
            row["gap"] = float(np.max(objectives - proved))


def linear_objectives(model, data, lam: float):
    """λ/2(‖w‖² + b²) + mean hinge of each problem, one class against the rest."""
    import numpy as np

    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    scores = np.asarray(data.X @ coef.T) + model.intercept_
    positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    signs = np.where(data.y[:, None] == positive[None, :], 1.0, -1.0)
    squares = (coef.astype(float) ** 2).sum(axis=1) + np.asarray(model.intercept_, float) ** 2
    return lam / 2 * squares + np.maximum(0.0, 1.0 - signs * scores).mean(axis=0)


def record(rows: list[dict], data) -> None:
    """Fit ours once more, out of the clock, for the figures of their convergence."""
    from pegasos.estimators.progress import recording

    with recording(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows:
            if row["model"] == "ours, rbf":
                row["fitted"].fit(data.X, data.y)


def page_of(data, rows: list[dict], n_all: int, settings: dict):
    """The page that reports a comparison."""
    from pegasos.cli.figures import data_figures, model_figures
    from pegasos.cli.output import command_line
    from pegasos.plotting import BarsDisplay
    from pegasos.report.page import Page, Remark, Table
    from pegasos.studies.base import figure_of

    best = min(rows, key=lambda row: row["test error"])
    names = [row["model"] for row in rows]
    seconds = BarsDisplay(names, [row["seconds"] for row in rows], value_name="seconds", log=True)
    errors = BarsDisplay(names, [row["test error"] for row in rows], value_name="error")
    note = (
        "Objective: mean over the problems of λ/2(‖w‖² + b²) + mean hinge, one class against the rest. Gap: the most "
        "it can be above the optimum, proved by our dual bound. SVC with rbf has a bias that is not penalised, and "
        "with more than two classes other problems: no objective to compare."
    )
    formats = {"test error": ".4f", "training error": ".4f", "seconds": ".3f", "objective": ".5f", "gap": ".2g"}
    table = Table("comparison", "Ours and scikit-learn's", ["model", *COLUMNS],
                  [[row[column] for column in ("model", *COLUMNS)] for row in rows], note, formats)  # fmt: skip
    remarks = []
    if data.X.shape[0] < n_all:
        text = f"{data.X.shape[0]} of {n_all} training rows were used; --max-rows changes that."
        remarks.append(Remark("note", text))
    fastest = next(row["fitted"] for row in rows if row["model"] == "ours, rbf")
    return Page(
        "compare",
        f"Pegasos and its peers on {data.name}",
        f"The lowest test error is {best['test error']:.4f}, of {best['model']}, on {data.X_test.shape[0]} test rows.",
        [table],
        [
            figure_of("runtimes", "Seconds of a fit", seconds),
            figure_of("errors", "Test error", errors),
            *model_figures(fastest, data),
            *data_figures(data),
        ],
        remarks,
        settings=settings,
        data=[data.facts()],
        command=command_line(),
        seconds=sum(row["seconds"] for row in rows),
    )  # fmt: skip
