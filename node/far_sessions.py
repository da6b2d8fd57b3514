"""What is kept of the sessions that a mirrored node tells of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from node.core.errors import MeshError
from node.core.model import SessionStatus
from node.core.policy import clean_nickname
from node.core.relay import RemoteSession
from node.core.verdict import Field
from node.ports import Screener, Tx


async def named(screener: Screener, session: RemoteSession) -> RemoteSession:
    """The session without what is no name, and without words that the screen would stop."""
    try:
        session = replace(session, nickname=clean_nickname(session.nickname) if session.nickname else "")
    except MeshError:
        session = replace(session, nickname="")
    words = {"nickname": session.nickname, "title": session.title, "profile": session.profile}
    verdict = await screener.screen([Field(name=name, text=text) for name, text in words.items()])
    return session if not verdict.stops else replace(session, nickname="", title="", profile="")


def keep(tx: Tx, peer: str, sessions: Sequence[RemoteSession]) -> int:
    """Keeps them as all that there are at that node now; how many have an id that somebody else has.

    Ids are chosen by chance: such a one is somebody's try to pass for another, and left out.
    """
    known = {one.id: one for one in tx.remote_sessions(peer)}
    lies = 0
    for session in sessions:
        other = tx.remote_session(session.id)
        if tx.session(session.id) is not None or (other is not None and other.node != peer):
            lies += 1
        elif known.get(session.id) != session:
            tx.put_remote_session(session)
    told = {one.id for one in sessions}
    for gone in known.values():
        if gone.id not in told and gone.status is not SessionStatus.ARCHIVED:
            tx.put_remote_session(replace(gone, status=SessionStatus.ARCHIVED, askable=False))
    tx.forget_gone(peer)
    return lies
