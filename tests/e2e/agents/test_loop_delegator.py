"""Each real agent CLI as a delegator: a person asks it, it delegates, answers, takes the result with a file, closes."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.agents.adapter import Adapter
from node.core.model import AgentState, SessionStatus
from node.demo.model.script import Turn
from tests.e2e.agents.loop import PATIENCE_S, PERSONS_FILE, WAIT_S, Loop, call, each_cli, perform
from tests.fake_model.stage import until

pytestmark = pytest.mark.timeout(300)

QUESTION = "Euro, or the customer's own currency?"
ANSWER = "The customer's own currency."


@each_cli
def test_a_delegator_answers_and_takes_a_file(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Loop) -> None:
        await on.run("boss")
        on.say(
            on.calls(
                "delegate", title="Total row", brief="Add a total to the export.", tool="scripted", nickname="dora",
                files=[PERSONS_FILE],
            ),
            on.calls("wait", wait_seconds=WAIT_S),
            # Each goes on only after the delegate's next word, so each wait takes one.
            on.calls("answer", text=ANSWER, gate="asked"),
            on.calls("wait", wait_seconds=WAIT_S, gate="reported"),
            on.calls("wait", wait_seconds=WAIT_S),
            on.calls("close_delegation", outcome="accepted"),
            Turn(text="It is done."),
        )  # fmt: skip
        await on.enter("boss", "have the total row made")

        await on.turns(2)
        await until(lambda: _there(on, "dora"), "the delegate")
        dora = await on.session("dora")
        strings = await on.strings_of(dora.id)
        assert (await strings.entered(PATIENCE_S)).startswith("[heliograph]")
        (brief,) = (await call(strings, "read_inbox")).messages("brief")
        exchange = str(brief["exchange"])
        assert "Add a total to the export." in str(brief["text"])
        assert (await call(strings, "ask", text=QUESTION, wait_seconds=0)).text("status") == "asked"
        assert QUESTION in (await on.turns(3))[2].newest

        on.model.open_gate("asked")
        (answer,) = (await call(strings, "wait", wait_seconds=WAIT_S)).messages("answer")
        assert answer["text"] == ANSWER
        await call(strings, "report", text="Nearly done.")
        on.model.open_gate("reported")
        assert "Nearly done." in (await on.turns(5))[4].newest
        (Path(dora.cwd) / "total.csv").write_text("total,7\n", encoding="utf-8")
        await call(strings, "deliver", text="The total is the last row.", files=["total.csv"])

        shown = await on.turns(7)
        assert "The total is the last row." in shown[5].newest
        conversation = await on.conversation(exchange)
        (file,) = conversation.messages[4].files
        assert file.path is not None
        assert file.path in shown[5].newest
        assert Path(file.path).read_text(encoding="utf-8") == "total,7\n"
        assert await on.kinds(exchange) == ["brief", "ask", "answer", "report", "deliver", "close"]
        assert conversation.exchange.opener == "@boss"
        await until(lambda: on.has("dora", SessionStatus.ARCHIVED), "the putting away of the delegate")
        await until(lambda: on.is_in("boss", AgentState.IDLE), "a hook that the delegator rests")
        await until(lambda: on.rests("boss"), "its empty prompt")
        assert len(on.asked()) == 7

    perform(adapter, tmp_path, play)


async def _there(on: Loop, nickname: str) -> bool:
    sessions = await on.node.sessions()
    return any(one.nickname == nickname and one.status is SessionStatus.RUNNING for one in sessions)
