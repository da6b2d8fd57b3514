"""opencode. Measured with 1.18.33; docs/agents.md says what and how."""

from __future__ import annotations

import json
import re
from typing import Final

from node.agents.adapter import SERVER, Adapter, KnownVersions, LaunchContext, Setup
from node.core.agent_state import HookTable
from node.core.model import AgentState
from node.core.prompt import PromptProfile

_NAME: Final = "opencode"
_TOOL_MS: Final = 630_000
_PLUGIN: Final = "heliograph.js"
_LOOKING: Final = {"*": "deny", "read": "allow", "grep": "allow", "glob": "allow", "list": "allow"}

PROMPT: Final = PromptProfile(
    name=_NAME,
    prompt=re.compile(" *\u2503(?:  |$)"),
    # What was said stands between the same bars: a text opens below one padding line that has nothing like it above.
    above=re.compile("(?! *\u2503).*\n *\u2503"),
    placeholder=re.compile('Ask anything\u2026 ".*"'),
    # The line that names agent and model.
    box_end=re.compile("^\\s*\u2503  \\S.* \u00b7 \\S"),
    frame="\u2503",
    # On a wide terminal a bar with the conversation's facts stands beside everything.
    edge=re.compile(" *\u2579\u2580{10,}"),
    busy=(re.compile(r"\besc (?:again to )?interrupt\b"),),
    dialog=(
        re.compile("^\\s*\u2503\\s+\u25b3 "),
        re.compile(r"\u21c6 select\s+enter (?:confirm|submit)\b"),
    ),
    programs=frozenset({"opencode"}),
    tail=50,
)

HOOKS: Final = HookTable(
    events={
        "session.created": AgentState.IDLE,
        "session.status:busy": AgentState.BUSY,
        "session.status:idle": AgentState.IDLE,
        "permission.asked": AgentState.NEEDS_INPUT,
        "permission.replied": AgentState.BUSY,
    }
)

# It has no hook commands, so a plugin calls ours: one at a time, for they would overtake each other, and for changes
# only. What happens in the sessions of subagents is no state of the agent; their permissions are, for a person answers
# those in the same terminal.
_SOURCE: Final = """\
import { spawn } from "node:child_process"

const command = __COMMAND__
const children = new Set()
let told = ""
let turn = Promise.resolve()

const run = (event, payload) =>
  new Promise((done) => {
    const hook = spawn(command[0], [...command.slice(1), "hook", event, "--client", "opencode"], {
      env: { ...process.env, ...__ENVIRONMENT__ },
      stdio: ["pipe", "ignore", "ignore"],
    })
    hook.on("error", done)
    hook.on("close", done)
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(payload))
  })

const tell = (event, session, status = "") => {
  const said = [event, session, status].join(" ")
  if (said === told) return
  told = said
  turn = turn.then(() => run(event, { session_id: session, status, cwd: process.cwd() }))
}

export const Heliograph = async () => ({
  event: async ({ event: { type, properties } }) => {
    const session = properties?.sessionID ?? properties?.info?.id ?? ""
    if (type === "session.created" && properties.info?.parentID) children.add(session)
    if (type === "permission.asked" || type === "permission.replied") tell(type, children.has(session) ? "" : session)
    else if (children.has(session)) return
    else if (type === "session.created") tell(type, session)
    else if (type === "session.status") tell(type, session, properties.status?.type === "idle" ? "idle" : "busy")
  },
})
"""


def _setup(context: LaunchContext) -> Setup:
    plugin = context.folder / _PLUGIN
    server = {
        "type": "local",
        "command": [*context.helio, "mcp"],
        "environment": context.passed_on,
        "enabled": True,
        "timeout": _TOOL_MS,
    }
    # Read after the user's and the project's files and merged into them; of two rules the later one counts.
    content = {"mcp": {SERVER: server}, "permission": {f"{SERVER}_*": "allow"}, "plugin": [plugin.as_uri()]}
    source = _SOURCE.replace("__COMMAND__", json.dumps(context.helio))
    source = source.replace("__ENVIRONMENT__", json.dumps(context.passed_on))
    return Setup(env=(("OPENCODE_CONFIG_CONTENT", json.dumps(content)),), files=((_PLUGIN, source),))


OPENCODE: Final = Adapter(
    name=_NAME,
    programs=frozenset({"opencode"}),
    prompt=PROMPT,
    hooks=HOOKS,
    command="opencode",
    versions=KnownVersions(first=(1, 18, 33), last=(1, 18, 33)),
    setup=_setup,
    resume_by=("--session", "{}"),
    ask=("run",),
    # Its plan agent edits nothing but runs commands; these are merged into the user's permissions, after them.
    look_only=("--agent", "plan"),
    look_only_env=(("OPENCODE_PERMISSION", json.dumps(_LOOKING)),),
    asked=("--", "{}"),
)
