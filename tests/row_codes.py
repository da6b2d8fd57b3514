"""Every code that the program writes into timeline rows by its own name for it, read out of its source.

Each place that makes a `Row` is looked at, and each of its codes is traced back: through parameters to all callers,
through locals to what they are set to, through functions to what they return, through types to the members of an enum.
What is made or typed as a code of the closed tables is one. What cannot be traced is named, so that a test can say
where it is from, or fail.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import typing
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from pathlib import Path
from types import ModuleType, UnionType

from node.core.errors import ErrorCode, MeshError

ROOT = Path(__file__).parents[1]
CODE_FIELDS = ("row", "engine", "decision", "reason", "kind", "leg")
_DEEPEST = 12
_CLOSED = frozenset({"RowEngine", "RowDecision", "RowReason", "RowSubject"})
# What the objects are called whose methods write rows, or are given what rows are written of.
HOLDERS = frozenset({"self", "ledger", "trust", "gate", "broker", "peers", "egress"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Scope:
    """A function in its module; `function` None is the module itself."""

    module: str
    function: Function | None = None
    owner: str | None = None
    outer: Scope | None = None

    @property
    def name(self) -> str:
        return self.function.name if self.function is not None else ""


@dataclass(slots=True)
class Codes:
    """What was found: the codes of each field, and what was not traced."""

    by_field: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    unknown: set[str] = field(default_factory=set)


class Source:
    """The trees of the packages, with who calls whom by name."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self.calls: dict[str, list[tuple[Scope, ast.Call]]] = defaultdict(list)
        self.functions: dict[str, list[Scope]] = defaultdict(list)
        for package in packages:
            for path in sorted((ROOT / package).rglob("*.py")):
                parts = path.relative_to(ROOT).with_suffix("").parts
                if "wire" not in parts and "demo" not in parts:
                    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                    self._walk(ast.parse(path.read_text("utf-8")), Scope(name))

    def _walk(self, node: ast.AST, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, ast.ClassDef):
                inner = Scope(scope.module, scope.function, child.name)
            elif isinstance(child, Function):
                inner = Scope(scope.module, child, scope.owner, scope)
                self.functions[child.name].append(inner)
            elif isinstance(child, ast.Call):
                call = _without_partial(child)
                self.calls[_called(call)].append((scope, call))
            self._walk(child, inner)

    def holders(self, name: str) -> set[str]:
        """What the objects are called whose method of that name is called or passed on."""
        return {
            ast.unparse(call.func.value).split(".")[-1].strip("_")
            for _, call in self.calls[name]
            if isinstance(call.func, ast.Attribute)
        }


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _without_partial(call: ast.Call) -> ast.Call:
    """`partial(f, x)` as the `f(x)` that comes of it."""
    if _called(call) == "partial" and call.args:
        return ast.Call(func=call.args[0], args=call.args[1:], keywords=call.keywords)
    return call


