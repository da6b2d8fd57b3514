"""A server that means ill: what it sends ends its own stream, and neither grows nor changes anything at the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from node import certificates
from node.core.limits import Limits
from node.core.mesh import Grant, LinkState, Paired, Peer
from node.core.panel import PanelDelta, PanelSnapshot
from node.core.timeline_check import ProblemCode
from node.core.trust import node_id_of
from node.core.views_mirror import StreamState
from node.rpc_gate import Caller
from tests.integration.mesh import scenario
from tests.panels import ORIGIN, batch, log_rows, panel_row
from tests.peer_twin import Person, TrustTwin, person, server_of
from tests.waiting import until
from tests.watch_stage import PANEL, QUICK, TIMELINE, WatchNode, looking, watch_node
from tunnel import codec
from tunnel.codec import Beat
from tunnel.session.watch_server import METHOD
from tunnel.wire.v1 import mirror_pb2 as pb

RUN = "r" * 16
SMALL = Limits(
    tick_s=QUICK.tick_s, link_dial_s=1, link_retry_s=1, link_beat_s=1, link_dead_s=2, panel_rows=20, mirror_rows_kept=10
)
Script = Callable[[pb.WatchRequest], AsyncGenerator[bytes, None]]


def beat(revision: int = 0, rows: int = 0, *grants: Grant) -> bytes:
    return codec.beat_to_wire(
        Beat(now_us=1, revision=revision, rows=rows, grants=frozenset(grants or (PANEL, TIMELINE)))
    )


def whole(*numbers: int, revision: int = 5) -> tuple[bytes, ...]:
    rows = tuple(map(panel_row, numbers))
    return codec.panel_to_wire(PanelSnapshot(run=RUN, revision=revision, rows=rows, left_out=0))


def delta(begin: int, end: int, *numbers: int) -> tuple[bytes, ...]:
    changed = tuple(panel_row(one, state="asked") for one in numbers)
    return codec.panel_to_wire(PanelDelta(from_revision=begin, revision=end, changed=changed, removed=(), left_out=0))


def frame(**what: object) -> bytes:
    return pb.WatchResponse(**what).SerializeToString()  # type: ignore[arg-type]


def plays(*frames: bytes) -> Script:
    """A server that sends these and then waits."""

    async def script(_asked: pb.WatchRequest) -> AsyncGenerator[bytes, None]:
        for one in frames:
            yield one
        await asyncio.Event().wait()

    return script


@asynccontextmanager
async def against(folder: Path, script: Script, *, limits: Limits = SMALL) -> AsyncIterator[tuple[WatchNode, str]]:
    """A client whose mirrored server follows a script; that server's id."""
    ill = person()
    async with watch_node(folder, limits=limits) as client:
        await _meet(client, ill)
        async with _serving(client, ill, script) as port:
            await client.mesh.peers.add_address("studio", f"127.0.0.1:{port}")
            await until(lambda: client.mesh.links.link(ill.id).state is LinkState.UP, "the link")
            yield client, ill.id


async def _meet(client: WatchNode, ill: Person) -> None:
    paired = Paired(certificate=ill.certificate, name="studio", given=frozenset(), got=frozenset(), addresses=())
    await client.mesh.peers.add(paired)
    await client.mirrors.add("studio")


@asynccontextmanager
async def _serving(client: WatchNode, ill: Person, script: Script) -> AsyncIterator[int]:
    spki = certificates.spki_hash(certificates.public_key(client.certificate))
    known = Peer(
        id=node_id_of(spki), name="laptop", spki=spki, certificate=client.certificate, addresses=(), given=frozenset(),
        got=frozenset(), paired_us=1,
    )  # fmt: skip
    server = server_of(ill, TrustTwin(known), SMALL)

    async def answers(_caller: Caller, asked: pb.WatchRequest) -> AsyncGenerator[bytes, None]:
        async for one in script(asked):
            yield one

    handlers = {METHOD: server.gate.stream(answers, pb.WatchRequest)}
    async with server.serve("127.0.0.1", 0, handlers) as port:
        yield port


async def endless(make: Callable[[int], Sequence[bytes]]) -> AsyncGenerator[bytes, None]:
    at = 0
    while True:
        for one in make(at):
            yield one
        at += 1


