"""Writing files whole or not at all: a reader never sees half a file, a failure leaves the one that was there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary path in the same folder, to write to; it replaces `path` when the block ends without an error."""
    path = Path(os.path.realpath(path))  # of a link the file that it points to is replaced, not the link
    check_writable(path)
    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        with _named(path):
            yield path
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(descriptor)
    written = Path(name)
    try:
        with _named(path):
            yield written
            _flush(written)
            os.chmod(written, _mode(path))
            os.replace(written, path)
    except BaseException:
        with suppress(OSError):
            written.unlink()
        raise


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Give a system error (that of a full disk, say) the name of the file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def check_writable(path: str | os.PathLike) -> None:
    """Raise OSError with a sentence if no file can be written at `path`: to be called before long work."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file to write.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"The folder {folder} does not exist; make it, or give another place for {path.name}.")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise PermissionError(f"{path} cannot be written: permission denied.")


def _flush(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _mode(path: Path) -> int:
    """The permissions of the file to replace, or those that a new file gets."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
