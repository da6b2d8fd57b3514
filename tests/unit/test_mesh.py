"""The node among others as one piece: where it says it is reached, whom it dials, and what of it may fail."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from node import identity
from node.core.lan import Interface
from node.core.views_mesh import PairingStep
from node.platform import clocks
from node.ports_mesh import PairingWish
from tests.integration.mesh import scenario
from tests.mesh_node import LOOPBACK, QUIET, card, mesh_node
from tests.peer_book import paired

HEARD = "00112233aabbccdd"
YEAR_US = 365 * 86_400 * 1_000_000


@pytest.mark.parametrize(
    ("addresses", "shown"),
    [
        (("192.168.1.20", "fe80::1%eth0"), "192.168.1.20:{port}"),
        (("fd00::20", "fe80::1%eth0"), "[fd00::20]:{port}"),
        # Two machines and a cable: it is all they have, and needs no scope.
        (("169.254.7.7",), "169.254.7.7:{port}"),
        # Which interface leads here only the other machine knows.
        (("fe80::1%eth0",), ""),
        ((), ""),
    ],
)
@scenario
async def test_who_waits_is_told_an_address_that_another_machine_can_dial(
    tmp_path: Path, addresses: tuple[str, ...], shown: str
) -> None:
    everywhere = replace(QUIET, host="")
    async with mesh_node(tmp_path, config=everywhere, survey=lambda: (LOOPBACK, card(*addresses))) as node:
        waiting = await node.pairs(PairingWish(), until=PairingStep.WAITING)
        assert waiting.address == shown.format(port=waiting.port)


@scenario
async def test_who_waits_without_a_list_of_interfaces_is_told_the_port_alone(tmp_path: Path) -> None:
    def survey() -> Sequence[Interface]:
        raise OSError(5, "Input/output error")

    async with mesh_node(tmp_path, config=replace(QUIET, host=""), survey=survey) as node:
        waiting = await node.pairs(PairingWish(), until=PairingStep.WAITING)
        assert (waiting.address, waiting.port > 0) == ("", True)


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1:{port}"), ("0.0.0.0", "10.0.0.5:{port}")])  # noqa: S104
@scenario
async def test_who_waits_at_one_address_is_told_that_one(tmp_path: Path, host: str, shown: str) -> None:
    survey = (card("10.0.0.5"),)
    async with mesh_node(tmp_path, config=replace(QUIET, host=host), survey=lambda: survey) as node:
        waiting = await node.pairs(PairingWish(), until=PairingStep.WAITING)
        assert waiting.address == shown.format(port=waiting.port)


@pytest.mark.parametrize(("chosen", "dialled"), [(0, 4_355), (1, 1)])
@scenario
async def test_a_node_that_is_heard_is_dialled_where_nodes_wait_for_pairing(
    tmp_path: Path, chosen: int, dialled: int
) -> None:
    async with mesh_node(tmp_path, config=replace(QUIET, pairing_port=chosen)) as node:
        # Nobody can be dialled there, whatever else is at work on this machine.
        node.network.announces(HEARD, "255.255.255.255:4354")
        failed = await node.pairs(PairingWish(target="0011"), until=PairingStep.FAILED)
        assert f"port {dialled} " in failed.words


@scenario
async def test_what_a_node_calls_itself_on_the_network_is_shown(tmp_path: Path) -> None:
    async with mesh_node(tmp_path) as node:
        node.network.announces(HEARD, "10.0.0.9:4354", name="Ada's Mac")
        assert [(found.instance, found.name) for found in node.mesh.mesh().found] == [(HEARD, "Ada's Mac")]


@pytest.mark.parametrize(
    ("target", "reason", "words"),
    [
        ("001", "invalid_argument", "give 4 of the characters"),
        ("0011", "ambiguous", "begins the names of 2 nodes"),
        ("00112234", "not_found", "No node whose name begins with '00112234' is heard"),
    ],
)
@scenario
async def test_what_names_no_node_or_several_is_not_dialled(
    tmp_path: Path, target: str, reason: str, words: str
) -> None:
    async with mesh_node(tmp_path) as node:
        for instance in (HEARD, "0011" * 4):
            node.network.announces(instance, "10.0.0.9:4354")
        failed = await node.pairs(PairingWish(target=target), until=PairingStep.FAILED)
        assert (failed.reason, words in failed.words) == (reason, True)


@scenario
async def test_a_renewed_certificate_is_no_former_key_and_a_rotation_is(tmp_path: Path) -> None:
    folder = tmp_path / "identity"
    for years_ago in (12, 6):
        identity.load_or_create(folder, now_us=clocks.wall_us() - years_ago * YEAR_US, entropy=os.urandom)
    async with mesh_node(tmp_path) as node:
        before = node.mesh.identity()
        assert (before.former_keys, (folder / "3").exists()) == (0, True)
        after = await node.mesh.rotate()
        assert (after.former_keys, after.id != before.id) == (1, True)
        # It counts when the node starts again.
        assert node.mesh.identity() == before
    async with mesh_node(tmp_path) as node:
        assert node.mesh.identity() == after


@scenario
async def test_a_full_disk_does_not_keep_the_node_from_stopping_in_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mesh_node(tmp_path) as node:
        studio = await node.mesh.peers.add(paired("studio"))
        # The second is written with the next minute, or at the end.
        for address in ("10.0.0.1:1", "10.0.0.2:1"):
            await node.mesh.peers.seen(studio.id, address)
        node.store.broken = True
        await node.stop()
        assert node.work.cancelled()
        assert "what was heard of peers is not written: The disk is full" in caplog.text
