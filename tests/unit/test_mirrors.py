"""Mirrors: kept on disk with their rows, known in memory, told to what is open, and gone with the pairing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.mesh import Link, LinkState
from node.core.mirror import asked_of
from node.mirrors import Mirrors
from node.peers import Peers
from tests.integration.mesh import Mesh, refused, running, scenario
from tests.peer_book import PANEL, Rotating, book, last, paired, rows
from tests.waiting import until

DOWN = Link(state=LinkState.DOWN, since_us=1, why="nobody answers")


async def opened(mesh: Mesh, peers: Peers, link: Link = DOWN) -> Mirrors:
    mirrors = Mirrors(store=mesh.store, book=peers, link=lambda _id: link, ledger=mesh.ledger, limits=mesh.limits)
    await mirrors.load()
    return mirrors


@asynccontextmanager
async def following(mirrors: Mirrors) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        work = group.create_task(mirrors.run())
        yield
        work.cancel()


@scenario
async def test_a_mirror_is_kept_with_its_row_and_survives_the_node(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio", got=[PANEL]))
        mirrors = await opened(mesh, peers)
        assert (mirrors.active(), mirrors.views()) == ((), ())
        added = await mirrors.add("@studio")
        assert (added.id, added.name, added.paused, added.got, added.link) == (
            studio.id,
            "studio",
            False,
            {PANEL},
            DOWN,
        )
        assert mirrors.active() == (studio.id,)
        row = await last(mesh)
        assert (row["row"], row["engine"], row["decision"]) == ("policy", "mirror", "added")
        assert row["to"] == {"node": studio.id}
        again = await mesh.reopened()
        try:
            assert (await opened(again, await book(again))).views() == (added,)
        finally:
            await again.store.close()


@scenario
async def test_adding_again_changes_nothing_and_writes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio"))
        mirrors = await opened(mesh, peers)
        await mirrors.add("studio")
        paused = await mirrors.set_paused("studio", paused=True)
        before, seen = await rows(mesh), mirrors.generation
        assert await mirrors.add(studio.id[:8]) == paused
        assert (await rows(mesh), mirrors.generation) == (before, seen)


@scenario
async def test_pausing_and_removing_are_rows_and_wake_what_is_open(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio"))
        mirrors = await opened(mesh, peers)
        seen = mirrors.generation
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(mirrors.next_change(seen))
            await mirrors.add("studio")
            assert await waiting == seen + 1
        assert (await mirrors.set_paused("studio", paused=True)).paused
        assert (mirrors.active(), mirrors.generation) == ((), seen + 2)
        await mirrors.set_paused("studio", paused=True)
        assert mirrors.generation == seen + 2
        assert not (await mirrors.set_paused("studio", paused=False)).paused
        assert (mirrors.active(), mirrors.generation) == ((studio.id,), seen + 3)
        assert (await mirrors.remove("studio")).name == "studio"
        assert (mirrors.active(), mirrors.views(), mirrors.generation) == ((), (), seen + 4)
        told = ["mirror added", "mirror paused", "mirror resumed", "mirror removed"]
        assert (await rows(mesh))[-4:] == told
        with refused(ErrorCode.NOT_FOUND, "studio is not mirrored", "helio mirror add studio"):
            await mirrors.remove("studio")
        with refused(ErrorCode.NOT_FOUND, "not mirrored"):
            await mirrors.set_paused("studio", paused=True)
        with refused(ErrorCode.NOT_FOUND, "not mirrored"):
            mirrors.find("studio")


@scenario
async def test_a_server_that_does_not_let_this_node_in_is_a_row_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio"))
        mirrors = await opened(mesh, peers)
        await mirrors.add("studio")
        for code in (ErrorCode.REACH, ErrorCode.REACH, ErrorCode.UNSUPPORTED):
            await mirrors.refused(studio.id, code)
        await mirrors.refused("nobody", ErrorCode.REACH)
        mirrors.let_in(studio.id)
        await mirrors.refused(studio.id, ErrorCode.UNSUPPORTED)
        found = await mesh.rows(engine="mirror", decision="link_refused")
        assert [row["reason"] for row in found] == ["reach", "unsupported", "unsupported"]
        assert all(row["to"] == {"node": studio.id} for row in found)


@scenario
async def test_a_server_is_named_by_an_address_that_is_known_of_it(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio", at=["10.0.0.5:4354", "[fd00::5]:4354"]))
        attic = await peers.add(paired("attic", at=["10.0.0.6:4354"]))
        mirrors = await opened(mesh, peers, replace(DOWN, address="10.0.0.9:4354"))
        assert (await mirrors.add("10.0.0.5:4354")).id == studio.id
        assert (await mirrors.add("[FD00:0::5]:4354")).id == studio.id
        assert (await mirrors.add("fd00::5")).id == studio.id
        assert (await mirrors.add("10.0.0.6")).id == attic.id
        with refused(ErrorCode.AMBIGUOUS, "10.0.0.9:4354 is the address of 2 peers", "attic", "studio"):
            await mirrors.add("10.0.0.9:4354")
        with refused(ErrorCode.NOT_FOUND, "No peer is at 10.0.0.5:4355", "helio pair ADDRESS"):
            await mirrors.add("10.0.0.5:4355")


@scenario
async def test_only_a_peer_is_mirrored(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        mirrors = await opened(mesh, await book(mesh))
        with refused(ErrorCode.NOT_FOUND, "No peer is called studio", "helio pair", "once it is a peer"):
            await mirrors.add("studio")
        with refused(ErrorCode.NOT_FOUND, "No peer is at 10.0.0.5", "helio pair"):
            await mirrors.add("10.0.0.5")
        assert await rows(mesh) == []


@scenario
async def test_there_is_a_most_of_mirrors(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(mirrors=1)) as mesh:
        peers = await book(mesh)
        await peers.add(paired("studio"))
        await peers.add(paired("attic"))
        mirrors = await opened(mesh, peers)
        await mirrors.add("studio")
        with refused(ErrorCode.LIMIT, "mirrors 1 servers", "helio mirror rm", "`mirrors` under [limits]"):
            await mirrors.add("attic")
        assert len(mirrors.views()) == 1


@scenario
async def test_unpairing_ends_the_mirror_for_good(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        await peers.add(paired("studio"))
        mirrors = await opened(mesh, peers)
        await mirrors.add("studio")
        async with following(mirrors):
            seen = mirrors.generation
            await peers.unpair("studio")
            assert (mirrors.active(), mirrors.views()) == ((), ())
            assert (await rows(mesh))[-2:] == ["peer unpaired", "mirror removed"]
            assert (await last(mesh))["reason"] == "unpaired"
            await mirrors.next_change(seen)
            await peers.add(paired("studio"))
            assert (mirrors.active(), mirrors.views()) == ((), ())


@scenario
async def test_a_mirror_follows_its_peer_to_a_new_key(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        folder = tmp_path / "studio"
        folder.mkdir(mode=0o700)
        other = Rotating(folder)
        old = await peers.add(replace(paired("studio"), certificate=other.now.certificate))
        mirrors = await opened(mesh, peers)
        await mirrors.add("studio")
        async with following(mirrors):
            step = other.rotate()
            await peers.rekeyed(old.id, step.certificate, step.statement, step.signature)
            new = peers.find("studio")
            assert new.id != old.id
            await until(lambda: mirrors.active() == (new.id,), "the new key")
            assert (await rows(mesh))[-1] == "peer rekeyed"


def test_what_the_other_person_is_to_run_is_a_whole_command() -> None:
    assert asked_of("ABCDEFG") == "helio peers grant ABCDEFG request mirror-panel mirror-timeline"
