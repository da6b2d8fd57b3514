"""Between SQL rows and the model; column lists stand beside the functions that read them."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path

from node.core.effects import ArchiveSession, Effect, Fetch, Land, Launch, Notify
from node.core.model import (
    Address,
    AgentState,
    Author,
    End,
    Exchange,
    Kind,
    Ladder,
    Message,
    MessageKind,
    Session,
    SessionStatus,
    Status,
)
from node.core.policy import nickname_key
from node.core.prompt import PaneRef
from node.core.transfer import Attachment
from node.core.workspace import DriverKind, ScreenMode, Workspace
from node.ports_work import Worktree

SqlValue = str | int | bytes | None

SESSION_COLUMNS = (
    "id, nickname, nickname_key, title, workspace, profile, argv, cwd, pane_server, pane_id, pane_pid, pane_started, "
    "pane_tty, status, state, created_us, changed_us, parent, conversation, branch"
)
EXCHANGE_COLUMNS = (
    "id, kind, status, closed, opener_node, opener_session, worker_node, worker_session, title, chain, hops, parent, "
    "root, depth, next_number, questions, ended_noted, reason, opened_us, changed_us"
)
MESSAGE_COLUMNS = (
    "id, exchange, number, kind, sender, author, title, body, reply_to, snippet, advice, files, recorded_us, screened, "
    "landed_us, notices, held, confirmed_us, read_us, answered_us, gave_up_us"
)


def session_values(session: Session) -> tuple[SqlValue, ...]:
    """`session` in the order of SESSION_COLUMNS."""
    pane = session.pane
    return (
        session.id,
        session.nickname,
        nickname_key(session.nickname) if session.nickname is not None else None,
        session.title,
        session.workspace,
        session.profile,
        json.dumps(session.argv),
        session.cwd,
        pane.server if pane else None,
        pane.pane if pane else None,
        pane.pid if pane else None,
        pane.started if pane else None,
        pane.tty if pane else None,
        session.status.value,
        session.state.value,
        session.created_us,
        session.changed_us,
        session.parent,
        session.conversation,
        session.branch,
    )


def session_of(row: sqlite3.Row) -> Session:
    """The session in a row of SESSION_COLUMNS."""
    pane = None
    if row["pane_id"] is not None:
        pane = PaneRef(
            server=row["pane_server"],
            pane=row["pane_id"],
            pid=row["pane_pid"],
            started=row["pane_started"],
            tty=row["pane_tty"],
        )
    return Session(
        id=row["id"],
        nickname=row["nickname"],
        title=row["title"],
        workspace=row["workspace"],
        profile=row["profile"],
        argv=tuple(json.loads(row["argv"])),
        cwd=row["cwd"],
        pane=pane,
        status=SessionStatus(row["status"]),
        state=AgentState(row["state"]),
        created_us=row["created_us"],
        changed_us=row["changed_us"],
        parent=row["parent"],
        conversation=row["conversation"],
        branch=row["branch"],
    )


def exchange_values(exchange: Exchange) -> tuple[SqlValue, ...]:
    """`exchange` in the order of EXCHANGE_COLUMNS."""
    return (
        exchange.id,
        exchange.kind.value,
        exchange.status.value,
        int(exchange.status.closed),
        exchange.opener.node,
        exchange.opener.session or "",
        exchange.worker.node,
        exchange.worker.session or "",
        exchange.title,
        exchange.chain,
        json.dumps(exchange.hops),
        exchange.parent,
        exchange.root,
        exchange.depth,
        exchange.next_number,
        json.dumps(exchange.questions),
        int(exchange.ended_noted),
        exchange.reason,
        exchange.opened_us,
        exchange.changed_us,
    )


def exchange_of(row: sqlite3.Row) -> Exchange:
    """The exchange in a row of EXCHANGE_COLUMNS."""
    return Exchange(
        id=row["id"],
        kind=Kind(row["kind"]),
        status=Status(row["status"]),
        opener=Address(node=row["opener_node"], session=row["opener_session"] or None),
        worker=Address(node=row["worker_node"], session=row["worker_session"] or None),
        title=row["title"],
        chain=row["chain"],
        hops=tuple(json.loads(row["hops"])),
        parent=row["parent"],
        root=row["root"],
        depth=row["depth"],
        next_number=row["next_number"],
        questions=tuple(json.loads(row["questions"])),
        ended_noted=bool(row["ended_noted"]),
        reason=row["reason"],
        opened_us=row["opened_us"],
        changed_us=row["changed_us"],
    )


def message_values(message: Message) -> tuple[SqlValue, ...]:
    """`message` in the order of MESSAGE_COLUMNS."""
    return (
        message.id,
        message.exchange,
        message.number,
        message.kind.value,
        message.sender.value,
        message.author.value,
        message.title,
        message.text,
        message.reply_to,
        message.snippet,
        message.advice,
        json.dumps([(f.name, f.sha256, f.size, f.folder, f.entries) for f in message.files]) if message.files else "[]",
        *ladder_values(message.ladder),
    )


def ladder_values(ladder: Ladder) -> tuple[SqlValue, ...]:
    """`ladder` in the order of its part of MESSAGE_COLUMNS."""
    return (
        ladder.recorded_us,
        ladder.screened,
        ladder.landed_us,
        ladder.notices,
        ladder.held,
        ladder.confirmed_us,
        ladder.read_us,
        ladder.answered_us,
        ladder.gave_up_us,
    )


def message_of(row: sqlite3.Row) -> Message:
    """The message in a row of MESSAGE_COLUMNS."""
    return Message(
        id=row["id"],
        exchange=row["exchange"],
        number=row["number"],
        kind=MessageKind(row["kind"]),
        sender=End(row["sender"]),
        author=Author(row["author"]),
        title=row["title"],
        text=row["body"],
        reply_to=row["reply_to"],
        snippet=row["snippet"],
        advice=row["advice"],
        files=tuple(
            Attachment(name=name, sha256=sha256, size=size, folder=folder, entries=entries)
            for name, sha256, size, folder, entries in json.loads(row["files"])
        ),
        ladder=Ladder(
            recorded_us=row["recorded_us"],
            screened=row["screened"],
            landed_us=row["landed_us"],
            notices=row["notices"],
            held=row["held"],
            confirmed_us=row["confirmed_us"],
            read_us=row["read_us"],
            answered_us=row["answered_us"],
            gave_up_us=row["gave_up_us"],
        ),
    )


def tree_text(tree: Worktree) -> str:
    """A worktree as it is stored."""
    return json.dumps(asdict(tree), default=str)


def tree_of(text: str) -> Worktree:
    """The worktree in a stored text."""
    stored = json.loads(text)
    paths = {name: Path(stored[name]) for name in ("path", "folder", "repo", "store")}
    return Worktree(**(stored | paths | {"notes": tuple(stored["notes"])}))


def workspace_values(workspace: Workspace) -> tuple[SqlValue, ...]:
    """`workspace` in the order of its table."""
    return (
        workspace.key,
        workspace.name,
        workspace.driver.value,
        json.dumps(workspace.settings),
        None if workspace.reach is None else json.dumps(workspace.reach),
        workspace.mode.value,
    )


def workspace_of(row: sqlite3.Row) -> Workspace:
    """The workspace in a row of its table."""
    return Workspace(
        name=row["name"],
        driver=DriverKind(row["driver"]),
        settings=tuple((key, value) for key, value in json.loads(row["settings"])),
        reach=None if row["reach"] is None else tuple(json.loads(row["reach"])),
        mode=ScreenMode(row["mode"]),
    )


def effect_of(row: sqlite3.Row) -> Effect:
    """The effect in a row of the outbox."""
    session, message = row["session"], row["message"]
    match row["kind"]:
        case "archive":
            return ArchiveSession(session=session)
        case "launch":
            return Launch(session=session)
        case "land":
            return Land(session=session, message=message)
        case "fetch":
            return Fetch(session=session, message=message)
        case _:
            return Notify(session=session, message=message, quiet=False)