MALFORMED = {
    "no protobuf": b"\xff\xff\xff\xff",
    "nothing in it": b"",
    "a frame of a later version": bytes([0xFA, 0x7F, 0x02, 0x01, 0x01]),
    "text that is no unicode": b"\x0a\x06\x12\x04\xff\xfe\xff\xfe",
    "a run without an id": frame(snapshot=pb.PanelSnapshot(run="../../etc", revision=1)),
    "revision 0": frame(snapshot=pb.PanelSnapshot(run=RUN, revision=0)),
    "a revision beyond all": frame(snapshot=pb.PanelSnapshot(run=RUN, revision=2**64 - 1)),
    "a revision that goes back": frame(delta=pb.PanelDelta(from_revision=9, revision=8)),
    "a row without an id": frame(snapshot=pb.PanelSnapshot(run=RUN, revision=1, rows=[pb.PanelRow(id="\x1b[2J")])),
    "a row under a path": frame(
        snapshot=pb.PanelSnapshot(run=RUN, revision=1, rows=[pb.PanelRow(id="a" * 16, parent="/root")])
    ),
    "a time before all": frame(
        snapshot=pb.PanelSnapshot(run=RUN, revision=1, rows=[pb.PanelRow(id="a" * 16, changed_us=-1)])
    ),
    "a text without end": frame(
        snapshot=pb.PanelSnapshot(run=RUN, revision=1, rows=[pb.PanelRow(id="a" * 16, title="t" * 40_000)])
    ),
    "a row gone that has no id": frame(delta=pb.PanelDelta(from_revision=1, revision=2, removed=["x"])),
    "no rows of a log": frame(timeline=pb.TimelineBatch(origin=ORIGIN, first_seq=0)),
    "a row of a log without end": frame(timeline=pb.TimelineBatch(origin=ORIGIN, rows=[b"{" * 20_000])),
    "a row beyond all": frame(timeline=pb.TimelineBatch(origin=ORIGIN, first_seq=2**64 - 1, rows=[b"{}"])),
    "a log without a name": frame(timeline=pb.TimelineBatch(origin="\x1b]0;x\x07", rows=[b"{}"])),
    "texts without end": frame(
        timeline=pb.TimelineBatch(origin=ORIGIN, rows=[b"{}"], texts=[pb.RowText(field="title", text="x")] * 99)
    ),
    "a text of another row": frame(
        timeline=pb.TimelineBatch(origin=ORIGIN, rows=[b"{}"], texts=[pb.RowText(seq=7, field="title", text="x")])
    ),
    "a text without a name": frame(
        timeline=pb.TimelineBatch(origin=ORIGIN, rows=[b"{}"], texts=[pb.RowText(field="\n", text="x")])
    ),
    "a beat before all": frame(beat=pb.WatchBeat(now_us=-1)),
    "a beat beyond all": frame(beat=pb.WatchBeat(rows=2**64 - 1)),
}


@scenario
async def test_what_is_malformed_ends_the_stream_with_a_reason(tmp_path: Path) -> None:
    for number, (what, bad) in enumerate(MALFORMED.items()):
        async with against(tmp_path / str(number), plays(beat(), bad)) as (client, peer_id):
            async with looking(client, peer_id, timeline=True) as look:
                now = await look.stands(StreamState.BROKEN)
                assert "malformed" in now.why, what
                assert (look.rows, look.seqs) == ({}, []), what


def too_many_rows(at: int) -> Sequence[bytes]:
    rows = [pb.PanelRow(id=panel_row(at).id)]
    return [frame(snapshot=pb.PanelSnapshot(run=RUN, revision=1, rows=rows, more=True))]


LOG = log_rows(60)
TOO_FAST, TOO_MANY = "more than 40 frames a second", "a panel of more than 20 rows"
NO_ROWS = frame(delta=pb.PanelDelta(from_revision=1, revision=2, more=True))
FLOODS: dict[str, tuple[Callable[[int], Sequence[bytes]], str]] = {
    "beats": (lambda _at: [beat()], TOO_FAST),
    "deltas": (lambda at: delta(at, at + 1, at % 9) if at else whole(1, revision=1), TOO_FAST),
    "a snapshot without end": (too_many_rows, TOO_MANY),
    "parts without rows": (lambda _at: [NO_ROWS], TOO_MANY),
    "rows of a log": (lambda at: [codec.log_to_wire(batch(LOG, at % 50, at % 50 + 1))], TOO_FAST),
    "a frame that is too large": (lambda _at: [b"x" * 70_000], "a frame of 70000 bytes; this node takes 65536"),
}


