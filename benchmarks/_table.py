"""Results as a table on the terminal, and the cells that the README shares with it."""

import sys
from statistics import median

from rich.console import Console
from rich.table import Table

MET = {None: "–", True: "yes", False: "NO"}


def seconds(value: float) -> str:
    """A time with three digits or so."""
    if value < 0.0995:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def times(values: list[float]) -> str:
    """The median, and the range where there is one."""
    if not values:
        return "–"
    low, high = seconds(min(values)), seconds(max(values))
    return seconds(median(values)) + (f" ({low} – {high})" if len(values) > 1 else "")


def percent(share: float) -> str:
    """A share as per cent."""
    return f"{100 * share:.3g} %"


def figure(row: dict) -> str:
    """The ratio, or the figure that is judged by itself."""
    if row["ratio"] is not None:
        return f"{row['ratio']:.3g} ×"
    return "–" if row["value"] is None else f"{row['value']:.3g} {row['unit']}".strip()


def peer(row: dict) -> str:
    """The name and the times of the peer."""
    if row["peer"] is None:
        return "–"
    return f"{row['peer']}: " + (f"missing, {row['missing']}" if row["missing"] else times(row["peer_times"]))


def facts(row: dict) -> str:
    """Errors and objectives, ours and the peer's."""
    shown = []
    for name, text in (("error", percent), ("objective", "{:.4g}".format)):
        sides = [text(side[name]) if side.get(name) is not None else "–" for side in _sides(row)]
        if any(side != "–" for side in sides):
            shown.append(f"{name} " + " / ".join(sides))
    return "; ".join(shown)


def machine_line(host: dict) -> str:
    """The machine, its threads and the versions that matter."""
    threads = ", ".join(f"{name} {count}" for name, count in host["threads"].items() if name != "asked")
    versions = ", ".join(f"{name} {number}" for name, number in host["versions"].items())
    gpu = f"{_gpu(host['gpu'])}; " if "gpu" in host else ""
    return f"{gpu}{host['processor']}, {host['cores']} cores, threads: {threads}; Python {host['python']}, {versions}"


def render(results: dict) -> None:
    """Show the rows, what is missing, and the machine."""
    table = Table(title=results["title"] + (" (quick trial: not judged)" if results["quick"] else ""), show_lines=True)
    for name in ("what", "ours", "peer", "ratio", "bar", "met", "ours / peer", "note"):
        table.add_column(name, justify="right" if name == "ratio" else "left")
    for row in results["rows"]:
        bar = row["bar"]["text"] if row["bar"] else "–"
        what = f"{row['task']}\n{row['data']}\n{row['what']}"
        table.add_row(what, times(row["ours"]), peer(row), figure(row), bar, MET[row["met"]], facts(row), row["note"])
    console = Console(width=None if sys.stdout.isatty() else 180, highlight=False, markup=False)
    console.print(table)
    for name, reason in results["missing"].items():
        console.print(f"{name} is missing: {reason}.")
    for note in results["notes"]:
        console.print(note)
    host = results["machine"]
    console.print(f"{machine_line(host)}; sgemm {host['sgemm_gflops']:.0f} GFLOP/s.")
    console.print(f"Medians of {results['repeats']} repeats (least – most); what has no range ran once.")


def _gpu(card: dict) -> str:
    return f"{card['name']}, {card['memory']}, driver {card['driver']}, CUDA {card['cuda']}, CuPy {card['cupy']}"


def _sides(row: dict) -> list[dict]:
    return [row["facts"]] if row["peer"] is None or row["missing"] else [row["facts"], row["peer_facts"]]
