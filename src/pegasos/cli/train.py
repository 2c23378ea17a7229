"""`pegasos train`: fit a model, evaluate it, and save it."""

import time
from contextlib import nullcontext
from functools import partial
from typing import Any

from pegasos.cli import options
from pegasos.cli.options import takes_parameters, takes_table, with_examples


@with_examples(
    "pegasos train digits --kernel rbf --gamma 0.25 --lam 1e-4 -o digits.safetensors",
    "pegasos train train.csv --label species --test 0.25 --report out.html",
    "pegasos train a9a.bz2 --test a9a.t.bz2 --tol 1e-4",
    "pegasos train big.svm --stream yes --lam 1e-6 --max-iter 3 --max-time 600 -o big.safetensors",
    "pegasos train cs303 --solver pegasos --lam 0.05 --start w1.txt",
    "pegasos train mnist --kernel rbf --C 5 -o m.safetensors --checkpoint m.part --every 30 --resume",
)
@takes_table
@takes_parameters
def train(
    data: options.Data,
    output: options.Output = None,
    test: options.Test = None,
    scale: options.Scale = "auto",
    regression: options.Regression = False,
    seed: options.Seed = 0,
    report: options.Report = None,
    json: options.Json = False,
    stream: options.Stream = "auto",
    checkpoint: options.Checkpoint = None,
    every: options.Every = None,
    resume: options.Resume = False,
    start: options.Start = None,
    *,
    table: dict[str, Any],
    parameters: dict[str, str],
) -> None:
    """Train a support vector machine on DATA."""
    from pegasos.cli import output as out
    from pegasos.cli import streaming
    from pegasos.cli.data import load_labelled, test_share, with_test_part
    from pegasos.cli.model import (
        check_scale,
        checkpoint_from,
        new_estimator,
        remove_checkpoint,
        scaler_for,
        start_vector,
        with_scaler,
    )
    from pegasos.cli.options import parse_single_values

    given = parse_single_values(parameters)
    check_scale(scale)
    test_share(test)
    out.check_outputs(output, checkpoint, report=report, inputs=(data, test, start))
    kept = checkpoint_from(checkpoint, every, resume)
    watched = out.on_terminal() and not json
    svm = new_estimator(given, regression, seed, verbose=int(watched)).set_params(checkpoint=kept)
    source = streaming.source_for(stream, data, table, svm)
    found: Any
    if source is not None:
        if start is not None:
            raise ValueError("--start is for rows in memory; a file that is read in pieces takes none (--stream no).")
        model, found = streaming.fit(svm, source, test, table, scale, seed)
        results_for = streaming.results_of
    else:
        found = with_test_part(
            load_labelled(data, table, regression, raw=scale == "none"), test, table, seed, regression
        )
        model = with_scaler(svm, scaler_for(found.X, scale))
        results_for = partial(results_of, seconds=fit(model, found, report is not None, start_vector(start, model)))
    if output is not None:
        save(model, output, found, table)
    remove_checkpoint(kept, svm)
    results = results_for(model, found)
    page = page_of(model, found, results)
    out.write_report(page, report)
    out.show(page, json, results)
    out.note(f"model: {output}" if output else "The model is not saved; -o FILE saves it.")


def fit(model, data, recorded: bool, parameters: dict[str, Any] | None = None) -> float:
    """Fit with these parameters of `fit`, and a history for figures if `recorded`; the seconds it took."""
    from pegasos.estimators.progress import recording

    started = time.perf_counter()
    with recording() if recorded else nullcontext():
        model.fit(data.X, data.y, **parameters or {})
    return time.perf_counter() - started


def save(model, path, data, table: dict[str, Any]) -> None:
    """Save a model with facts about its training file that `pegasos predict` reads other files by."""
    import pegasos
    from pegasos.cli.output import command_line

    about = {
        "data": data.name,
        "fingerprint": data.fingerprint,
        "feature_names": data.feature_names,
        "usual_label": data.label_name if data.label_name is not None else table["label"],
        "usual_drop": list(data.left_out),
        "scaling": None if data.scaling is None else data.scaling.as_json(),
        "raw": data.raw,
        "first_index": data.first_index,
        "command": command_line(),
    }
    pegasos.save(model, path, about)


def results_of(model, data, seconds: float) -> dict[str, Any]:
    """Facts about a fitted model, by name."""
    import numpy as np

    from pegasos.cli.model import rows_for, scaler_name, svm_of

    svm = svm_of(model)
    score = "R²" if not hasattr(svm, "classes_") else "accuracy"
    found = {
        "model": f"{type(svm).__name__}, {svm.kernel}",
        "features scaled by": scaler_name(model),
        "training rows": data.X.shape[0],
        "features": data.n_features,
        "classes": len(svm.classes_) if hasattr(svm, "classes_") else None,
        "seconds": seconds,
        "steps": svm.n_iter_,
        "objective (mean)": float(np.mean(svm.objective_)),
        "relative gap (largest)": float(np.max(svm.relative_gap_)),
        f"training {score}": model.score(data.X, data.y),
    }
    if hasattr(svm, "support_"):
        found["support rows"] = int(svm.support_.size)
    if data.X_test is not None:
        found["test rows"] = data.X_test.shape[0]
        found[f"test {score}"] = model.score(rows_for(data.X_test, model), data.y_test)
    return {name: value for name, value in found.items() if value is not None}


def page_of(model, data, results: dict[str, Any]):
    """The page that reports a fitted model."""
    from pegasos.cli.figures import convergence_figures, data_figures, model_figures
    from pegasos.cli.model import svm_of
    from pegasos.cli.output import command_line, results_table
    from pegasos.report.page import Page

    svm = svm_of(model)
    if hasattr(data, "X"):
        figures = [*model_figures(model, data), *data_figures(data)]
    else:  # a stream, whose rows are not in memory
        figures = convergence_figures(model)
    gap, objective = results["relative gap (largest)"], results["objective (mean)"]
    summary = f"Trained in {results['seconds']:.2f} s; the relative gap is at most {gap:.3g}"
    summary += f" (mean objective {objective:.4g})." if gap == gap else "."
    return Page(
        "train",
        f"{type(svm).__name__} on {data.name}",
        summary if gap == gap else f"Trained in {results['seconds']:.2f} s, without a certificate.",
        [results_table(results)],
        figures,
        settings=svm.get_params(),
        data=[data.facts()],
        command=command_line(),
        seconds=results["seconds"],
    )
