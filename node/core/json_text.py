"""Changes JSON documents that people keep by hand: only what is asked for changes, every other character stays.

Read leniently, as agent CLIs read their configuration: `//` and `/* */` comments and a comma after the last member are
kept where they are. A key that occurs twice counts where it occurs last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Path: TypeAlias = "Sequence[str | int]"

DEPTH_MAX: Final = 200

_TOKEN: Final = re.compile(
    r'(?P<blank>[ \t\r\n]+)|(?P<line>//[^\r\n]*)|(?P<block>/\*.*?\*/)|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(?P<word>-?[0-9][0-9.eE+-]*|true|false|null)|(?P<sign>[\[\]{}:,])",
    re.DOTALL,
)


class JsonTextError(ValueError):
    """The text is no JSON document; says what is wrong and where, for a person who looks at the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    kind: str
    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class _Node:
    """A value and where it stands; `comma` is where the comma behind it begins, when there is one."""

    start: int
    end: int
    value: Json
    key: str | None = None
    key_start: int = -1
    comma: int | None = None
    children: list[_Node] = field(default_factory=list["_Node"])

    @property
    def outset(self) -> int:
        """Where the member or item begins: at its key, if it has one."""
        return self.start if self.key is None else self.key_start

    def child(self, name: str | int) -> _Node | None:
        if isinstance(name, int):
            return self.children[name] if isinstance(self.value, list) and name < len(self.children) else None
        return next((child for child in reversed(self.children) if child.key == name), None)


def parse(text: str) -> Json:
    """The value of the document; an empty one (or one of comments alone) is an empty object. JsonTextError else."""
    root = _read(text)
    return {} if root is None else root.value


def put(text: str, path: Path, value: Json) -> str:
    """`text` with `value` at `path` (keys; the objects on the way are made); ValueError when something else is there.

    What is new comes last in its object, indented as the document is.
    """
    return _put(text, path, value, append=False)


def append(text: str, path: Path, value: Json) -> str:
    """`text` with `value` as the last item of the array at `path`, which is made when it is not there."""
    return _put(text, path, value, append=True)


def drop(text: str, path: Path) -> str:
    """`text` without the member or item at `path`, which must be there."""
    root = _read(text)
    node, above = root, root
    for name in path:
        above = node
        node = node.child(name) if node is not None else None
    if node is None or above is None or node is above:
        raise ValueError(f"there is nothing at {list(path)}")
    after = node.end if node.comma is None else node.comma + 1
    start = _past_blanks(text, node.outset, after)
    cut = text[:start] + text[after:]
    index = above.children.index(node)
    before = above.children[index - 1].comma if index else None
    if before is not None and node.comma is None:
        # Without this one, the comma behind the one before it would be one too many.
        cut = cut[:before] + cut[before + 1 :]
    return _closed_up(cut, above.start) if len(above.children) == 1 else cut


def _put(text: str, path: Path, value: Json, *, append: bool) -> str:
    root = _read(text)
    if root is None:
        made = text if not text or text.endswith("\n") else text + _line_end(text)
        text = made + "{}" + _line_end(text)
        root = _read(text)
        assert root is not None  # noqa: S101  (for the type checker: it holds two brackets)
    node, depth = root, 0
    for name in path:
        child = node.child(name)
        if child is None:
            break
        node, depth = child, depth + 1
    rest = list(path[depth:])
    if not rest and not append:
        style = _Style.of(text, root)
        return text[: node.start] + style.dumps(value, style.indent_at(text, node.outset)) + text[node.end :]
    wanted: Json = [value] if append and rest else value
    for name in reversed(rest[1:]):
        wanted = {str(name): wanted}
    if not isinstance(node.value, dict if rest else list) or any(isinstance(name, int) for name in rest):
        raise ValueError(f"{list(path[:depth])} is no {'object' if rest else 'list'}")
    return _insert(text, root, node, str(rest[0]) if rest else None, wanted)


