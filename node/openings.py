"""How an exchange is opened: what is checked, and the exchange as it begins. Called inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from node.core import policy, relay, workspace
from node.core.commands import Delegate, Request
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant, Peer
from node.core.model import (
    Address,
    AgentState,
    Author,
    Exchange,
    Kind,
    Session,
    SessionStatus,
    Status,
)
from node.core.relay import Origin, RemoteSession
from node.labels import host_of, label_of
from node.ledger import Ledger
from node.ports import Reader, Tx
from node.ports_work import LaunchPlan

_SHOWN_CHARS = 40


class Openings:
    """Opens requests and delegations for an actor."""

    def __init__(self, *, ledger: Ledger, limits: Limits) -> None:
        self._ledger = ledger
        self._limits = limits

    def request(
        self, tx: Tx, actor: Address, command: Request, exchange_id: str, origin: Origin | None = None
    ) -> Exchange:
        """A new request to a session that can be reached; REACH, LIMIT or NOT_FOUND otherwise.

        `origin` is where a request of another node comes from.
        """
        target = self.target(tx, command, actor)
        if origin is not None:
            self._check_far(tx, actor, exchange_id)
            _introduce(tx, actor, origin.nickname)
        title = command.title.strip() or policy.derive_title(command.text)
        return self._begin(tx, actor, Kind.REQUEST, exchange_id, target, title, origin)

    def target(self, reader: Reader, command: Request, actor: Address) -> Address:
        """Whom a request is for: a session of this node, else one of a mirrored node."""
        sessions = reader.sessions()
        here = _session_of(sessions, actor)
        known = reader.workspaces()
        far = None if self._ledger.is_far(actor) else self._far_target(reader, command, sessions)
        if far is not None:
            if here is not None:
                workspace.check_mirrors(workspace.find(here.workspace, known))
            if actor.is_person:
                raise MeshError(
                    ErrorCode.UNSUPPORTED,
                    f"{command.to[:_SHOWN_CHARS]} runs on another Mac, and a person's own request does not cross a "
                    "mirror. Have an agent of a session here ask it.",
                )
            return Address(node=far.node, session=far.id)
        in_reach = workspace.ids_in_reach(actor.session, sessions, known)
        target = policy.reachable(
            command.to, sessions, actor, resumable=self._ledger.resumable, in_reach=in_reach
        )  # fmt: skip
        if here is not None:
            workspace.check_reach(workspace.find(here.workspace, known), workspace.find(target.workspace, known))
        return Address(node=self._ledger.node, session=target.id)

    def _far_target(self, reader: Reader, command: Request, sessions: Sequence[Session]) -> RemoteSession | None:
        """The mirrored session that is meant, unless one of this node is; refused when it cannot be asked."""
        wanted, host = relay.split_name(command.to)
        hosts = mirrored_hosts(reader)
        if not host:
            try:
                policy.find_session(wanted, sessions)
            except MeshError as none:
                if none.code is not ErrorCode.NOT_FOUND:
                    raise
            else:
                return None
        found = relay.find_remote(command.to, reader.remote_sessions(), hosts)
        if found is None:
            if host:
                raise _unknown_there(reader, wanted, host)
            return None
        relay.check_askable(found, hosts[found.node])
        return found

    def _check_far(self, tx: Tx, actor: Address, exchange_id: str) -> None:
        if tx.exchange(exchange_id) is not None:
            raise MeshError(ErrorCode.ALREADY_EXISTS, "An exchange of that id was opened before. Nothing was recorded.")
        most = self._limits.open_exchanges_per_peer
        if tx.open_from(actor.node) >= most:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{most} exchanges that your node opened here are open, which is the limit. Close some first.",
                {"limit": most},
            )

    def delegation(
        self, tx: Tx, actor: Address, command: Delegate, exchange_id: str, plan: LaunchPlan
    ) -> tuple[Exchange, Session]:
        """A new delegation with its delegate's session, which is reserved and not started yet."""
        sessions = tx.sessions()
        delegator = _session_of(sessions, actor)
        # Those put away count too: a chain does not get shorter because somebody in it has been closed.
        depth = _depth(tx.sessions(archived=True), delegator)
        if depth >= self._limits.nesting:
            raise MeshError(
                ErrorCode.LIMIT,
                f"You are a delegate {depth} levels down; the limit is {self._limits.nesting}. Do this work yourself, "
                "or deliver what you have.",
                {"limit": self._limits.nesting, "depth": depth},
            )
        running = [s for s in sessions if s.status is not SessionStatus.ENDED]
        if len(running) >= self._limits.sessions:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{len(running)} sessions run already; the limit is {self._limits.sessions}. Close delegations first.",
                {"limit": self._limits.sessions},
            )
        if delegator is not None:
            known = tx.workspaces()
            workspace.check_reach(workspace.find(delegator.workspace, known), workspace.find(plan.workspace, known))
        nickname = None
        if command.nickname:
            nickname = policy.choose_nickname(command.nickname, sessions, for_session=None).nickname
        title = command.title.strip() or policy.derive_title(command.brief)
        now = self._ledger.now_us()
        session = Session(
            id=plan.session,
            nickname=nickname,
            title=title,
            workspace=plan.workspace,
            profile=plan.profile,
            argv=(),
            cwd=plan.cwd,
            pane=None,
            status=SessionStatus.STARTING,
            state=AgentState.UNKNOWN,
            created_us=now,
            changed_us=now,
            parent=actor.session,
            branch=None,
        )
        worker = Address(node=self._ledger.node, session=session.id)
        exchange = self._begin(tx, actor, Kind.DELEGATION, exchange_id, worker, title, None)
        return exchange, session

    def _begin(
        self, tx: Tx, actor: Address, kind: Kind, exchange_id: str, worker: Address, title: str, origin: Origin | None
    ) -> Exchange:
        mine = tx.exchanges_of(actor, closed=False)
        self._check_room(actor, mine)
        parent = _working_on(mine, actor)
        # Of the work that another node's session does this node knows what that node told.
        before = origin.hops if origin is not None else parent.hops if parent is not None else ()
        hops = (*before, label_of(tx, actor, Author.SESSION))
        if len(hops) > self._limits.hops:
            raise MeshError(
                ErrorCode.LIMIT,
                f"This work has gone through {len(hops) - 1} sessions ({' > '.join(hops[:-1])}); the limit is "
                f"{self._limits.hops}. Deliver what you have, or ask the one who asked you.",
                {"limit": self._limits.hops},
            )
        now = self._ledger.now_us()
        return Exchange(
            id=exchange_id,
            kind=kind,
            status=Status.STARTING,
            opener=actor,
            worker=worker,
            title=title,
            chain=(origin.chain if origin is not None else parent.chain if parent is not None else "") or exchange_id,
            hops=hops,
            parent=parent.id if parent else None,
            root=parent.root if parent else exchange_id,
            depth=(parent.depth if parent else 0) + (kind is Kind.DELEGATION),
            next_number=1,
            questions=(),
            ended_noted=False,
            reason=None,
            opened_us=now,
            changed_us=now,
        )

    def _check_room(self, actor: Address, mine: Sequence[Exchange]) -> None:
        opened = [e for e in mine if e.opener == actor]
        waiting = [e for e in opened if e.status is not Status.DELIVERED]
        limits = self._limits
        for count, limit, what, then in (
            (len(waiting), limits.open_exchanges, "open", "Wait for a delivery, or cancel one"),
            (len(opened), limits.delivered_exchanges, "unclosed", "Accept or reject delivered ones"),
        ):
            if actor.session is not None and count >= limit:
                raise MeshError(
                    ErrorCode.LIMIT,
                    f"You have {count} {what} exchanges; the limit is {limit}. {then} (list_delegations shows them).",
                    {"limit": limit, "open": count},
                )