class Tracer:
    """Follows expressions to the strings that they can be."""

    def __init__(self, source: Source, known: typing.Mapping[str, frozenset[str]]) -> None:
        self._source = source
        self._known = known
        self.used: set[str] = set()
        self.codes = Codes()

    def collect(self) -> Codes:
        for scope, call in self._source.calls["Row"]:
            module = importlib.import_module(scope.module)
            if getattr(module, "Row", None) is not importlib.import_module("node.core.timeline").Row:
                continue
            given = {word.arg: word.value for word in call.keywords if word.arg in CODE_FIELDS}
            for name, value in given.items():
                self.codes.by_field[name] |= self.values(value, scope)
        return self.codes

    def values(self, expression: ast.expr, scope: Scope, depth: int = 0) -> set[str]:
        """The strings that `expression` can be there; None counts as nothing."""
        key = f"{scope.module}:{scope.name}:{ast.unparse(expression)}"
        if key in self._known:
            self.used.add(key)
            return set(self._known[key])
        found = self._values(expression, scope, depth) if depth < _DEEPEST else None
        if found is None:
            self.codes.unknown.add(key)
            return set()
        return found

    def _values(self, expression: ast.expr, scope: Scope, depth: int) -> set[str] | None:
        match expression:
            case ast.Constant(value=None):
                return set()
            case ast.Constant(value=str(text)):
                return {text}
            case ast.IfExp(body=one, orelse=other):
                return self.values(one, scope, depth) | self.values(other, scope, depth)
            case ast.BoolOp(values=parts):
                return {text for part in parts for text in self.values(part, scope, depth)}
            case ast.FormattedValue(value=value):
                return self.values(value, scope, depth)
            case ast.JoinedStr(values=parts):
                return {"".join(one) for one in product(*(self.values(part, scope, depth) for part in parts))}
            case ast.Call():
                return set() if _called(expression) in _CLOSED else self._returned(expression, scope, depth)
            case ast.Name(id=name):
                return self._named(name, scope, depth)
            case ast.Attribute():
                return self._attribute(expression, scope)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(at))):
                return self._item(name, at, scope, depth)
        return None

    def _item(self, name: str, at: int, scope: Scope, depth: int) -> set[str] | None:
        """An item of a tuple that the callers write out."""
        given = [(caller, self._argument(scope, call, name)) for caller, call in self._callers(scope)]
        if not all(isinstance(value, ast.Tuple) for _, value in given):
            return None
        tuples = [(caller, value) for caller, value in given if isinstance(value, ast.Tuple)]
        return {text for caller, value in tuples for text in self.values(value.elts[at], caller, depth + 1)}

    def _returned(self, call: ast.Call, scope: Scope, depth: int) -> set[str] | None:
        name = _called(call)
        found = [one for one in self._source.functions[name] if one.module == scope.module]
        if not found and isinstance(call.func, ast.Attribute | ast.Name):
            made = _evaluated(call.func, scope)
            module = getattr(made, "__module__", None)
            found = [one for one in self._source.functions[name] if one.module == module]
        if len(found) != 1 or found[0].function is None:
            return None
        returns = [node.value for node in ast.walk(found[0].function) if isinstance(node, ast.Return) and node.value]
        return {text for value in returns for text in self.values(value, found[0], depth + 1)}

    def _named(self, name: str, scope: Scope, depth: int) -> set[str] | None:
        if scope.function is None:
            return _texts(_evaluated(ast.Name(id=name, ctx=ast.Load()), scope))
        found: set[str] = set()
        known = False
        for value in _set_to(name, scope.function):
            known = True
            found |= self.values(value, scope, depth)
        for at, returned in _unpacked(name, scope.function):
            known = True
            found |= self._parts(returned, at, scope, depth)
        arguments = scope.function.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if name in {parameter.arg for parameter in parameters}:
            known = True
            for caller, call in self._callers(scope):
                value = self._argument(scope, call, name)
                if value is not None:
                    found |= self.values(value, caller, depth + 1)
        # A name of the function around it, or of the module.
        return found if known or scope.outer is None else self._named(name, scope.outer, depth)

    def _parts(self, returned: ast.expr, at: int, scope: Scope, depth: int) -> set[str]:
        """What stands at a place of the tuples that a call returns, or of those that are written out."""
        if isinstance(returned, ast.Tuple | ast.List):
            return self.values(returned.elts[at], scope, depth)
        if isinstance(returned, ast.Call):
            for made in self._source.functions[_called(returned)]:
                if made.module == scope.module and made.function is not None:
                    tuples = [n.value for n in ast.walk(made.function) if isinstance(n, ast.Return)]
                    return {
                        text
                        for one in tuples
                        if isinstance(one, ast.Tuple)
                        for text in self.values(one.elts[at], made, depth + 1)
                    }
        self.codes.unknown.add(f"{scope.module}:{scope.name}:{ast.unparse(returned)}[{at}]")
        return set()

    def _callers(self, scope: Scope) -> list[tuple[Scope, ast.Call]]:
        """Calls of that function: a private one is called in its module alone, a public one by its name anywhere."""
        found = self._source.calls[scope.name]
        if scope.name.startswith("_"):
            return [(caller, call) for caller, call in found if caller.module == scope.module]
        if scope.owner is None:
            return found
        return [
            (caller, call)
            for caller, call in found
            if isinstance(call.func, ast.Attribute)
            and ast.unparse(call.func.value).split(".")[-1].strip("_") in HOLDERS
        ]

    @staticmethod
    def _argument(callee: Scope, call: ast.Call, name: str) -> ast.expr | None:
        """What a call gives for a parameter, or its default."""
        assert callee.function is not None
        arguments = callee.function.args
        for word in call.keywords:
            if word.arg == name:
                return word.value
        positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        if callee.owner is not None and positional and positional[0] == "self":
            positional = positional[1:]
        if name in positional:
            at = positional.index(name)
            before = call.args[: at + 1]
            starred = next((one for one in before if isinstance(one, ast.Starred)), None)
            if starred is not None:
                return ast.Subscript(value=starred.value, slice=ast.Constant(value=at - call.args.index(starred)))
            if at < len(call.args):
                return call.args[at]
            late = at - (len(positional) - len(arguments.defaults))
            return arguments.defaults[late] if late >= 0 else None
        only = [one.arg for one in arguments.kwonlyargs]
        return arguments.kw_defaults[only.index(name)] if name in only else None

    def _attribute(self, expression: ast.Attribute, scope: Scope) -> set[str] | None:
        made = _evaluated(expression, scope)
        if made is not None:
            return _texts(made)
        kind = self._type(expression.value if expression.attr == "value" else expression, scope)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {str(member.value) for member in kind}
        return None

    def _type(self, expression: ast.expr, scope: Scope) -> object:
        """The class of an expression, by the annotations of parameters, fields and properties."""
        if isinstance(expression, ast.Name) and scope.function is not None:
            arguments = scope.function.args
            for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if parameter.arg == expression.id and parameter.annotation is not None:
                    return _plain_type(_evaluated(parameter.annotation, scope))
            for node in ast.walk(scope.function):
                if isinstance(node, ast.ExceptHandler) and node.name == expression.id and node.type is not None:
                    return _error_type(node.type, scope)
            types = [self._type(value, scope) for value in _set_to(expression.id, scope.function)]
            found = next((one for one in types if one is not None), None)
            return self._type(expression, scope.outer) if found is None and scope.outer is not None else found
        if isinstance(expression, ast.Attribute):
            owner = self._type(expression.value, scope)
            if isinstance(owner, type):
                return _field_type(owner, expression.attr)
        return None