@pytest.mark.parametrize("flood", FLOODS)
@scenario
async def test_a_flood_ends_the_stream_and_what_is_kept_is_bounded(tmp_path: Path, flood: str) -> None:
    make, words = FLOODS[flood]
    asked: list[pb.WatchRequest] = []

    def script(wish: pb.WatchRequest) -> AsyncGenerator[bytes, None]:
        asked.append(wish)
        return endless(make)

    async with against(tmp_path / "c", script) as (client, peer_id):
        async with looking(client, peer_id, timeline=True) as look:
            await look.stands(StreamState.BROKEN, words)
            assert len(look.rows) <= SMALL.panel_rows
            # It is tried again, and again in vain.
            await until(lambda: len(asked) > 2, "another stream")
            await look.stands(StreamState.BROKEN, words)


@scenario
async def test_a_frame_that_the_channel_does_not_take_is_never_held_here(tmp_path: Path) -> None:
    narrow = replace(SMALL, mesh_message_bytes=65_536)
    async with against(tmp_path / "c", plays(beat(), b"x" * 70_000), limits=narrow) as (client, peer_id):
        async with looking(client, peer_id) as look:
            await look.stands(StreamState.BROKEN, "more at once than this node takes")


@scenario
async def test_more_rows_than_the_client_takes_are_counted_and_not_kept(tmp_path: Path) -> None:
    deltas = [one for at in range(15) for one in delta(5 + at, 6 + at, *range(2 * at, 2 * at + 2))]
    async with against(tmp_path / "c", plays(beat(), *whole(1), *deltas, beat(20))) as (client, peer_id):
        async with looking(client, peer_id) as look:
            await look.sees(lambda it: len(it.rows) == SMALL.panel_rows and it.panel.left_out == 10)
            await look.stands(StreamState.LIVE)


@scenario
async def test_a_delta_that_follows_nothing_has_the_whole_asked_for(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    async def script(wish: pb.WatchRequest) -> AsyncGenerator[bytes, None]:
        asked.append((wish.run, wish.revision))
        for one in (beat(), *whole(1), *delta(9, 10, 2)) if len(asked) == 1 else (beat(), *whole(3, revision=7)):
            yield one
        await asyncio.Event().wait()

    async with against(tmp_path / "c", script) as (client, peer_id):
        async with looking(client, peer_id) as look:
            await look.sees(lambda it: set(it.rows) == {panel_row(3).id})
            assert asked == [("", 0), ("", 0)]


@scenario
async def test_a_beat_that_tells_of_more_than_was_sent_has_it_asked_for(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    async def script(wish: pb.WatchRequest) -> AsyncGenerator[bytes, None]:
        asked.append((wish.origin, wish.seq))
        if len(asked) == 1:
            yield codec.log_to_wire(batch(LOG, 0, 5))
            yield beat(0, 8)
        else:
            yield codec.log_to_wire(batch(LOG, 5, 8))
            yield beat(0, 8)
        await asyncio.Event().wait()

    patient = replace(SMALL, link_dead_s=600)
    async with against(tmp_path / "c", script, limits=patient) as (client, peer_id):
        async with looking(client, peer_id, panel=False, timeline=True) as look:
            await look.sees(lambda it: it.seqs == list(range(8)))
            assert (asked, look.told[-1].breaks) == ([("", 0), (ORIGIN, 5)], ())


@scenario
async def test_forged_rows_and_rows_of_another_log_are_named_and_not_shown_as_verified(tmp_path: Path) -> None:
    other = "local/other/1"
    edited = [*LOG[:3], LOG[3].replace(b"relayed", b"refused"), *LOG[4:]]
    frames = (
        codec.log_to_wire(batch(edited, 0, 6)),
        codec.log_to_wire(batch(log_rows(9, origin=other), 6, 9, origin=other)),
        codec.log_to_wire(batch([*LOG[:6], log_rows(7, origin=other)[6], LOG[7]], 6, 8)),
        codec.log_to_wire(batch(LOG, 20, 21)),
        beat(0, 21),
    )
    async with against(tmp_path / "c", plays(*frames)) as (client, peer_id):
        async with looking(client, peer_id, panel=False, timeline=True) as look:
            await look.sees(lambda it: 20 in it.seqs)
            last = look.told[-1]
            assert [(one.first, one.code) for one in last.breaks] == [
                (4, ProblemCode.CHAIN_BROKEN), (6, ProblemCode.FOREIGN), (6, ProblemCode.FOREIGN),
                (6, ProblemCode.MISSING), (8, ProblemCode.MISSING),
            ]  # fmt: skip
            assert (last.origin, last.since, last.next) == (ORIGIN, 20, 21)
            assert 6 not in look.seqs
            assert other not in repr([row.data for one in look.told for row in one.rows])


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (codec.log_to_wire(batch(LOG, 0, 3)), "sends a timeline, which this node did not ask for"),
        (frame(snapshot=pb.PanelSnapshot(run=RUN, revision=1, more=True)), ""),
    ],
)
@scenario
async def test_what_was_not_asked_for_is_refused(tmp_path: Path, sent: bytes, words: str) -> None:
    async with against(tmp_path / "c", plays(beat(), sent)) as (client, peer_id):
        async with looking(client, peer_id) as look:
            if words:
                await look.stands(StreamState.BROKEN, words)
            else:
                await look.stands(StreamState.CONNECTING, "no sign of life")
            assert (look.rows, look.seqs) == ({}, [])


