"""Secrets that another node plants in what it sends, field by field: this node keeps none, in whatever mode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from node.core.mesh import Peer
from node.core.model import Author, MessageKind, Status
from node.core.relay import Forward, ForwardResult, Incoming, Item, Outcome, RemoteSession
from node.core.transfer import Attachment
from node.core.workspace import DEFAULT, ScreenMode
from tests.integration.mesh import scenario
from tests.integration.test_relay_ends import outcome, peer_of, request, told
from tests.planted import Planter, leaks, stored
from tests.tunnel_lab import Mac, foreign_id, mirrored
from tests.waiting import until

MODES = pytest.mark.parametrize("mode", list(ScreenMode))


def file_named(name: str) -> Attachment:
    return Attachment(name=name, sha256="ab" * 32, size=5, folder=False, entries=0)


async def screens(mac: Mac, mode: ScreenMode) -> None:
    await mac.mesh.store.write(lambda tx: tx.put_workspace(replace(DEFAULT, mode=mode)))


async def taken(studio: Mac, peer: Peer, forward: Forward) -> None:
    """Handed in until it is decided."""

    async def decided() -> bool:
        return (await outcome(studio, peer, forward)).outcome is not Outcome.LATER

    await until(decided, "a decision")


async def stopped(mac: Mac) -> int:
    """How many messages the screen found something in, whatever became of them."""
    rows = [row for row in await mac.mesh.rows() if row["row"] == "message"]
    return sum(isinstance(scan := row.get("scan"), dict) and scan["status"] == "flagged" for row in rows)


async def kept_nothing(mac: Mac, secrets: Planter) -> None:
    """Neither on disk nor in the rows, the texts beside them among these."""
    found = await mac.mesh.store.read(lambda reader: reader.rows(0, 10_000))
    rows = b"\n".join(row.data + repr(row.side).encode() for row in found)
    places = stored(mac.folder) | {"rows": rows}
    assert {"node.db", "node.db-wal", "rows"} <= set(places)
    assert leaks(secrets, places) == {}


@MODES
@scenario
async def test_a_server_keeps_nothing_that_a_client_planted(tmp_path: Path, *, mode: ScreenMode) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        await screens(studio, mode)
        secrets, peer = Planter(), peer_of(studio, laptop)
        plant = secrets.token
        for changes in (
            {"text": f"Take {plant('text')}."},
            {"title": plant("title")},
            {"nickname": secrets.key("nickname")},
            {"hops": (f"@{secrets.key('hop')}", "@web")},
            {"files": (file_named(f"{plant('file name')}.txt"),)},
            {"to": plant("to")},
            {"chain": plant("chain")},
            {"reply_to": plant("reply")},
        ):
            await taken(studio, peer, request(api, **changes))
        # Not what the messages before say: it must have crossed before another one in its exchange is handed in.
        far = await web.request("@api", "Which path?")
        await told_last(api, "Which path?")
        opened = {"exchange": far.exchange.id, "session": web.session.id, "kind": MessageKind.STEER}
        await taken(studio, peer, request(api, **(opened | {"text": plant("steer")})))
        closes = {"kind": MessageKind.CANCEL, "text": plant("reason")}
        await taken(studio, peer, request(api, **(opened | closes)))
        # The first two, the steer and the cancel; of the others, what was planted was refused, or left out.
        assert await stopped(studio) == 4
        await kept_nothing(studio, secrets)


async def told_last(agent: object, text: str) -> None:
    async def there() -> bool:
        return text in list(await agent.unread())  # type: ignore[attr-defined]

    await until(there, f"the agent is told {text}")


@MODES
@scenario
async def test_a_client_keeps_nothing_that_a_server_planted(tmp_path: Path, *, mode: ScreenMode) -> None:
    async with mirrored(tmp_path) as (laptop, studio, web, api):
        await screens(laptop, mode)
        secrets = Planter()
        plant = secrets.token
        far = await web.request("@api", "Which port?")
        await told(api, "Which port?")
        kinds = (MessageKind.ASK, MessageKind.REPORT, MessageKind.NOTE, MessageKind.DELIVER)
        planted: list[dict[str, object]] = [{"kind": kind, "text": plant(f"text of {kind}")} for kind in kinds]
        planted += [
            {"title": plant("title")},
            {"files": (file_named(f"{plant('file name')}.txt"),)},
            {"reply_to": plant("reply")},
            {"author": Author.NODE, "text": plant("word of the node")},
            {"author": Author.PERSON, "text": plant("word of the person")},
        ]
        for changes in planted:
            given: dict[str, object] = {
                "message": foreign_id(), "exchange": far.exchange.id, "kind": MessageKind.DELIVER,
                "author": Author.SESSION, "text": "Done.", "status": Status.DELIVERED,
            }  # fmt: skip
            item = Item(number=9, what=Incoming(**(given | changes)))  # type: ignore[arg-type]
            await laptop.egress.take(studio.id, (item,))
        await studio.stop()
        late = await web.request("@api", "And the other one?")
        queued = await laptop.mesh.store.read(lambda reader: reader.queued_message(late.message.id))
        assert queued is not None
        refusal = ForwardResult(
            number=queued.number, message=late.message.id, outcome=Outcome.REFUSED, code=plant("code"),
            words=f"No, for {plant('words')}.",
        )  # fmt: skip
        await laptop.egress.settled(studio.id, (refusal,))
        await laptop.egress.directory(
            studio.id,
            tuple(
                replace(RemoteSession(node=studio.id, id=foreign_id(), nickname="fine", title="Fine"), **changes)
                for changes in (
                    {"nickname": secrets.key("nickname")}, {"title": plant("title of a session")},
                    {"profile": plant("profile")},
                )
            ),
        )  # fmt: skip
        assert await stopped(laptop) >= 5
        await kept_nothing(laptop, secrets)