def _set_to(name: str, function: Function) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and value is not None:
            found += [value for target in targets if isinstance(target, ast.Name) and target.id == name]
    return found


def _unpacked(name: str, function: Function) -> list[tuple[int, ast.expr]]:
    """(place, what is unpacked) for a name that is set with others: by an assignment, or by a loop over tuples."""
    found: list[tuple[int, ast.expr]] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            found += [
                (target.elts.index(one), node.value)
                for target in node.targets
                if isinstance(target, ast.Tuple)
                for one in target.elts
                if isinstance(one, ast.Name) and one.id == name
            ]
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Tuple) and isinstance(node.iter, ast.Tuple):
            for at, one in enumerate(node.target.elts):
                if isinstance(one, ast.Name) and one.id == name:
                    found += [(at, row) for row in node.iter.elts]
    return found


def _evaluated(expression: ast.expr, scope: Scope) -> object:
    """The value of names and attributes as the module sees them; None for what it does not know."""
    module: ModuleType = importlib.import_module(scope.module)
    try:
        code = compile(ast.fix_missing_locations(ast.Expression(body=expression)), "<source>", "eval")
        return eval(code, dict(vars(module)))  # noqa: S307  (our own source)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return None


def _texts(value: object) -> set[str] | None:
    if isinstance(value, Enum):
        value = value.value
    return {value} if isinstance(value, str) else None


def _error_type(expression: ast.expr, scope: Scope) -> object:
    return _evaluated(expression, scope)


def _plain_type(made: object) -> object:
    """The class in `X | None`."""
    if isinstance(made, UnionType) or typing.get_origin(made) is typing.Union:
        return next((one for one in typing.get_args(made) if one is not type(None)), None)
    return made


def _field_type(owner: type, name: str) -> object:
    member = inspect.getattr_static(owner, name, None)
    if issubclass(owner, MeshError) and name == "code":
        return ErrorCode
    hints = typing.get_type_hints(member.fget) if isinstance(member, property) else typing.get_type_hints(owner)
    return _plain_type(hints.get("return" if isinstance(member, property) else name))


def collected(known: typing.Mapping[str, frozenset[str]]) -> tuple[Codes, set[str]]:
    """The codes, with `known` for what cannot be traced; and which of `known` were needed."""
    tracer = Tracer(Source(("node", "tunnel")), known)
    return tracer.collect(), tracer.used
