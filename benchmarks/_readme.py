"""The README's table of measured speed, written from the JSON of full runs."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks import _table

BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"
HEAD = ("task", "data", "ours", "beside it", "ratio", "bar", "errors, objectives (ours / peer)")
NOTHING = "No full run has been recorded yet."


def block(found: Sequence[dict]) -> str:
    """The table of all results that were judged, and what they were measured on."""
    judged = [results for results in found if not results["quick"]]
    lines = [_line(HEAD), _line(["---"] * len(HEAD))]
    for results in judged:
        lines += [_line(_cells(row, "gpu" in results["machine"])) for row in results["rows"] if not row["detail"]]
    return "\n".join([*lines, "", *(_machines(judged) or [NOTHING])])


def between(text: str, inside: str) -> str:
    """The text of the README with this between the two marks."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"README.md needs the lines {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n{inside}\n{END}{after}"


def update(readme: Path, found: Sequence[dict]) -> bool:
    """Write the table into the README; whether anything changed."""
    old = readme.read_text(encoding="utf-8")
    new = between(old, block(found))
    if new != old:
        readme.write_text(new, encoding="utf-8")
    return new != old


def _cells(row: dict, on_gpu: bool) -> list[str]:
    bar = row["bar"]["text"] if row["bar"] else "–"
    met = {None: "", True: ": met", False: ": **not met**"}[row["met"]]
    task = row["task"] if row["what"] == "fit" else f"{row['task']}, {row['what']}"
    ours, peer = _table.times(row["ours"]), _table.peer(row)
    task += ", on a GPU" if on_gpu else ""
    return [task, row["data"], ours, peer, _table.figure(row), bar + met, _table.facts(row) or "–"]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def _machines(found: Sequence[dict]) -> list[str]:
    """Each machine with the claims that were measured on it, and when."""
    hosts: dict[str, dict] = {}
    claims: dict[str, list[str]] = {}
    for results in found:
        host = results["machine"]
        key = _table.machine_line(host | {"threads": {"all": host["threads"]["asked"]}})
        known = hosts.setdefault(key, host | {"threads": {}})
        known["threads"] |= host["threads"]  # of the peers each claim loads its own
        claims.setdefault(key, []).append(f"`{results['name']}` {results['date'][:10]}")
    return [f"Measured on {_table.machine_line(hosts[key])}: {', '.join(names)}." for key, names in claims.items()]
