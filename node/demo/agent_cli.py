"""The demo's step with an agent CLI that is installed here: the real program, with a script for a model.

It gets a home of its own and talks with a server on loopback: nothing of the person's is read, and nothing is charged.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence

from node.core.views_work import AgentView
from node.demo.model.homes import HOMES, TOOL_NAMES
from node.demo.model.script import Turn
from node.demo.model.server import FakeModel
from node.demo.stage import Stage, check

NICKNAME = "finn"
# A real program takes its time to start, more so on a machine that has other work.
PATIENCE_S = 90
_WAIT_S = 60
_REPLY = "The total is in the customer's currency now."
_NOTICE = r"^\[heliograph\]|\n\[heliograph\]"


def choose(agents: Sequence[AgentView]) -> str | None:
    """The first agent CLI that is installed in a version known to work, or None."""
    return next((agent.name for agent in agents if agent.name in HOMES and agent.works), None)


async def delegate(stage: Stage, name: str, say: Callable[[str], None]) -> None:
    """A scripted agent delegates to the CLI `name`, which is woken, reads its brief, and delivers a file."""
    with FakeModel() as model:
        home, repository = stage.home / "person", stage.home / "shop"
        person = HOMES[name](home, (repository,), model.base(), {}) | {"PATH": os.environ.get("PATH", os.defpath)}
        tools = {tool: TOOL_NAMES[name].format(server="heliograph", tool=tool) for tool in ("read_inbox", "deliver")}
        model.say(
            Turn(tool=tools["read_inbox"], when=_NOTICE),
            Turn(tool=tools["deliver"], arguments={"text": _REPLY, "files": ["export.py"]}),
            Turn(text="I have delivered it."),
        )
        eve = await stage.agent("eve", repository, person)
        given = await eve.call(
            "delegate",
            {
                "title": "Review the export",
                "brief": "Say which currency the total is in.",
                "tool": name,
                "nickname": NICKNAME,
            },
        )
        check(not given.refused, given.line)
        exchange = given.text("exchange")
        say(f"@eve delegates to {name}, whose model is a script on this machine")
        came = await eve.call("wait", {"exchange": exchange, "wait_seconds": _WAIT_S})
        delivered = came.messages("deliver")
        check(len(delivered) == 1, f"{name} did not deliver: {came.line}")
        check(delivered[0].get("text") == _REPLY and delivered[0].get("files"), f"{name} delivered {delivered[0]}")
        say(f"{name} reads its brief and delivers a file: {delivered[0].get('text')}")
        requests = await asyncio.to_thread(model.wait_for, 3)
        check("Say which currency" in requests[1].newest, f"{name}'s model was not shown the brief")
        closed = await eve.call("close_delegation", {"exchange": exchange, "outcome": "accepted"})
        check(closed.text("status") == "accepted", closed.line)
