"""What single agent CLIs do that a node must stand: Codex's daemon for all terminals, Qwen Code's repeated calls."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from node.agents.codex import CODEX
from node.agents.qwen import QWEN
from node.demo.model.script import Turn
from node.service import own_command
from tests.e2e.agents.loop import PATIENCE_S, WAIT_S, Loop, call, perform
from tests.fake_model.stage import until

pytestmark = pytest.mark.timeout(300)

# Less than the test's other end takes, so that the client gives its call up and repeats it.
_IMPATIENT_MS = 3_000


def helio() -> list[str]:
    """The words that start this `helio` from any folder."""
    words, variables = own_command()
    return ["/usr/bin/env", *(f"{name}={value}" for name, value in variables.items()), *words]


def test_the_daemon_that_all_codex_terminals_share_is_refused_and_the_way_out_works(tmp_path: Path) -> None:
    def prepare(home: Path) -> None:
        command, *arguments = [*helio(), "mcp"]
        lines = (
            "[mcp_servers.heliograph]", f"command = {json.dumps(command)}", f"args = {json.dumps(arguments)}",
            'env_vars = ["HELIOGRAPH_HOME"]', "required = true", 'default_tools_approval_mode = "approve"',
        )  # fmt: skip
        with (home / ".codex" / "config.toml").open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    async def play(on: Loop) -> None:
        # As a person starts it who knows nothing of this: the node adds nothing to a command that it does not see.
        await on.run("api", "env", "codex")
        on.say(on.calls("list_peers"), Turn(text="It was refused."))
        await on.enter("api", "who is there")
        told = (await on.turns(2))[1].newest
        assert "shared background server" in told
        assert "codex --no-daemon" in told

        await on.run("web", "env", "codex", "--no-daemon")
        on.say(on.calls("list_peers"), Turn(text="I see."))
        await on.enter("web", "who is there")
        assert "You are @web." in (await on.turns(4))[3].newest

    try:
        perform(CODEX, tmp_path, play, prepare=prepare)
    finally:
        # The daemon runs from a copy of the whole program, which is some hundred megabytes.
        shutil.rmtree(tmp_path / "home", ignore_errors=True)


def test_a_request_that_qwen_repeats_through_new_shims_is_made_once(tmp_path: Path) -> None:
    def prepare(home: Path) -> None:
        path = home / ".qwen" / "settings.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        command, *arguments = [*helio(), "mcp"]
        settings["mcpServers"] = {"heliograph": {"command": command, "args": arguments, "timeout": _IMPATIENT_MS}}
        path.write_text(json.dumps(settings), encoding="utf-8")

    async def play(on: Loop) -> None:
        web = await on.puppet("web")
        await on.run("api")
        await until(lambda: on.rests("api"), "the empty prompt")
        on.say(
            on.calls("request", to="@web", text="Which port does the mock use?", wait_seconds=WAIT_S),
            Turn(text="Eighty ninety-one, then."),
        )
        await on.enter("api", "ask web for the port")
        assert (await web.entered(PATIENCE_S)).startswith("[heliograph]")
        await until(lambda: shims(on) >= 3, "two more tries of the client")
        (asked,) = (await call(web, "read_inbox")).messages("request")
        await call(web, "deliver", text="8091, always.")

        told = (await on.turns(2))[1].newest
        assert "8091, always." in told
        (only,) = await on.node.exchanges(closed=True)
        assert only.id == asked["exchange"]
        assert await on.kinds(only.id) == ["request", "deliver"]
        assert (await call(web, "read_inbox")).messages() == []
        await until(lambda: _all_is_read(on), "the end of the asker's unread messages")

    perform(QWEN, tmp_path, play, prepare=prepare)


def shims(on: Loop) -> int:
    """How many MCP servers of Qwen Code's have said hello to the node."""
    return sum("agent client 'qwen" in line for line in on.lab.said)


async def _all_is_read(on: Loop) -> bool:
    return [session.unread for session in await on.node.sessions()] == [0, 0]
