"""Results as JSON, one file per claim."""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._claims import NAMES
from benchmarks._measure import machine
from benchmarks._options import Options


def results_of(name: str, title: str, found: dict, options: Options) -> dict:
    """The results of a claim with its machine and versions. A quick trial has no verdicts."""
    rows = [row | {"met": None} for row in found["rows"]] if options.quick else found["rows"]
    return {
        "name": name,
        "title": title,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": options.quick,
        "repeats": min((len(row["ours"]) for row in rows if row["ours"]), default=0),
        "seed": options.seed,
        "machine": machine(options.threads, options.quick) | found.get("machine", {}),
        "settings": found.get("settings", {}),
        "missing": {row["peer"]: row["missing"] for row in rows if row["missing"]},
        "notes": list(found.get("notes", [])),
        "rows": rows,
    }


def write(folder: Path, results: dict) -> Path:
    """Write results as JSON without NaN."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{results['name']}.json"
    text = json.dumps(plain(results), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def beside_earlier(rows: Sequence[dict], folder: Path, name: str) -> list[dict]:
    """These rows in the places of the same ones of an earlier run of the claim, the others of which are kept."""
    key = lambda row: (row["task"], row["data"], row["what"], row["peer"])
    found = {key(row): row for results in read(folder, [name]) for row in results["rows"]}
    return list((found | {key(row): row for row in rows}).values())


def read(folder: Path, names: Sequence[str] = NAMES) -> list[dict]:
    """The results of a folder, in the order of the claims."""
    paths = [folder / f"{name}.json" for name in names]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]


def plain(value: Any) -> Any:
    """Values as JSON has them, nan as null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
