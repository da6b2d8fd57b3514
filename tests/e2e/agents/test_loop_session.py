"""Each real agent CLI as a session that already runs: a notice wakes it at its idle prompt, and brings it back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from node.agents.adapter import Adapter
from node.core.model import AgentState, SessionStatus
from node.demo.model.script import Turn
from node.demo.puppet import Puppet
from tests.e2e.agents.loop import NOTICE, WAIT_S, Loop, call, each_cli, perform, until_came
from tests.fake_model.stage import until

pytestmark = pytest.mark.timeout(300)

# Where each keeps its conversations, below the person's home.
CONVERSATIONS = {
    "claude": ".claude/projects",
    "codex": ".codex/sessions",
    "gemini": ".gemini/tmp",
    "opencode": ".local/share/opencode",
    "qwen": ".qwen/projects",
}
FIRST, SECOND = "Which status code does an expired token get?", "And which one does a missing token get?"


@each_cli
def test_an_idle_session_replies_and_is_resumed_after_its_end(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Loop) -> None:
        api = await on.run("api")
        web = await on.puppet("web")
        await until(lambda: on.rests("api"), "the empty prompt")
        replies(on, "Four hundred and one, heliotrope.")
        exchange = await asks(web, FIRST, "Four hundred and one, heliotrope.")
        assert FIRST in (await on.turns(3))[1].newest
        request, reply = (await on.conversation(exchange)).messages
        assert (request.ladder.notices, request.ladder.held) == (1, None)
        assert None not in {request.ladder.confirmed_us, request.ladder.read_us, request.ladder.answered_us}
        assert reply.sender == "@api"

        await until(lambda: on.is_in("api", AgentState.IDLE), "a hook that it rests")
        before = await on.pane("api")
        await on.enter("api", "/exit")
        await until(lambda: on.has("api", SessionStatus.ENDED), "the end of the session")
        assert before not in await on.tmux.panes()

        replies(on, "The same one.")
        again = await asks(web, SECOND, "The same one.")
        shown = await on.turns(6)
        assert SECOND in shown[4].newest
        # It is the same conversation: its model is shown what was said before the end.
        said = "\n".join(text for _, text in shown[3].said)
        assert FIRST in said
        assert "I have replied." in said
        assert await on.kinds(again) == ["request", "deliver"]
        assert (await on.session("api")).id == api
        assert await on.pane("api") != before
        assert len(on.asked()) == 6

    perform(adapter, tmp_path, play)


@each_cli
def test_an_agent_whose_conversation_is_gone_begins_afresh_and_says_so(adapter: Adapter, tmp_path: Path) -> None:
    async def play(on: Loop) -> None:
        await on.run("api")
        web = await on.puppet("web")
        replies(on, "Four hundred and one, heliotrope.")
        await asks(web, FIRST, "Four hundred and one, heliotrope.")
        await until(lambda: on.is_in("api", AgentState.IDLE), "a hook that it rests")
        await on.enter("api", "/exit")
        await until(lambda: on.has("api", SessionStatus.ENDED), "the end of the session")
        kept = tmp_path / "home" / CONVERSATIONS[adapter.name]
        assert any(kept.iterdir())
        shutil.rmtree(kept)
        kept.mkdir()

        replies(on, "The same one.")
        asked = await call(web, "request", to="@api", text=SECOND, wait_seconds=0)
        exchange = asked.text("exchange")
        await until(lambda: _delivered(on, exchange), "the reply")
        messages = (await on.conversation(exchange)).messages
        assert [message.kind.value for message in messages] == ["request", "note", "deliver"]
        assert "a fresh one was started" in messages[1].text
        shown = await on.turns(6)
        assert SECOND in shown[4].newest
        assert FIRST not in "\n".join(text for _, text in shown[3].said)

    # A person who has used the CLI before: else Gemini CLI keeps its conversations in the session's own folder.
    def prepare(home: Path) -> None:
        (home / CONVERSATIONS[adapter.name]).mkdir(parents=True, exist_ok=True)

    perform(adapter, tmp_path, play, prepare=prepare)


async def _delivered(on: Loop, exchange: str) -> bool:
    return "deliver" in await on.kinds(exchange)


def replies(on: Loop, text: str) -> None:
    """The model reads its inbox when it is noticed, and delivers that text."""
    on.say(on.calls("read_inbox", when=NOTICE), on.calls("deliver", text=text), Turn(text="I have replied."))


async def asks(asker: Puppet, text: str, reply: str) -> str:
    """A scripted agent asks @api and waits until that reply comes; the exchange."""
    answer = await call(asker, "request", to="@api", text=text, wait_seconds=WAIT_S)
    exchange = answer.text("exchange")
    came = answer.messages() or await until_came(asker, exchange, "deliver")
    assert [(message["kind"], message["text"]) for message in came] == [("deliver", reply)]
    return exchange
