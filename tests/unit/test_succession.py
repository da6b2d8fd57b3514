"""A node whose key has changed: its log goes on and verifies, and what it had is still its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from node import config, succession
from node.core.model import Address
from node.identity import rotate
from node.parts import Parts, build, entropy
from node.platform import clocks
from node.ports_timeline import RowFilter
from tests.integration.mesh import NODE, ORIGIN, Mesh, running, scenario


async def settled(mesh: Mesh, *line: str) -> list[tuple[object, ...]]:
    """The rows about keys once the node has come up with these ids."""
    await mesh.store.write(lambda tx: succession.settle(tx, line))
    rows = await mesh.rows(engine="key")
    return [(row["row"], row["decision"], *(row[end]["node"] for end in ("from", "to"))) for row in rows]  # type: ignore[index,call-overload]


@scenario
async def test_a_node_that_kept_its_key_has_no_row(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        assert await settled(mesh, NODE) == []
        # A renewed certificate is of the same key.
        assert await settled(mesh, NODE, NODE) == []
        assert await mesh.store.read(lambda reader: reader.own_node()) == NODE


@scenario
async def test_a_rotation_is_a_row_and_is_told_once(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        rotated = ("key", "rotated", NODE, "second")
        assert await settled(mesh, NODE, "second") == [rotated]
        assert await settled(mesh, NODE, "second") == [rotated]
        assert await settled(mesh, "second") == [rotated]
        # Two more before the node came up again, one of them with a renewal.
        assert await settled(mesh, NODE, "second", "third", "third", "fourth") == [
            rotated, ("key", "rotated", "second", "third"), ("key", "rotated", "third", "fourth"),
        ]  # fmt: skip
        found = await mesh.verification()
        assert (found.ok, found.rows, found.origin) == (True, 3, ORIGIN)


@pytest.mark.parametrize("line", [("other",), ("one", "other")])
@scenario
async def test_a_key_that_nobody_handed_over_to_is_told_as_that(tmp_path: Path, line: tuple[str, ...]) -> None:
    async with running(tmp_path) as mesh:
        assert await settled(mesh, *line) == [("key", "replaced", NODE, "other")]
        assert (await mesh.verification()).ok


@scenario
async def test_exchanges_of_before_are_still_ones_own(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        opened = await alice.request(bob, "Which port?")
        await settled(mesh, NODE, "second")
        for agent, unread in ((alice, []), (bob, ["Which port?"])):
            address = Address(node="second", session=agent.session.id)
            mine = await mesh.store.read(lambda reader, at=address: reader.exchanges_of(at, closed=False))
            assert [exchange.id for exchange in mine] == [opened.exchange.id]
            found = await mesh.store.read(lambda reader, at=address: reader.unread(at, None, 10))
            assert [message.text for message in found] == unread
        assert await bob.unread() == []


async def verified(parts: Parts) -> tuple[bool, str]:
    result = [progress.result async for progress in parts.proofs.verify()][-1]
    assert result is not None
    return result.ok, result.origin


@scenario
async def test_a_node_comes_up_with_its_new_key_over_its_old_log(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with build(home, config.Config()) as parts:
        old = parts.node_id
        await parts.sessions.watch_once()
        assert await verified(parts) == (True, f"local/{old}/1")
    rotate(home / "identity", now_us=clocks.wall_us(), entropy=entropy, keep=8)
    for _ in range(2):
        async with build(home, config.Config()) as parts:
            assert parts.node_id != old
            rows = [row async for row in parts.audit.rows(RowFilter(engine="key"), follow=False)]
            assert len(rows) == 1
            assert f'"from":{{"node":"{old}"}}'.encode() in rows[0].data
            assert f'"to":{{"node":"{parts.node_id}"}}'.encode() in rows[0].data
            assert await verified(parts) == (True, f"local/{old}/1")
