"""The command line against a real node: start, stop, sessions, a person's doors, and what a restart leaves alone."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

from node.core.errors import ErrorCode
from node.errmap import MEANINGS
from tests.e2e.lab import lab

SLEEPER = ("--", "sleep", "600")


def test_a_node_is_started_found_running_and_stopped() -> None:
    async def play() -> None:
        async with lab() as built:
            not_running = MEANINGS[ErrorCode.NODE_NOT_RUNNING].exit
            assert "helio up" in await built.helio("status", code=not_running)
            assert "The node runs" in await built.helio("up")
            try:
                assert "already" in await built.helio("up")
                second = await built.helio("up", "--foreground", code=MEANINGS[ErrorCode.NODE_RUNNING].exit)
                assert "already running" in second
                assert "HELIOGRAPH_HOME" in second
                status = json.loads(await built.helio("status", "--json"))
                assert status["home"] == str(built.home)
                assert status["timeline_writable"] is True
            finally:
                await built.helio("down")
            assert "helio up" in await built.helio("status", code=not_running)

    asyncio.run(play())


def test_sessions_outlive_the_node_and_keep_their_names() -> None:
    async def play() -> None:
        async with lab() as built:
            await built.start()
            await built.helio("run", "--nick", "api", "--title", "The API", "--detach", *SLEEPER)
            taken = await built.helio(
                "run", "--nick", "API", "--detach", *SLEEPER, code=MEANINGS[ErrorCode.ALREADY_EXISTS].exit
            )
            assert "The API" in taken
            assert await built.stop() == 0
            await built.start()
            (session,) = json.loads(await built.helio("sessions", "--json"))
            assert (session["nickname"], session["status"]) == ("api", "running")
            await built.helio("nick", "@api", "backend")
            await built.helio("archive", "@backend")
            assert json.loads(await built.helio("sessions", "--json")) == []
            (archived,) = json.loads(await built.helio("sessions", "--all", "--json"))
            assert archived["status"] == "archived"
            await built.helio("unarchive", archived["id"])
            await built.helio("rm", archived["id"], "--yes")
            assert json.loads(await built.helio("sessions", "--all", "--json")) == []

    asyncio.run(play())


def test_the_person_asks_answers_and_reads_the_record() -> None:
    async def play() -> None:
        async with lab() as built, AsyncExitStack() as stack:
            await built.start()
            ana = await built.agent(stack, "ana")
            ben = await built.agent(stack, "ben")
            # The person's own request, answered by an agent.
            sent = json.loads(await built.helio("request", "@ben", "-", "--no-wait", "--json", text="Is it raining?\n"))
            exchange = sent["exchange"]["id"]
            (asked,) = (await ben.call("wait", {"wait_seconds": 20})).messages("request")
            assert (asked["from"], asked["exchange"]) == ("the person", exchange)
            await ben.call("deliver", {"text": "No."})
            shown = await built.helio("requests", "show", exchange)
            assert "Is it raining?" in shown
            assert "No." in shown
            await built.helio("close", exchange, "--accept")
            # The person answers a question for the agent that was asked.
            opened = await ana.call("request", {"to": "@ben", "text": "Fix the header.", "wait_seconds": 0})
            await ben.call("read_inbox")
            question = await ben.call("ask", {"text": "Which one?", "wait_seconds": 0})
            await built.helio("answer", question.text("message"), "The one on the start page.")
            (answer,) = (await ben.call("wait", {"wait_seconds": 20})).messages("answer")
            assert answer["from"] == "the person"
            await built.helio("cancel", opened.text("exchange"), "--reason", "not needed any more")
            (cancelled,) = (await ben.call("wait", {"wait_seconds": 20})).messages("cancel")
            assert cancelled["text"] == "not needed any more"
            rows = [json.loads(line) for line in (await built.helio("timeline", "--json")).splitlines()]
            assert [row["seq"] for row in rows] == list(range(len(rows)))
            assert (await built.helio("timeline", "verify")).startswith("ok")

    asyncio.run(play())


def test_what_a_person_gets_wrong_is_told_without_a_traceback() -> None:
    async def play() -> None:
        async with lab() as built:
            await built.start()
            for arguments, code in (
                (("requests", "show", "zzzzzzzz"), ErrorCode.NOT_FOUND),
                (("attach", "@nobody"), ErrorCode.NOT_FOUND),
                (("request", "@nobody", "hello", "--no-wait"), ErrorCode.NOT_FOUND),
                (("run", "--nick", "a b", "--detach", *SLEEPER), ErrorCode.INVALID_ARGUMENT),
                (("run", "--detach", "--", "no-such-program-here"), ErrorCode.INVALID_ARGUMENT),
            ):
                said = await built.helio(*arguments, code=MEANINGS[code].exit)
                assert said.startswith("helio: "), said
                assert "Traceback" not in said

    asyncio.run(play())
