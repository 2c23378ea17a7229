"""The page of `pegasos watch`: models after T steps with a slider over T, in one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib.resources import files
from typing import Any

from pegasos.utils.files import check_writable, write_text


def write_watch(frames: dict[str, Any], path: str | os.PathLike, command: str = "") -> None:
    """Write the page for what `studies.boundary.frames_of` has gathered, whole or not at all."""
    check_writable(path)
    write_text(path, watch_page(frames, command))


def watch_page(frames: dict[str, Any], command: str = "") -> str:
    """The text of the page."""
    script = _template("watch.js")
    # Within a script element only "<" could end it.
    data = json.dumps(frames, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    filled = {
        "@HASH@": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "@TITLE@": html.escape(f"Watch it learn: {frames['note']}"),
        "@NOTE@": html.escape(_sentence(frames)),
        "@COMMAND@": html.escape(command),
        "@STYLE@": _template("watch.css"),
        "@DATA@": data,
        "@SCRIPT@": script,
    }
    text = _template("watch.html")
    for mark, value in filled.items():
        text = text.replace(mark, value)
    return text


def _sentence(frames: dict[str, Any]) -> str:
    kernel = "a linear kernel" if frames["kernel"] == "linear" else f"an RBF kernel of gamma {frames['gamma']:g}"
    return f"{frames['note']}; {kernel}, λ = {frames['lam']:g}."


def _template(name: str) -> str:
    return (files("pegasos.report") / "templates" / name).read_text(encoding="utf-8")
