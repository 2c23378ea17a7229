"""`pegasos export`: a saved model in the format of another program."""

from pathlib import Path
from typing import Annotated

import typer

from pegasos.cli.options import with_examples

FORMATS = {"onnx": "to_onnx", "libsvm": "save_libsvm", "liblinear": "save_liblinear"}
ENDINGS = {".onnx": "onnx"}


@with_examples(
    "pegasos export model.safetensors model.onnx",
    "pegasos export model.safetensors out.model --format libsvm",
)
def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `pegasos train -o` saved.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help=f"One of {', '.join(FORMATS)}; onnx by the ending.")
    ] = None,
) -> None:
    """Write a saved model in the format of another program."""
    import pegasos
    from pegasos.cli import output as out

    name = format or ENDINGS.get(output.suffix)
    if name is None:
        raise ValueError(f"The ending of {output} does not tell the format; give --format {', '.join(FORMATS)}.")
    if name not in FORMATS:
        raise ValueError(f"--format {name!r} is not known; choose from {', '.join(FORMATS)}.")
    out.check_outputs(output, inputs=(model,))
    try:
        getattr(pegasos, FORMATS[name])(pegasos.load(model), output)
    except TypeError as error:  # a model that the format cannot hold
        raise ValueError(str(error)) from error
    out.note(f"{output} written.")
