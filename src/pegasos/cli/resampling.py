"""`pegasos permute` and `pegasos bootstrap`: whether a score could be chance, and how sure its model is."""

import time
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import parse_single_values, takes_parameters, takes_table, with_examples

Scoring = Annotated[str | None, typer.Option("--scoring", metavar="NAME", help="A scorer of scikit-learn.")]
MOST_COEFFICIENTS = 200  # in the table


@with_examples(
    "pegasos permute breast-cancer --permutations 1000",
    "pegasos permute train.csv --kernel rbf --gamma 0.25 --scoring balanced_accuracy --report out.html",
)
@takes_table
@takes_parameters
def permute(
    data: options.Data,
    permutations: Annotated[int, typer.Option("--permutations", min=1, help="Permutations of the labels.")] = 1000,
    cv: Annotated[int, typer.Option("--cv", min=2, help="Folds.")] = 5,
    scoring: Scoring = None,
    scale: options.Scale = "auto",
    regression: options.Regression = False,
    seed: options.Seed = 0,
    report: options.Report = None,
    json: options.Json = False,
    *,
    table: dict[str, Any],
    parameters: dict[str, str],
) -> None:
    """Test whether the cross-validated score on DATA could be chance, by the scores of permuted labels."""
    from pegasos.cli import output as out
    from pegasos.model_selection import permutation_test_score
    from pegasos.plotting import NullDistributionDisplay
    from pegasos.report.page import Figure

    svm, found, X, scaled = _prepared(data, scoring, scale, regression, seed, report, table, parameters)
    began = time.perf_counter()
    score, others, pvalue = permutation_test_score(
        svm, X, found.y, cv=_folds(cv, regression, seed), n_permutations=permutations, scoring=scoring,
        random_state=seed, verbose=int(out.on_terminal() and not json),
    )  # fmt: skip
    name = scoring or ("R²" if regression else "accuracy")
    results = {
        "score": float(score), "p-value": float(pvalue), "mean score of permuted labels": float(others.mean()),
        "largest score of permuted labels": float(others.max()), "permutations": permutations, "folds": cv,
        "features scaled by": scaled, "seconds": time.perf_counter() - began,
    }  # fmt: skip
    draw = lambda: NullDistributionDisplay(others, score, pvalue, score_name=name).plot().figure_
    summary = f"The {name} of {score:.4f} has a p-value of {pvalue:.4g}: so often would permuted labels score as well."
    figures = [Figure("null-distribution", "Scores of permuted labels", draw)]
    page = _page("permute", f"Permutation test on {found.name}", summary, found, svm, results, [], figures)
    out.write_report(page, report)
    out.show(page, json, results)


@with_examples(
    "pegasos bootstrap breast-cancer --resamples 1000",
    "pegasos bootstrap train.csv --level 0.9 --bca --report out.html",
)
@takes_table
@takes_parameters
def bootstrap(
    data: options.Data,
    resamples: Annotated[int, typer.Option("--resamples", min=2, help="Resamples of the rows.")] = 1000,
    level: Annotated[float, typer.Option("--level", help="Confidence level of the intervals.")] = 0.95,
    bca: Annotated[bool, typer.Option("--bca", help="Correct intervals of weights for bias and acceleration.")] = False,
    scoring: Scoring = None,
    scale: options.Scale = "auto",
    regression: options.Regression = False,
    seed: options.Seed = 0,
    report: options.Report = None,
    json: options.Json = False,
    *,
    table: dict[str, Any],
    parameters: dict[str, str],
) -> None:
    """Give intervals for the score on DATA and for the weights of a linear model, by resampling its rows."""
    from pegasos import model_selection
    from pegasos.cli import output as out

    if not 0 < level < 1:
        raise ValueError(f"--level {level:g}: a confidence level lies between 0 and 1.")
    svm, found, X, scaled = _prepared(data, scoring, scale, regression, seed, report, table, parameters)
    began = time.perf_counter()
    fits = model_selection.bootstrap(
        svm, X, found.y, n_resamples=resamples, scoring=scoring, bca=bca, random_state=seed,
        verbose=int(out.on_terminal() and not json),
    )  # fmt: skip
    name = scoring or ("R²" if regression else "accuracy")
    low, high = fits.interval("scores", level)
    mean = _mean(fits.scores)
    results = {
        f"{name} on rows left out (mean)": mean, "interval from": float(low),
        "interval to": float(high), "level": level, "resamples": resamples, "features scaled by": scaled,
        "seconds": time.perf_counter() - began,
    }  # fmt: skip
    tables, figures = _of_weights(fits, found, level, "bca" if bca else "percentile")
    summary = (
        f"{name} {results[f'{name} on rows left out (mean)']:.4f}, {level:.0%} of resamples in {low:.4f} to {high:.4f}."
    )
    page = _page("bootstrap", f"Bootstrap on {found.name}", summary, found, svm, results, tables, figures)
    out.write_report(page, report)
    out.show(page, json, results)


def _prepared(data, scoring, scale: str, regression: bool, seed: int, report, table, parameters) -> tuple:
    """The estimator, the data, their rows scaled, and the name of the scaler.

    The scaler, which sees no labels, learns from all rows, so that all fits share what follows.
    """
    from pegasos.cli import output as out
    from pegasos.cli.data import load_labelled
    from pegasos.cli.model import check_scale, rows_for, scaler_for
    from pegasos.cli.tune import check_classes, checked_estimator

    svm = checked_estimator(parse_single_values(parameters), {}, scoring, regression, seed)
    check_scale(scale)
    out.check_outputs(report=report, inputs=(data,))
    found = load_labelled(data, table, regression)
    check_classes(found, regression)
    scaler = scaler_for(found.X, scale)
    if scaler is None:
        return svm, found, found.X, "none"
    return svm, found, scaler.fit_transform(rows_for(found.X, scaler)), type(scaler).__name__


def _folds(count: int, regression: bool, seed: int):
    from sklearn.model_selection import KFold, StratifiedKFold

    return (KFold if regression else StratifiedKFold)(count, shuffle=True, random_state=seed)


def _mean(scores) -> float:
    import numpy as np

    return float(np.nanmean(scores))


def _of_weights(fits, data, level: float, method: str) -> tuple[list, list]:
    """A table and a figure of the weights of a linear model with one column."""
    from pegasos.plotting import IntervalsDisplay
    from pegasos.report.page import Figure, Table

    if fits.coef is None or fits.coef.shape[1] != 1:
        return [], []
    estimates, (low, high) = fits.estimate["coef"][0], fits.interval("coef", level, method)[:, 0]
    names = data.feature_names or [f"feature {number}" for number in range(len(estimates))]
    rows = [[name, float(e), float(a), float(b)] for name, e, a, b in zip(names, estimates, low, high, strict=True)]
    shown = sorted(rows, key=lambda row: -max(row[2], -row[3]))[:MOST_COEFFICIENTS]
    columns, note = ["feature", "weight", "from", "to"], f"{level:.0%} intervals, {method}; surest first."
    formats = dict.fromkeys(columns[1:], ".4g")
    draw = lambda: IntervalsDisplay(names, estimates, low, high, value_name="weight").plot().figure_
    return [Table("weights", "Weights", columns, shown, note, formats)], [Figure("weights", "Weights", draw, note)]


def _page(name: str, title: str, summary: str, data, svm, results: dict, tables: list, figures: list):
    from pegasos.cli.output import command_line, results_table
    from pegasos.report.page import Page

    return Page(
        name, title, summary, [results_table(results), *tables], figures, settings=svm.get_params(),
        data=[data.facts()], command=command_line(), seconds=results["seconds"],
    )  # fmt: skip
