"""Each real agent CLI as a delegate: started by the node, woken by a notice, it asks, reports and delivers a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.agents.adapter import Adapter
from node.core.model import AgentState, SessionStatus
from node.demo.model.script import Turn
from tests.e2e.agents.loop import NOTICE, PERSONS_FILE, WAIT_S, Loop, call, each_cli, perform, until_came
from tests.fake_model.stage import until

pytestmark = pytest.mark.timeout(300)

QUESTION = "Euro, or the customer's own currency?"
ANSWER = "The customer's own currency."
RESULT = "total.csv"


@each_cli
def test_a_delegate_asks_reports_and_delivers_a_file(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Loop) -> None:
        boss = await on.puppet("boss")
        on.say(
            on.calls("read_inbox", when=NOTICE),
            on.calls("ask", text=QUESTION, wait_seconds=WAIT_S),
            on.calls("report", text="The total is in."),
            on.calls("deliver", text="The total is the last row.", files=[RESULT]),
            Turn(text="I have delivered it."),
        )
        given = await call(
            boss, "delegate", title="Total row", brief="Add a total to the export.", contract="total.csv is there.",
            tool=adapter.name, nickname="dora", files=[PERSONS_FILE],
        )  # fmt: skip
        exchange = given.text("exchange")

        asked = await until_came(boss, exchange, "ask")
        assert [message["text"] for message in asked] == [QUESTION]
        dora = await on.session("dora")
        assert (dora.profile, dora.branch is not None) == (adapter.name, True)
        assert Path(dora.cwd) != on.work
        (Path(dora.cwd) / RESULT).write_text("total,7\n", encoding="utf-8")
        await call(boss, "answer", question=str(asked[0]["id"]), text=ANSWER)

        came = await until_came(boss, exchange, "deliver")
        assert [message["kind"] for message in came] == ["report", "deliver"]
        shown = await on.turns(5)
        assert "Add a total to the export." in shown[1].newest
        assert "total.csv is there." in shown[1].newest
        assert ANSWER in shown[2].newest

        messages = (await on.conversation(exchange)).messages
        brief, delivery = messages[0], messages[-1]
        assert brief.ladder.notices == 1
        assert None not in {brief.ladder.confirmed_us, brief.ladder.read_us, brief.ladder.answered_us}
        (sent,), (back,) = brief.files, delivery.files
        assert sent.path is not None
        assert Path(sent.path).read_text(encoding="utf-8") == 'TOTAL = "EUR"\n'
        assert back.path is not None
        assert Path(back.path).read_text(encoding="utf-8") == "total,7\n"
        assert sent.path in shown[1].newest

        await until(lambda: on.is_in("dora", AgentState.IDLE), "a hook that the delegate rests")
        closed = await call(boss, "close_delegation", exchange=exchange, outcome="accepted")
        assert closed.text("status") == "accepted"
        assert await on.kinds(exchange) == ["brief", "ask", "answer", "report", "deliver", "close"]
        await until(lambda: on.has("dora", SessionStatus.ARCHIVED), "the putting away of the delegate")
        await until(lambda: alone_is(on), "the end of the delegate's terminal")
        assert len(on.asked()) == 5

    perform(adapter, tmp_path, play)


async def alone_is(on: Loop) -> bool:
    """Whether the delegator has the only terminal."""
    return len(await on.tmux.panes()) == 1
