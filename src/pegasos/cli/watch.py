"""`pegasos watch`: a page with a slider over T that shows how models of two-dimensional data come about."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pegasos.cli import options
from pegasos.cli.options import takes_table, with_examples

MOST_STEPS = 1_000_000


@takes_table
@with_examples(
    "pegasos watch moons --gamma 1",
    "pegasos watch iris --classes 1,2 --kernel linear --lam 0.01 -o iris.html",
    "pegasos watch digits --classes 3,8 --width 0.5",
)
def watch(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="moons, circles or blobs, a known name such as iris, or a file.")
    ] = "moons",
    output: Annotated[Path, typer.Option("-o", "--output", metavar="HTML", help="Where the page goes.")] = Path(
        "pegasos-watch.html"
    ),
    classes: Annotated[
        str | None, typer.Option("--classes", metavar="A,B", help="Two classes; the first two unless given.")
    ] = None,
    kernel: Annotated[str, typer.Option("--kernel", metavar="linear|rbf", help="The kernel.")] = "rbf",
    gamma: Annotated[
        str | None,
        typer.Option("--gamma", metavar="N", help="exp(−gamma·d²); 1 unless given. Features are standardised."),
    ] = None,
    width: Annotated[
        str | None, typer.Option("--width", metavar="N", help="The width γ of exp(−d²/(2γ)): --gamma 1/(2γ).")
    ] = None,
    lam: Annotated[float, typer.Option("--lam", help="Regularisation λ.")] = 0.01,
    steps: Annotated[int, typer.Option("--max-steps", help="The largest T.")] = 3000,
    seed: options.Seed = 0,
    *,
    table: dict[str, Any],
) -> None:
    """Watch it learn: boundary, support vectors, objective, bound and gap of five algorithms after T steps.

    The data are two classes in the plane; of more than two features it shows two principal components.
    """
    from pegasos.cli import output as out
    from pegasos.cli.options import parse_single_values, settled
    from pegasos.report.watch import write_watch
    from pegasos.studies.boundary import TOYS, frames_of

    if kernel not in ("linear", "rbf"):
        raise ValueError(f"--kernel {kernel!r} is not known here; choose from linear, rbf.")
    number = parse_single_values(settled({"gamma": gamma, "width": width})).get("gamma", 1.0)
    if isinstance(number, str) or not 0 < number < float("inf"):
        raise ValueError(f"--gamma {number}: a positive number is needed.")
    if not 0 < lam < float("inf"):
        raise ValueError(f"--lam {lam:g}: it must be positive and finite.")
    if not 10 <= steps <= MOST_STEPS:
        raise ValueError(f"--max-steps {steps}: a number from 10 to {MOST_STEPS} is needed.")
    out.check_outputs(output, inputs=() if data in TOYS else (data,))
    plane = plane_for(data, classes, seed, table)
    with out.StatusLine(f"watch {data}"):
        frames = frames_of(plane, kernel, number, lam, steps, seed)
    write_watch(frames, output, out.command_line())
    last = {panel["name"]: panel["frames"][-1] for panel in frames["panels"]}
    for name, frame in last.items():
        print(f"{name}: {frame['support']} support vectors, objective {frame['objective']:.4f}, gap {frame['gap']:.2g}")
    out.note(f"page: {output} (open it in a browser)")


def plane_for(data: str, classes: str | None, seed: int, table: dict[str, Any]):
    """The rows of a generated set, a known one or a file, in the plane."""
    from pegasos.cli.data import load_labelled
    from pegasos.studies.boundary import TOYS, plane_of, toy

    if data in TOYS:
        if classes is not None:
            raise ValueError(f"--classes does not go with {data}, which has two.")
        return toy(data, seed)
    pair = None
    if classes is not None:
        parts = [part.strip() for part in classes.split(",")]
        if len(parts) != 2 or parts[0] == parts[1]:
            raise ValueError(f"--classes {classes!r}: two different classes are needed, with a comma between them.")
        pair = (parts[0], parts[1])
    return plane_of(load_labelled(data, table), pair, seed)
