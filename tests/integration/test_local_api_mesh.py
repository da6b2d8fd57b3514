"""Identity, peers and pairing over the local API, on a real unix socket."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from node import codec_local_mesh as codec
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, Link, LinkState
from node.core.transfers import Direction, Transfer, TransferState
from node.core.views_mesh import FoundView, PairingEvent, PairingStep
from node.grpc_setup import aio
from node.local_door import Door
from node.ports_mesh import PairingWish
from node.wire.v1 import local_pb2 as pb
from node.wire.v1.local_pb2_grpc import LocalServiceStub
from tests.local_twins import HOSTILE, Node, played, refusal, stranger
from tests.local_twins_mesh import peer

EVERY = frozenset(Grant)


@played
async def test_the_identity_is_shown_and_given_a_new_key(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.up() as client:
        assert asdict(await client.identity()) == asdict(node.among.me)
        rotated = await client.rotate_identity()
        assert (rotated.id, rotated.former_keys) == ("w" * 52, 1)
        assert await client.identity() == rotated


@played
async def test_the_mesh_arrives_as_it_is_with_what_strangers_say_in_it(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.trusted.put(peer("a", HOSTILE, given=EVERY, got=frozenset(), seen_us=70))
    node.trusted.put(peer("b", "studio", addresses=()))
    node.among.links["a" * 52] = Link(
        state=LinkState.UP, since_us=50, address="[fe80::1%en0]:4354", rtt_us=2_100, tls="TLSv1.3",
        group="X25519MLKEM768",
    )  # fmt: skip
    node.among.links["b" * 52] = Link(state=LinkState.REFUSED, since_us=60, why="unpaired there? " + HOSTILE)
    found = FoundView(
        instance="0" * 16, version="1.2", addresses=("192.0.2.9:4354",), seen_us=80, peer="", name="attic"
    )
    node.among.now = replace(node.among.now, why=HOSTILE, found=(found, replace(found, peer="studio")))
    async with node.up() as client:
        assert await client.mesh() == node.among.mesh()


@played
async def test_what_there_is_not_is_none_and_not_zero(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.among.now = replace(node.among.now, port=None, discovery=False, interfaces=())
    node.trusted.put(peer("a", "studio"))
    async with node.up() as client:
        mesh = await client.mesh()
    assert (mesh.port, mesh.discovery, mesh.interfaces, mesh.found) == (None, False, (), ())
    assert (mesh.peers[0].seen_us, mesh.peers[0].link.rtt_us) == (None, None)


@played
async def test_peers_are_changed_and_each_change_answers_with_the_peer(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.trusted.put(peer("a", "studio"))
    async with node.up() as client:
        assert (await client.rename_peer("studio", "mac")).name == "mac"
        assert (await client.set_grants("mac", give=EVERY)).given == EVERY
        both = await client.set_grants("mac", give=frozenset({Grant.REQUEST}), take=frozenset({Grant.MIRROR_PANEL}))
        assert both.given == {Grant.REQUEST, Grant.MIRROR_TIMELINE}
        assert (await client.set_grants("mac", take=EVERY)).given == frozenset()
        assert (await client.set_grants("mac")).given == frozenset()
        assert (await client.add_peer_address("mac", "192.0.2.8:1")).addresses[0] == "192.0.2.8:1"
        assert await client.unpair("mac") == "mac"
        for call in (
            client.rename_peer("mac", "x"), client.set_grants("mac", give=EVERY), client.set_grants("mac"),
            client.add_peer_address("mac", "192.0.2.8:1"), client.unpair("mac"),
        ):  # fmt: skip
            error = await refusal(call)
            assert (error.code, error.details) == (ErrorCode.NOT_FOUND, {"choices": ("a", "b")})


@pytest.mark.parametrize("wanted", ["everything", "", "REQUEST"])
@played
async def test_only_what_is_a_grant_is_taken_for_one(tmp_path: Path, wanted: str) -> None:
    node = Node(tmp_path)
    node.trusted.put(peer("a", "studio"))
    async with node.up(), stranger(node) as channel:
        stub, metadata = LocalServiceStub(channel), (("helio-token", node.token.read_text()),)
        asked = pb.SetGrantsRequest(peer="studio", give=["request", wanted])
        with pytest.raises(aio.AioRpcError) as refused:
            await stub.SetGrants(asked, metadata=metadata)
        assert refused.value.code().name == "INVALID_ARGUMENT"
        with pytest.raises(aio.AioRpcError) as refused:
            await stub.RunPairing(pb.RunPairingRequest(gives=[wanted]), metadata=metadata).read()
        assert refused.value.code().name == "INVALID_ARGUMENT"
    assert (node.trusted.find("studio").given, node.pairings.wishes) == (frozenset(), [])


@played
async def test_a_pairing_run_is_told_step_by_step_and_answered(tmp_path: Path) -> None:
    node = Node(tmp_path)
    wish = PairingWish(
        target="192.0.2.7:4355", wants=EVERY, gives=frozenset({Grant.REQUEST}), code="12345678", headless=True,
        name="zoë's mac", port=4_355,
    )  # fmt: skip
    waits = PairingEvent(step=PairingStep.WAITING, run="r" * 16, port=4_355, address="192.0.2.8:4355", code="1234")
    met = PairingEvent(step=PairingStep.MET, run="r" * 16, name=HOSTILE, shown="QQVV2X5", asks=EVERY)
    failed = PairingEvent(
        step=PairingStep.FAILED, run="r" * 16, offers=EVERY, reason="wrong_code", words="no " + HOSTILE
    )
    async with node.up() as client, aclosing(client.run_pairing(wish)) as events:
        for event in (waits, met):
            node.pairings.events.put_nowait(event)
            assert await anext(events) == event
        await client.answer_pairing("r" * 16, code="123456", confirmed=True)
        await client.answer_pairing("r" * 16)
        node.pairings.events.put_nowait(failed)
        node.pairings.events.put_nowait(None)
        assert [event async for event in events] == [failed]
    assert node.pairings.wishes == [wish]
    assert node.pairings.answers == [("r" * 16, "123456", True), ("r" * 16, "", False)]


@played
async def test_who_leaves_a_pairing_run_ends_it(tmp_path: Path) -> None:
    node = Node(tmp_path)
    waits = PairingEvent(step=PairingStep.WAITING, run="r" * 16, port=1)
    node.pairings.events.put_nowait(waits)
    async with node.up() as client:
        async with aclosing(client.run_pairing(PairingWish())) as events:
            assert await anext(events) == waits
            assert not node.pairings.left.is_set()
        await node.pairings.left.wait()


@played
async def test_a_refused_run_or_answer_is_refused_in_the_desks_words(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.pairings.refusal = MeshError(ErrorCode.WRONG_STATE, "This node is pairing already.")
    async with node.up() as client:
        assert (await refusal(anext(client.run_pairing(PairingWish())))).message == "This node is pairing already."
        assert (await refusal(client.answer_pairing("r" * 16))).code is ErrorCode.WRONG_STATE


def test_a_step_of_a_newer_version_is_said_to_be_one() -> None:
    for make in (
        lambda: codec.pairing_event_from_wire(pb.RunPairingResponse(step="dancing")),
        lambda: codec.peer_from_wire(pb.MeshPeer(link="up", given=["everything"])),
        lambda: codec.peer_from_wire(pb.MeshPeer(link="sideways")),
    ):
        with pytest.raises(MeshError) as caught:
            make()
        assert caught.value.code is ErrorCode.UNSUPPORTED
        assert "different versions" in caught.value.message


@played
async def test_a_node_without_the_mesh_says_that_it_does_not_know_these_calls(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.api = replace(node.api, mesh=None)
    async with node.up() as client:
        for call in (client.identity(), client.mesh(), client.unpair("a"), anext(client.run_pairing(PairingWish()))):
            assert (await refusal(call)).code is ErrorCode.UNSUPPORTED
        assert await client.status()
    assert not {"GetMesh", "RunPairing"} & set(node.api.handlers(Door("a")))


@played
async def test_transfers_arrive_as_they_are_with_the_names_of_peers(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.trusted.put(peer("a", HOSTILE))
    moving = Transfer(
        id="t" * 16, message="m" * 16, peer="a" * 52, name=HOSTILE, sha256="ab" * 32, direction=Direction.IN,
        size=2**40, done=2**33, rate=5, state=TransferState.BROKEN, since_us=50, changed_us=60, why=HOSTILE,
    )  # fmt: skip
    unknown = replace(moving, id="u" * 16, peer="z" * 52, name="", why="", state=TransferState.DONE)
    node.transfers.now = (moving, unknown)
    async with node.up() as client:
        assert await client.transfers() == (replace(moving, peer_name=HOSTILE), unknown)
