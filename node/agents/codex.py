"""Codex. Measured with 0.171.0; docs/agents.md says what and how."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Final

from node.agents.adapter import SERVER, Adapter, KnownVersions, LaunchContext, Setup
from node.core.agent_state import HookTable
from node.core.model import AgentState
from node.core.prompt import PromptProfile

_NAME: Final = "codex"
# The longest that Codex allows hooks of an end or an interrupt; it shortens others, and then takes them for changed.
_HOOK_SECONDS: Final = 3
_TOOL_SECONDS: Final = 630
# What Codex calls the place of a setting that was given on the command line.
_FLAGS: Final = "/<session-flags>/config.toml"

PROMPT: Final = PromptProfile(
    name=_NAME,
    prompt=re.compile("\u203a(?: |$)"),
    placeholder=re.compile(r"Ask Codex to do anything"),
    shows_placeholder=True,
    # The line below the box names model and folder, but a person can have it say anything.
    box_end=re.compile(r"^\s*$"),
    busy=(re.compile(r"^\s*[\u2022\u25e6] .*\besc to interrupt\b"),),
    dialog=(
        re.compile(r"^\s*\u203a\s*\d[.)]\s"),
        re.compile(r"\benter (?:to submit|confirm|to confirm)\b.*\besc\b", re.IGNORECASE),
    ),
    programs=frozenset({"codex", "node"}),
    tail=50,
)

HOOKS: Final = HookTable(
    events={
        # It comes with the first prompt, not at the start.
        "SessionStart": None,
        "UserPromptSubmit": AgentState.BUSY,
        "PreToolUse": AgentState.BUSY,
        "PostToolUse": AgentState.BUSY,
        "PermissionRequest": AgentState.NEEDS_INPUT,
        "Stop": AgentState.IDLE,
        "Interrupt": AgentState.IDLE,
        "SessionEnd": AgentState.ENDED,
    },
    can_continue=True,
)


def _setup(context: LaunchContext) -> Setup:
    server: dict[str, object] = {
        "command": context.helio[0],
        "args": [*context.helio[1:], "mcp"],
        "env": context.passed_on,
        "default_tools_approval_mode": "approve",
        # Else the first prompt is sent before the tools are known.
        "required": True,
        "tool_timeout_sec": _TOOL_SECONDS,
    }
    hooks = context.hook_groups(HOOKS, _NAME, {"timeout": _HOOK_SECONDS})
    settings: dict[str, object] = {
        # The daemon that all terminals share would run the shim outside of the session's terminal, where nobody can be
        # proven to be its caller.
        "features.daemon_auto_start": False,
        f"mcp_servers.{SERVER}": server,
        **{f"hooks.{event}": groups for event, groups in hooks.items()},
        # Trust for these very commands, for this session; the user's and the project's hooks stay as they are.
        "hooks.state": {
            f"{_FLAGS}:{_snake(event)}:0:0": {"trusted_hash": _hook_hash(event, context.hook(event, _NAME))}
            for event in hooks
        },
    }
    if context.trusted:
        settings["projects"] = {context.cwd: {"trust_level": "trusted"}}
    words = [word for key, value in settings.items() for word in ("-c", f"{key}={_toml(value)}")]
    return Setup(words=tuple(words))


def _hook_hash(event: str, command: str) -> str:
    """What Codex compares with before it runs a hook that was not reviewed on its own screen."""
    handler = {"async": False, "command": command, "timeout": _HOOK_SECONDS, "type": "command"}
    identity = {"event_name": _snake(event), "hooks": [handler]}
    canonical = json.dumps(identity, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _toml(value: object) -> str:
    """`value` as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        # A JSON string is a TOML string, but for this one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    raise TypeError(f"no TOML for {type(value).__name__}")


CODEX: Final = Adapter(
    name=_NAME,
    programs=frozenset({"codex"}),
    prompt=PROMPT,
    hooks=HOOKS,
    command="codex",
    versions=KnownVersions(first=(0, 171, 0), last=(0, 171, 0)),
    setup=_setup,
    resume_by=("resume", "{}"),
    ask=("exec", "--skip-git-repo-check"),
    look_only=("--sandbox", "read-only"),
    asked=("--", "{}"),
)
