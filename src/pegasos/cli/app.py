"""The program `pegasos`: its sub-commands, and how errors reach the user."""

import os
import signal
import sys
import warnings
from typing import Annotated, NoReturn

import typer

from pegasos.cli.classify import classify
from pegasos.cli.compare import compare
from pegasos.cli.export import export
from pegasos.cli.info import info
from pegasos.cli.predict import predict
from pegasos.cli.resampling import bootstrap, permute
from pegasos.cli.study import study
from pegasos.cli.train import train
from pegasos.cli.tune import tune
from pegasos.cli.warmup import warmup
from pegasos.cli.watch import watch

app = typer.Typer(
    name="pegasos",
    help="Support vector machines by exact Pegasos, with a certificate of how good the answer is.\n\n"
    "DATA is [bold]digits[/bold] (or another known name: breast-cancer, iris, wine, usps, mnist, fashion-mnist, "
    "covtype, adult, news20, rcv1, cs303) or a file: LIBSVM text, CSV, TSV, whitespace text, Parquet, npz, HDF5, IDX, "
    "also compressed.",
    epilog="Try: pegasos train digits --kernel rbf --gamma 0.25 --lam 1e-4",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for command in (train, predict, classify, tune, permute, bootstrap, compare, study, watch, info, export, warmup):
    app.command(epilog=command.examples)(command)  # type: ignore[union-attr]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"pegasos {version('pegasos')}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> NoReturn:
    """Run the command of `sys.argv` and exit: 0 for success, 1 for a bug, 2 for wrong use or input, 130 for Ctrl-C."""
    warnings.showwarning = _say_warning
    if hasattr(signal, "SIGPIPE"):  # end quietly when the reader of our output, such as `head`, ends
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _open_what_is_closed()
    sys.exit(_run())


def _open_what_is_closed() -> None:
    """Let nothing stand for what the caller closed: the next file would get its number, and our words with it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115


def _run() -> int:
    try:
        status = app(standalone_mode=False) or 0
        return _say("interrupted.", 130) if status == 130 else status
    except KeyboardInterrupt:
        return _say("interrupted.", 130)
    except Exception as error:
        if type(error).__name__ == "Abort":  # what typer makes of Ctrl-C
            return _say("interrupted.", 130)
        if os.environ.get("PEGASOS_DEBUG"):
            raise
        return _explained(error)


def _explained(error: Exception) -> int:
    """Print an error as one sentence; the exit status."""
    if hasattr(error, "format_message"):  # wrong use of the command line, found by typer
        if not error.format_message():  # no command at all: the help is shown already
            return 2
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "pegasos"
        return _say(f"{_sentence(error.format_message())} See {where} --help.", 2)
    if isinstance(error, MemoryError):
        detail = str(error).rstrip(".")
        return _say(f"There is not enough memory{f' ({detail})' if detail else ''}; try fewer rows or --cache-size.", 2)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return _say(f"{error.filename}: {error.strerror}.", 2)
    if isinstance(error, OSError) and error.strerror:
        return _say(f"The output cannot be written: {error.strerror}.", 2)
    from pegasos.utils.arrays import DeviceMissing  # not at the top: it imports NumPy, which takes a while

    if isinstance(error, OSError | ValueError | ImportError | NotImplementedError | DeviceMissing):
        return _say(_sentence(str(error)), 2)
    return _say(f"{_sentence(f'{type(error).__name__}: {error}')} This is a fault of pegasos; set PEGASOS_DEBUG=1 to "
                "see where.", 1)  # fmt: skip


def _sentence(text: str) -> str:
    """A message on one line, with a full stop."""
    text = " ".join(text.split())
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _say(text: str, status: int) -> int:
    sys.stdout.flush()
    print(f"error: {text}", file=sys.stderr)
    return status


def _say_warning(message, category, filename, lineno, file=None, line=None) -> None:
    text = str(message).partition("Traceback")[0]  # scikit-learn appends the traceback of a failed fit
    print(f"warning: {_sentence(text)}", file=sys.stderr)
