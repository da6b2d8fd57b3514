"""What `helio install` puts into the text of a configuration file, knows again, and takes out. Pure.

Each kind of content has the same two methods. `put_into` gives the text with the content in it once, whatever an
earlier version of ours left there; None is a file that is not there. `take_from` gives the text without it, None when
nothing of use is left. Both raise ValueError with what is wrong, for a person who looks at the file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from node.core import json_text
from node.core.json_text import Json

_HOOK: Final = re.compile(r"(?:\bhelio|\bnode\.entry)'? hook [A-Za-z.]+ --client ([a-z]+)$")
_SERVER: Final = "heliograph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Groups of hook commands by event, each the only one of ours for its event."""

    client: str
    groups: Mapping[str, Json]

    def owns(self, group: Json) -> bool:
        """Whether all that a group does is to call our hook for this client."""
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(hooks, list) or not hooks:
            return False
        commands = [hook.get("command") if isinstance(hook, dict) else None for hook in hooks]
        found = [_HOOK.search(command) if isinstance(command, str) else None for command in commands]
        return all(match is not None and match[1] == self.client for match in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Entries of a JSON document: the server (its place and value) and the hooks, below `hooks`."""

    server: tuple[Sequence[str], Json] | None = None
    hooks: Hooks | None = None

    def put_into(self, text: str | None) -> str:
        """See the module."""
        new = text or ""
        if self.server is not None:
            place, value = self.server
            found = _at(json_text.parse(new), place)
            if found is not None and not _is_our_server(found):
                raise ValueError(f"another MCP server is called {_SERVER} in it")
            if found != value:
                new = json_text.put(new, place, value)
        if self.hooks is not None:
            for event in _keys(_at(json_text.parse(new), ["hooks"])):
                if event not in self.hooks.groups:
                    new = _without_hooks(new, self.hooks, event, keep=0)
            for event, group in self.hooks.groups.items():
                new = _with_hook(new, self.hooks, event, group)
        return new

    def take_from(self, text: str) -> str | None:
        """See the module."""
        new = text
        if self.server is not None:
            place, _ = self.server
            found = _at(json_text.parse(new), place)
            if found is not None and _is_our_server(found):
                new = _pruned(json_text.drop(new, place), place[:-1])
        if self.hooks is not None:
            for event in _keys(_at(json_text.parse(new), ["hooks"])):
                new = _without_hooks(new, self.hooks, event, keep=0)
        return None if new != text and json_text.parse(new) == {} and "/" not in new else new


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A table at the end of a TOML document, between two marks."""

    table: Sequence[str]
    values: Mapping[str, Json]
    cli: str

    def put_into(self, text: str | None) -> str:
        """See the module."""
        old = text or ""
        bare = self._bare(old)
        known = _toml(bare)
        for name in self.table:
            found = known.get(name) if isinstance(known, dict) else None
            if found is not None and not isinstance(found, dict):
                raise ValueError(f"{name} is no table in it")
            known = found
        if known is not None:
            raise ValueError(f"another MCP server is called {_SERVER} in it")
        line_end = "\r\n" if "\r\n" in old else "\n"
        block = self._text().replace("\n", line_end)
        begin = old.find(self._opening)
        if begin >= 0:
            new = old[:begin] + block + old[self._end_of_block(old, begin) :]
        else:
            ended = old if not old or old.endswith("\n") else old + line_end
            new = ended + (line_end if ended.strip() else "") + block
        try:
            meant = tomllib.loads(new) == _merged(_toml(bare), self.table, dict(self.values))
        except tomllib.TOMLDecodeError:
            meant = False
        if not meant:
            # A table written inline cannot be added to; keys behind our part would become keys of its table.
            raise ValueError(f"[{'.'.join(self.table)}] cannot be added to it, because of how its tables are written")
        return new

    def take_from(self, text: str) -> str | None:
        """See the module."""
        _toml(text)
        bare = self._bare(text)
        return None if bare != text and not bare.strip() else bare

    @property
    def _opening(self) -> str:
        return f"# >>> heliograph: written by `helio install {self.cli}`, taken out by `helio uninstall {self.cli}`"

    @property
    def _closing(self) -> str:
        return "# <<< heliograph"

    def _text(self) -> str:
        lines = [f"{key} = {json.dumps(value)}" for key, value in self.values.items()]
        return "\n".join([self._opening, f"[{'.'.join(self.table)}]", *lines, self._closing]) + "\n"

    def _bare(self, text: str) -> str:
        """`text` without the block and the empty line before it."""
        begin = text.find(self._opening)
        if begin < 0:
            return text
        end = self._end_of_block(text, begin)
        before = text[:begin]
        for line_end in ("\r\n", "\n"):
            if before.endswith(line_end * 2):
                before = before.removesuffix(line_end)
                break
        return before + text[end:]

    def _end_of_block(self, text: str, begin: int) -> int:
        closing = text.find(self._closing, begin)
        if closing < 0:
            raise ValueError(f"the mark {self._closing!r} is missing that ends the part of heliograph")
        line_end = text.find("\n", closing)
        return len(text) if line_end < 0 else line_end + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A file that is ours alone; `mark` is in every version of it."""

    text: str
    mark: str

    def put_into(self, text: str | None) -> str:
        """See the module."""
        if text is not None and self.mark not in text:
            raise ValueError("it has our name but is not ours")
        return self.text

    def take_from(self, text: str) -> str | None:
        """See the module."""
        return None if self.mark in text else text


def _with_hook(text: str, hooks: Hooks, event: str, group: Json) -> str:
    groups = _at(json_text.parse(text), ["hooks", event])
    if groups is not None and not isinstance(groups, list):
        raise ValueError(f"hooks.{event} is no list in it")
    ours = [index for index, one in enumerate(groups or []) if hooks.owns(one)]
    if not ours:
        return json_text.append(text, ["hooks", event], group)
    kept = _without_hooks(text, hooks, event, keep=1)
    return kept if (groups or [])[ours[0]] == group else json_text.put(kept, ["hooks", event, ours[0]], group)


def _without_hooks(text: str, hooks: Hooks, event: str, *, keep: int) -> str:
    """`text` without our groups for `event` but for the first `keep`, and without what becomes empty by that."""
    groups = _at(json_text.parse(text), ["hooks", event])
    ours = [index for index, one in enumerate(groups) if hooks.owns(one)] if isinstance(groups, list) else []
    for index in reversed(ours[keep:]):
        text = json_text.drop(text, ["hooks", event, index])
    return _pruned(text, ["hooks", event]) if ours[keep:] else text


def _pruned(text: str, place: Sequence[str]) -> str:
    """`text` without the empty containers at `place` and above it."""
    for depth in range(len(place), 0, -1):
        found = _at(json_text.parse(text), place[:depth])
        if found is None or found:
            break
        text = json_text.drop(text, place[:depth])
    return text


def _at(value: Json, place: Sequence[str]) -> Json:
    """What is at `place`, None when nothing is; ValueError when something on the way is no object."""
    for depth, name in enumerate(place):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ValueError(f"{'.'.join(place[:depth])} is no object in it")
        value = value.get(name)
    return value


def _keys(value: Json) -> list[str]:
    return list(value) if isinstance(value, dict) else []


def _is_our_server(value: Json) -> bool:
    """Whether a server starts `helio mcp`, or what that was called on this machine before."""
    if not isinstance(value, dict):
        return False
    command, args = value.get("command"), value.get("args")
    words = command if isinstance(command, list) else args
    return isinstance(words, list) and words[-1:] == ["mcp"]


def _toml(text: str) -> Json:
    try:
        found: Json = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is no TOML ({error})") from error
    return found


def _merged(value: Json, table: Sequence[str], leaf: Json) -> Json:
    if not table:
        return leaf
    below = value if isinstance(value, dict) else {}
    return {**below, table[0]: _merged(below.get(table[0]), table[1:], leaf)}
