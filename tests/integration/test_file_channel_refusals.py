"""Files that do not go: what either end of the channel refuses, and what is left of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from node import errmap
from node.core.errors import ErrorCode, MeshError
from node.core.transfer import Attachment
from node.core.transfers import TransferState
from node.grpc_setup import aio
from tests.file_stage import LIMITS, MB, MESSAGE, Stage, digest, staged
from tests.forgery import dialled
from tests.integration.mesh import refused, scenario
from tests.waiting import until
from tunnel.session.file_words import OFFER, PULL, PUSH
from tunnel.wire.v1 import files_pb2 as pb


@asynccontextmanager
async def by_hand(stage: Stage) -> AsyncIterator[aio.Channel]:
    """The client's own key in the hands of somebody who writes calls by hand."""
    async with dialled(stage.client.who, stage.server.who, stage.port) as channel:
        yield channel


async def offered(channel: aio.Channel, sha256: str, size: int) -> pb.OfferResponse | MeshError:
    call = channel.unary_unary(OFFER, pb.OfferRequest.SerializeToString, pb.OfferResponse.FromString)
    try:
        return await call(pb.OfferRequest(sha256=sha256, size=size), timeout=5)
    except aio.AioRpcError as error:
        return errmap.from_rpc(error)


async def pushed(channel: aio.Channel, start: pb.PushRequest, data: Iterable[bytes]) -> pb.PushResponse | MeshError:
    messages = iter((start.SerializeToString(), *data))
    call = channel.stream_unary(PUSH, response_deserializer=pb.PushResponse.FromString)(messages, timeout=8)
    try:
        return await call
    except aio.AioRpcError as error:
        return errmap.from_rpc(error)
    finally:
        call.cancel()


async def pulled(channel: aio.Channel, request: pb.PullRequest) -> bytes | MeshError:
    call = channel.unary_stream(PULL, pb.PullRequest.SerializeToString)(request, timeout=8)
    try:
        return b"".join([data async for data in call])
    except aio.AioRpcError as error:
        return errmap.from_rpc(error)
    finally:
        call.cancel()


def code_of(answer: object) -> ErrorCode:
    assert isinstance(answer, MeshError), answer
    return answer.code


# --- pushes ----------------------------------------------------------------------------------------------------------