def _introduce(tx: Tx, actor: Address, nickname: str) -> None:
    """Remembers how another node calls its session that asks; INVALID_ARGUMENT when that has another one's id."""
    session_id = actor.session or ""
    before = tx.remote_session(session_id)
    if tx.session(session_id) is not None or (before is not None and before.node != actor.node):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT, "The session that asks has the id of another one. Nothing was recorded."
        )
    if before is None:
        tx.put_remote_session(RemoteSession(node=actor.node, id=session_id, nickname=nickname, askable=False))
    elif before.nickname != nickname:
        tx.put_remote_session(replace(before, nickname=nickname))


def mirrored_hosts(reader: Reader) -> dict[str, str]:
    """The names of the nodes that this one mirrors, by id; those that are paused are not asked."""
    return {
        peer.id: peer.name
        for mirror in reader.mirrors()
        if not mirror.paused and (peer := reader.peer(mirror.peer)) is not None
    }


def note_on_far(session: RemoteSession, host: Peer | None) -> str:
    """Why a session of another node may not answer soon; empty when nothing speaks against it."""
    if not session.askable:
        gone = session.status is SessionStatus.ARCHIVED
        return "it is not there any more" if gone else f"its agent has {session.status.value} there; it cannot be asked"
    if host is None:
        return "its node is not paired with this one any more; it cannot be asked"
    if Grant.REQUEST not in host.got:
        return "its node does not let this one ask now; a request waits until it does"
    return ""


def _unknown_there(reader: Reader, wanted: str, host: str) -> MeshError:
    there = [one for one in reader.remote_sessions() if host_of(reader, one.node).casefold() == host.casefold()]
    names = ", ".join(sorted(one.name for one in there if one.status is not SessionStatus.ARCHIVED)[:12])
    told = f"It told of: {names}." if names else "It has not told of any session yet; `helio mirror list` says why."
    return MeshError(
        ErrorCode.NOT_FOUND, f"{host[:_SHOWN_CHARS]} has no session {wanted[:_SHOWN_CHARS]}. {told} Call list_peers."
    )


def _session_of(sessions: Sequence[Session], actor: Address) -> Session | None:
    return next((s for s in sessions if s.id == actor.session), None)


def _depth(sessions: Sequence[Session], session: Session | None) -> int:
    """How many delegations above a session: 0 for one that a person started."""
    by_id = {s.id: s for s in sessions}
    depth = 0
    while session is not None and session.parent is not None and depth <= len(by_id):
        depth += 1
        session = by_id.get(session.parent)
    return depth


def _working_on(mine: Sequence[Exchange], actor: Address) -> Exchange | None:
    """The exchange in whose service the actor acts: the newest one that it has begun and not delivered."""
    begun = [e for e in mine if e.worker == actor and e.status in {Status.WORKING, Status.ASKED}]
    return max(begun, key=lambda e: e.changed_us, default=None)