@scenario
async def test_a_server_that_falls_silent_is_asked_anew(tmp_path: Path) -> None:
    async with against(tmp_path / "c", plays(beat(), *whole(1))) as (client, peer_id):
        async with looking(client, peer_id) as look:
            await look.stands(StreamState.LIVE)
            await look.stands(StreamState.CONNECTING, "no sign of life from the server for 2 s")
            await look.stands(StreamState.LIVE)


@scenario
async def test_a_server_changes_nothing_at_its_client(tmp_path: Path) -> None:
    """Whatever it shows: no session, no exchange, no row of the timeline, no file comes of it."""
    rows = tuple(panel_row(at, kind="session", opener="@root", last_word="$(touch /tmp/x)\x1b[2J") for at in range(9))
    shown = codec.panel_to_wire(PanelSnapshot(run=RUN, revision=5, rows=rows, left_out=0))
    frames = (beat(), *shown, codec.log_to_wire(batch(LOG, 0, 9)), beat(5, 9), b"\xff")
    async with against(tmp_path / "c", plays(*frames)) as (client, peer_id):
        before = await _everything(client, tmp_path / "c")
        async with looking(client, peer_id, timeline=True) as look:
            await look.sees(lambda it: len(it.rows) == 9 and it.seqs)
            await look.stands(StreamState.BROKEN, "malformed")
        assert await _everything(client, tmp_path / "c") == before


async def _everything(client: WatchNode, folder: Path) -> object:
    store = client.heart.store
    kept = await store.read(lambda r: (r.sessions(archived=True), r.exchanges(closed=True, limit=99), r.size()))
    return kept, client.mirrors.views(), sorted(path.name for path in folder.rglob("*"))


@scenario
async def test_one_that_means_ill_does_not_disturb_another(tmp_path: Path) -> None:
    async with watch_node(tmp_path / "s") as good:
        lead = await good.heart.seat("lead")
        async with against(tmp_path / "c", lambda _asked: endless(lambda _at: [beat()])) as (client, peer_id):
            await good.mesh.peers.add(client.paired("laptop", given=frozenset({PANEL})))
            await client.mesh.peers.add(good.paired("good"))
            await client.mirrors.add("good")
            async with looking(client, peer_id) as ill, looking(client, good.id) as look:
                await ill.stands(StreamState.BROKEN)
                await look.sees(lambda it: lead.session.id in it.rows)
                hand = await good.heart.seat("hand")
                await look.sees(lambda it: hand.session.id in it.rows)


def reached(message: str, *, seen: set[str]) -> set[str]:
    """All messages that can be in one of that name."""
    seen.add(message)
    for field in pb.DESCRIPTOR.message_types_by_name[message].fields:
        kind = field.message_type
        if kind is not None and kind.name not in seen:
            reached(kind.name, seen=seen)
    return seen


def test_nothing_that_a_server_can_say_to_a_watcher_could_be_carried_out() -> None:
    """The schema of what it sends: state to be looked at, and nothing else."""
    assert reached("WatchResponse", seen=set()) == {
        "WatchResponse", "PanelSnapshot", "PanelDelta", "PanelRow", "TimelineBatch", "RowText", "WatchBeat",
    }  # fmt: skip
    watch = pb.DESCRIPTOR.services_by_name["MirrorService"].methods_by_name["Watch"]
    assert (watch.client_streaming, watch.server_streaming) == (False, True)
    assert [one.name for one in pb.DESCRIPTOR.message_types_by_name["WatchRequest"].fields] == [
        "protocol", "panel", "timeline", "revision", "run", "origin", "seq", "tail",
    ]  # fmt: skip
