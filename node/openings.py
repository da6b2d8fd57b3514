"""How an exchange is opened: what is checked, and the exchange as it begins. Called inside a transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from node.core import policy, workspace
from node.core.commands import Delegate, Request
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
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
from node.labels import label_of
from node.ledger import Ledger
from node.ports import Reader, Tx
from node.ports_work import LaunchPlan


class Openings:
    """Opens requests and delegations for an actor."""

    def __init__(self, *, ledger: Ledger, limits: Limits) -> None:
        self._ledger = ledger
        self._limits = limits

    def request(self, tx: Tx, actor: Address, command: Request, exchange_id: str) -> Exchange:
        """A new request to a session that can be reached; REACH, LIMIT or NOT_FOUND otherwise."""
        sessions = tx.sessions()
        target = reachable(tx, command, actor, self._ledger.resumable)
        here = _session_of(sessions, actor)
        if here is not None:
            known = tx.workspaces()
            workspace.check_reach(workspace.find(here.workspace, known), workspace.find(target.workspace, known))
        title = command.title.strip() or policy.derive_title(command.text)
        return self._begin(tx, actor, Kind.REQUEST, exchange_id, target.id, title)

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
        exchange = self._begin(tx, actor, Kind.DELEGATION, exchange_id, session.id, title)
        return exchange, session

    def _begin(self, tx: Tx, actor: Address, kind: Kind, exchange_id: str, worker: str, title: str) -> Exchange:
        mine = tx.exchanges_of(actor, closed=False)
        self._check_room(actor, mine)
        parent = _working_on(mine, actor)
        hops = (*(parent.hops if parent else ()), label_of(tx, actor, Author.SESSION))
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
            worker=Address(node=self._ledger.node, session=worker),
            title=title,
            chain=parent.chain if parent else exchange_id,
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


def reachable(reader: Reader, command: Request, actor: Address, resumable: Collection[str]) -> Session:
    """The session that a request may go to, before the reach rule; a refusal names none that the actor cannot ask."""
    sessions = reader.sessions()
    in_reach = workspace.ids_in_reach(actor.session, sessions, reader.workspaces())
    return policy.reachable(command.to, sessions, actor, resumable=resumable, in_reach=in_reach)


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
