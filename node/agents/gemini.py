"""Gemini CLI. Measured with 0.61.0; docs/agents.md says what and how."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from node.agents.adapter import SERVER, Adapter, KnownVersions, LaunchContext, Setup
from node.core.agent_state import HookTable
from node.core.model import AgentState
from node.core.prompt import PromptProfile

_NAME: Final = "gemini"
_HOOK_MS: Final = 5_000
_TOOL_MS: Final = 630_000
# Folders to which something is added: they are made anew, and what the user has in them is linked one by one.
_ADDED_TO: Final = ("extensions", "policies")
# Files that a first start writes go to the user's own folder, as they would without us. Not so folders: a link to one
# that is not there cannot be made into one.
_USUAL: Final = (
    "google_accounts.json", "installation_id", "oauth_creds.json", "projects.json", "settings.json", "state.json",
    "trustedFolders.json",
)  # fmt: skip
_POLICY: Final = f"""\
[[rule]]
mcpName = "{SERVER}"
toolName = "*"
decision = "allow"
priority = 500
"""

PROMPT: Final = PromptProfile(
    name=_NAME,
    prompt=re.compile(r" [>*](?: |$)"),
    placeholder=re.compile(r"Type your message or @path/to/file"),
    shows_placeholder=True,
    box_end=re.compile(r"^\s*$"),
    # It moves the terminal's cursor into the box only while it believes that somebody looks at it.
    cursor_in_box=False,
    busy=(re.compile(r"\(esc to cancel, \d"),),
    dialog=(
        re.compile(r"^\W*\u25cf\s*\d[.)]\s"),
        re.compile(r"^\u2502 (?:Action Required|Allow execution of)\b"),
        re.compile(r"Waiting for user confirmation"),
    ),
    programs=frozenset({"gemini", "node"}),
    tail=50,
)

HOOKS: Final = HookTable(
    events={
        "SessionStart": AgentState.IDLE,
        "BeforeAgent": AgentState.BUSY,
        "BeforeTool": AgentState.BUSY,
        "AfterTool": AgentState.BUSY,
        # Nothing follows when a person answers that dialog with Esc: this fades, then the screen rules.
        "Notification:ToolPermission": AgentState.NEEDS_INPUT,
        "AfterAgent": AgentState.IDLE,
        "SessionEnd": AgentState.ENDED,
    },
    can_continue=True,
)


def _setup(context: LaunchContext) -> Setup:
    # Gemini takes settings from elsewhere only out of files that belong to root. So it gets a home of its own, in which
    # all is the user's by links, and an extension and a policy are added.
    own = Path(context.env.get("GEMINI_CLI_HOME") or context.env.get("HOME") or Path.home()) / ".gemini"
    server = {
        "command": context.helio[0],
        "args": [*context.helio[1:], "mcp"],
        "env": context.passed_on,
        "timeout": _TOOL_MS,
    }
    hooks = context.hook_groups(HOOKS, _NAME, {"name": SERVER, "timeout": _HOOK_MS})
    extension = {"name": SERVER, "version": "1.0.0", "mcpServers": {SERVER: server}}
    env = {"GEMINI_CLI_HOME": str(context.folder)}
    if context.trusted:
        env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
    return Setup(
        env=tuple(env.items()),
        files=(
            (f".gemini/extensions/{SERVER}/gemini-extension.json", json.dumps(extension, indent=2)),
            (f".gemini/extensions/{SERVER}/hooks/hooks.json", json.dumps({"hooks": hooks}, indent=2)),
            (f".gemini/policies/{SERVER}.toml", _POLICY),
        ),
        links=tuple((f".gemini/{name}", str(own / name)) for name in _linked(own)),
    )


def _linked(own: Path) -> Iterator[str]:
    """The names below the user's folder that the private one links to."""
    yield from sorted({*_USUAL, *_names(own)} - {*_ADDED_TO})
    for folder in _ADDED_TO:
        ours = {SERVER, f"{SERVER}.toml"}
        yield from (f"{folder}/{name}" for name in sorted(set(_names(own / folder)) - ours))


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


GEMINI: Final = Adapter(
    name=_NAME,
    programs=frozenset({"gemini"}),
    prompt=PROMPT,
    hooks=HOOKS,
    command="gemini",
    versions=KnownVersions(first=(0, 61, 0), last=(0, 61, 0)),
    setup=_setup,
    choose=("--session-id", "{}"),
    resume_by=("--resume", "{}"),
    look_only=("--approval-mode=plan",),
    asked=("--prompt={}",),
)
