"""Qwen Code. Measured with 0.15.10; docs/agents.md says what and how."""

from __future__ import annotations

import json
import re
from typing import Final

from node.agents.adapter import SERVER, Adapter, KnownVersions, LaunchContext, Setup
from node.core.agent_state import HookTable
from node.core.model import AgentState
from node.core.prompt import PromptProfile

_NAME: Final = "qwen"
_HOOK_MS: Final = 5_000
# Longer than any call of ours blocks: Qwen starts a server anew and repeats the call when one takes too long.
_TOOL_MS: Final = 630_000

PROMPT: Final = PromptProfile(
    name=_NAME,
    prompt=re.compile(r"[>*](?: |$)"),
    placeholder=re.compile(r"Type your message or @path/to/file"),
    shows_placeholder=True,
    box_end=re.compile("^\u2500{10,}$"),
    # It draws its own cursor and puts an invisible character behind it; the terminal's stays below everything.
    cursor_in_box=False,
    frame="\u200b",
    busy=(re.compile(r"\besc to cancel\)"),),
    dialog=(
        re.compile(r"^\W*\u203a\s*\d[.)]\s"),
        re.compile(r"Waiting for user confirmation"),
    ),
    programs=frozenset({"qwen", "node"}),
    tail=50,
)

HOOKS: Final = HookTable(
    events={
        "SessionStart": AgentState.IDLE,
        "UserPromptSubmit": AgentState.BUSY,
        "PreToolUse": AgentState.BUSY,
        "PostToolUse": AgentState.BUSY,
        "PermissionRequest": AgentState.NEEDS_INPUT,
        "Notification:permission_prompt": AgentState.NEEDS_INPUT,
        "Notification:idle_prompt": AgentState.IDLE,
        "Stop": AgentState.IDLE,
        "SessionEnd": AgentState.ENDED,
    },
    can_continue=True,
)


def _setup(context: LaunchContext) -> Setup:
    server = {
        "command": context.helio[0],
        "args": [*context.helio[1:], "mcp"],
        "env": context.passed_on,
        "timeout": _TOOL_MS,
    }
    hooks = context.hook_groups(HOOKS, _NAME, {"name": SERVER, "timeout": _HOOK_MS})
    defaults = {"mcpServers": {SERVER: server}, "permissions": {"allow": [f"mcp__{SERVER}"]}, "hooks": hooks}
    # The weakest layer of all: lists and servers of the user's are added to it, and any other setting wins over it.
    env = {"QWEN_CODE_SYSTEM_DEFAULTS_PATH": str(context.folder / "defaults.json")}
    files = [("defaults.json", json.dumps(defaults, indent=2))]
    if context.trusted:
        env["QWEN_CODE_TRUSTED_FOLDERS_PATH"] = str(context.folder / "trusted.json")
        files.append(("trusted.json", json.dumps({context.cwd: "TRUST_FOLDER"}, indent=2)))
    return Setup(env=tuple(env.items()), files=tuple(files))


QWEN: Final = Adapter(
    name=_NAME,
    programs=frozenset({"qwen"}),
    prompt=PROMPT,
    hooks=HOOKS,
    command="qwen",
    versions=KnownVersions(first=(0, 15, 10), last=(0, 15, 10)),
    setup=_setup,
    choose=("--session-id", "{}"),
    resume_by=("--resume", "{}"),
    look_only=("--approval-mode=plan",),
    asked=("--prompt={}",),
)
