"""Peers: every change of trust is on disk with its row, known in memory, and told to what is open."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from node.core import trust
from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.mesh import Grant
from tests.integration.mesh import INJECTION, NODE, refused, running, scenario
from tests.peer_book import NONE, PANEL, REQUEST, TIMELINE, book, last, node, on_disk, paired, pin, rows
from tests.waiting import turn


@scenario
async def test_a_peer_is_kept_pinned_and_a_row(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        added = await peers.add(
            paired("studio", given=[REQUEST], got=[PANEL, REQUEST], at=["10.0.0.1:1", "[fd00::1]:1"])
        )
        assert (added.name, added.spki, added.id) == ("studio", pin(node("studio")), trust.node_id_of(added.spki))
        assert (added.given, added.got, added.addresses) == ({REQUEST}, {PANEL, REQUEST}, ("10.0.0.1:1", "[fd00::1]:1"))
        assert peers.peers() == (added,) == await on_disk(mesh)
        assert peers.pinned(added.spki) == peers.find("studio") == peers.find(added.id[:8]) == added
        assert peers.pinned(pin(node("stranger"))) is None
        row = await last(mesh)
        assert (row["row"], row["engine"], row["decision"], row["reason"]) == ("policy", "peer", "paired", "new")
        assert (row["from"], row["to"]) == ({"node": NODE}, {"node": added.id})
        assert row["extra"] == {"given": ["request"], "got": ["mirror-panel", "request"]}
        assert (await mesh.verification()).ok


@scenario
async def test_a_node_that_comes_back_knows_its_peers(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        before = await book(mesh)
        for name in ("studio", "laptop"):
            await before.add(paired(name, given=[REQUEST]))
        again = await mesh.reopened()
        try:
            peers = await book(again)
            assert peers.peers() == before.peers()
            assert [peer.name for peer in peers.peers()] == ["laptop", "studio"]
            assert peers.pinned(pin(node("laptop"))) == peers.find("laptop")
        finally:
            await again.store.close()


@scenario
async def test_pairing_again_brings_a_known_peer_up_to_date(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        await peers.add(paired("studio", given=[REQUEST], at=["10.0.0.1:1"]))
        await peers.rename("studio", "attic")
        again = replace(paired("studio", given=[PANEL], at=["10.0.0.2:1"]), name="another")
        changed = await peers.add(again)
        assert (changed.name, changed.given, changed.addresses) == ("attic", {PANEL}, ("10.0.0.2:1", "10.0.0.1:1"))
        assert peers.peers() == (changed,)
        assert (await last(mesh))["reason"] == "again"


@scenario
async def test_ones_own_key_is_no_peer(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        # Nor is one that this node had before.
        peers = await book(mesh, own=(node("before"), node("this node")))
        for name in ("this node", "before"):
            with refused(ErrorCode.INVALID_ARGUMENT, "this node itself"):
                await peers.add(paired(name))
        with refused(ErrorCode.INVALID_ARGUMENT, "certificate"):
            await peers.add(replace(paired("x"), certificate="x"))
        assert peers.peers() == ()
        assert await rows(mesh) == []


@scenario
async def test_there_is_an_end_to_peers(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(peers=2, peer_addresses=2)) as mesh:
        peers = await book(mesh)
        await peers.add(paired("one"))
        await peers.add(paired("two", at=["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]))
        with refused(ErrorCode.LIMIT, "the limit is 2", "helio peers unpair", "[limits]"):
            await peers.add(paired("three"))
        assert await rows(mesh) == ["peer paired"] * 2
        # Known ones may still come again, and there is room when one has gone.
        assert (await peers.add(paired("two"))).addresses == ("10.0.0.1:1", "10.0.0.2:1")
        await peers.unpair("one")
        await peers.add(paired("three"))


@pytest.mark.parametrize(
    ("proposal", "name"), [("a\x1b[2Jb\n", "a-2Jb"), (INJECTION, "node-"), ("studio", "studio-2"), ("", "node-")]
)
@scenario
async def test_a_stranger_chooses_its_name_within_bounds(tmp_path: Path, proposal: str, name: str) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        await peers.add(paired("studio"))
        stranger = await peers.add(replace(paired("stranger"), name=proposal))
        assert stranger.name.startswith(name)
        assert INJECTION[:6] not in stranger.name


@scenario
async def test_a_person_renames_a_peer(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        for name in ("studio", "laptop"):
            await peers.add(paired(name))
        assert (await peers.rename("@studio", "Büro")).name == "Büro"
        assert peers.find("büro").spki == pin(node("studio"))
        with refused(ErrorCode.NOT_FOUND):
            peers.find("studio")
        before = await rows(mesh)
        assert before[-1] == "peer renamed"
        with refused(ErrorCode.ALREADY_EXISTS):
            await peers.rename("laptop", "BÜRO")
        with refused(ErrorCode.INVALID_ARGUMENT):
            await peers.rename("laptop", "two words")
        with refused(ErrorCode.WITHHELD, "nothing was changed"):
            await peers.rename("laptop", INJECTION)
        with refused(ErrorCode.NOT_FOUND):
            await peers.rename("nobody", "x")
        # The same name again is no change.
        await peers.rename("laptop", "laptop")
        assert await rows(mesh) == before


@scenario
async def test_grants_are_directed_and_each_change_is_a_row(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        await peers.add(paired("studio", got=[TIMELINE]))
        assert (await peers.grant("studio", frozenset({REQUEST, PANEL}))).given == {REQUEST, PANEL}
        row = await last(mesh)
        assert (row["engine"], row["decision"], row["extra"]) == (
            "grant", "given", {"grants": ["mirror-panel", "request"]},
        )  # fmt: skip
        changed = await peers.revoke("studio", frozenset({REQUEST, TIMELINE}))
        assert (changed.given, changed.got) == ({PANEL}, {TIMELINE})
        row = await last(mesh)
        assert (row["decision"], row["extra"]) == ("taken", {"grants": ["request"]})
        before, generation = await rows(mesh), peers.generation
        await peers.grant("studio", frozenset({PANEL}))
        await peers.revoke("studio", frozenset({REQUEST}))
        assert (await rows(mesh), peers.generation) == (before, generation)
        assert peers.peers() == await on_disk(mesh)


@scenario
async def test_whoever_is_unpaired_is_a_stranger(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio", given=[REQUEST]))
        await peers.seen(studio.id, "10.0.0.9:1")
        assert (await peers.unpair("studio")).id == studio.id
        assert (peers.peers(), peers.pinned(studio.spki), await on_disk(mesh)) == ((), None, ())
        assert (await rows(mesh))[-1] == "peer unpaired"
        # What is still under way with it comes to nothing.
        await peers.seen(studio.id, "10.0.0.9:1")
        await peers.granted(studio.id, frozenset({REQUEST}))
        with refused(ErrorCode.NOT_FOUND):
            await peers.unpair("studio")
        with refused(ErrorCode.NOT_FOUND):
            await peers.told(studio.id, node("this node"))
        # Paired anew, it has nothing of before.
        assert (await peers.add(paired("studio"))).given == NONE


@scenario
async def test_what_is_open_hears_of_a_change_once_it_is_on_disk(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        before = peers.generation
        await peers.add(paired("studio", given=[REQUEST]))
        assert peers.generation == before + 1
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(peers.next_change(peers.generation)) for _ in range(3)]
            await turn()
            async with mesh.held_writer():
                going = group.create_task(peers.unpair("studio"))
                await turn()
                assert peers.pinned(pin(node("studio"))) is not None
                assert not any(task.done() for task in waiting)
        assert [task.result() for task in waiting] == [before + 2] * 3
        assert going.result().name == "studio"
        assert await peers.next_change(0) == before + 2


@scenario
async def test_memory_follows_though_nobody_waits_any_more(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        await peers.add(paired("studio"))
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                going = group.create_task(peers.unpair("studio"))
                await turn()
                going.cancel()
        await mesh.caught_up()
        assert going.cancelled()
        assert (peers.peers(), await on_disk(mesh)) == ((), ())


@scenario
async def test_changes_at_one_moment_end_in_one_state(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio"))
        async with asyncio.TaskGroup() as group:
            async with mesh.held_writer():
                for grant in Grant:
                    group.create_task(peers.grant("studio", frozenset({grant})))
                group.create_task(peers.rename("studio", "attic"))
                group.create_task(peers.seen(studio.id, "10.0.0.1:1"))
                group.create_task(peers.add_address("studio", "10.0.0.2:1"))
                await turn()
        (peer,) = peers.peers()
        assert (peer.name, peer.given) == ("attic", frozenset(Grant))
        assert set(peer.addresses) == {"10.0.0.1:1", "10.0.0.2:1"}
        assert peers.peers() == await on_disk(mesh)
        assert (await mesh.verification()).ok


@scenario
async def test_addresses_are_literal(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        await peers.add(paired("studio", at=["10.0.0.1:1"]))
        changed = await peers.add_address("studio", " [FE80::1%en0]:4354 ")
        assert changed.addresses == ("[fe80::1%en0]:4354", "10.0.0.1:1")
        assert (await rows(mesh))[-1] == "peer address_added"
        for wrong in ("studio.local:4354", "10.0.0.1", "0.0.0.0:1"):
            with refused(ErrorCode.INVALID_ARGUMENT):
                await peers.add_address("studio", wrong)
        assert peers.peers() == await on_disk(mesh)


@scenario
async def test_a_change_that_cannot_be_written_has_not_happened(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio", given=[REQUEST]))
        generation = peers.generation
        with closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as other:
            (frontier,) = other.execute("SELECT frontier FROM timeline_logs").fetchone()
            other.execute("UPDATE timeline_logs SET frontier = x''")
            for change in (
                peers.unpair("studio"), peers.revoke("studio", frozenset({REQUEST})), peers.rename("studio", "attic"),
                peers.add(paired("laptop")), peers.refused("unknown_key", spki="", address=""),
            ):  # fmt: skip
                with refused(ErrorCode.AUDIT_UNAVAILABLE):
                    await change
            other.execute("UPDATE timeline_logs SET frontier = ?", (frontier,))
        assert (peers.peers(), peers.generation) == ((studio,), generation)
        await peers.unpair("studio")
        assert (await mesh.verification()).ok


@scenario
async def test_the_store_keeps_names_and_keys_unique(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio, laptop = await peers.add(paired("studio")), await peers.add(paired("laptop"))
        for clash in (replace(laptop, name="STUDIO"), replace(laptop, spki=studio.spki)):
            with pytest.raises(sqlite3.IntegrityError):
                await mesh.store.write(lambda tx, peer=clash: tx.put_peer(peer))
        assert await mesh.store.read(lambda reader: reader.peer(studio.id)) == studio
        assert await mesh.store.read(lambda reader: reader.peer_by_spki(laptop.spki)) == laptop
        assert await mesh.store.read(lambda reader: reader.peer("nobody")) is None


@scenario
async def test_what_gates_remember_is_kept_by_name(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        await mesh.store.write(lambda tx: tx.put_mesh_state("pairing", '{"burned":1}'))
        await mesh.store.write(lambda tx: tx.put_mesh_state("pairing", '{"burned":2}'))
        again = await mesh.reopened()
        try:
            assert await again.store.read(lambda reader: reader.mesh_state("pairing")) == '{"burned":2}'
            await again.store.write(lambda tx: tx.put_mesh_state("pairing", ""))
            assert await again.store.read(lambda reader: reader.mesh_state("pairing")) is None
        finally:
            await again.store.close()
