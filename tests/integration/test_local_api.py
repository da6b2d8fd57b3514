"""What a client asks of the local API arrives unchanged, and so does the answer, on a real unix socket."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from node import codec
from node.core import commands
from node.core.commands import Arrival, Taken
from node.core.errors import ErrorCode, MeshError
from node.core.model import Address, AgentState, Author, End, Kind, Ladder, MessageKind, SessionStatus, Status
from node.core.timeline_check import ProblemCode
from node.local_api import SERVICE
from node.local_door import Door
from node.ports import NewSession
from node.ports_timeline import RowFilter
from node.wire.v1 import local_pb2 as pb
from tests.local_twins import HOSTILE, METHODS, NODE, Node, exchange, message, played, refusal


@played
async def test_every_method_of_the_service_is_served(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert pb.DESCRIPTOR.services_by_name["LocalService"].full_name == SERVICE
    assert list(node.api.handlers(Door("a"))) == METHODS


@played
async def test_status_and_stop(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        assert asdict(await client.status()) == asdict(node.glance.now)
        assert not node.glance.stopping.is_set()
        assert await client.stop() == os.getpid()
        assert node.glance.stopping.is_set()


@played
async def test_sessions_from_start_to_end(tmp_path: Path) -> None:
    node = Node(tmp_path)
    new = NewSession(
        argv=("claude", "--say", HOSTILE.replace("\0", "")), cwd="/home/zoë", env=(("A", "1"), ("B", "ü=\n")),
        nickname="payments", title="pay", workspace="default", width=120, height=40,
    )  # fmt: skip
    async with node.up() as client:
        started = await client.run_session(new)
        assert node.desk.started == [new]
        assert (started.session.label, started.look_alikes) == ("@payments", ("@nick9l",))
        assert started.session.argv == new.argv

        node.books.unread_of[Address(node=NODE, session=node.worker.id)] = 3
        second, first = (await client.sessions()), node.books.sessions()
        assert [view.id for view in second] == [one.id for one in first]
        seen = {view.label: view for view in second}["@nick2"]
        assert (seen.unread, seen.open_exchanges, seen.title) == (3, 1, node.worker.title)
        assert (seen.status, seen.state, seen.cwd) == (SessionStatus.RUNNING, AgentState.IDLE, node.worker.cwd)

        assert await client.attach_argv("@nick2") == ("tmux", "attach", "-t", node.worker.id)
        assert (await client.rename_session("@nick2", HOSTILE)).title == HOSTILE
        assert (await client.set_nickname("@nick2", "ledger")).session.label == "@ledger"
        assert (await client.set_nickname("@ledger", "")).session.nickname is None
        assert (await client.archive_session(node.worker.id)).status is SessionStatus.ARCHIVED
        assert [view.label for view in await client.sessions()] == ["@payments"]
        assert len(await client.sessions(archived=True)) == 2
        back = await client.unarchive_session(node.worker.id)
        assert (back.session.status, back.nickname_lost) == (SessionStatus.ENDED, "nick2")
        gone = await client.remove_session(node.worker.id)
        assert (gone.id, gone.failed_exchanges) == (node.worker.id, ("e" * 16,))
        error = await refusal(client.attach_argv("@nobody"))
        assert (error.code, error.details) == (ErrorCode.NOT_FOUND, {"wanted": "@nobody"})


@played
async def test_exchanges_are_listed_with_names_and_filtered(tmp_path: Path) -> None:
    node = Node(tmp_path)
    worker = Address(node=NODE, session="gone" * 4)
    node.put(
        exchange("f", node.worker, kind=Kind.DELEGATION, worker=worker),
        exchange("g", node.worker, status=Status.CANCELLED, reason="too late"),
    )
    stopped = message(node.books.all_exchanges["f" * 16], 1, ladder=Ladder(recorded_us=1, screened="withhold"))
    node.books.all_messages = {
        "e" * 16: [message(node.books.all_exchanges["e" * 16], 1, "Done.\nMore.")],
        "f" * 16: [stopped],
    }
    async with node.up() as client:
        request, delegation = await client.exchanges()
        assert (request.opener, request.worker, request.worker_session) == ("the person", "@nick2", node.worker.id)
        assert (request.messages, request.last_word, request.rung) == (1, "Done.", "landed")
        # A session that was deleted keeps its id; a text that was withheld is not spread.
        assert (delegation.worker, delegation.last_word, delegation.rung) == ("gonegone", "", "withheld")
        assert [view.id[0] for view in await client.exchanges(closed=True)] == ["e", "f", "g"]
        assert [view.id[0] for view in await client.exchanges(kind=Kind.DELEGATION, limit=1)] == ["f"]
        assert (await client.exchanges(closed=True))[2].reason == "too late"
        assert (await refusal(client.exchanges(limit=1_001))).code is ErrorCode.LIMIT
        assert (await refusal(client.exchanges(limit=-1))).code is ErrorCode.INVALID_ARGUMENT


@played
async def test_a_conversation_comes_whole_and_unchanged(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    written = [
        message(one, 1, sender=End.OPENER, author=Author.PERSON, title=HOSTILE),
        message(one, 2, kind=MessageKind.ASK, reply_to="e" * 16),
        message(one, 3, author=Author.NODE, snippet=HOSTILE, advice="say it differently"),
    ]
    node.books.all_messages[one.id] = written
    async with node.up() as client:
        shown = await client.exchange("eeeeee")
        assert shown == await client.exchange("E" * 16)
        assert [m.text for m in shown.messages] == [HOSTILE] * 3
        assert [m.sender for m in shown.messages] == ["the person", "@nick2", "the node"]
        assert (shown.messages[0].title, shown.messages[2].snippet) == (HOSTILE, HOSTILE)
        assert (shown.messages[1].reply_to, shown.messages[1].kind) == ("e" * 16, MessageKind.ASK)
        assert (shown.messages[0].ladder.landed_us, shown.messages[0].ladder.read_us) == (8, None)
        assert (await refusal(client.exchange("zzzzzz"))).code is ErrorCode.NOT_FOUND
        assert "helio requests" in (await refusal(client.exchange("e"))).message


@played
async def test_a_conversation_larger_than_any_message_of_grpc_comes_in_pages(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    node.books.all_messages[one.id] = [message(one, n, "語" * 100_000) for n in range(1, 131)]
    async with node.up() as client:
        shown = await client.exchange(one.id)
    assert sum(len(m.text.encode()) for m in shown.messages) > codec.RESPONSE_BYTES
    assert [m.number for m in shown.messages] == list(range(1, 131))


@played
async def test_a_persons_commands(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        receipt = await client.send_request("@nick2", HOSTILE, title="t", key="k1")
        again = await client.send_request("@nick2", HOSTILE, title="t", key="k1")
        assert (receipt.repeated, again.repeated) == (False, True)
        assert (receipt.message, receipt.message.sender) == (again.message, "the person")
        await client.answer("abcdef", "yes")
        await client.answer("", "the only one")
        await client.steer("eeeeee", "faster")
        await client.close_exchange("eeeeee", accepted=False, note="no")
        await client.cancel_exchange("eeeeee", reason="late")
        assert node.person.given == [
            commands.Request(to="@nick2", text=HOSTILE, title="t"),
            commands.Answer(question="abcdef", text="yes"),
            commands.Answer(question=None, text="the only one"),
            commands.Steer(exchange="eeeeee", text="faster"),
            commands.Close(exchange="eeeeee", accepted=False, note="no"),
            commands.Cancel(exchange="eeeeee", reason="late"),
        ]
        for key in ("a b", "x" * 65, "é"):
            assert (await refusal(client.steer("e", "x", key=key))).code is ErrorCode.INVALID_ARGUMENT
        assert len(node.person.given) == 6


@played
async def test_waiting_brings_what_arrives_or_says_that_nothing_came(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    # As many and as long messages as an inbox hands over at once.
    taken = tuple(Taken(message=message(one, n, "語" * 100_000), exchange=one, sender="@nick2") for n in range(1, 21))
    async with node.up() as client:
        assert (await client.wait_exchange(one.id, 0)).timed_out
        await node.person.arrivals.put(Arrival(taken=taken, remaining=4))
        arrival = await client.wait_exchange(one.id, 20)
        assert (len(arrival.messages), arrival.remaining, arrival.timed_out) == (20, 4, False)
        assert (arrival.exchange.id, arrival.messages[19].text) == (one.id, "語" * 100_000)


@played
async def test_the_timeline_is_read_filtered_and_verified(tmp_path: Path) -> None:
    node = Node(tmp_path)
    wanted = RowFilter(
        from_seq=3, limit=9, engine="e", decision="d", session="s", exchange="x", message="m",
        since_us=1, until_us=2, tail=True, log="l/n/1", before_seq=8, row="message", outcome="read", reason="r",
        workspace="w", peer="p", text="t", whole=True,
    )  # fmt: skip
    async with node.up() as client:
        rows = [row async for row in client.timeline(wanted)]
        assert node.log.wanted == [wanted]
        assert [asdict(row) for row in rows] == [asdict(row) | {"salts": ()} for row in node.log.stored[3:]]
        first, last = [view async for view in client.verify_timeline()]
        assert (first.rows, first.total, first.result) == (2, 5, None)
        assert last.result is not None
        assert last.result.problem is not None
        assert (last.result.ok, last.result.root, last.result.origin) == (False, "01" * 32, "local/n/1")
        assert asdict(last.result.problem) == {"seq": 3, "code": ProblemCode.EDITED, "words": "row 3 was edited"}
        assert last.result.warnings == ("the clock went back",)


@played
async def test_the_logs_and_the_overview_arrive_whole(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        shown = await client.timeline_logs()
        assert [asdict(one) for one in shown] == [
            {"origin": one.origin, "size": one.size, "first": one.first, "current": one.current}
            for one in await node.log.logs()
        ]
        overview = await client.timeline_overview(77)
        told = await node.log.overview(77)
        blocks = tuple(asdict(row) | {"salts": ()} for row in told.blocks)
        assert asdict(overview) == asdict(told) | {"blocks": blocks}


@played
async def test_every_error_code_comes_back_as_itself(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        for code in ErrorCode:
            sent = MeshError(code, f"{code}: {HOSTILE}", {"n": 2**60, "ok": True, "name": HOSTILE, "c": ("a", "b")})
            node.person.failure = sent
            back = await refusal(client.steer("e", "x"))
            assert (back.code, back.message, back.details) == (sent.code, sent.message, sent.details)


@played
async def test_an_error_of_any_size_arrives(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        for message_text in ("x" * 500_000, "\U0001f600" * 500_000, "\ud800" * 500_000):
            node.person.failure = MeshError(ErrorCode.WITHHELD, message_text, {"choices": ("y" * 99,) * 999})
            back = await refusal(client.steer("e", "x"))
            assert (back.code, back.message[:900]) == (ErrorCode.WITHHELD, message_text[:900])
        # As large as passes whole: about twice what gRPC takes as metadata by default.
        node.person.failure = MeshError(ErrorCode.WITHHELD, "x" * 16_000, {"n": 1})
        for _ in range(20):
            back = await refusal(client.steer("e", "x"))
            assert (len(back.message), back.details) == (16_000, {"n": 1})


@played
async def test_a_failure_inside_tells_the_log_and_not_the_caller(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path)
    node.person.failure = ZeroDivisionError("row 17 of messages")
    async with node.up() as client:
        error = await refusal(client.steer("e", "x"))
        assert await client.status()
    assert (error.code, error.details) == (ErrorCode.INTERNAL, {})
    assert "row 17" not in error.message
    assert [record.levelname for record in caplog.records if record.name.startswith("node")] == ["ERROR"]
    assert "ZeroDivisionError: row 17 of messages" in caplog.text
    assert "SteerExchangeRequest failed" in caplog.text


@played
async def test_a_home_with_odd_characters_works(tmp_path: Path) -> None:
    home = tmp_path / "a b%41#?ü"
    home.mkdir()
    async with Node(home).up() as client:
        assert (await client.status()).home == str(home)


@played
async def test_a_text_broken_in_the_node_does_not_hide_the_rest(tmp_path: Path) -> None:
    node = Node(tmp_path)
    one = node.books.all_exchanges["e" * 16]
    node.books.all_messages[one.id] = [message(one, 1, "half \ud83d"), message(one, 2, "whole")]
    async with node.up() as client:
        assert [m.text for m in (await client.exchange(one.id)).messages] == ["half \ufffd", "whole"]
