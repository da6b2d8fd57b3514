"""What agents and people may do, each door's one way in: calls that repeat, block, and refuse to wait in circles."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from node.core import policy, workspace
from node.core.commands import Arrival, Ask, Command, Delegate, Peer, Receipt, Request, files_of, tool_of
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.limits import Limits
from node.core.model import (
    OPENING_HELD,
    Address,
    AgentState,
    Author,
    Blocked,
    Conversation,
    Exchange,
    Message,
    Session,
    SessionStatus,
)
from node.core.relay import RemoteSession
from node.core.secret_names import hashed
from node.labels import host_of, label_of
from node.ledger import Ledger, recall
from node.openings import Openings, mirrored_hosts, note_on_far
from node.ports import Broker, Call, CallRecord, Inbox, Reader, Store, Tx, Waits
from node.ports_work import Planner, Stager

_QUOTE_CHARS = 300
_SECOND_US = 1_000_000


class Exchanges:
    """Implements ports.Agents and ports.People."""

    def __init__(
        self,
        *,
        store: Store,
        broker: Broker,
        inbox: Inbox,
        waits: Waits,
        stager: Stager,
        planner: Planner,
        ledger: Ledger,
        limits: Limits,
    ) -> None:
        self._store = store
        self._broker = broker
        self._inbox = inbox
        self._waits = waits
        self._stager = stager
        self._planner = planner
        self._ledger = ledger
        self._limits = limits
        self._person = Address(node=ledger.node, session=None)
        # Calls of this run of the node, kept until those of earlier runs are given back.
        self._seen: set[str] | None = set()

    # What an agent does.

    async def send(self, call: Call, command: Command, wait_seconds: int | None) -> tuple[Receipt, Arrival | None]:
        """Hands in a command once, however often its client repeats it; `request` and `ask` then wait."""
        try:
            seconds = self._limits.wait_seconds(wait_seconds) if isinstance(command, Request | Ask) else 0
            key, known = await self._begin(call)
            if known is not None:
                receipt = await self._store.read(lambda reader: recall(reader, known))
                return receipt, await self._wait_for_reply(call, receipt, seconds)
            if isinstance(command, Request):
                return await self._request(call, command, key, seconds)
            receipt = await self._hand_in(call.actor, command, key, self._ledger.new_id())
            return receipt, await self._wait_for_reply(call, receipt, seconds)
        except MeshError as refused:
            await self._broker.note_refusal(call.actor, tool_of(command), refused.code)
            raise

    async def _hand_in(self, actor: Address, command: Command, key: str, exchange_id: str) -> Receipt:
        """Plans what is to be started, makes files safe, and gives the command to the broker."""
        plan = None
        if isinstance(command, Delegate):
            plan = await self._planner.plan(actor, command, self._ledger.new_id())
        files = await self._stager.stage(actor, files_of(command))
        try:
            return await self._broker.handle(actor, command, key=key, exchange_id=exchange_id, files=files, plan=plan)
        finally:
            self._stager.release(files)

    async def _begin(self, call: Call) -> tuple[str, tuple[str, str] | None]:
        """The key of the command that `call` stands for, and what that command came to if it was done before."""
        self._see(call.id)

        def work(tx: Tx) -> tuple[str, tuple[str, str] | None]:
            now = self._ledger.now_us()
            before = _known(tx, call) or tx.repeated_call(
                call.actor.session or "", call.digest, now - self._limits.repeat_window_s * _SECOND_US
            )
            key = before.key if before else _key(tx, call)
            tx.open_call(_record(call, key, now))
            return key, tx.command(key)

        return await self._store.write(work)

    async def _request(self, call: Call, command: Request, key: str, seconds: int) -> tuple[Receipt, Arrival | None]:
        openings = Openings(ledger=self._ledger, limits=self._limits)
        target = await self._store.read(lambda reader: openings.target(reader, command, call.actor))
        blocked = Blocked(who=call.actor, on=target, exchange=self._ledger.new_id())
        cycle = self._waits.cycle(blocked) if seconds else ()
        if cycle:
            raise await self._store.read(lambda reader: _would_never_end(reader, blocked, cycle))
        with self._waits.blocking(blocked) if seconds else nullcontext():
            receipt = await self._hand_in(call.actor, command, key, blocked.exchange)
            # A person may take their time: the caller is told now that they are asked.
            if receipt.message.unheard or not seconds:
                return receipt, None
            arrival = await self._inbox.wait(call.actor, call.id, receipt.exchange.id, seconds)
        return await self._fresh(receipt), arrival

    async def _wait_for_reply(self, call: Call, receipt: Receipt, seconds: int) -> Arrival | None:
        end = receipt.exchange.end_of(call.actor)
        if not seconds or receipt.message.unheard or receipt.exchange.status.closed or end is None:
            return None
        blocked = Blocked(who=call.actor, on=receipt.exchange.address(end.other), exchange=receipt.exchange.id)
        return await self._block(call, blocked, seconds, under_way=receipt.message.ladder.read_us is None)

    async def _block(self, call: Call, blocked: Blocked, seconds: int, *, under_way: bool) -> Arrival:
        # Whoever waits in this very exchange is about to leave if a message of this side is on its way there.
        cycle = self._waits.cycle(blocked, released=blocked.exchange if under_way else None)
        if cycle:
            labels = await self._store.read(lambda reader: _labels(reader, blocked, cycle))
            return Arrival(cycle=labels)
        with self._waits.blocking(blocked):
            return await self._inbox.wait(call.actor, call.id, blocked.exchange, seconds)

    async def _fresh(self, receipt: Receipt) -> Receipt:
        """The receipt with the exchange and ladder as they are after a wait."""
        now = await self._store.read(lambda reader: recall(reader, (receipt.exchange.id, receipt.message.id)))
        return replace(now, repeated=receipt.repeated)

    async def read_inbox(self, call: Call, exchange: str | None) -> Arrival:
        """What is unread, at once."""
        await self._remember(call)
        return await self._inbox.take(call.actor, call.id, exchange)

    async def wait(self, call: Call, exchange: str | None, wait_seconds: int | None) -> Arrival:
        """What arrives, of one exchange or of any."""
        seconds = self._limits.wait_seconds(wait_seconds)
        await self._remember(call)
        if exchange is None:
            return await self._inbox.wait(call.actor, call.id, None, seconds)
        found = await self._store.read(lambda reader: _mine(reader, call.actor, exchange, "wait"))
        arrival = await self._inbox.take(call.actor, call.id, found.id)
        if arrival.taken or not seconds:
            return arrival
        on = found.opener if found.worker == call.actor else found.worker
        under_way = await self._store.read(lambda reader: _under_way(reader, found, call.actor))
        blocked = Blocked(who=call.actor, on=on, exchange=found.id)
        return await self._block(call, blocked, seconds, under_way=under_way)

    async def _remember(self, call: Call) -> None:
        self._see(call.id)

        def work(tx: Tx) -> None:
            _known(tx, call)
            tx.open_call(_record(call, call.id, self._ledger.now_us()))

        await self._store.write(work)

    def _see(self, call_id: str) -> None:
        if self._seen is not None:
            self._seen.add(call_id)

    async def peers(self, call: Call) -> tuple[Peer, ...]:
        """Sessions of this node that the caller may ask or is in an exchange with; its own is marked."""

        def work(reader: Reader) -> tuple[Peer, ...]:
            mine = reader.exchanges_of(call.actor, closed=False)
            sessions = reader.sessions()
            reach = workspace.ids_in_reach(call.actor.session, sessions, reader.workspaces())
            far = self._mirrored(reader, call.actor, mine)
            peers = (
                Peer(
                    session=session,
                    me=session.id == call.actor.session,
                    open_with_me=sum(session.id in {e.opener.session, e.worker.session} for e in mine),
                    note=self._note_on(session),
                )
                for session in sessions
            )
            return (*(p for p in peers if p.me or p.open_with_me or p.session.id in reach), *far)

        return await self._store.read(work)

    def _mirrored(self, reader: Reader, actor: Address, mine: Sequence[Exchange]) -> tuple[Peer, ...]:
        """Sessions of mirrored nodes that may be asked, and others that an exchange is open with."""
        hosts = mirrored_hosts(reader)
        here = reader.session(actor.session or "")
        known = reader.workspaces()
        allowed = here is None or workspace.find(here.workspace, known).mirrors_in_reach
        return tuple(
            Peer(
                session=_as_session(remote),
                me=False,
                open_with_me=count,
                note=note_on_far(remote, reader.peer(remote.node)),
                host=host_of(reader, remote.node),
            )
            for remote in reader.remote_sessions()
            if (count := sum(remote.id in {e.opener.session, e.worker.session} for e in mine))
            or (allowed and remote.node in hosts and remote.status is not SessionStatus.ARCHIVED)
        )

    def _note_on(self, session: Session) -> str:
        match session.status:
            case SessionStatus.RUNNING:
                return ""
            case SessionStatus.STARTING:
                return "its agent is being started"
            case _ if session.profile in self._ledger.resumable:
                return "its agent ended; a request starts it again"
            case _:
                return "its agent ended; it cannot be asked"

    async def exchanges(self, call: Call, exchange: str | None, *, closed: bool) -> tuple[Conversation, ...]:
        """The caller's exchanges with the messages that it may see; all of them when one exchange is named."""

        def work(reader: Reader) -> tuple[Conversation, ...]:
            if exchange is not None:
                chosen: tuple[Exchange, ...] = (_mine(reader, call.actor, exchange, "list_delegations"),)
            else:
                chosen = reader.exchanges_of(call.actor, closed=closed)
            return tuple(
                Conversation(
                    exchange=e,
                    messages=tuple(
                        m for m in reader.messages(e.id) if _visible(e, m, call.actor, whole=exchange is not None)
                    ),
                )
                for e in chosen
            )

        return await self._store.read(work)

    async def settle(self, call_id: str) -> None:
        """The client has the answer of that call."""
        self._see(call_id)
        if await self._store.read(lambda reader: reader.call(call_id)) is not None:
            await self._inbox.settle(call_id)

    async def give_back(self, call_id: str) -> None:
        """The client gave the call up."""
        self._see(call_id)
        # Asked on the writer: the call's own first write may still be on its way there.
        await self._inbox.give_back(call_id)

    async def reap(self) -> int:
        """Gives back what calls of earlier runs of the node took and nobody came back for; how many. Once a run."""
        if self._seen is None:
            return 0
        seen, self._seen = self._seen, None
        left = [c for c in await self._store.read(lambda reader: reader.open_calls()) if c.id not in seen]
        for record in left:
            await self._inbox.give_back(record.id)
        return len(left)

    # What the person does.

    async def send_as_person(self, command: Command, key: str) -> Receipt:
        """Hands in a command of the person."""
        try:
            return await self._hand_in(self._person, command, f"person/{hashed(key)}", self._ledger.new_id())
        except MeshError as refused:
            await self._broker.note_refusal(self._person, tool_of(command), refused.code)
            raise

    async def wait_as_person(self, exchange: str, seconds: int) -> tuple[Exchange, Arrival]:
        """What arrives for the person in an exchange of theirs; it counts as read."""
        found = await self._store.read(lambda reader: _mine(reader, self._person, exchange, "wait"))
        call = f"person/{self._ledger.new_id()}"
        # On record like an agent's call: what it holds when the node dies is given back at the next start.
        await self._remember(Call(id=call, actor=self._person, digest=""))
        arrival = Arrival()
        try:
            arrival = await self._inbox.wait(self._person, call, found.id, self._limits.wait_seconds(seconds))
        finally:
            # Read or not, nothing stays leased to a call that nobody will settle.
            await (self._inbox.settle(call) if arrival.taken else self._inbox.give_back(call))
        now = await self._store.read(lambda reader: reader.exchange(found.id))
        return now or found, arrival


