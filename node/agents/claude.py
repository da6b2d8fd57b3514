"""Claude Code. Measured with 2.1.332 and 2.1.197; docs/agents.md says what and how."""

from __future__ import annotations

import json
import re
from typing import Final

from node.agents.adapter import SERVER, Adapter, KnownVersions, LaunchContext, Setup
from node.core.agent_state import HookTable
from node.core.model import AgentState
from node.core.prompt import PromptProfile

_NAME: Final = "claude"

PROMPT: Final = PromptProfile(
    name=_NAME,
    prompt=re.compile("\u276f(?:[ \u00a0]|$)"),
    placeholder=re.compile(r'Try ".*"|Press up to edit queued messages'),
    box_end=re.compile("^\u2500{10,}$"),
    busy=(re.compile(r"(?:^|\u00b7)\s*esc to interrupt\b"),),
    dialog=(
        re.compile(r"^\W*\u276f\s*\d[.)]\s"),
        # Menus without numbers: whether to trust a folder, whether to make auto mode the default.
        re.compile(r"^\s+\u276f (?:Yes|No)\b"),
        re.compile(r"^\s*(?:Enter to confirm \u00b7 )?Esc to cancel\b"),
    ),
    programs=frozenset({"claude"}),
    # Everything is drawn at the bottom of the screen, below blank lines.
    tail=50,
)

# Nothing is told when a person interrupts a turn or declines a tool: what was told before fades, then the screen rules.
HOOKS: Final = HookTable(
    events={
        "SessionStart": AgentState.IDLE,
        "UserPromptSubmit": AgentState.BUSY,
        "PreToolUse": AgentState.BUSY,
        "PostToolUse": AgentState.BUSY,
        "PostToolUseFailure": AgentState.BUSY,
        "PermissionRequest": AgentState.NEEDS_INPUT,
        "Notification:permission_prompt": AgentState.NEEDS_INPUT,
        "Notification:elicitation_dialog": AgentState.NEEDS_INPUT,
        "Notification:idle_prompt": AgentState.IDLE,
        "Stop": AgentState.IDLE,
        "StopFailure": AgentState.IDLE,
        "SessionEnd": AgentState.ENDED,
    },
    can_continue=True,
)


def _setup(context: LaunchContext) -> Setup:
    # Both files add to the user's own configuration and replace nothing in it.
    server = {
        "type": "stdio",
        "command": context.helio[0],
        "args": [*context.helio[1:], "mcp"],
        "env": context.passed_on,
        # Else its tools are found by a search only, and a tool of Claude's own comes first.
        "alwaysLoad": True,
    }
    settings = {"permissions": {"allow": [f"mcp__{SERVER}"]}, "hooks": context.hook_groups(HOOKS, _NAME, {})}
    return Setup(
        # With "=", for each of the two would take the words after it as well.
        words=(f"--mcp-config={context.folder / 'mcp.json'}", f"--settings={context.folder / 'settings.json'}"),
        files=(
            ("mcp.json", json.dumps({"mcpServers": {SERVER: server}}, indent=2)),
            ("settings.json", json.dumps(settings, indent=2)),
        ),
    )


CLAUDE: Final = Adapter(
    name=_NAME,
    programs=frozenset({"claude"}),
    prompt=PROMPT,
    hooks=HOOKS,
    command="claude",
    versions=KnownVersions(first=(2, 1, 197), last=(2, 1, 332)),
    setup=_setup,
    choose=("--session-id", "{}"),
    resume_by=("--resume", "{}"),
    ask=("--print",),
    look_only=("--tools=Read,Grep,Glob",),
    asked=("--", "{}"),
)
