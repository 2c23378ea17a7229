"""Tables written from the JSON of full runs: a short one in the README, all of them in docs/benchmarks.md."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import _given, _page, _table

BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"
HEAD = ("data, task", "ours", "beside it", "ratio", "errors, objectives (ours / peer)")
SELECTED = (  # claim, and how task, data and peer begin: gains of every kind, and where there are none
    ("everyday", "PegasosClassifier()", "a9a", "LinearSVC"),
    ("everyday", "PegasosClassifier(loss='squared_hinge')", "RCV1", "LinearSVC"),
    ("everyday", "PegasosRegressor(epsilon=0.0, loss=", "California", "LinearSVR"),
    ("everyday", "PegasosClassifier(lam=0.0001, max_iter=5, solver=", "a9a", "SGDClassifier"),
    ("everyday", "PegasosClassifier(kernel='rbf'", "breast cancer", "SVC"),
    ("everyday", "PegasosClassifier(kernel='rbf'", "MNIST, more", "SVC"),
    ("everyday", "PegasosClassifier(C=5.0, gamma=0.02", "MNIST, 8", "SVC"),
    ("many", "precomputed", "", ""),
    ("many", "linear, 1000 bootstraps", "", ""),
    ("many", "linear, 4000 labels", "", ""),
    ("many", "rbf, C 1, 5 folds", "iris", ""),
)


def block(found: Sequence[dict]) -> str:
    """The README's table of selected claims, and what they were measured on."""
    chosen = [(results, row) for claim in SELECTED for results in found for row in rows_of(results, *claim)]
    if not chosen:
        return _page.NOTHING
    used = {results["name"]: results for results, _ in chosen}
    return "\n".join([_page.table(HEAD, [_cells(*pair) for pair in chosen]), "", *_machines(list(used.values()))])


def between(text: str, inside: str, name: str = "README.md") -> str:
    """The text of a page with this between the two marks."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{name} needs the lines {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n{inside}\n{END}{after}"


def pages(root: Path, found: Sequence[dict]) -> dict[Path, str]:
    """The pages with tables, and their text as it should be."""
    inside = {root / "README.md": block(found), root / "docs" / "benchmarks.md": _page.page(found)}
    return {path: between(path.read_text(encoding="utf-8"), text, path.name) for path, text in inside.items()}


def update(root: Path, found: Sequence[dict]) -> list[str]:
    """Write the tables into their pages; the names of those that changed."""
    new = {path: text for path, text in pages(root, found).items() if path.read_text(encoding="utf-8") != text}
    for path, text in new.items():
        path.write_text(text, encoding="utf-8")
    return [str(path.relative_to(root)) for path in new]


def rows_of(results: dict, claim: str, *begins: str) -> list[dict]:
    """The rows of a full run that were selected."""
    if results["quick"] or results["name"] != claim:
        return []
    begun = lambda row: all((row[key] or "").startswith(by) for key, by in zip(("task", "data", "peer"), begins))
    return [row for row in results["rows"] if row["ratio"] is not None and begun(row)]


def _cells(results: dict, row: dict) -> list[str]:
    """What was done with what, by whom, in which time."""
    told = row["task"].startswith("Pegasos")  # ours is the task
    settings = [f"`{row['task']}`"] if told else [text for text in _given.ours_of(results) if text.startswith("`")]
    task = row["data"] if told else f"{row['data']}: {row['task']}"
    task += "" if row["what"] == "fit" else f", {row['what']}"
    peer = _given.peer_of(results["name"], row["peer"]) or row["peer"]
    gap = row["facts"].get("gap")
    facts = [_table.facts(row), "" if gap is None else f"our gap {_table.percent(gap)}"]
    return [
        task,
        f"{settings[0] if settings else 'defaults but for those named'}: {_seconds(row['ours'])}",
        f"{peer}: {_seconds(row['peer_times'])}",
        _table.figure(row),
        "; ".join(filter(None, facts)) or "–",
    ]


def _seconds(times: Sequence[float]) -> str:
    return _table.seconds(median(times))


def _machines(found: Sequence[dict]) -> list[str]:
    """Each machine with the claims that were measured on it, and when."""
    hosts: dict[str, dict] = {}
    claims: dict[str, list[str]] = {}
    for results in found:
        host = results["machine"]
        key = _table.machine_line(host | {"threads": {}, "versions": {}})
        known = hosts.setdefault(key, host | {"threads": {"asked": 0, "all": host["threads"]["asked"]}, "versions": {}})
        known["versions"] |= host["versions"]
        claims.setdefault(key, []).append(f"`{results['name']}` {results['date'][:10]}")
    return [f"Measured on {_table.machine_line(hosts[key])}: {', '.join(names)}." for key, names in claims.items()]