@scenario
async def test_content_of_another_hash_is_refused_and_removed(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, by_hand(stage) as channel:
        start = pb.PushRequest(sha256=digest(b"other"), size=5)
        answer = await pushed(channel, start, [b"hel", b"lo"])
        assert code_of(answer) is ErrorCode.TAMPERED
        assert (stage.server.kept(), stage.server.parts()) == (set(), [])
        assert stage.ground.rows == [(start.sha256, 5, ErrorCode.TAMPERED)]
        # The same call with what it said is taken.
        assert await pushed(channel, start, [b"other"]) == pb.PushResponse(size=5)


@scenario
async def test_more_or_fewer_bytes_than_said_are_refused(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, by_hand(stage) as channel:
        start = pb.PushRequest(sha256=digest(b"hello"), size=5)
        assert code_of(await pushed(channel, start, [b"hel", b"lo", b"!"])) is ErrorCode.INVALID_ARGUMENT
        assert code_of(await pushed(channel, replace_offset(start, 5), [b"!"])) is ErrorCode.WRONG_STATE
        assert stage.server.kept() == set()
        (part,) = (stage.server.home / "parcels").glob("*/*.part")
        assert part.stat().st_size <= 5
        whole = os.urandom(10_000)
        other = pb.PushRequest(sha256=digest(whole), size=10_000)
        assert code_of(await pushed(channel, other, [whole[:9_000]])) is ErrorCode.INVALID_ARGUMENT
        # Whole pages are gone on from.
        assert await offered(channel, other.sha256, 10_000) == pb.OfferResponse(offset=8_192)
        assert code_of(await pushed(channel, other, [whole])) is ErrorCode.WRONG_STATE
        assert await pushed(channel, replace_offset(other, 8_192), [whole[8_192:]]) == pb.PushResponse(size=10_000)
        assert stage.trust.reasons["malformed"] == 2


def replace_offset(start: pb.PushRequest, offset: int) -> pb.PushRequest:
    return pb.PushRequest(sha256=start.sha256, size=start.size, offset=offset)


@pytest.mark.parametrize(
    ("sha256", "size"),
    [("", 1), ("../../etc/passwd", 1), ("A" * 64, 1), ("a" * 63, 1), ("a" * 64 + "\n", 1), ("a" * 64, 2**63)],
)
def test_what_is_no_content_is_refused(tmp_path: Path, sha256: str, size: int) -> None:
    @scenario
    async def run() -> None:
        async with staged(tmp_path) as stage, by_hand(stage) as channel:
            wanted = ErrorCode.LIMIT if size > 1 else ErrorCode.INVALID_ARGUMENT
            assert code_of(await offered(channel, sha256, size)) is wanted
            assert code_of(await pushed(channel, pb.PushRequest(sha256=sha256, size=size), [b"x"])) is wanted
            assert not (stage.server.home / "parcels").exists()

    run()


@scenario
async def test_content_above_the_limit_is_refused_before_its_first_byte(tmp_path: Path) -> None:
    async with staged(tmp_path, server_limits=replace(LIMITS, message_bytes=MB)) as stage:
        fits, over = await stage.client.has("fits", bytes(MB)), await stage.client.has("over", bytes(MB + 1))
        await stage.push(fits)
        read = stage.client.parcels.read_bytes
        with refused(ErrorCode.LIMIT, "over", "message_bytes"):
            await stage.push(over)
        assert stage.client.parcels.read_bytes == read
        async with by_hand(stage) as channel:
            refusal = await pushed(channel, pb.PushRequest(sha256=over.sha256, size=over.size), [b"x"])
            assert code_of(refusal) is ErrorCode.LIMIT
            assert refusal.details["name"] == "message_bytes"
        assert set(stage.ground.rows) == {(fits.sha256, MB, None), (over.sha256, MB + 1, ErrorCode.LIMIT)}
        assert stage.server.parts() == [f"{MB}.kept"]


@scenario
async def test_a_full_disk_is_told_before_the_first_byte_at_both_ends(tmp_path: Path) -> None:
    full = replace(LIMITS, spare_bytes=2**60)
    async with staged(tmp_path, server_limits=full, client_limits=full) as stage:
        one = Attachment(name="a", sha256="a" * 64, size=5, folder=False, entries=0)
        with refused(ErrorCode.UNAVAILABLE, "out of space"):
            await stage.push(one)
        stage.sent_by_server(one)
        with refused(ErrorCode.UNAVAILABLE, "spare_bytes"):
            await stage.pull(one)
        async with by_hand(stage) as channel:
            assert (
                code_of(await pushed(channel, pb.PushRequest(sha256="a" * 64, size=5), [b"x"])) is ErrorCode.UNAVAILABLE
            )
        assert not list(stage.server.home.glob("parcels/*/*"))
        assert not list(stage.client.home.glob("parcels/*/*"))


@scenario
async def test_a_grant_that_is_taken_ends_a_push_and_a_pull_in_the_middle(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        up, down = await stage.client.has("up", bytes(30 * MB)), await stage.server.has("down", os.urandom(30 * MB))
        stage.sent_by_server(down)

        async def revoke() -> None:
            stage.ground.granted = False

        stage.client.parcels.once(8 * MB, revoke)
        with refused(ErrorCode.REACH, "request"):
            await stage.push(up)
        with refused(ErrorCode.REACH):
            await stage.push(up)
        assert stage.server.log.listed()[0].state is TransferState.BROKEN
        stage.ground.granted = True
        stage.server.parcels.once(8 * MB, revoke)
        with refused(ErrorCode.REACH, "request"):
            await stage.pull(down)
        with refused(ErrorCode.REACH):
            await stage.pull(down)
        async with by_hand(stage) as channel:
            request = pb.PullRequest(message=MESSAGE, sha256=down.sha256)
            call = channel.unary_stream(PULL, pb.PullRequest.SerializeToString)(request, timeout=8)
            with pytest.raises(aio.AioRpcError):
                assert not await call.read(), "bytes came before anybody was asked"
        stage.ground.granted = True
        await stage.push(up)
        await stage.pull(down)


@scenario
async def test_an_unpaired_peer_is_cut_off_in_the_middle(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        up = await stage.client.has("up", bytes(30 * MB))

        async def unpair() -> None:
            stage.trust.unpair(stage.client.who.id)

        stage.client.parcels.once(8 * MB, unpair)
        with pytest.raises(MeshError) as caught:
            await stage.push(up)
        assert caught.value.code in {ErrorCode.UNAUTHENTICATED, ErrorCode.UNAVAILABLE}
        assert stage.trust.reasons["revoked"] >= 1
        await until(lambda: stage.server.log.listed()[0].state is TransferState.BROKEN)
        assert stage.server.kept() == set()


@scenario
async def test_a_second_push_of_the_same_content_takes_over(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, by_hand(stage) as channel:
        data = os.urandom(6 * MB)
        start = pb.PushRequest(sha256=digest(data), size=len(data))
        first = channel.stream_unary(PUSH, response_deserializer=pb.PushResponse.FromString)()
        await first.write(start.SerializeToString())
        # As much as the log tells of: with more on its way, the first call may end before it is written to again.
        came = 9 * MB // 2
        for piece in halves(data[:came]):
            await first.write(piece)
        await until(lambda: stage.server.log.listed() and stage.server.log.listed()[0].done == came)
        one = Attachment(name="a", sha256=start.sha256, size=len(data), folder=False, entries=0)
        standing = await stage.server.parcels.offer(stage.client.who.id, one.sha256, one.size)
        assert standing.offset == came
        answer = await pushed(channel, replace_offset(start, standing.offset), halves(data[standing.offset :]))
        assert answer == pb.PushResponse(size=len(data))
        await first.write(data[came : came + MB // 2])
        with pytest.raises(aio.AioRpcError) as caught:
            await first
        assert code_of(errmap.from_rpc(caught.value)) is ErrorCode.WRONG_STATE
        assert stage.server.content(one) == data


def halves(data: bytes) -> list[bytes]:
    return [data[at : at + MB // 2] for at in range(0, len(data), MB // 2)]


@scenario
async def test_the_same_content_of_two_calls_at_once_goes_once(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        one = await stage.client.has("twice", os.urandom(8 * MB))
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(stage.push(one))
        assert stage.client.parcels.read_bytes == one.size
        assert stage.server.kept() == {one.sha256}


@scenario
async def test_a_peer_that_sends_nothing_is_ended_and_so_is_one_that_takes_nothing(tmp_path: Path) -> None:
    quick = replace(LIMITS, mesh_idle_s=1)
    async with staged(tmp_path, server_limits=quick) as stage, by_hand(stage) as channel:
        call = channel.stream_unary(PUSH)()
        await call.write(pb.PushRequest(sha256="a" * 64, size=5_000).SerializeToString())
        await call.write(bytes(4_096))
        with pytest.raises(aio.AioRpcError) as silent:
            await call
        assert errmap.from_rpc(silent.value).details == {"reason": "silent"}
        assert await offered(channel, "a" * 64, 5_000) == pb.OfferResponse(offset=4_096)
        one = await stage.server.has("big", os.urandom(40 * MB))
        stage.sent_by_server(one)
        pull = channel.unary_stream(PULL, pb.PullRequest.SerializeToString)(
            pb.PullRequest(message=MESSAGE, sha256=one.sha256)
        )
        await pull.read()
        await until(lambda: stage.trust.reasons["unread"] == 1, seconds=8)
        await until(lambda: stage.server.log.listed()[0].state is TransferState.BROKEN)
        pull.cancel()
        assert stage.trust.reasons == {"silent": 1, "unread": 1}


# --- pulls, and what nobody may know ---------------------------------------------------------------------------------


@scenario
async def test_a_file_of_somebody_elses_message_reads_as_not_found(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, by_hand(stage) as channel:
        mine, foreign = await stage.server.has("mine", b"mine"), await stage.server.has("foreign", b"foreign")
        stage.sent_by_server(mine)
        stage.ground.files["x" * 52, MESSAGE, foreign.sha256] = foreign
        answers = [
            await pulled(channel, pb.PullRequest(message=message, sha256=sha256))
            for message, sha256 in ((MESSAGE, foreign.sha256), (MESSAGE, "a" * 64), ("n" * 16, mine.sha256), ("", ""))
        ]
        assert {(code_of(answer), str(answer)) for answer in answers} == {(ErrorCode.NOT_FOUND, str(answers[0]))}
        past = pb.PullRequest(message=MESSAGE, sha256=mine.sha256, offset=5)
        assert code_of(await pulled(channel, past)) is ErrorCode.NOT_FOUND
        assert await pulled(channel, pb.PullRequest(message=MESSAGE, sha256=mine.sha256, offset=1)) == b"ine"
        with refused(ErrorCode.NOT_FOUND, "foreign"):
            await stage.pull(foreign)
        assert stage.client.kept() == set()


@scenario
async def test_an_offer_does_not_tell_what_others_have_brought(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, by_hand(stage) as channel:
        theirs = await stage.server.has("theirs", b"theirs")
        intake = await stage.server.parcels.receive("b" * 52, digest(b"half of it"), 10, 0)
        await intake.write(b"half")
        await intake.close()
        assert await offered(channel, theirs.sha256, theirs.size) == pb.OfferResponse()
        assert await offered(channel, digest(b"half of it"), 10) == pb.OfferResponse()
        mine = await stage.client.has("mine", b"theirs")
        await stage.push(mine)
        assert stage.client.parcels.read_bytes == mine.size
        assert await offered(channel, theirs.sha256, theirs.size) == pb.OfferResponse(offset=6, complete=True)


@scenario
async def test_a_server_that_sends_other_or_more_bytes_gains_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        long, other = await stage.server.has("long", b"longer than said"), await stage.server.has("other", b"other")
        said = replace(long, sha256=digest(b"long"), size=4)
        (stage.server.home / "files" / said.sha256).write_bytes(b"longer than said")
        stage.ground.files[stage.client.who.id, MESSAGE, said.sha256] = replace(said, size=16)
        with refused(ErrorCode.INVALID_ARGUMENT, "More came"):
            await stage.pull(said)
        wrong = replace(other, sha256=digest(b"wrong"))
        (stage.server.home / "files" / wrong.sha256).write_bytes(b"other")
        stage.sent_by_server(wrong)
        with refused(ErrorCode.TAMPERED):
            await stage.pull(wrong)
        assert stage.client.kept() == set()
        assert all(path.stat().st_size <= 4 for path in stage.client.home.glob("parcels/*/*"))


# --- how much a peer may leave here ----------------------------------------------------------------------------------


@scenario
async def test_a_peer_has_so_many_parts_and_bytes_and_its_oldest_make_way(tmp_path: Path) -> None:
    few = replace(LIMITS, parcels_per_peer=2, parcel_messages=2, message_bytes=10)
    async with staged(tmp_path, server_limits=few) as stage:
        parcels, me = stage.server.parcels, stage.client.who.id
        busy = [await parcels.receive(me, letter * 64, 8, 0) for letter in "ab"]
        with refused(ErrorCode.LIMIT, "parcels_per_peer"):
            await parcels.receive(me, "c" * 64, 1, 0)
        other = await parcels.receive("b" * 52, "c" * 64, 1, 0)
        await other.close()
        await busy[0].close()
        third = await parcels.receive(me, "c" * 64, 1, 0)
        await third.close()
        mine = stage.server.home / "parcels" / me
        assert {path.name[0] for path in mine.iterdir()} == {"b", "c"}
        await busy[1].close()
        # Of bytes: 20 in all, and what is whole makes way after what is not.
        whole = await parcels.receive(me, digest(b"0123456789"), 10, 0)
        await whole.write(b"0123456789")
        await whole.finish()
        assert {path.suffix for path in mine.iterdir()} == {".part", ".kept"}
        last = await parcels.receive(me, digest(b"9876543210"), 10, 0)
        await last.write(b"9876543210")
        await last.finish()
        assert sorted(path.name[65:] for path in mine.iterdir()) == ["10.kept", "10.kept"]
        await (await parcels.receive(me, "d" * 64, 2, 0)).close()
        assert sorted(path.name[65:] for path in mine.iterdir()) == ["10.kept", "2.part"]
