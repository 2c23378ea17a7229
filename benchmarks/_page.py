"""The page of all measurements, docs/benchmarks.md: what was measured, on what, and what each contestant was given."""

from collections.abc import Sequence

from benchmarks import _given, _table

HEAD = ("task", "data", "ours", "beside it", "ratio", "bar", "errors, objectives (ours / peer), notes")
NOTHING = "No full run has been recorded yet."


def page(found: Sequence[dict]) -> str:
    """A section for each claim that was measured in earnest."""
    judged = [results for results in found if not results["quick"]]
    return "\n\n".join(_section(results) for results in judged) or NOTHING


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(map(_line, [head, ["---"] * len(head), *rows]))


def _section(results: dict) -> str:
    """Machine, settings, table and notes of a claim."""
    repeats = f"{results['repeats']} repeats at least" if results["repeats"] > 1 else "some contestants once"
    about = [
        f"`python -m benchmarks run {results['name']}`, {results['date'][:10]}, {repeats}.",
        f"{_table.machine_line(results['machine'])}.",
        *_contestants(results),
    ]
    rows = [_cells(row) for row in results["rows"] if not row["detail"]]
    parts = [f"## {results['title']}", "\n".join(f"- {line}" for line in about), table(HEAD, rows)]
    return "\n\n".join([*parts, *results["notes"]])


def _contestants(results: dict) -> list[str]:
    """Ours and the peers, and what each was given."""
    lines = [f"Ours: {'; '.join(_given.ours_of(results))}."] if results["settings"] else []
    seen = dict.fromkeys(row["peer"] for row in results["rows"] if row["peer"] is not None)
    told = {name: _given.peer_of(results["name"], name) for name in seen}
    return lines + [f"{name}: {words}." for name, words in told.items() if words is not None]


def _cells(row: dict) -> list[str]:
    bar = row["bar"]["text"] if row["bar"] else "–"
    met = {None: "", True: ": met", False: ": **not met**"}[row["met"]]
    what = row["task"] if row["what"] == "fit" else f"{row['task']}, {row['what']}"
    facts = "; ".join(filter(None, [_table.facts(row), row["note"]]))
    return [what, row["data"], _table.times(row["ours"]), _table.peer(row), _table.figure(row), bar + met, facts or "–"]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
