"""The structure of the package: who may import whom, what is private, and how large things may be."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "pegasos"

# A package imports only from those of the lines above its own, whenever: in functions and for type checking, too.
LAYERS = [
    ["utils"],
    ["losses"],
    ["rules"],
    ["backends"],
    ["container"],
    ["kernels"],
    ["rows"],
    ["problem"],
    ["textbook"],
    ["solver"],
    ["estimators"],
    ["svm"],
    ["search"],
    ["model_selection"],
    ["storage", "io", "export"],
    ["compression"],
    ["datasets"],
    ["streaming", "distributed", "plotting"],
    ["report"],
    ["studies"],
    ["cli"],
    ["__main__"],
]
ONLY = {"io": {"utils", "backends.threads"}, "container": {"utils"}, "plotting": {"utils"}}  # no more than these
MOST_PARAMETERS = 8  # self and cls do not count
MOST_LINES = 400
MOST_MODULES = 4  # beside the packages


@dataclass(frozen=True)
class Source:
    """A file of the package."""

    path: Path
    module: str  # "solver.resume"; "" is the package itself
    tree: ast.Module
    n_lines: int

    @property
    def package(self) -> str:
        """The package it belongs to, or its own name beside the packages."""
        return self.module.split(".")[0]

    def at(self, node) -> str:
        """Where something stands."""
        return f"{self.module.replace('.', '/')}:{node.lineno}"


def read(root: Path) -> list[Source]:
    """All files of a package."""
    found = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Source(path, module, ast.parse(text), len(text.splitlines())))
    return found


def public_homes(sources: list[Source]) -> dict[str, str]:
    """Which module a public name is loaded from: the dictionary in `__init__`."""
    found = {}
    for node in ast.walk(next(source.tree for source in sources if not source.module)):
        if isinstance(node, ast.Dict) and all(isinstance(part, ast.Constant) for part in (*node.keys, *node.values)):
            found |= {name.value: home.value for name, home in zip(node.keys, node.values)}
    return found


def imported(source: Source, homes: dict[str, str]) -> Iterator[tuple[ast.AST, str, str]]:
    """What a file imports from the package: where, from which module, and which name ("" for a module)."""
    in_functions = {id(node) for outer in functions(source) for node in ast.walk(outer) if isinstance(node, ast.Import)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{source.at(node)}: imports are written in full"
            if node.module == "pegasos":
                for name in node.names:
                    yield node, homes.get(name.name, f"pegasos.{name.name}").removeprefix("pegasos."), ""
            elif node.module.startswith("pegasos."):
                for name in node.names:
                    yield node, node.module.removeprefix("pegasos."), name.name
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("pegasos."):
                    yield node, name.name.removeprefix("pegasos."), ""
                elif name.name == "pegasos" and id(node) not in in_functions:  # in one: `save` of an estimator
                    yield node, "the whole package", ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            given = node.args[0]
            if isinstance(given, ast.Constant) and given.value.startswith("pegasos."):
                yield node, given.value.removeprefix("pegasos."), ""


def functions(source: Source) -> Iterator[ast.FunctionDef]:
    yield from (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


# --- the rules ------------------------------------------------------------------------------------


def upward_imports(sources: list[Source]) -> list[str]:
    """Imports of a package that does not stand above the own one in LAYERS."""
    level = {name: place for place, names in enumerate(LAYERS) for name in names}
    homes = public_homes(sources)
    found = [
        f"{name}: no line of LAYERS" for name in sorted({source.package for source in sources} - {""} - level.keys())
    ]
    for source in sources:
        own = source.package
        for node, module, name in imported(source, homes):
            other = module.split(".")[0]
            if own in ("", other) or own not in level:
                continue
            allowed = ONLY.get(own)
            full = f"{module}.{name}" if name else module
            if other not in level or level[other] >= level[own]:
                found.append(f"{source.at(node)}: {own} imports {full}, which is not below it")
            elif allowed is not None and not any(full == each or full.startswith(f"{each}.") for each in allowed):
                found.append(
                    f"{source.at(node)}: {own} imports {full}, and may import only {', '.join(sorted(allowed))}"
                )
    return found


def of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def private_names(source: Source) -> set[str]:
    """Private names of a file: functions, classes, variables and attributes that are set; also by their texts."""
    defined, used, texts = set(), set(), set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif of_self(node):
            (defined if isinstance(node.ctx, ast.Store) else used).add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    return set(filter(is_private, defined | used & texts))


def foreign_private_names(sources: list[Source]) -> list[str]:
    """Private names that are used in another package than that which defines them, inherited ones too."""
    owners = defaultdict(set)
    for source in sources:
        for name in private_names(source):
            owners[name].add(source.package)
    homes, found = public_homes(sources), []
    for source in sources:
        for node, module, name in imported(source, homes):
            if is_private(name) and module.split(".")[0] != source.package:
                found.append(f"{source.at(node)}: {name} of {module}")
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                of = owners.get(node.attr, set())
                if of and source.package not in of:
                    found.append(f"{source.at(node)}: {ast.unparse(node)}, private to {', '.join(sorted(of))}")
    return found


def long_parameter_lists(sources: list[Source]) -> list[str]:
    """Functions with more than MOST_PARAMETERS parameters.

    Not constructors; compiled loops, and what launches one of the same name on a GPU; commands, which have options;
    functions with the parameters of scikit-learn's.
    """
    decorators = lambda node: " ".join(map(ast.unparse, node.decorator_list))
    compiled = {node.name for source in sources for node in functions(source) if "jit" in decorators(node)}
    found = []
    for source in sources:
        for node in functions(source):
            names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            count = len(names) - (names[:1] in (["self"], ["cls"]))
            constructor = node.name in ("__init__", "__new__") or "classmethod" in decorators(node)
            loop = "jit" in decorators(node) or (source.package == "backends" and node.name in compiled)
            command = source.package == "cli" and "with_examples" in decorators(node)
            theirs = source.package == "model_selection" and "validate_params" in decorators(node)
            if count > MOST_PARAMETERS and not (constructor or loop or command or theirs):
                found.append(f"{source.at(node)}: {node.name} has {count} parameters")
    return found


def classes_defined_twice(sources: list[Source]) -> list[str]:
    """Names of several classes; the estimators of a cluster have those of the local ones on purpose."""
    places = defaultdict(list)
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append((source.at(node), source.package))
    found = []
    for name, all_of_it in sorted(places.items()):
        counted = [at for at, package in all_of_it if not (name.startswith("Pegasos") and package == "distributed")]
        if len(counted) > 1:
            found.append(f"{name}: {', '.join(counted)}")
    return found


def long_files(sources: list[Source]) -> list[str]:
    """Files of more than MOST_LINES lines."""
    return [f"{source.path.name} of {source.package}: {source.n_lines} lines" for source in sources
            if source.n_lines > MOST_LINES]  # fmt: skip


def too_many_modules(sources: list[Source]) -> list[str]:
    """The modules beside the packages, where they are more than MOST_MODULES."""
    beside = [source.module for source in sources if source.module and source.path.parent == sources[0].path.parent]
    beside = [module for module in beside if module != "__main__"]
    return beside if len(beside) > MOST_MODULES else []


PACKAGE = read(ROOT)
RULES = [
    upward_imports,
    foreign_private_names,
    long_parameter_lists,
    classes_defined_twice,
    long_files,
    too_many_modules,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_there_are_no(rule):
    found = rule(PACKAGE)
    assert not found, f"{len(found)}:\n  " + "\n  ".join(found)


# --- and they are noticed -------------------------------------------------------------------------

HOMES = 'HOMES = {"Model": "pegasos.estimators"}\n'
OFFENCES = {
    "a package of a higher layer": (upward_imports, {"rows/dense.py": "from pegasos.solver import solve"}),
    "in a function": (upward_imports, {"rows/dense.py": "def f():\n    from pegasos.solver.solve import solve"}),
    "for type checking": (upward_imports, {"rows/a.py": "if TYPE_CHECKING:\n    from pegasos.solver import Run"}),
    "by its public name": (upward_imports, {"rows/dense.py": "def f():\n    from pegasos import Model"}),
    "as a module": (upward_imports, {"rows/dense.py": "import pegasos.solver.solve"}),
    "by its text": (upward_imports, {"rows/dense.py": "importlib.import_module('pegasos.solver')"}),
    "the package itself": (upward_imports, {"rows/dense.py": "import pegasos"}),
    "of the same layer": (upward_imports, {"io/text.py": "from pegasos.storage.models import load"}),
    "more than its few": (upward_imports, {"io/text.py": "from pegasos.backends import cpu"}),
    "a package without a layer": (upward_imports, {"extra/new.py": "x = 1"}),
    "an import": (foreign_private_names, {"rows/a.py": "from pegasos.utils.arrays import _size"}),
    "a method": (foreign_private_names, {
        "solver/a.py": "class Run:\n    def _go(self): ...", "search/b.py": "def f(run):\n    run._go()"}),
    "an attribute": (foreign_private_names, {
        "solver/a.py": "class Run:\n    def f(self):\n        self._x = 1", "search/b.py": "y = run._x"}),
    "an inherited method": (foreign_private_names, {
        "solver/a.py": "class Run:\n    def _go(self): ...",
        "search/b.py": "class Other(Run):\n    def f(self):\n        self._go()"}),
    "nine parameters": (long_parameter_lists, {"cli/a.py": "def f(a, b, c, d, e, /, f, g, *, h, i): ..."}),
    "two classes": (classes_defined_twice, {"io/a.py": "class Part: ...", "search/a.py": "class Part: ..."}),
    "two estimators": (classes_defined_twice, {"io/a.py": "class PegasosA: ...", "search/a.py": "class PegasosA: ..."}),
    "401 lines": (long_files, {"io/a.py": "\n" * 401}),
    "five modules": (too_many_modules, {f"{name}.py": "" for name in "abcde"}),
}  # fmt: skip
FINE = {
    "rows/dense.py": "from pegasos.utils.files import write\nfrom pegasos.rows.base import _own",
    "estimators/base.py": "class PegasosA:\n    def save(self):\n        import pegasos\n        self._own = 1",
    "estimators/other.py": "from pegasos.estimators import base\nbase.PegasosA()._own",
    "distributed/base.py": "class PegasosA(here.PegasosA):\n    def __init__(self, a, b, c, d, e, f, g, h, i): ...",
    "backends/loops.py": "@njit(cache=True)\ndef f(a, b, c, d, e, f, g, h, i): ...",
    "backends/verbs.py": "def f(a, b, c, d, e, f, g, h, i): ...",
    "cli/train.py": "@with_examples('train')\ndef train(a, b, c, d, e, f, g, h, i): ...",
    "plotting/bars.py": "class Bars:\n    @classmethod\n    def of(cls, a, b, c, d, e, f, g, h, i): ...",
    "io/text.py": "from pegasos.backends.threads import side_by_side\nfrom pegasos.backends import threads",
    "search/a.py": "from pegasos import Model",
    "datasets.py": "import pegasos.io",
    "__main__.py": "from pegasos.cli.app import main",
}


def made(root, files):
    for name, text in {"__init__.py": HOMES, **files}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return read(root)


@pytest.mark.parametrize("rule, files", OFFENCES.values(), ids=OFFENCES.keys())
def test_an_offence_is_found(tmp_path, rule, files):
    assert len(rule(made(tmp_path, {**FINE, **files}))) == (5 + 1 if rule is too_many_modules else 1)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_what_is_allowed_is_none(tmp_path, rule):
    assert not rule(made(tmp_path, FINE))
