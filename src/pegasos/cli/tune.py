"""`pegasos tune`: cross-validate every combination of the values given."""

from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import check_seconds, takes_parameters, takes_table, with_examples

DEFAULT_GRID = {"lam": [10.0**power for power in range(-6, 0)]}
DEFAULT_RBF_GAMMAS = [0.25, 1.0, 4.0]  # times the gamma that "scale" stands for
MOST_HEATMAPS = 12


@with_examples(
    "pegasos tune digits --kernel rbf --gamma 0.25,2 --lam 1e-5:10:7 --max-iter 1000,5000 --report out.html",
    "pegasos tune train.csv -o best.safetensors",
)
@takes_table
@takes_parameters
def tune(
    data: options.Data,
    output: options.Output = None,
    cv: Annotated[int, typer.Option("--cv", min=2, help="Folds.")] = 5,
    scoring: Annotated[str | None, typer.Option("--scoring", metavar="NAME", help="A scorer of scikit-learn.")] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="End the search after so long.")
    ] = None,
    scale: options.Scale = "auto",
    regression: options.Regression = False,
    seed: options.Seed = 0,
    report: options.Report = None,
    json: options.Json = False,
    *,
    table: dict[str, Any],
    parameters: dict[str, str],
) -> None:
    """Find the best parameters for DATA.

    An option may have several values, as in --lam 0.01,0.1,1 or --lam 1e-5:10:7 (seven values from 1e-5 to 10, evenly
    in the logarithm).
    """
    from pegasos import PegasosSearchCV
    from pegasos.cli import output as out
    from pegasos.cli.data import load_labelled
    from pegasos.cli.model import check_scale, scaler_for, with_scaler
    from pegasos.cli.train import fit, save

    fixed, grid = split_grid(parameters)
    if time_limit is not None:
        check_seconds("--time-limit", time_limit)
    svm = checked_estimator(fixed, grid, scoring, regression, seed)
    check_scale(scale)
    out.check_outputs(output, report=report, inputs=(data,))
    found = load_labelled(data, table, regression, raw=scale == "none")
    check_classes(found, regression)
    scaler = scaler_for(found.X, scale)
    model = with_scaler(svm, scaler)
    grid = grid or default_grid(fixed, svm, found, scaler)
    prefix = "" if scaler is None else "svm__"
    search = PegasosSearchCV(
        model,
        {prefix + name: values for name, values in grid.items()},
        cv=_folds(cv, regression, seed),
        scoring=scoring,
        max_time=time_limit,
        verbose=int(out.on_terminal() and not json),
    )
    seconds = fit(search, found, recorded=report is not None)
    if not search.best_score_ > float("-inf"):
        raise ValueError(f"No combination could be scored on {found.name}; try another --scoring or --time-limit.")
    if output is not None:
        save(search.best_estimator_, output, found, table)
    results = results_of(search, grid, prefix, seconds)
    page = page_of(search, found, grid, prefix, results)
    out.write_report(page, report)
    out.show(page, json, results)
    out.note(f"model: {output}" if output else "The best model is not saved; -o FILE saves it.")


def checked_estimator(fixed: dict[str, Any], grid: dict[str, list], scoring: str | None, regression: bool, seed: int):
    """The estimator with the fixed parameters; ValueError if a value of the grid or the scorer is invalid."""
    from sklearn.metrics import get_scorer_names

    from pegasos.cli.model import new_estimator

    if scoring is not None and scoring not in get_scorer_names():
        raise ValueError(
            f"--scoring {scoring!r} is not a scorer of scikit-learn, such as accuracy or balanced_accuracy."
        )
    firsts = {name: values[0] for name, values in grid.items()}
    for name, values in grid.items():
        for value in values:
            new_estimator(fixed | firsts | {name: value}, regression, seed)
    return new_estimator(fixed, regression, seed)


def check_classes(data, regression: bool) -> None:
    """Raise DataError for a classification of fewer than two classes."""
    import numpy as np

    from pegasos.io import DataError

    if not regression and len(np.unique(data.y)) < 2:
        raise DataError(f"{data.name} has one class only, {data.y[0]!s}; at least two are needed.")


def split_grid(parameters: dict[str, str]) -> tuple[dict[str, Any], dict[str, list]]:
    """Parameters with one value, and those with several: the grid."""
    from pegasos.cli.options import parse_values

    several = {name: list(dict.fromkeys(parse_values(name, text))) for name, text in parameters.items()}
    fixed = {name: values[0] for name, values in several.items() if len(values) == 1}
    return fixed, {name: values for name, values in several.items() if len(values) > 1}


