"""The server's end of a mirror: takes what a client forwards, and keeps what is to be pulled by it.

A client may touch only exchanges that it opened itself, whatever it claims of its sessions; each of its texts passes
this node's screen, whatever its own has said.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from node.changes import Changes
from node.core import relay
from node.core.canonical import MAX_INT
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant, Peer
from node.core.model import (
    AWAITS_APPROVAL,
    REFUSED_BY_PERSON,
    Address,
    End,
    Message,
    MessageKind,
    SessionStatus,
    Status,
)
from node.core.policy import clean_nickname
from node.core.refusal_gate import RefusalGate
from node.core.relay import Forward, ForwardResult, Incoming, Item, News, Origin, Outcome, RemoteSession
from node.core.row_codes import RowDecision, RowReason
from node.core.timeline import Party
from node.core.transfer import Attachment, check_attachments
from node.core.verdict import Field
from node.ledger import Ledger
from node.ports import Bells, Broker, Reader, Screener, Store, Tx
from node.ports_files import Claims
from node.ports_mesh import Pins

_MINUTE_US: Final = 60_000_000
_TITLE_CHARS: Final = 60
# Refusals that another try may not get.
_MAY_PASS: Final = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.AUDIT_UNAVAILABLE, ErrorCode.SCANNER_UNAVAILABLE})

# Refusals of content of which another try comes to nothing else.
_FOR_GOOD: Final = frozenset({ErrorCode.TAMPERED, ErrorCode.LIMIT})


class Ingress:
    """Implements ports_relay.Ingress and ports_files.FileGround; to be told of every commit."""

    def __init__(
        self,
        *,
        store: Store,
        broker: Broker,
        screener: Screener,
        trust: Pins,
        ledger: Ledger,
        bells: Bells,
        limits: Limits,
        claims: Claims,
    ) -> None:
        self._claims = claims
        self._store = store
        self._broker = broker
        self._screener = screener
        self._trust = trust
        self._ledger = ledger
        self._bells = bells
        self._limits = limits
        self._queued = Changes()
        self._taken: dict[str, deque[tuple[int, int]]] = {}
        self._gate = RefusalGate(limits.refusal_rows_per_minute)

    def committed(self) -> None:
        """Something may wait for another node."""
        self._queued.happened()

    async def next_queued(self, seen: int) -> int:
        """Waits until something may have been queued since `seen`."""
        return await self._queued.after(seen)

    # --- in ----------------------------------------------------------------------------------------------------------

    async def take(self, peer: Peer, forwards: Sequence[Forward]) -> tuple[ForwardResult, ...]:
        """What became of each, in order, on disk when this returns. Exchanges go side by side, each in its order."""
        chains: dict[str, list[Forward]] = {}
        for forward in forwards:
            chains.setdefault(forward.exchange, []).append(forward)
        async with asyncio.TaskGroup() as group:
            work = [group.create_task(self._take_in_order(peer, chain)) for chain in chains.values()]
        results = {result.number: result for done in work for result in done.result()}
        return tuple(results[forward.number] for forward in forwards)

    async def _take_in_order(self, peer: Peer, forwards: Sequence[Forward]) -> list[ForwardResult]:
        results: list[ForwardResult] = []
        for forward in forwards:
            if any(result.outcome is Outcome.LATER for result in results):
                # Nothing overtakes what is to come again.
                results.append(_result(forward, Outcome.LATER))
                continue
            results.append(await self._take(peer, forward))
        return results

    async def _take(self, peer: Peer, forward: Forward) -> ForwardResult:
        actor = Address(node=peer.id, session=forward.session)
        if self._too_many(peer.id):
            return _result(forward, Outcome.LATER)
        try:
            self._check_granted(peer)
            command = relay.command_of(forward)
            check_attachments(forward.files)
            if forward.files and await self._claims.missing(peer.id, forward.files):
                return _result(forward, Outcome.LATER)._replace(code=relay.FILES)
            receipt = await self._broker.handle(
                actor,
                command,
                key=f"mirror/{peer.id}/{forward.message}",
                exchange_id=forward.exchange,
                files=forward.files,
                origin=await self._origin(peer, forward),
            )
        except MeshError as refused:
            if (refused.code in _MAY_PASS and "session" not in refused.details) or refused.details.get("passes"):
                return _result(forward, Outcome.LATER)
            try:
                await self._broker.note_refusal(actor, forward.kind.value, refused.code)
            except MeshError:
                # What cannot be written now is not decided now either.
                return _result(forward, Outcome.LATER)
            return _result(forward, Outcome.REFUSED)._replace(
                code=refused.code.value,
                words=refused.message,
                status=await self._store.read(lambda reader: _status(reader, actor, forward.exchange)),
            )
        if forward.files:
            await self._claims.claim(peer.id, forward.files)
        message = receipt.message
        outcome = Outcome.WITHHELD if message.withheld else Outcome.RELAYED
        return _result(forward, outcome)._replace(
            code=AWAITS_APPROVAL if message.awaits_approval else "",
            words=_why(message) if message.withheld else "",
            status=receipt.exchange.status,
        )

    async def _origin(self, peer: Peer, forward: Forward) -> Origin:
        if forward.kind is not MessageKind.REQUEST:
            return Origin(message=forward.message)
        return Origin(
            message=forward.message,
            chain=forward.chain,
            hops=await self._hops(peer, forward),
            nickname=await self._nickname(forward),
        )

    def _check_granted(self, peer: Peer) -> None:
        known = self._trust.pinned(peer.spki)
        if known is None or Grant.REQUEST not in known.given:
            raise MeshError(
                ErrorCode.REACH,
                "This node does not let yours ask its sessions. Its person can: "
                f"`helio peers grant {peer.id[:12]} request`.",
                {"grant": Grant.REQUEST.value},
            )

    def _too_many(self, peer: str) -> bool:
        """Whether this peer has forwarded all that it may in a minute; else it is counted."""
        now = self._ledger.now_us()
        recent = self._taken.setdefault(peer, deque())
        while recent and recent[0][0] + _MINUTE_US < now:
            recent.popleft()
        # By the second: a count for each forward would be many.
        second = now // 1_000_000 * 1_000_000
        if sum(count for _, count in recent) >= self._limits.forwards_per_minute:
            return True
        count = recent.pop()[1] if recent and recent[-1][0] == second else 0
        recent.append((second, count + 1))
        return False

    async def _nickname(self, forward: Forward) -> str:
        """How the client calls the session that asks, if that is a name and the screen lets it pass."""
        try:
            nickname = clean_nickname(forward.nickname) if forward.nickname else ""
        except MeshError:
            return ""
        return nickname if nickname and await self._passes("nickname", nickname) else ""

    async def _passes(self, name: str, text: str) -> bool:
        verdict = await self._screener.screen((Field(name=name, text=text),))
        return not verdict.stops

    async def _hops(self, peer: Peer, forward: Forward) -> tuple[str, ...]:
        # Words of another node in a list that models read: as names that the screen lets pass, or not at all.
        named = [hop if _is_name(hop) else "somebody" for hop in forward.hops[:-1]]
        if named and not await self._passes("hops", " ".join(named)):
            named = ["somebody"] * len(named)
        return tuple(f"{hop}@{peer.name}" if "@" not in hop[1:] else hop for hop in named[: self._limits.hops + 1])

    # --- back --------------------------------------------------------------------------------------------------------

    async def news(self, peer: str, after: int, exchanges: Collection[str]) -> News:
        """What happened in the client's exchanges since, in order, as much as goes into one frame.

        And how those exchanges stand at that moment.
        """
        return await self._store.read(
            lambda reader: News(items=self._items(reader, peer, after), standing=reader.standing(exchanges))
        )

    def _items(self, reader: Reader, peer: str, after: int) -> tuple[Item, ...]:
        found: list[Item] = []
        size = 0
        for queued in reader.queued(peer, after, self._limits.relay_batch, forward=False):
            message, exchange = reader.message(queued.message), reader.exchange(queued.exchange)
            if message is None or exchange is None:
                continue
            size += relay.size_of(message, exchange)
            if found and size > self._limits.relay_bytes:
                break
            found.append(relay.item_of(queued, message, exchange))
        return tuple(found)

    async def held(self, items: Sequence[Item]) -> None:
        """The client holds these."""

        def work(tx: Tx) -> tuple[Address, ...]:
            tx.crossed([item.number for item in items])
            told: list[Address] = []
            for item in items:
                message = tx.message(item.what.message) if isinstance(item.what, Incoming) else None
                if message is not None and message.ladder.landed_us is None:
                    exchange = tx.exchange_with(message)
                    tx.set_ladder(message.id, replace(message.ladder, landed_us=self._ledger.now_us(), held=None))
                    self._ledger.outcome(tx, exchange, message, RowDecision.LANDED)
                    told.append(exchange.worker)
            return tuple(told)

        await self._store.write(work, self._bells.ring)

    async def directory(self) -> tuple[RemoteSession, ...]:
        """Whom a mirror may ask: every session that is not put away."""
        sessions = await self._store.read(lambda reader: reader.sessions())
        return tuple(
            RemoteSession(
                node=self._ledger.node,
                id=session.id,
                nickname=session.nickname or "",
                title=session.title[:_TITLE_CHARS],
                profile=session.profile,
                status=session.status,
                askable=session.status is SessionStatus.RUNNING
                or (session.status is SessionStatus.ENDED and session.profile in self._ledger.resumable),
            )
            for session in sessions[: self._limits.directory_sessions]
        )

    # --- files -------------------------------------------------------------------------------------------------------

    def may_request(self, peer: str) -> bool:
        """Whether that peer may ask, and so bring files. Implements ports_files.FileGround."""
        return any(one.id == peer and Grant.REQUEST in one.given for one in self._trust.peers())

    async def came(self, peer: str, content: Attachment, refused: ErrorCode | None = None) -> None:
        """A row for content that lies in the quarantine, or that would not be taken; the latter are limited in rate."""
        if refused is not None:
            if refused not in _FOR_GOOD or not self._gate.take(refused, self._ledger.now_us()):
                return
            # As large as it says it is, and a row can say.
            content = replace(content, size=min(content.size, MAX_INT))
        decision = RowDecision.QUARANTINED if refused is None else RowDecision.REFUSED
        reason = RowReason(refused) if refused is not None else None
        src, dst = Party(node=peer), Party(node=self._ledger.node)
        await self._store.write(
            lambda tx: self._ledger.file_row(tx, decision, (content,), reason=reason, src=src, dst=dst)
        )

    async def may_pull(self, peer: str, message: str, sha256: str) -> Attachment | None:
        """The file of a message to that peer, in an exchange that it opened; None for any other."""

        def work(reader: Reader) -> Attachment | None:
            found = reader.message(message)
            exchange = reader.exchange(found.exchange) if found is not None else None
            if found is None or exchange is None or exchange.opener.node != peer or found.withheld:
                return None
            if found.recipient is not End.OPENER:
                return None
            return next((file for file in found.files if file.sha256 == sha256), None)

        return await self._store.read(work)


def _result(forward: Forward, outcome: Outcome) -> ForwardResult:
    return ForwardResult(number=forward.number, message=forward.message, outcome=outcome)


def _why(message: Message) -> str:
    """Why nobody reads it, for its sender; of one that comes again a person may have said no meanwhile."""
    return "The person there refused it." if message.ladder.held == REFUSED_BY_PERSON else message.advice


def _status(reader: Reader, actor: Address, exchange_id: str) -> Status | None:
    exchange = reader.exchange(exchange_id)
    return exchange.status if exchange is not None and exchange.opener == actor else None


def _is_name(hop: str) -> bool:
    parts = hop.removeprefix("@").split("@")
    try:
        return len(parts) <= 2 and all(clean_nickname(part) for part in parts)
    except MeshError:
        return False
