"""What the node knows of an agent CLI, as data; each file beside this one fills it in for one of them."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from node.core.agent_state import HookTable
from node.core.errors import ErrorCode, MeshError
from node.core.prompt import PromptProfile

SERVER: Final = "heliograph"
# What the shim and the hooks need to find their node.
_PASSED_ON: Final = ("HELIOGRAPH_HOME", "HELIOGRAPH_SESSION")
NO_HOOKS: Final = HookTable(events={})

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchContext:
    """What one launch of an agent depends on.

    `folder` is private to the session: the agent's configuration is written there. `helio` is the command of this
    `helio`, `env` the environment which the session will have, `session` its id here. `conversation` is the id to give
    to a conversation that begins, by a CLI which lets it be chosen. `trusted`: a person trusts what is in `cwd`
    already, for instance because it is a worktree of a repository in which they run agents; else the agent asks them.
    """

    folder: Path
    cwd: str
    helio: tuple[str, ...]
    env: Mapping[str, str]
    session: str
    conversation: str = field(default_factory=lambda: str(uuid4()))
    trusted: bool = False

    @property
    def passed_on(self) -> dict[str, str]:
        """The variables by which the shim and the hooks find their node, for CLIs that hand on no others."""
        return {name: self.env[name] for name in _PASSED_ON if self.env.get(name)}

    def hook(self, event: str, client: str) -> str:
        """The shell command that tells the node of `event`."""
        given = [f"{name}={shlex.quote(value)}" for name, value in self.passed_on.items()]
        return " ".join([*given, shlex.join([*self.helio, "hook", event, "--client", client])])

    def hook_groups(self, table: HookTable, client: str, more: Mapping[str, object]) -> dict[str, list[object]]:
        """The hooks of every event of `table`, in the form that Claude Code began and others took over."""
        events = dict.fromkeys(event.partition(":")[0] for event in table.events)
        return {
            event: [{"hooks": [{"type": "command", "command": self.hook(event, client), **more}]}] for event in events
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A private configuration: what to put behind the program's name, into its environment, and into the folder.

    `files` are (path, text), `links` (path, target); paths are relative to `LaunchContext.folder`.
    """

    words: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """How to start an agent: the command line, what its environment gets besides, and what to write first.

    `conversation` is the id that the conversation will have, None when the agent itself makes one.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    conversation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVersions:
    """From which to which version an agent was seen to work as this file says."""

    first: Version
    last: Version

    def doubt(self, found: Version) -> str:
        """Why `found` is not known to work, or an empty string."""
        shown = ".".join(map(str, found))
        if found < self.first:
            return f"{shown} is older than {'.'.join(map(str, self.first))}, the first that is known to work; update it"
        # A new patch level hardly changes a screen; a new minor one may.
        if found[:2] > self.last[:2]:
            return (
                f"{shown} is newer than {'.'.join(map(str, self.last))}, the last that was tried; should its screen "
                "look different, notices to it are held"
            )
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One agent CLI.

    `programs` are the file names that start it, `prompt` says how its screen looks, `hooks` what its hooks tell.
    `command` is the program that this node starts; an adapter without it only recognises. `setup` makes the private
    configuration; `choose` and `resume_by` are the words, with {} for what goes in, that give a new conversation its id
    and take one up by id. One question without a terminal is `ask`, then `look_only` if the agent is to change nothing
    (with `look_only_env` in its environment), then `asked` with the question. An agent that is part of this software
    (`bundled`) says by `launches` how it is started, given a conversation to take up or None.
    """

    name: str
    programs: frozenset[str]
    prompt: PromptProfile
    hooks: HookTable = NO_HOOKS
    command: str = ""
    versions: KnownVersions | None = None
    setup: Callable[[LaunchContext], Setup] = lambda _: Setup()
    choose: tuple[str, ...] = ()
    resume_by: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    look_only: tuple[str, ...] = ()
    look_only_env: tuple[tuple[str, str], ...] = ()
    asked: tuple[str, ...] = ()
    launches: Callable[[LaunchContext, str | None], Launched] | None = None

    @property
    def bundled(self) -> bool:
        """Whether the agent is part of this software, so that nothing needs to be installed."""
        return self.launches is not None

    @property
    def startable(self) -> bool:
        """Whether this node can start the agent by itself."""
        return self.bundled or bool(self.command)

    @property
    def chosen_id(self) -> bool:
        """Whether the id of a new conversation is known before it begins."""
        return bool(self.choose)

    def recognises(self, words: Sequence[str]) -> bool:
        """Whether the first words of a command line (as file names) start this agent."""
        return any(word in self.programs for word in words)

    def find(self, env: Mapping[str, str]) -> str | None:
        """Where the program is on the PATH of `env`; None when it is not installed there."""
        if self.bundled:
            return sys.executable
        return shutil.which(self.command, path=env.get("PATH", "")) if self.command else None

    def launch(self, context: LaunchContext, words: Sequence[str] = ()) -> Launched:
        """How to begin a conversation; `words` are more arguments for the program, a person's own."""
        if self.launches is not None:
            return self.launches(context, None)
        chosen = _filled(self.choose, context.conversation)
        return self._launched(context, (*chosen, *words), context.conversation if chosen else None)

    def resume(self, context: LaunchContext, conversation: str) -> Launched:
        """How to take up a conversation that has ended."""
        if self.launches is not None:
            return self.launches(context, conversation)
        return self._launched(context, _filled(self.resume_by, conversation), conversation)

    def one_shot(self, prompt: str, *, read_only: bool = True) -> tuple[str, ...]:
        """The command line that answers `prompt` on stdout and ends; with `read_only` it changes no file."""
        if not self.asked:
            raise MeshError(ErrorCode.UNSUPPORTED, f"This node does not know how to ask {self.name} one question.")
        given = [f"{name}={value}" for name, value in self.look_only_env] if read_only else []
        look_only = self.look_only if read_only else ()
        before = ("env", *given) if given else ()
        return (*before, self.command, *self.ask, *look_only, *_filled(self.asked, prompt))

    def _launched(self, context: LaunchContext, words: Sequence[str], conversation: str | None) -> Launched:
        if not self.startable:
            raise MeshError(ErrorCode.UNSUPPORTED, f"This node does not know how to start {self.name} by itself.")
        setup = self.setup(context)
        return Launched(
            argv=(self.command, *setup.words, *words),
            env=setup.env,
            files=setup.files,
            links=setup.links,
            conversation=conversation,
        )


def version_in(text: str) -> Version | None:
    """The first version number in what a program prints for --version; None when there is none."""
    found = re.search(r"(?<![\d.])(\d+)\.(\d+)\.(\d+)(?![\d.])", text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _filled(words: Sequence[str], value: str) -> tuple[str, ...]:
    return tuple(value if word == "{}" else word.replace("{}", value) for word in words)
