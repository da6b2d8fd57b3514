"""What list_peers and list_delegations show, in the words and shapes of mcp_words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from node.core.commands import Peer, TreeView
from node.core.escape import escape
from node.core.ids import short
from node.core.model import Address, Author, Conversation, End, Exchange, Message, SessionStatus, Status
from node.mcp_words import SHOWN_IN_LINE, Json, JsonObject, Said, role
from node.ports_work import MergeResult

TEXT_IN_LIST_CHARS: Final = 2_000
MESSAGES_IN_LIST: Final = 50
_BY: Final = {
    Author.NODE: "the node",
    Author.FAR_NODE: "the node at the other end",
    Author.PERSON: "a person",
    Author.FAR_PERSON: "a person at the other end",
}


def peers(found: Sequence[Peer]) -> Said:
    """The sessions in reach."""
    others = [peer for peer in found if not peer.me]
    mine = next((peer.session.label for peer in found if peer.me), None)
    line = f"You are {escape(mine)}. " if mine else ""
    if others:
        count = f"{len(others)} session{'s' if len(others) > 1 else ''}"
        line += f"{count} in reach. Call request(to=..., text=...) to ask one."
    else:
        line += "No other session is in reach. Your user can start one with `helio run --nick NAME -- COMMAND`."
    return Said(line=line, data={"peers": [_peer_json(peer) for peer in found]})


def _peer_json(peer: Peer) -> JsonObject:
    session = peer.session
    data: dict[str, Json] = {
        "name": peer.name,
        "id": session.id,
        "title": session.title,
        "workspace": session.workspace,
        "host": peer.host or "here",
        "state": session.state.value if session.status is SessionStatus.RUNNING else session.status.value,
        "open_with_you": peer.open_with_me,
    }
    if peer.me:
        data["you"] = True
    if peer.note:
        data["note"] = peer.note
    return data


def exchanges(found: Sequence[Conversation], me: Address, names: Mapping[str, str], *, one: bool) -> Said:
    """The caller's exchanges with the ladder of every message it handed in; `one` shows texts as well."""
    waiting = [c.exchange for c in found if c.exchange.status is Status.ASKED and c.exchange.end_of(me) is End.OPENER]
    delivered = [
        c.exchange for c in found if c.exchange.status is Status.DELIVERED and c.exchange.end_of(me) is End.OPENER
    ]
    to_do = [c.exchange for c in found if not c.exchange.status.closed and c.exchange.end_of(me) is End.WORKER]
    line = f"{len(found)} exchange{'' if len(found) == 1 else 's'}." if found else "You have no open exchange."
    for label, some in (
        ("A question waits for your answer in", waiting),
        ("Delivered to you, to be closed or steered:", delivered),
        ("You are working in", to_do),
    ):
        if some:
            line += f" {label} {', '.join(short(exchange.id) for exchange in some[:SHOWN_IN_LINE])}"
            line += f" and {len(some) - SHOWN_IN_LINE} more." if len(some) > SHOWN_IN_LINE else "."
    return Said(line=line, data={"exchanges": [_exchange_json(c, me, names, texts=one) for c in found]})


def _exchange_json(conversation: Conversation, me: Address, names: Mapping[str, str], *, texts: bool) -> JsonObject:
    exchange = conversation.exchange
    end = exchange.end_of(me)
    visible = [m for m in conversation.messages if m.sender is end or not m.withheld]
    data: dict[str, Json] = {
        "id": exchange.id,
        "kind": exchange.kind.value,
        "status": exchange.status.value,
        "your_role": role(exchange, me),
        "with": _other(exchange, me, names),
        "title": exchange.title,
        "open_questions": list(exchange.questions),
        "chain": exchange.chain,
        "hops": list(exchange.hops),
        "messages": [_row_json(m, mine=m.sender is end, texts=texts) for m in visible[-MESSAGES_IN_LIST:]],
    }
    if len(visible) > MESSAGES_IN_LIST:
        data["earlier_messages"] = len(visible) - MESSAGES_IN_LIST
    return data


def _row_json(message: Message, *, mine: bool, texts: bool) -> JsonObject:
    unread = not mine and message.ladder.read_us is None
    data: dict[str, Json] = {
        "id": message.id,
        "number": message.number,
        "kind": message.kind.value,
        "by": _BY.get(message.author) or ("you" if mine else "them"),
        # How far a message got is shown to the end that handed it in; its reader sees only whether it was read.
        "rung": message.ladder.rung if mine else "unread, call read_inbox" if unread else "read",
    }
    if texts and not unread:
        data["text"] = message.text[:TEXT_IN_LIST_CHARS]
        if len(message.text) > TEXT_IN_LIST_CHARS:
            data["text_cut_from_chars"] = len(message.text)
    return data


def _other(exchange: Exchange, me: Address, names: Mapping[str, str]) -> str:
    other = exchange.worker if exchange.end_of(me) is End.OPENER else exchange.opener
    if other.session is not None and other.session in names:
        return names[other.session]
    return "the person at this node" if other.session is None else short(other.session)


def tree(view: TreeView) -> Said:
    """How a worktree stands."""
    line = f"Branch {escape(view.branch)} in {escape(view.folder)}: {view.ahead} commits ahead, {view.behind} behind, "
    line += f"{view.changed} files changed, {view.untracked} untracked."
    if not view.exists:
        line = f"The folder of branch {escape(view.branch)} is gone; the branch is still there."
    elif view.conflicts:
        line += f" Unresolved conflicts in {len(view.conflicts)} files."
    if view.notes:
        line += " " + " ".join(escape(note) for note in view.notes)
    return Said(line=line, data=_tree_json(view))


def merged(view: TreeView, result: MergeResult) -> Said:
    """What a merge came to; a conflict is a refusal that says what to do."""
    data = _tree_json(view) | {"merged": result.merged, "into": result.into, "commit": result.commit}
    if result.merged:
        left = f" {result.left_out} untracked files were not part of it." if result.left_out else ""
        return Said(line=f"Branch {escape(view.branch)} is merged into {escape(result.into)}.{left}", data=data)
    line = (
        f"Branch {escape(view.branch)} conflicts with {escape(result.into)} in {len(result.conflicts)} files; nothing "
        f"was changed. Merge {escape(result.into)} into it in its worktree, resolve, commit, then call worktree_merge "
        "again."
    )
    return Said(line=line, data=data | {"conflicts": list(result.conflicts)}, refused=True)


def _tree_json(view: TreeView) -> dict[str, Json]:
    return {
        "session": view.session,
        "branch": view.branch,
        "folder": view.folder,
        "exists": view.exists,
        "ahead": view.ahead,
        "behind": view.behind,
        "changed": view.changed,
        "untracked": view.untracked,
        "conflicts": list(view.conflicts),
    }
