"""Mirrors over the local API, on a real unix socket."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from node import codec_local_mirror as codec
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Link, LinkState
from node.core.panel import PanelDelta, PanelRow, PanelSnapshot
from node.core.timeline_check import ProblemCode
from node.core.views import TimelineRowView
from node.core.views_mirror import BreakView, MirroredRows, MirrorEvent, MirrorStanding, StreamState
from node.local_client import LocalClient
from node.local_door import Door
from node.wire.v1 import local_pb2 as pb
from tests.local_twins import HOSTILE, Node, played, refusal
from tests.local_twins_mirror import mirror

ROW = PanelRow(
    id="a" * 16, kind=HOSTILE, title=HOSTILE, state=HOSTILE, opener=HOSTILE, worker=HOSTILE, parent="b" * 16,
    last_word=HOSTILE, changed_us=7,
)  # fmt: skip
LOG_ROW = TimelineRowView(seq=8, data=b"{}", leaf=b"l" * 32, side=(("a", "b"),))
EVENTS: tuple[MirrorEvent, ...] = (
    MirrorStanding(state=StreamState.WAITING, why=HOSTILE, grants=frozenset({Grant.MIRROR_PANEL}), since_us=9),
    PanelSnapshot(run="r" * 16, revision=3, rows=(ROW,), left_out=4),
    PanelDelta(from_revision=3, revision=5, changed=(ROW,), removed=("c" * 16,), left_out=0),
    MirroredRows(
        origin="local/x/1", since=4, next=9, rows=(LOG_ROW,),
        breaks=(BreakView(first=1, last=3, code=ProblemCode.MISSING, words=HOSTILE),), breaks_total=5, missed=6,
    ),
)  # fmt: skip


@played
async def test_mirrors_are_listed_added_paused_and_removed(tmp_path: Path) -> None:
    node = Node(tmp_path)
    down = Link(state=LinkState.DOWN, since_us=8, why="nobody answers " + HOSTILE)
    node.mirroring.put(mirror("a", "studio", paused=True, got=frozenset(Grant), link=down))
    async with node.up() as client:
        assert await client.mirrors() == node.mirroring.views()
        node.mirroring.stopped["a" * 52] = "it is of another version " + HOSTILE
        assert [one.relay_why for one in await client.mirrors()] == ["it is of another version " + HOSTILE]
        node.mirroring.stopped.clear()
        assert await client.add_mirror("attic") == mirror("b", "attic")
        assert not (await client.pause_mirror("studio", paused=False)).paused
        assert (await client.pause_mirror("studio", paused=True)).paused
        assert (await client.remove_mirror("studio")).name == "studio"
        for call in (client.remove_mirror("studio"), client.pause_mirror("studio", paused=True)):
            assert (await refusal(call)).code is ErrorCode.NOT_FOUND


@played
async def test_what_a_server_shows_arrives_as_it_is(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.mirroring.put(mirror("a", "studio"))
    for event in (*EVENTS, None):
        node.mirroring.events.put_nowait(event)
    async with node.up() as client:
        shown = [event async for event in client.watch_mirror("studio", panel=True, timeline=True, tail=7)]
        assert tuple(shown) == EVENTS
        assert node.mirroring.wishes == [("a" * 52, True, True, 7)]


@played
async def test_leaving_a_watch_ends_it_and_no_more_rows_are_asked_for_than_are_kept(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.mirroring.put(mirror("a", "studio"))
    node.mirroring.events.put_nowait(EVENTS[0])
    async with node.up() as client:
        async with aclosing(client.watch_mirror("studio", panel=True, tail=2**31)) as watching:
            await anext(watching)
        await node.mirroring.left.wait()
        assert node.mirroring.wishes[0][3] == node.api.limits.mirror_rows_kept


@played
async def test_a_watch_for_nothing_or_of_nobody_is_refused_and_its_own_refusals_arrive(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.mirroring.put(mirror("a", "studio"))
    node.mirroring.events.put_nowait(MeshError(ErrorCode.NOT_FOUND, "Not any more."))
    async with node.up() as client:
        assert (await refusal(anext(client.watch_mirror("studio")))).code is ErrorCode.INVALID_ARGUMENT
        assert (await refusal(anext(client.watch_mirror("attic", panel=True)))).code is ErrorCode.NOT_FOUND
        assert node.mirroring.wishes == []
        ended = await refusal(anext(client.watch_mirror("studio", panel=True)))
        assert (ended.code, ended.message) == (ErrorCode.NOT_FOUND, "Not any more.")


@played
async def test_a_watch_ends_well_when_the_node_stops(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.mirroring.put(mirror("a", "studio"))
    node.mirroring.events.put_nowait(EVENTS[0])
    async with AsyncExitStack() as serving:
        await serving.enter_async_context(node.api.serve(node.socket))
        async with LocalClient(tmp_path) as client:
            watching = client.watch_mirror("studio", panel=True)
            await anext(watching)
            await serving.aclose()
            assert [event async for event in watching] == []


@pytest.mark.parametrize(
    "wire",
    [
        pb.WatchMirrorResponse(),
        pb.WatchMirrorResponse(standing=pb.MirrorStanding(state="dancing")),
        pb.WatchMirrorResponse(standing=pb.MirrorStanding(state="live", grants=["everything"])),
        pb.WatchMirrorResponse(rows=pb.MirrorRows(breaks=[pb.MirrorBreak(code="eaten")])),
    ],
)
def test_what_a_newer_node_says_is_not_guessed_at(wire: pb.WatchMirrorResponse) -> None:
    with pytest.raises(MeshError) as caught:
        codec.event_from_wire(wire)
    assert caught.value.code is ErrorCode.UNSUPPORTED
    assert "different versions" in caught.value.message


@played
async def test_a_node_without_mirrors_says_that_it_does_not_know_these_calls(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.api = replace(node.api, mirror=None)
    async with node.up() as client:
        for call in (client.mirrors(), client.add_mirror("a"), anext(client.watch_mirror("a", panel=True))):
            assert (await refusal(call)).code is ErrorCode.UNSUPPORTED
    assert not {"ListMirrors", "WatchMirror"} & set(node.api.handlers(Door("a")))
