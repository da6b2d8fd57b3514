"""What rows say of files: what each came to, how large it is and a commitment to it, and never its name."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from node.core.commands import Request
from node.core.errors import ErrorCode
from node.core.limits import Limits
from node.core.model import MessageKind, Status
from node.core.relay import Incoming
from node.core.timeline import commitment
from node.core.transfer import Attachment
from tests.integration.mesh import (
    refused,
    scenario,
)
from tests.integration.test_relay_ends import incoming, told
from tests.integration.test_rows import Row, beside, part
from tests.integration.workshop import Workshop, workshop
from tests.tunnel_lab import QUICK, mirrored
from tests.waiting import until


async def file_rows(at: Workshop) -> list[Row]:
    return await at.mesh.rows(engine="file")


@scenario
async def test_what_files_came_to_stands_in_rows_without_their_names(tmp_path: Path) -> None:
    limits = Limits(message_bytes=1_000, spare_bytes=1, refusal_rows_per_minute=2)
    async with workshop(tmp_path, limits=limits) as at:
        (tmp_path / "a").mkdir()
        alice = await at.seat("alice", tmp_path / "a")
        await at.seat("bob", tmp_path)
        (tmp_path / "a" / "peculiar.txt").write_text("hello")
        (tmp_path / "a" / "large.bin").write_bytes(b"x" * 1_001)
        with refused(ErrorCode.LIMIT):
            await alice.send(Request(to="@bob", text="See it.", files=("large.bin",)))
        (row,) = await file_rows(at)
        assert (row["row"], row["decision"], row["reason"]) == ("policy", "refused", "limit")
        assert part(row, "extra") == {"limit": 1_000, "name": "message_bytes", "size": 1_001}
        assert part(row, "from")["session"] == alice.session.id
        receipt = await alice.send(Request(to="@bob", text="See it.", files=("peculiar.txt",)))
        await at.attachments.land_due()
        (_, row) = await file_rows(at)
        content, texts = part(row, "content"), await beside(at.mesh, row)
        sha256 = hashlib.sha256(b"hello").hexdigest()
        assert (row["row"], row["decision"], row["msg"]) == ("outcome", "landed", receipt.message.id)
        assert content["files"] == [[commitment(bytes.fromhex(texts["seal"]), sha256), 5]]
        assert part(row, "scan")["status"] == "clean"
        (message,) = await at.mesh.rows(message=receipt.message.id, decision="relayed")
        assert part(message, "content")["files"] != content["files"]
        everything = b"".join([one.data for one in await at.mesh.store.read(lambda reader: reader.rows(0, 1_000))])
        assert b"peculiar" not in everything
        assert sha256.encode() not in everything
        for _ in range(5):
            with refused(ErrorCode.NOT_FOUND):
                await alice.send(Request(to="@bob", text="See it.", files=("missing",)))
        # So many a minute, as of any refusal.
        assert len([one for one in await file_rows(at) if one["decision"] == "refused"]) == 2


@scenario
async def test_content_of_a_peer_has_a_row_when_it_is_kept_and_when_it_is_refused_for_good(tmp_path: Path) -> None:
    sha256, huge = "ab" * 32, 2**63
    async with mirrored(tmp_path, limits=replace(QUICK, refusal_rows_per_minute=2)) as (laptop, studio, _web, _api):
        content = Attachment(name="", sha256=sha256, size=5, folder=False, entries=0)
        await studio.ingress.came(laptop.id, content)
        for code in (ErrorCode.TAMPERED, ErrorCode.UNAVAILABLE, ErrorCode.WRONG_STATE, *[ErrorCode.LIMIT] * 3):
            await studio.ingress.came(laptop.id, replace(content, size=huge), code)
        rows = await studio.mesh.rows(engine="file")
        assert [(row["decision"], row.get("reason")) for row in rows] == [
            ("quarantined", None), ("refused", "tampered"), ("refused", "limit"),
        ]  # fmt: skip
        assert all((row["from"], row["to"]) == ({"node": laptop.id}, {"node": studio.id}) for row in rows)
        texts = await beside(studio.mesh, rows[0])
        assert part(rows[0], "content")["files"] == [[commitment(bytes.fromhex(texts["seal"]), sha256), 5]]


@scenario
async def test_files_that_cross_a_mirror_have_rows_at_the_end_that_moves_them(tmp_path: Path) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        far = await web.request("@api", "Which file?")
        await told(api, "Which file?")
        one = Attachment(name="peculiar.txt", sha256="cd" * 32, size=7, folder=False, entries=0)
        item = incoming(far.exchange.id, kind=MessageKind.REPORT, status=Status.WORKING, files=(one,))
        await laptop.egress.take(studio.id, (item,))
        assert isinstance(item.what, Incoming)

        async def fetched() -> list[Row]:
            return await laptop.mesh.rows(engine="file", message=item.what.message)  # type: ignore[union-attr]

        (row,) = await until(fetched, "the row")
        assert (row["row"], row["decision"]) == ("outcome", "fetched")
        assert part(row, "from")["node"] == studio.id
        assert part(row, "content")["files"][0][1] == 7  # type: ignore[index]


@scenario
async def test_a_file_whose_name_reads_like_a_credential_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    name = "gh" + "p_R7kQ2mZp9LxW4tVn8YbC3sHd6JfG1aEu0oXi.txt"
    async with workshop(tmp_path) as at:
        (tmp_path / "a").mkdir()
        alice = await at.seat("alice", tmp_path / "a")
        await at.seat("bob", tmp_path)
        (tmp_path / name).write_text("x")
        (tmp_path / "a" / "link").symlink_to(tmp_path / name)
        for path in (str(tmp_path / name), "link"):
            with refused(ErrorCode.WITHHELD, "path of file 1", "reads like a credential"):
                await alice.send(Request(to="@bob", text="See it.", files=(path,)))
        assert await at.approvals.listed(pending=True) == ()
        assert {(row["decision"], row["reason"]) for row in await file_rows(at)} == {("refused", "withheld")}
