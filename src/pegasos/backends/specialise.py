"""A loop as one function for the constants at hand: what compilers get to see, on the CPU and on GPUs.

The algorithm is written once, as scalar functions of `pegasos.rules` and `pegasos.losses` that every loop calls. A
compiler that is given all of them, for every rule and loss, works for many seconds; most of them are never called.
`specialised` therefore writes the text of a loop anew before it is compiled: parameters that are constants (its
keyword-only ones: rule, loss, average, ...) get their values, branches that these rule out are left out, and plain
functions of this package that the loop calls are written out where they are called. What is left compiles in a tenth
of the time. Interpreted loops (``NUMBA_DISABLE_JIT``) are the original functions.

Functions that are written out may hold assignments, loops and conditions. Three things are not supported, and are an
error: a `return` within a loop, a call that has to be written out as several statements where it is evaluated on
condition only (behind `and` or `or`, in a conditional expression, in the head of a `while`), and arguments by keyword.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
import linecache
from collections import ChainMap
from enum import Enum
from functools import cache
from itertools import count
from types import FunctionType, ModuleType
from typing import Any

from pegasos.losses import Loss

PACKAGE = __name__.partition(".")[0]
LITERALS = (bool, int, float, type(None))


def specialised(function: FunctionType, constants: dict[str, Any]) -> FunctionType:
    """A function of the same positional parameters, for these values of the keyword-only ones.

    Its name ends with a digest of its text, so that whoever keeps its machine code can tell it from others.
    """
    tree = copy.deepcopy(_definition(function))
    writer = _Writer(function.__module__)
    local = {*_stored(tree), *(each.arg for each in tree.args.args)}
    names: dict[str, _Constant | ast.expr] = {name: ast.Name(name, ast.Load()) for name in local}
    scope = _Scope(function, names | {each.arg: _Constant(constants[each.arg]) for each in tree.args.kwonlyargs})
    tree.body = writer.statements(tree.body, scope)
    tree.args.kwonlyargs, tree.args.kw_defaults, tree.decorator_list = [], [], []
    digest = hashlib.sha256((ast.unparse(tree) + repr(sorted(writer.numbers()))).encode()).hexdigest()
    tree.name = f"{function.__name__}_{digest[:12]}"
    module = ast.fix_missing_locations(ast.Module([tree], []))
    exec(compile(module, function.__code__.co_filename, "exec"), writer.namespace)
    made = writer.namespace[tree.name]
    made.__module__, made.__qualname__ = function.__module__, tree.name
    return made


class _Constant:
    """A value that is known before the loop runs."""

    def __init__(self, value):
        self.value = value


class _Scope:
    """Names within a function that is being written out: known values, or expressions of the loop."""

    def __init__(self, function: FunctionType, names: dict[str, _Constant | ast.expr]):
        self.names = names
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        self.outer = ChainMap({name: cell.cell_contents for name, cell in cells}, function.__globals__, vars(builtins))


class _Writer:
    """Writes statements out; `namespace` holds what the text refers to by name."""

    def __init__(self, module: str):
        self.namespace: dict[str, Any] = {"__name__": module}
        self.number = count(1)

    def numbers(self) -> list[tuple[str, str]]:
        """Numbers that the text refers to by name."""
        return [(name, repr(value)) for name, value in self.namespace.items() if hasattr(value, "dtype")]

    # --- statements -----------------------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt], scope: _Scope) -> list[ast.stmt]:
        """The statements with all calls written out, without branches that are never taken."""
        found: list[ast.stmt] = []
        for statement in body:
            found += self.statement(statement, scope)
            if found and isinstance(found[-1], ast.Return | ast.Break | ast.Continue):
                break
        return found

    def statement(self, node: ast.stmt, scope: _Scope) -> list[ast.stmt]:
        """One statement, and before it those that its calls need."""
        before: list[ast.stmt] = []
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []
            case ast.Expr(value=ast.Call()):
                value = self.expression(node.value, scope, before, wanted=False)
                needless = value is None or isinstance(value, ast.Constant | ast.Name)
                return before if needless else [*before, ast.copy_location(ast.Expr(value), node)]
            case ast.If():
                test = self.expression(node.test, scope, before)
                if isinstance(test, ast.Constant):
                    return before + self.statements(node.body if test.value else node.orelse, scope)
                body, orelse = self.statements(node.body, scope), self.statements(node.orelse, scope)
                if body or orelse:
                    before.append(ast.copy_location(ast.If(test, body or [ast.Pass()], orelse), node))
                return before
            case ast.While():
                test = self.expression(node.test, scope, None)
                body = self.statements(node.body, scope)
                return [ast.copy_location(ast.While(test, body, []), node)]
            case ast.For():
                over = self.expression(node.iter, scope, before)
                target = self.expression(node.target, scope, before)
                body = self.statements(node.body, scope) or [ast.Pass()]
                return [*before, ast.copy_location(ast.For(target, over, body, []), node)]
            case ast.Assign() | ast.AugAssign() | ast.Return():
                made = copy.copy(node)
                if node.value is not None:
                    made.value = self.expression(node.value, scope, before)
                if isinstance(made, ast.Assign):
                    made.targets = [self.expression(target, scope, before) for target in made.targets]
                elif isinstance(made, ast.AugAssign):
                    made.target = self.expression(made.target, scope, before)
                return [*before, made]
            case ast.Break() | ast.Continue():
                return [copy.copy(node)]
        raise _unsupported(node)

    # --- expressions ----------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr, scope: _Scope, before: list[ast.stmt] | None, wanted: bool = True) -> Any:
        """The expression in names of the loop; `before` receives statements that have to come first."""
        known = self.known(node, scope)
        if known is not None:
            literal = _literal(known.value)
            if literal is not None:
                return ast.copy_location(literal, node)
        match node:
            case ast.Name():
                return self.name(node, scope)
            case ast.Call():
                return self.call(node, scope, before, wanted)
            case ast.BoolOp():
                return self.junction(node, scope, before)
            case ast.IfExp():
                test = self.expression(node.test, scope, before)
                if isinstance(test, ast.Constant):
                    return self.expression(node.body if test.value else node.orelse, scope, before)
                ways = [self.expression(each, scope, None) for each in (node.body, node.orelse)]
                return ast.copy_location(ast.IfExp(test, *ways), node)
        made = copy.copy(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(made, field, self.expression(value, scope, before))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                setattr(made, field, [self.expression(each, scope, before) for each in value])
        return made

    def junction(self, node: ast.BoolOp, scope: _Scope, before: list[ast.stmt] | None) -> ast.expr:
        """`and` and `or` without operands that change nothing."""
        decides = isinstance(node.op, ast.Or)
        kept: list[ast.expr] = []
        for value in node.values:
            operand = self.expression(value, scope, None if kept else before)
            if not isinstance(operand, ast.Constant):
                kept.append(operand)
            elif bool(operand.value) == decides:
                kept.append(operand)
                break
        if not kept:
            return ast.copy_location(ast.Constant(not decides), node)
        if len(kept) == 1 or isinstance(kept[0], ast.Constant):
            return kept[0]
        return ast.copy_location(ast.BoolOp(node.op, kept), node)

    def name(self, node: ast.Name, scope: _Scope) -> ast.expr:
        """A name as the loop has it."""
        known = scope.names.get(node.id)
        if isinstance(known, ast.expr):
            made = copy.copy(known)
            if isinstance(made, ast.Name):
                made.ctx = node.ctx
        else:
            value = scope.outer[node.id] if known is None else known.value
            made = ast.Name(self.named(node.id, value), ast.Load())
        return ast.copy_location(made, node)

    def named(self, name: str, value: Any) -> str:
        """The name by which the text refers to a value."""
        free = name
        while free in self.namespace and self.namespace[free] is not value:
            free = f"{name}_{next(self.number)}"
        self.namespace[free] = value
        return free

    def known(self, node: ast.expr, scope: _Scope) -> _Constant | None:
        """The value of an expression where it follows from constants."""
        match node:
            case ast.Constant():
                return _Constant(node.value)
            case ast.Name(ctx=ast.Load()):
                found = scope.names.get(node.id)
                if isinstance(found, ast.expr):
                    return None
                return _Constant(scope.outer[node.id]) if found is None else found
            case ast.Attribute(ctx=ast.Load()):
                of = self.known(node.value, scope)
                if of is None or not isinstance(of.value, ModuleType | type | Loss):
                    return None
                return _Constant(getattr(of.value, node.attr))
            case ast.UnaryOp() | ast.BinOp() | ast.Compare():
                parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
                values = [self.known(part, scope) for part in parts]
                if any(value is None or not isinstance(value.value, (*LITERALS, Enum)) for value in values):
                    return None
                names = {f"v{i}": value.value for i, value in enumerate(values) if value is not None}
                return _Constant(eval(compile(_with_names(node), "<constant>", "eval"), {}, names))
        return None

    def writes_out(self, function: Any) -> bool:
        """Whether calls of a function are replaced by its text: plain ones of this package and of the loop's module."""
        if not isinstance(function, FunctionType):
            return False
        return function.__module__.partition(".")[0] == PACKAGE or function.__module__ == self.namespace["__name__"]

    # --- calls ----------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call, scope: _Scope, before: list[ast.stmt] | None, wanted: bool) -> ast.expr | None:
        """A call as it is, or the result of a function that is written out in `before`."""
        known = self.known(node.func, scope)
        function: Any = known.value if known is not None else None
        if not self.writes_out(function):
            made = copy.copy(node)
            made.func = self.expression(node.func, scope, before)
            made.args = [self.expression(each, scope, before) for each in node.args]
            return made
        if node.keywords:
            raise _unsupported(node)
        definition, own = _definition(function), f"_{next(self.number)}"
        stored, used = _stored(definition), _used(definition)
        names: dict[str, _Constant | ast.expr] = {name: ast.Name(name + own, ast.Load()) for name in stored}
        first: list[ast.stmt] = []
        for parameter, given in zip(definition.args.args, node.args, strict=True):
            name, value = parameter.arg, self.known(given, scope)
            if value is not None and name not in stored:
                names[name] = value
                continue
            argument = self.expression(given, scope, before)
            if isinstance(argument, ast.Name) and name not in stored:
                names[name] = argument
                continue
            if name not in used:
                continue
            names[name] = ast.Name(name + own, ast.Load())
            first.append(ast.Assign([ast.Name(name + own, ast.Store())], argument))
        inside = _Scope(function, names)
        body = self.statements(definition.body, inside)
        if not first and len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
            return _placed(body[0].value, node)
        if before is None:
            raise _unsupported(node)
        exits = [each for part in body for each in ast.walk(part) if isinstance(each, ast.Return)]
        if exits and exits == body[-1:] and exits[0].value is not None:
            before += [_placed(each, node) for each in first + body[:-1]]
            return _placed(exits[0].value, node)
        result = f"{function.__name__}{own}_out"
        body = _single_exit(body, result if wanted else None)
        before += [_placed(each, node) for each in first + body]
        return ast.copy_location(ast.Name(result, ast.Load()), node) if wanted else None


