"""House rules on Python source which no linter has, read from the syntax tree. Pure: text in, findings out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.gates.findings import Finding

# What the core may import of the standard library: values, text, hashes. Nothing that waits, looks or draws lots.
# fmt: off
CORE_STDLIB = frozenset({
    "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "codecs", "collections", "copy", "dataclasses",
    "datetime", "difflib", "enum", "fnmatch", "fractions", "functools", "hashlib", "heapq", "hmac", "html",
    "io", "ipaddress", "itertools", "json", "math", "operator", "posixpath", "re", "string", "struct", "textwrap",
    "types", "typing", "unicodedata", "zipfile", "zlib", "urllib.parse",
})
# fmt: on
CORE_OTHERS = frozenset({"numpy"})  # and beside it what only reckons
CLOCK_CALLS = frozenset({"now", "utcnow", "today", "fromtimestamp"})
VAGUE_MODULE_NAMES = frozenset({"utils.py", "util.py", "helpers.py", "common.py", "misc.py"})
LOOP_NAMES = frozenset({"loop", "_loop", "event_loop"})


def core_purity(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """node/core imports itself and the value part of the standard library, and never asks for the time."""
    for node in ast.walk(tree):
        for name in _imported_modules(node):
            allowed = name == "node.core" or name.startswith("node.core.") or _may_be_in_core(name)
            if not allowed:
                message = f"the core may not import {name}: make it an argument, or let an adapter do it"
                yield Finding(path=path, line=_line(node), rule="core-import", message=message)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCK_CALLS:
            owner = ast.unparse(node.func.value)
            if owner.split(".")[-1] in {"datetime", "date"}:
                message = f"the core may not ask {owner}.{node.func.attr}(): time is an argument"
                yield Finding(path=path, line=node.lineno, rule="core-clock", message=message)


def vague_names(path: Path, _tree: ast.Module) -> Iterator[Finding]:
    """A module is named after what it holds."""
    if path.name in VAGUE_MODULE_NAMES:
        message = f"{path.name} says nothing: name the module after what it holds"
        yield Finding(path=path, line=1, rule="vague-name", message=message)


def loose_tasks(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Tasks are created by a TaskGroup; the ban on asyncio.create_task itself is ruff's."""
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "create_task"
        ):
            continue
        owner = ast.unparse(node.func.value)
        if owner.split(".")[-1] in LOOP_NAMES or owner.endswith(("_event_loop()", "_running_loop()")):
            message = "create the task in a TaskGroup, which waits for it and hears its error"
            yield Finding(path=path, line=node.lineno, rule="loose-task", message=message)


def any_currency(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Data between functions has a type; dict[str, Any] is not one."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or ast.unparse(node.value) not in {"dict", "Mapping", "MutableMapping"}:
            continue
        if isinstance(node.slice, ast.Tuple) and ast.unparse(node.slice.elts[-1]) in {"Any", "typing.Any"}:
            message = f"{ast.unparse(node)} is no type: make it a dataclass, or `object` and narrow it"
            yield Finding(path=path, line=node.lineno, rule="any-currency", message=message)


def sleeping_tests(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """A test waits for a condition with a deadline: in a function `until`, which may sleep between two looks.

    Giving way once with sleep(0) is no wait.
    """
    polls = {id(inner) for node in ast.walk(tree) if _is_poll(node) for inner in ast.walk(node)}
    sleeps = {"time.sleep", "asyncio.sleep", "anyio.sleep", "sleep"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in sleeps and id(node) not in polls:
            gives_way = node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
            if not gives_way:
                message = "wait for the condition with a deadline: an event, a queue, or a function `until` that polls"
                yield Finding(path=path, line=node.lineno, rule="sleep-in-test", message=message)


def patching_tests(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """A test gives the code a twin through its constructor; the environment and the folder may be set."""
    patches = {"monkeypatch.setattr", "monkeypatch.setitem", "monkeypatch.delattr"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
            ast.unparse(node.func) in patches or ast.unparse(node.func).startswith("mocker.")
        ):
            message = f"{ast.unparse(node.func)} replaces internals: pass a twin that implements the port"
            yield Finding(path=path, line=node.lineno, rule="patching-test", message=message)
        if any(name == "mock" or name.startswith("unittest.mock") for name in _imported_modules(node)):
            message = "mock replaces internals: pass a twin that implements the port"
            yield Finding(path=path, line=_line(node), rule="patching-test", message=message)


def broad_excepts(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Every handler that catches whatever comes; how many a thousand lines may hold is the caller's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type):
            message = "name the exceptions that are expected here"
            yield Finding(path=path, line=node.lineno, rule="broad-except", message=message)


def findings(path: Path, source: str, *rules: Callable[[Path, ast.Module], Iterator[Finding]]) -> list[Finding]:
    """What `rules` say of one file; a file that does not parse is itself a finding."""
    try:
        tree = ast.parse(source, filename=str(path))
    except SyntaxError as error:
        return [Finding(path=path, line=error.lineno or 1, rule="syntax", message=error.msg)]
    return sorted(finding for rule in rules for finding in rule(path, tree))


def _imported_modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        # `from node import core` imports node.core, not all of node.
        return (
            [f"{module}.{alias.name}" for alias in node.names] if module in {"node", "urllib", "unittest"} else [module]
        )
    return []


def _is_poll(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "until"


def _may_be_in_core(name: str) -> bool:
    return name in CORE_STDLIB or name.split(".", maxsplit=1)[0] in CORE_STDLIB | CORE_OTHERS


def _is_broad(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    names = [ast.unparse(part) for part in caught.elts] if isinstance(caught, ast.Tuple) else [ast.unparse(caught)]
    return any(name.removeprefix("builtins.") in {"Exception", "BaseException"} for name in names)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 1)