def _insert(text: str, root: _Node, into: _Node, key: str | None, value: Json) -> str:
    """`text` with a new last child of `into`."""
    style = _Style.of(text, root)
    last = into.children[-1] if into.children else None
    own = style.indent_at(text, last.outset) if last is not None else style.indent_at(text, into.outset) + style.unit
    # Children on one line are joined by one more on that line.
    compact = not style.unit or (last is not None and "\n" not in text[into.start : last.outset])
    lead = " " if compact else style.line_end + own
    new = style.dumps(value, own, compact=compact)
    if key is not None:
        new = f"{json.dumps(key, ensure_ascii=False)}: {new}"
    if last is None:
        inside = text[into.start + 1 : into.end - 1].rstrip(" \t\r\n")
        compact = compact and not inside
        lead = style.line_end + own
        close = "" if compact else style.line_end + style.indent_at(text, into.outset)
        return text[: into.start + 1] + inside + (new if compact else lead + new) + close + text[into.end - 1 :]
    behind = last.end if last.comma is None else last.comma + 1
    at = _past_comments(text, behind, into.end - 1)
    if at != behind:
        # On the line of a comment it would be part of the comment.
        lead = style.line_end + own
    if last.comma is not None:
        return text[:at] + lead + new + "," + text[at:]
    return text[: last.end] + "," + text[last.end : at] + lead + new + text[at:]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """How a document is laid out: what one level is indented by (nothing: all on one line), and its line ends."""

    unit: str
    line_end: str

    @classmethod
    def of(cls, text: str, root: _Node) -> _Style:
        line_end = _line_end(text)
        if not root.children:
            return cls(unit="  ", line_end=line_end)
        return cls(unit=cls.indent_at(text, root.children[0].outset), line_end=line_end)

    @staticmethod
    def indent_at(text: str, at: int) -> str:
        """The blanks at the beginning of the line in which `at` is."""
        line = text[text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def dumps(self, value: Json, indent: str, *, compact: bool = False) -> str:
        if compact or not self.unit:
            return json.dumps(value, ensure_ascii=False)
        written = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return written.replace("\n", self.line_end + indent)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _past_comments(text: str, at: int, end: int) -> int:
    """Behind the last comment between `at` and `end`, or `at` when there is none."""
    past = at
    while at < end and (found := _TOKEN.match(text, at)) and found.lastgroup in {"blank", "line", "block"}:
        at = found.end()
        if found.lastgroup != "blank":
            past = at
    return past


def _past_blanks(text: str, at: int, after: int) -> int:
    """Where the blanks before `at` begin; a line end stays that ends a comment, if what is left needs it."""
    start = at
    while text[start - 1] in " \t\r\n":
        start -= 1
    line = text[text.rfind("\n", 0, start) + 1 : start]
    if "//" not in line or text[after:].lstrip(" \t")[:1] in {"\r", "\n"}:
        return start
    return text.find("\n", start) + 1 or start


def _closed_up(text: str, start: int) -> str:
    """`text` whose container that begins at `start` has lost its only child: without blanks between its brackets."""
    inside = start + 1
    after = len(text) - len(text[inside:].lstrip(" \t\r\n"))
    return text[:inside] + text[after:] if text[after : after + 1] in {"}", "]"} else text


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(text: str) -> _Node | None:
    reader = _Reader(text)
    if reader.ended():
        return None
    root = reader.value(0)
    if not reader.ended():
        raise reader.problem("something follows after its end")
    if not isinstance(root.value, dict):
        raise JsonTextError("it is no JSON object")
    return root


class _Reader:
    """Reads the tokens of a document one after the other; comments and blanks are passed over."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._next = self._scan()

    def ended(self) -> bool:
        return self._next is None

    def problem(self, what: str) -> JsonTextError:
        at = self._next.start if self._next is not None else len(self._text)
        line = self._text.count("\n", 0, at) + 1
        return JsonTextError(f"line {line}: {what}")

    def value(self, depth: int) -> _Node:
        token = self._take("a value")
        written = self._text[token.start : token.end]
        if token.kind in {"text", "word"}:
            return _Node(start=token.start, end=token.end, value=self._literal(token, written))
        if depth >= DEPTH_MAX:
            raise self.problem("it is nested too deeply")
        if written == "{":
            return self._object(token.start, depth)
        if written == "[":
            return self._array(token.start, depth)
        raise JsonTextError(f"line {self._line(token.start)}: a value was expected, not {written!r}")

    def _object(self, start: int, depth: int) -> _Node:
        members: dict[str, Json] = {}
        children: list[_Node] = []
        while not self._is("}"):
            self._parted(children)
            token = self._take("a key")
            if token.kind != "text":
                raise JsonTextError(f"line {self._line(token.start)}: a key in quotes was expected")
            key = self._literal(token, self._text[token.start : token.end])
            if not self._is(":"):
                raise self.problem("a colon was expected")
            self._take(":")
            child = self.value(depth + 1)
            child.key, child.key_start = str(key), token.start
            members[str(key)] = child.value
            children.append(child)
            self._comma(child)
        return _Node(start=start, end=self._take("}").end, value=members, children=children)

    def _array(self, start: int, depth: int) -> _Node:
        children: list[_Node] = []
        while not self._is("]"):
            self._parted(children)
            children.append(self.value(depth + 1))
            self._comma(children[-1])
        values = [child.value for child in children]
        return _Node(start=start, end=self._take("]").end, value=values, children=children)

    def _parted(self, children: list[_Node]) -> None:
        if children and children[-1].comma is None:
            raise self.problem("a comma was expected")

    def _comma(self, child: _Node) -> None:
        if self._is(","):
            child.comma = self._take(",").start

    def _is(self, sign: str) -> bool:
        found = self._next
        return found is not None and found.kind == "sign" and self._text[found.start] == sign

    def _take(self, wanted: str) -> _Token:
        token = self._next
        if token is None:
            raise self.problem(f"it ends where {wanted} was expected")
        self._next = self._scan()
        return token

    def _scan(self) -> _Token | None:
        while self._position < len(self._text):
            found = _TOKEN.match(self._text, self._position)
            if found is None:
                line = self._line(self._position)
                raise JsonTextError(f"line {line}: {self._text[self._position : self._position + 12]!r} is not JSON")
            self._position = found.end()
            if found.lastgroup in {"text", "word", "sign"}:
                return _Token(kind=found.lastgroup, start=found.start(), end=found.end())
        return None

    def _literal(self, token: _Token, written: str) -> Json:
        try:
            value: Json = json.loads(written)
        except ValueError as error:
            raise JsonTextError(f"line {self._line(token.start)}: {written[:40]!r} is not JSON") from error
        return value

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, at) + 1
