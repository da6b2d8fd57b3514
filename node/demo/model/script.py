"""What a scripted model is told to say, and what it is asked: free of any vendor's dialect."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model: a text, or a call of `tool` with `arguments`.

    `tool` is a shell pattern over the names of the tools that the client offers ("*read_inbox"), taken as it is when
    none matches. In `text` and in strings of `arguments`, {{PATTERN}} stands for what that regular expression found
    last in the conversation (its first group, if it has one). `gate`: the answer waits until the test opens that gate.
    `when`: only for a request whose newest text this regular expression is found in. `again`: is never used up.
    """

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    gate: str = ""
    when: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a client offers; `group` is how Codex keeps the tools of one MCP server together."""

    name: str
    group: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What a pattern may match."""
        return (self.name, f"{self.group}.{self.name}") if self.group else (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client asked. `said` are (role, text), oldest first; `side` is a request beside the conversation."""

    dialect: str
    script: str
    model: str
    stream: bool
    tools: tuple[Tool, ...]
    system: str
    said: tuple[tuple[str, str], ...]
    side: bool = False

    @property
    def newest(self) -> str:
        """All that was said since the model spoke last."""
        tail: list[str] = []
        for role, text in reversed(self.said):
            if role in {"assistant", "model"}:
                break
            tail.append(text)
        return "\n".join(reversed(tail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call of an answer."""

    tool: Tool
    arguments: Mapping[str, object]
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model says to one request, all patterns filled in."""

    text: str = ""
    call: Call | None = None


def answer_to(request: Request, turn: Turn) -> Answer:
    """The answer that `turn` means for `request`."""
    said = "\n".join(text for _, text in request.said)
    if not turn.tool:
        return Answer(text=_filled_text(turn.text, said))
    arguments = {name: _filled(value, said) for name, value in turn.arguments.items()}
    tool = _chosen(request.tools, turn.tool)
    return Answer(text=_filled_text(turn.text, said), call=Call(tool=tool, arguments=arguments, id=new_id("toolu")))


def new_id(prefix: str) -> str:
    """An id as vendors make them."""
    return f"{prefix}_{uuid4().hex[:24]}"


def _chosen(tools: Sequence[Tool], pattern: str) -> Tool:
    fitting = (tool for tool in tools if any(fnmatch.fnmatchcase(name, pattern) for name in tool.names))
    return next(fitting, Tool(name=pattern))


def _filled(value: object, said: str) -> object:
    if isinstance(value, str):
        return _filled_text(value, said)
    if isinstance(value, Mapping):
        return {name: _filled(item, said) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, said) for item in value]
    return value


def _filled_text(text: str, said: str) -> str:
    def found(wanted: re.Match[str]) -> str:
        hits = list(re.finditer(wanted[1], said))
        if not hits:
            return ""
        return hits[-1][1] if hits[-1].re.groups else hits[-1][0]

    return re.sub(r"\{\{(.+?)\}\}", found, text)