class People:
    """Implements ports.People: the person's side of `Exchanges`."""

    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges

    async def send(self, command: Command, key: str) -> Receipt:
        """Hands in a command of the person."""
        return await self._exchanges.send_as_person(command, key)

    async def wait(self, exchange: str, seconds: int) -> tuple[Exchange, Arrival]:
        """What arrives for the person."""
        return await self._exchanges.wait_as_person(exchange, seconds)


def _as_session(remote: RemoteSession) -> Session:
    """A session of another node, of which no more is known than what that node tells."""
    return Session(
        id=remote.id,
        nickname=remote.nickname or None,
        title=remote.title,
        workspace="",
        profile=remote.profile,
        argv=(),
        cwd="",
        pane=None,
        status=remote.status,
        state=AgentState.UNKNOWN,
        created_us=0,
        changed_us=0,
    )


def _record(call: Call, key: str, now_us: int) -> CallRecord:
    return CallRecord(
        id=call.id, session=call.actor.session or "", digest=call.digest, key=key, state="running", created_us=now_us
    )


def _key(tx: Tx, call: Call) -> str:
    """The key of the command of a new call. Of a name whose first text was withheld, another wording is a new one."""
    if not call.named:
        return call.id
    named = f"{call.actor.session}/{call.digest}"
    known = tx.command(named)
    first = tx.message(known[1]) if known else None
    return call.id if first is not None and first.withheld else named


