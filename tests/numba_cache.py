"""Where the tests keep compiled loops: a folder named by all that the machine code is made of.

Numba looks only at the file in which a compiled function stands, and so would use code into which an earlier version of
another file was inlined. With another version of any of these files, of Numba or of Python, the folder is another.

    python tests/numba_cache.py      prints the folder
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = 24 * 3600.0  # seconds after its latest use


def sources() -> list[Path]:
    """The files that define compiled functions, and all that they import."""
    package = ROOT / "src" / "pegasos"
    todo = [path for path in package.rglob("*.py") if "jit" in path.read_text(encoding="utf-8")]
    found: set[Path] = set()
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [f"{node.module}.{name.name}" for name in node.names] if names else []
                names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
                places = [ROOT / "src" / name.replace(".", "/") for name in names if name.startswith("pegasos.")]
                todo += [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")
                         if file.exists()]  # fmt: skip
    return sorted(found)


def folder() -> Path:
    """The folder for the sources as they are."""
    made = hashlib.sha256(f"{sys.version} {version('numba')} {version('llvmlite')}".encode())
    for path in sources():
        made.update(str(path.relative_to(ROOT)).encode())
        made.update(path.read_bytes())
    return ROOT / ".numba_cache" / made.hexdigest()[:16]


def use() -> str:
    """Let Numba use that folder, unless NUMBA_CACHE_DIR says another, and remove those of a day ago."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        here = folder()
        here.mkdir(parents=True, exist_ok=True)
        os.utime(here)
        for other in here.parent.iterdir():
            if time.time() - other.stat().st_mtime > KEPT:
                shutil.rmtree(other, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = str(here)
    return os.environ["NUMBA_CACHE_DIR"]


if __name__ == "__main__":
    print(use())
