"""Writing files whole or not at all: a reader never sees half a file, a failure leaves the one that was there."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary path in the same folder, to write to; it replaces `path` when the block ends without an error."""
    path = _place(path)
    _check_place(path)
    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        with _named(path):
            yield path
        return
    written = _new_part(path)
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


def remove_parts(path: str | os.PathLike) -> None:
    """Remove the incomplete files of processes that were killed while writing `path`."""
    path = _place(path)
    for left in path.parent.glob(f"{glob.escape(_beginning(path))}*.part"):
        left.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike) -> None:
    """Raise OSError with a sentence if no file can be written at `path`: to be called before long work.

    A file is made there for a moment, or beside the one that is there: nothing else tells whether the system takes it.
    """
    path = _place(path)
    with _named(path):
        _check_place(path)
        if path.is_file():
            _new_part(path).unlink()
        elif not path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            path.unlink()


def _place(path: str | os.PathLike) -> Path:
    """Where a file is: of a link the file that it points to is replaced, not the link."""
    return Path(os.path.realpath(path))


def _beginning(path: Path) -> str:
    """How the names of incomplete files begin, which are short where that of the file is as long as a name may be."""
    return f".{path.name[:16]}-{blake2b(os.fsencode(path.name), digest_size=4).hexdigest()}."


def _new_part(path: Path) -> Path:
    """A new file in the same folder."""
    with _named(path):
        descriptor, name = tempfile.mkstemp(prefix=_beginning(path), suffix=".part", dir=path.parent)
    os.close(descriptor)
    return Path(name)


def _check_place(path: Path) -> None:
    """Raise OSError for a place where there is no permission, or no folder, to write."""
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