def _literal(value: Any) -> ast.Constant | None:
    """A constant as the text has it, if it can be written there."""
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, LITERALS) or (isinstance(value, float) and not abs(value) < float("inf")):
        return None
    return ast.Constant(value)


def _with_names(node: ast.expr) -> ast.Expression:
    """An operation on v0, v1, ..."""
    made, number = copy.deepcopy(node), count()
    for field, value in ast.iter_fields(made):
        if isinstance(value, ast.expr):
            setattr(made, field, ast.Name(f"v{next(number)}", ast.Load()))
        elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
            setattr(made, field, [ast.Name(f"v{next(number)}", ast.Load()) for _ in value])
    return ast.fix_missing_locations(ast.Expression(made))


def _stored(definition: ast.FunctionDef) -> set[str]:
    """Names that a function assigns to."""
    return {each.id for each in ast.walk(definition) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _used(definition: ast.FunctionDef) -> set[str]:
    """Names that a function reads."""
    return {each.id for each in ast.walk(definition) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _single_exit(body: list[ast.stmt], result: str | None) -> list[ast.stmt]:
    """The statements with an assignment to `result` instead of each return; what follows a return is an `else`."""
    found: list[ast.stmt] = []
    for place, statement in enumerate(body):
        if isinstance(statement, ast.Return):
            if result is not None and statement.value is not None:
                found.append(ast.Assign([ast.Name(result, ast.Store())], statement.value))
            return found
        if not any(isinstance(each, ast.Return) for each in ast.walk(statement)):
            found.append(statement)
            continue
        if not isinstance(statement, ast.If):
            raise _unsupported(statement)
        rest, ways = body[place + 1 :], [statement.body, statement.orelse]
        if rest and not any(map(_ends, ways)):
            raise _unsupported(statement)
        ways = [_single_exit(way if _ends(way) else way + rest, result) for way in ways]
        found.append(ast.If(statement.test, ways[0] or [ast.Pass()], ways[1]))
        return found
    return found


def _ends(body: list[ast.stmt]) -> bool:
    """Whether statements return in any case."""
    if not body:
        return False
    last = body[-1]
    return isinstance(last, ast.Return) or (isinstance(last, ast.If) and _ends(last.body) and _ends(last.orelse))


def _placed(node: Any, at: ast.expr) -> Any:
    """The node in the line of a call that it is written out for."""
    for each in ast.walk(node):
        ast.copy_location(each, at)
    return node


def _definition(function: FunctionType) -> ast.FunctionDef:
    """The text of a function."""
    code = function.__code__
    known = _definitions(code.co_filename, "".join(linecache.getlines(code.co_filename, function.__globals__)))
    if (function.__name__, code.co_firstlineno) not in known:
        raise OSError(f"Loops are compiled from their source: {code.co_filename} is not there or has changed.")
    return known[function.__name__, code.co_firstlineno]


@cache
def _definitions(filename: str, text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """All functions of a source file by name and first line."""
    found = {}
    for node in ast.walk(ast.parse(text, filename)):
        if isinstance(node, ast.FunctionDef):
            found[node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)])] = node
    return found


def _unsupported(node: ast.AST) -> NotImplementedError:
    return NotImplementedError(f"line {getattr(node, 'lineno', '?')} cannot be written out: {ast.unparse(node)}")