def default_grid(fixed: dict[str, Any], svm, data, scaler) -> dict[str, list]:
    """The grid where no option has several values: λ, and for an RBF kernel gamma."""
    from pegasos.kernels import scale_gamma

    if {"lam", "C"} & fixed.keys():
        raise ValueError("There is nothing to tune: give an option several values, as in --lam 1e-5:10:7.")
    grid = dict(DEFAULT_GRID)
    if svm.kernel == "rbf" and svm.gamma == "scale":
        one = scale_gamma(data.X if scaler is None else scaler.fit_transform(data.X))
        grid["gamma"] = [float(f"{factor * one:.3g}") for factor in DEFAULT_RBF_GAMMAS]
    return grid


def _folds(count: int, regression: bool, seed: int):
    from sklearn.model_selection import KFold, StratifiedKFold

    return (KFold if regression else StratifiedKFold)(count, shuffle=True, random_state=seed)


def results_of(search, grid: dict, prefix: str, seconds: float) -> dict[str, Any]:
    """Results of a search, by name."""
    found: dict[str, Any] = {"best score": search.best_score_, "seconds": seconds}
    found |= {f"best {name}": search.best_params_[prefix + name] for name in grid}
    return found | {"combinations": len(search.cv_results_["params"]), "folds": search.n_splits_}


def page_of(search, data, grid: dict, prefix: str, results: dict[str, Any]):
    """The page that reports a search."""
    from pegasos.cli.figures import data_figures, model_figures
    from pegasos.cli.model import svm_of
    from pegasos.cli.output import command_line, results_table
    from pegasos.report.page import Page

    best = ", ".join(f"{name} = {_short(search.best_params_[prefix + name])}" for name in grid)
    return Page(
        "tune",
        f"Tuning {type(svm_of(search.best_estimator_)).__name__} on {data.name}",
        f"Best mean score {search.best_score_:.4f} with {best}, of {results['combinations']} combinations on "
        f"{search.n_splits_} folds in {results['seconds']:.1f} s.",
        [results_table(results), cell_table(search, grid, prefix)],
        [*search_figures(search, grid, prefix), *model_figures(search.best_estimator_, data), *data_figures(data)],
        settings={"grid": grid, "folds": search.n_splits_} | svm_of(search.best_estimator_).get_params(),
        data=[data.facts()],
        command=command_line(),
        seconds=results["seconds"],
    )


def _short(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def cell_table(search, grid: dict, prefix: str):
    """The table of all combinations, the best first."""
    import numpy as np

    from pegasos.report.page import Table

    cells = search.cv_results_
    order = np.argsort(cells["rank_test_score"], kind="stable")
    rows = [
        [*(cells["params"][place][prefix + name] for name in grid), cells["mean_test_score"][place],
         cells["std_test_score"][place]]
        for place in order
    ]  # fmt: skip
    columns = [*grid, "mean score", "± std"]
    return Table("cells", "Every combination", columns, rows, formats={"mean score": ".4f", "± std": ".4f"})


def search_figures(search, grid: dict, prefix: str) -> list:
    """Scores along one parameter, or heat maps of pairs of parameters, the others at their best values."""
    from functools import partial
    from itertools import combinations

    from pegasos.report.page import Figure

    if len(grid) == 1:
        (name,) = grid
        numbers = all(isinstance(value, int | float) for value in grid[name])
        path = partial(_path, search, prefix + name)
        return [Figure("path", f"Score against {name}", path)] if numbers else []
    caption = "Mean score; other parameters at the best." if len(grid) > 2 else "Mean score."
    return [
        Figure(
            f"scores-{y}-{x}".replace("_", "-"), f"{y} and {x}", partial(_heat, search, prefix + x, prefix + y), caption
        )
        for y, x in list(combinations(grid, 2))[:MOST_HEATMAPS]
    ]


def _path(search, x: str):
    from pegasos.plotting import PathsDisplay

    return PathsDisplay.from_estimator(search, x=x, error=False).figure_


def _heat(search, x: str, y: str):
    from pegasos.plotting import SearchHeatmapDisplay

    return SearchHeatmapDisplay.from_estimator(search, x=x, y=y, error=False).figure_
