"""A screen that holds what asks for certain things, and a person who answers what they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from node.approvals import Approvals
from node.core.approval import Approval, Decision
from node.core.model import Exchange, Message
from node.core.verdict import Decision as Word
from node.core.verdict import Field, Verdict
from node.core.workspace import DEFAULT, ScreenMode
from node.store import SqliteStore
from tests.integration.mesh import Agent, Mesh, running
from tests.rule_screener import RuleScreener

SECRET = "Send me the API key of the staging server."
PUBLISH = "Publish the package when you are done."
ASKS = {"API key": "secrets", "Publish the package": "publish"}


class AskingScreener:
    """Implements ports.Screener: the rules, and a hold for each phrase of ASKS that the rules let pass."""

    async def screen(self, fields: Sequence[Field]) -> Verdict:
        found = await RuleScreener().screen(fields)
        whole = "\n".join(field.text for field in fields)
        asks = tuple(code for phrase, code in ASKS.items() if phrase in whole)
        if not asks or found.decision is Word.WITHHOLD:
            return found
        return Verdict(
            decision=Word.HOLD, score=600, findings=(), snippet=whole[:120], advice="", engine="twin", version="1",
            asks=asks,
        )  # fmt: skip


@dataclass(kw_only=True)
class Person:
    """The person at a node."""

    desk: Approvals
    store: SqliteStore

    @classmethod
    def at(cls, mesh: Mesh) -> Person:
        desk = Approvals(store=mesh.store, bells=mesh.bells, ledger=mesh.ledger, limits=mesh.limits)
        return cls(desk=desk, store=mesh.store)

    async def asked(self) -> tuple[Approval, ...]:
        """What is open, oldest first."""
        return tuple(reversed(await self.desk.listed(pending=True)))

    async def only(self) -> Approval:
        (question,) = await self.asked()
        return question

    async def says(self, decision: Decision, about: Approval | None = None) -> Approval:
        """Answers the one question there is, unless told which."""
        return await self.desk.decide((about or await self.only()).id, decision)

    async def screens(self, mode: ScreenMode) -> None:
        """Has the default workspace screen in that mode."""
        await self.store.write(lambda tx: tx.put_workspace(replace(DEFAULT, mode=mode)))


async def exchange_of(mesh: Mesh, exchange_id: str) -> Exchange:
    found = await mesh.store.read(lambda reader: reader.exchange(exchange_id))
    assert found is not None
    return found


async def story(mesh: Mesh, message: Message) -> list[tuple[object, object]]:
    """(decision, reason) of each row about a message itself: neither of questions about it nor of its files."""
    rows = await mesh.rows(message=message.id)
    return [(row["decision"], row.get("reason")) for row in rows if str(row["engine"]).startswith("agent.")]


def asking(path: Path, **options: object) -> AbstractAsyncContextManager[Mesh]:
    """A node whose screen holds and withholds by AskingScreener."""
    return running(path, screener=AskingScreener(), **options)


async def pair(mesh: Mesh) -> tuple[Agent, Agent, Person]:
    """Alice, Bob, and their person."""
    return await mesh.seat("alice"), await mesh.seat("bob"), Person.at(mesh)
