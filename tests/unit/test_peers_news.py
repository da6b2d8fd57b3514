"""Peers: what is heard of them, new keys of theirs and of our own, and calls that are turned away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from node.core import trust
from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.mesh import Paired
from node.core.model import Address
from node.core.rotation import Step
from node.identity import AuthorityFile
from node.peers import Peers
from tests.integration.mesh import refused, running, scenario
from tests.peer_book import NONE, PANEL, REQUEST, Rotating, book, last, node, on_disk, paired, pin, rows


@scenario
async def test_being_seen_moves_an_address_to_the_front_and_is_written_once_a_minute(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio", at=["10.0.0.1:1", "10.0.0.2:1"]))
        generation, size = peers.generation, len(await rows(mesh))
        for address in ("10.0.0.2:1", "10.0.0.3:1", "", "studio.local:1"):
            await peers.seen(studio.id, address)
        assert peers.find("studio").addresses == ("10.0.0.3:1", "10.0.0.2:1", "10.0.0.1:1")
        (stored,) = await on_disk(mesh)
        assert stored.addresses == ("10.0.0.2:1", "10.0.0.1:1")
        shown = peers.find("studio").seen_us
        assert shown is not None
        assert stored.seen_us is not None
        assert stored.seen_us < shown
        mesh.clock.advance(60)
        await peers.tick()
        assert await on_disk(mesh) == peers.peers()
        assert peers.find("studio").seen_us == shown
        # It is no change of trust, and no decision.
        assert (peers.generation, len(await rows(mesh))) == (generation, size)


@scenario
async def test_what_a_peer_lets_us_do_is_a_row_and_a_fickle_one_a_row_a_minute(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers = await book(mesh)
        studio = await peers.add(paired("studio", got=[REQUEST]))
        await peers.granted(studio.id, frozenset({REQUEST}))
        assert await rows(mesh) == ["peer paired"]
        for _ in range(50):
            await peers.granted(studio.id, frozenset({PANEL}))
            await peers.granted(studio.id, NONE)
        assert await rows(mesh) == ["peer paired", "grant given", "grant taken"]
        assert (await last(mesh))["reason"] == "there"
        assert peers.find("studio").got == NONE
        await peers.close()
        assert (await on_disk(mesh))[0].got == NONE
        assert (await rows(mesh))[3:] == ["grant taken"]


@scenario
async def test_refusals_are_rows_until_there_are_too_many_and_then_a_number(tmp_path: Path) -> None:
    async with running(tmp_path, limits=Limits(refusal_rows_per_minute=3)) as mesh:
        peers = await book(mesh)
        spki = pin(node("stranger"))
        await peers.refused("unknown_key", spki=spki, address="10.0.0.66:5")
        row = await last(mesh)
        assert (row["engine"], row["decision"], row["reason"]) == ("mesh", "refused", "unknown_key")
        assert row["from"] == {"node": trust.node_id_of(spki)}
        for _ in range(40):
            await peers.refused("old_tls", spki="", address="")
        assert await rows(mesh) == ["mesh refused"] * 3
        mesh.clock.advance(30)
        await peers.tick()
        assert len(await rows(mesh)) == 3
        mesh.clock.advance(31)
        await peers.tick()
        await peers.tick()
        row = await last(mesh)
        assert len(await rows(mesh)) == 4
        assert (row["reason"], row["extra"]) == ("more", {"count": 38, "reasons": {"old_tls": 38}})
        # A node that stops says what it had counted.
        for _ in range(4):
            await peers.refused("old_tls", spki="", address="")
        await peers.close()
        assert (await last(mesh))["extra"] == {"count": 1, "reasons": {"old_tls": 1}}
        assert (await mesh.verification()).ok


async def take(peers: Peers, peer_id: str, step: Step, **changes: object) -> None:
    step = replace(step, **changes)  # type: ignore[arg-type]
    await peers.rekeyed(peer_id, step.certificate, step.statement, step.signature)


def pairing(other: Rotating) -> Paired:
    return replace(paired("x", given=[REQUEST]), certificate=other.line[0].certificate, name="studio")


@scenario
async def test_a_new_key_signed_by_the_old_takes_its_place(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers, other = await book(mesh), Rotating(tmp_path / "other")
        old = await peers.add(pairing(other))
        alice, bob = await mesh.seat("alice"), await mesh.seat("bob")
        opened = await alice.request(bob)
        elsewhere = replace(opened.exchange, worker=Address(node=old.id, session="remote"))
        await mesh.store.write(lambda tx: tx.put_exchange(elsewhere))
        for number in range(2):
            generation = peers.generation
            before = peers.find("studio")
            await take(peers, before.id, other.rotate())
            after = peers.find("studio")
            assert (after.id, after.spki, after.certificate) == (
                other.now.node_id, other.now.spki, other.now.certificate,
            )  # fmt: skip
            assert (after.name, after.given) == ("studio", {REQUEST})
            assert peers.pinned(before.spki) is None
            assert peers.pinned(after.spki) == after
            assert await on_disk(mesh) == (after,)
            assert peers.generation == generation + 1
            row = await last(mesh)
            assert (row["row"], row["engine"], row["decision"]) == ("key", "peer", "rekeyed")
            assert (row["from"], row["to"]) == ({"node": before.id}, {"node": after.id})
            # What this node had to do with it goes on under the new id.
            moved = await mesh.store.read(lambda reader: reader.exchange(opened.exchange.id))
            assert moved is not None
            assert moved.worker == Address(node=after.id, session="remote"), number
        assert (await mesh.verification()).ok


@scenario
async def test_a_renewed_certificate_keeps_the_peer(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers, other = await book(mesh), Rotating(tmp_path / "other")
        old = await peers.add(pairing(other))
        first = other.renew()
        await take(peers, old.id, first)
        after = peers.find("studio")
        assert (after.id, after.certificate) == (old.id, other.now.certificate)
        assert other.now.certificate != other.line[0].certificate
        assert (await rows(mesh))[-1] == "peer renewed"
        # It does not go back to one that it had before, though the same key has signed for that as well.
        await take(peers, old.id, other.renew(years=12))
        with refused(ErrorCode.TAMPERED, "not newer"):
            await take(peers, old.id, first)
        assert peers.find("studio").certificate == other.now.certificate


@scenario
async def test_a_hand_over_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        peers, other, third = await book(mesh), Rotating(tmp_path / "other"), Rotating(tmp_path / "third")
        studio = await peers.add(pairing(other))
        laptop = await peers.add(replace(pairing(third), name="laptop"))
        first, second = other.rotate(), other.rotate()
        foreign = third.rotate()
        before = peers.peers()
        for step, changes in (
            (first, {"signature": foreign.signature}), (first, {"certificate": foreign.certificate}),
            (first, {"statement": second.statement}), (second, {}), (foreign, {}), (first, {"statement": b""}),
        ):  # fmt: skip
            with refused(ErrorCode.TAMPERED):
                await take(peers, studio.id, step, **changes)
        with refused(ErrorCode.INVALID_ARGUMENT):
            await peers.add(replace(pairing(other), certificate=first.certificate[:-40]))
        with refused(ErrorCode.NOT_FOUND):
            await take(peers, "nobody", first)
        assert peers.peers() == before == await on_disk(mesh)
        assert (await rows(mesh))[2:] == ["mesh refused"] * 6
        assert (await last(mesh))["reason"] == "bad_rotation"
        # In order they are taken, and once.
        await take(peers, studio.id, first)
        with refused(ErrorCode.NOT_FOUND):
            await take(peers, studio.id, first)
        with refused(ErrorCode.TAMPERED):
            await take(peers, peers.find("studio").id, first)
        await take(peers, peers.find("studio").id, second)
        assert peers.find("laptop") == laptop


@scenario
async def test_nobody_takes_over_a_key_that_is_known_here(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        other = Rotating(tmp_path / "other")
        step = other.rotate()
        for own in ((node("this node"),), (other.now.certificate, node("this node"))):
            peers = await book(mesh, own=own)
            studio = await peers.add(pairing(other))
            if len(own) == 1:
                await peers.add(replace(paired("laptop"), certificate=other.now.certificate))
            with refused(ErrorCode.TAMPERED, "another node"):
                await take(peers, studio.id, step)
            assert peers.find("studio") == studio
            for peer in peers.peers():
                await peers.unpair(peer.id)


@scenario
async def test_it_is_known_which_of_our_certificates_a_peer_holds(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        mine = Rotating(tmp_path / "mine")
        old = mine.now
        peers = await book(mesh, own=(old.certificate,))
        studio = await peers.add(paired("studio"))
        assert studio.holds == old.fingerprint
        mine.rotate()
        peers = await book(mesh, own=(old.certificate, mine.now.certificate))
        assert peers.find("studio").holds == old.fingerprint
        assert (await peers.add(paired("laptop"))).holds == mine.now.fingerprint
        assert (await peers.told(studio.id, mine.now.certificate)).holds == mine.now.fingerprint
        assert (await rows(mesh))[-1] == "key told"
        assert await on_disk(mesh) == peers.peers()


@scenario
async def test_what_a_peer_issued_is_forgotten_with_the_key_of_either(tmp_path: Path) -> None:
    async with running(tmp_path) as mesh:
        mine, other = Rotating(tmp_path / "mine"), Rotating(tmp_path / "other")
        peers = await book(mesh, own=(mine.now.certificate,))
        studio = await peers.add(pairing(other))
        generation, told = peers.generation, await rows(mesh)
        keeper = AuthorityFile(tmp_path, clock=mesh.clock, entropy=mesh.entropy)
        issued = keeper.make().issue(mine.now.certificate, now_us=mesh.clock.wall_us(), entropy=mesh.entropy)
        await peers.issued(studio.id, issued)
        assert [peer.issued for peer in (*await on_disk(mesh), *peers.peers())] == [issued] * 2
        assert (peers.generation, await rows(mesh)) == (generation, told), "whom this node trusts is as before"
        # A new certificate of the same key changes nothing, on either side.
        mine.renew()
        assert (await peers.told(studio.id, mine.now.certificate)).issued == issued
        await take(peers, studio.id, other.renew())
        assert peers.find("studio").issued == issued
        mine.rotate()
        assert (await peers.told(studio.id, mine.now.certificate)).issued == ""
        await peers.issued(studio.id, issued)
        await take(peers, studio.id, other.rotate())
        assert peers.find("studio").issued == ""
        await peers.issued(peers.find("studio").id, issued)
        await peers.issued(peers.find("studio").id, "")
        assert [peer.issued for peer in await on_disk(mesh)] == [""]
        with refused(ErrorCode.NOT_FOUND, "unpaired"):
            await peers.issued(studio.id, issued)
