"""`python -m benchmarks list`, `run` and `readme`."""

import argparse
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

from benchmarks import _readme, _results, _table
from benchmarks._ceilings import DeviceMissing
from benchmarks._claims import NAMES, by_default, module_of
from benchmarks._data import DataMissing
from benchmarks._options import RESULTS, ROOT, TRIALS, Options
from benchmarks._race import say
from benchmarks._threads import fixed


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 1 after an error of a claim, or 2 where data or a device are missing."""
    chosen = _parser().parse_args(words)
    return int(chosen.command(chosen) or 0)


def list_claims(chosen: argparse.Namespace) -> None:
    """Print the claims; those in brackets run only when they are named."""
    for name in NAMES:
        module = module_of(name)
        print(f"{name if module.BY_DEFAULT else f'[{name}]':<16}{module.TITLE}")


def write_readme(chosen: argparse.Namespace) -> None:
    """Write the README's table and the page of all of them from the JSON of full runs."""
    changed = _readme.update(ROOT, _results.read(chosen.results))
    print(f"New tables in {' and '.join(changed)}." if changed else "README.md and docs/benchmarks.md are up to date.")


def run_claims(chosen: argparse.Namespace) -> int:
    """Measure claims one after another; one that fails does not stop the others."""
    out = chosen.out or (TRIALS if chosen.quick else RESULTS)
    size = None if chosen.size is None else 1e9 * chosen.size
    options = Options(chosen.quick, chosen.repeats, chosen.seed, chosen.threads, out, chosen.only, size)
    status = 0
    for name in chosen.names or by_default():
        say(f"{name}: {module_of(name).TITLE}")
        try:
            run_claim(name, options)
        except (DataMissing, DeviceMissing) as error:
            say(f"error: {name}: {error}")
            status = max(status, 2)
        except Exception:
            traceback.print_exc()
            status = max(status, 1)
    return status


def run_claim(name: str, options: Options) -> dict:
    """Measure one claim, show it and write its JSON."""
    module = module_of(name)
    with fixed(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that are short on purpose do not converge
        found = module.run(options)
    if options.only is not None:
        found["rows"] = _results.beside_earlier(found["rows"], options.out, name)
    if hasattr(module, "conclude"):
        found["rows"] = module.conclude(found["rows"])
    results = _results.results_of(name, module.TITLE, found, options)
    _table.render(results)
    say(f"wrote {_results.write(options.out, results)}")
    return results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure ours beside the peers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="show the claims")
    listing.set_defaults(command=list_claims)

    run = commands.add_parser("run", help="measure claims: a table, and JSON in a folder")
    run.add_argument("names", nargs="*", metavar="NAME", help="claims (default: all but those in brackets in `list`)")
    run.add_argument("--quick", action="store_true", help="a short trial on embedded data that judges nothing")
    run.add_argument("--repeats", type=int, metavar="N", help="repeats of each measurement (default: 3 or more)")
    run.add_argument("--seed", type=int, default=0, metavar="S", help="seed of ours and of the peers (default: 0)")
    run.add_argument("--threads", type=int, default=2, metavar="N", help="threads for everybody (default: 2)")
    run.add_argument("--only", metavar="DATA", help="measure rows of data whose name begins so, and keep the others "
                     "of an earlier run (everyday, whose `kernels` are all of its kernel machines, and streaming: "
                     "LIBSVM, CSV, Parquet)")  # fmt: skip
    run.add_argument("--size", type=float, metavar="GB", help="of the largest file (streaming alone; default: 4)")
    run.add_argument("--out", type=Path, metavar="FOLDER", help=f"where JSON goes (default: {_shown(RESULTS)}, "
                     f"of a quick trial {_shown(TRIALS)})")  # fmt: skip
    run.set_defaults(command=lambda chosen: run_claims(_checked(run, chosen)))

    readme = commands.add_parser("readme", help="write the tables of the README and of docs/benchmarks.md")
    readme.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON is")
    readme.set_defaults(command=write_readme)
    return parser


def _checked(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> argparse.Namespace:
    unknown = [name for name in chosen.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no claim {unknown[0]!r}; there are: {', '.join(NAMES)}")
    if chosen.repeats is not None and chosen.repeats < (1 if chosen.quick else 3):
        parser.error(f"--repeats must be at least 3, or 1 with --quick; it is {chosen.repeats}")
    if chosen.only is not None and chosen.names not in (["everyday"], ["streaming"]):
        parser.error("--only is for `everyday` and `streaming`, which are measured in parts")
    if chosen.size is not None and not (chosen.names == ["streaming"] and chosen.size > 0):
        parser.error("--size is for `streaming`, a number of GB above 0")
    if chosen.threads < 1:
        parser.error(f"--threads must be at least 1; it is {chosen.threads}")
    return chosen


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
