"""Model files, changed in many ways and loaded: each is rejected, or is a model that predicts (tests/mutations.py)."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path

from model_files import originals
from mutations import judged_case


@cache
def _files(_process: int, folder: Path) -> list[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return originals(folder)


def case(rng, folder: Path) -> tuple[str, str]:
    """One changed file."""
    kind, outcome = judged_case(
        int(rng.integers(2**31)), int(rng.integers(2**31)), _files(os.getpid(), folder), folder / "m"
    )
    return kind, "refused" if outcome == "rejected" else "read"
