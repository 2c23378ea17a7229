"""Every item of the source documents is tested or shown by a study: `requirements.txt` names where, and it is so.

To list them: ``python tests/test_requirements.py``.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def requirements() -> dict[str, tuple[str, list[str]]]:
    """The meaning of each item and the places that name it, by its code."""
    found = {}
    for line in (FOLDER / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        code, meaning, places = line.split(" | ")
        assert code not in found, f"{code} is listed twice"
        found[code] = (meaning, [place.strip() for place in places.split(";")])
    return found


def names_in(file: str) -> set[str]:
    """The names of the tests in a file."""
    tree = ast.parse((FOLDER / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def covered_by(study: str) -> list[str]:
    """The codes that a study says it covers, in its JSON, too."""
    return import_module(f"pegasos.studies.{study.replace('-', '_')}").COVERS


def is_there(code: str, place: str) -> bool:
    """Whether a place exists and is about the item."""
    if place.startswith("study "):
        return code in covered_by(place.removeprefix("study "))
    file, _, name = place.partition("::")
    return (FOLDER / file).is_file() and name in names_in(file)


@pytest.mark.parametrize("code", requirements())
def test_every_item_is_tested_or_shown(code):
    _, places = requirements()[code]
    assert places
    for place in places:
        assert is_there(code, place), f"{code}: {place} is not there, or does not name it"


def test_the_list_is_whole():
    """The series of codes have no gaps, and studies name no items that are not listed."""
    from pegasos.studies import STUDIES

    known = requirements()
    for letter, last in (("A", 25), ("K", 4), ("E", 8), ("M", 15)):
        assert {f"{letter}{number}" for number in range(1, last + 1)} <= known.keys()
    for study in STUDIES:
        assert set(covered_by(study)) <= known.keys()
        for code in covered_by(study):
            assert f"study {study}" in known[code][1] or not code.startswith(("E", "M")), f"{study} shows {code}, too"


if __name__ == "__main__":
    for code, (meaning, places) in requirements().items():
        marks = "".join("." if is_there(code, place) else "!" for place in places)
        print(f"{code:28} {marks:5} {meaning}: {'; '.join(places)}")