def _mine(reader: Reader, actor: Address, wanted: str, tool: str) -> Exchange:
    return policy.resolve_exchange(wanted, reader.exchanges_of(actor, closed=True), actor, end=None, tool=tool)


def _visible(exchange: Exchange, message: Message, actor: Address, *, whole: bool) -> bool:
    """Own messages always; of the other side only what was read, and only when the exchange was asked for."""
    end = exchange.end_of(actor)
    own = end is message.sender and message.author not in {Author.NODE, Author.FAR_NODE}
    return own or (whole and end is message.recipient and not message.withheld and message.ladder.read_us is not None)


def _known(tx: Tx, call: Call) -> CallRecord | None:
    """The record of a call that came before under the same id; INVALID_ARGUMENT when another session made it."""
    record = tx.call(call.id)
    if record is not None and record.session != (call.actor.session or ""):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "A call of that id was made by another session; make a new call.")
    return record


def _under_way(reader: Reader, exchange: Exchange, actor: Address) -> bool:
    """Whether a message of `actor` in that exchange has not been read by the other end yet."""
    return any(
        message.ladder.landed_us is not None and message.ladder.read_us is None
        for message in reader.messages(exchange.id)
        if exchange.address(message.recipient) != actor
    )


def _labels(reader: Reader, blocked: Blocked, cycle: tuple[Blocked, ...]) -> tuple[str, ...]:
    return tuple(
        label_of(reader, address, Author.SESSION)
        for address in (blocked.who, *(edge.who for edge in cycle), blocked.who)
    )


def _would_never_end(reader: Reader, blocked: Blocked, cycle: tuple[Blocked, ...]) -> MeshError:
    """The refusal of a request that would close a cycle, with the question that waits for the caller in it."""
    labels = " waits for ".join(_labels(reader, blocked, cycle))
    waiting = reader.exchange(cycle[-1].exchange)
    mine, quoted = "", {}
    if waiting is not None:
        newest = [
            m for m in reader.messages(waiting.id) if not m.unheard and waiting.address(m.recipient) == blocked.who
        ]
        text = newest[-1].text if newest else "" if waiting.reason == OPENING_HELD else waiting.title
        shown = text if len(text) <= _QUOTE_CHARS else text[: _QUOTE_CHARS - 1] + "…"
        asker = label_of(reader, cycle[-1].who, Author.SESSION)
        mine = f" {asker} is waiting for you in exchange {short(waiting.id)}. Ask or deliver there instead."
        # Beside the node's own words, not among them.
        quoted = {"from": asker, "text": shown}
    return MeshError(
        ErrorCode.CYCLE,
        f"This request would wait for ever: {labels}. Nothing was recorded.{mine}",
        {"exchange": cycle[-1].exchange, "cycle": _labels(reader, blocked, cycle), **quoted},
    )
