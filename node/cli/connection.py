"""How a command reaches the node: one connection for the length of one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from node.core.errors import MeshError
from node.core.views import ExchangeView
from node.platform import paths

if TYPE_CHECKING:
    from node.local_client import LocalClient

T = TypeVar("T")
COMPLETION_SECONDS = 0.5


def on_node(work: Callable[[LocalClient], Awaitable[T]], *, patience_s: float | None = None) -> T:
    """What `work` comes to with a connected client of the node at the home; any MeshError of the client."""
    # Imports gRPC, which help, completion scripts and refusals of usage never need.
    from node.local_client import CONNECT_SECONDS, LocalClient

    async def connected() -> T:
        async with LocalClient(paths.home(), patience_s=patience_s or CONNECT_SECONDS) as node:
            return await work(node)

    return asyncio.run(connected())


def labels_for_completion(*, archived: bool) -> tuple[str, ...]:
    """What names a session, or nothing when the node does not answer quickly: a completion never complains."""
    return tuple(session.label for session in _quickly(lambda node: node.sessions(archived=archived)))


def exchange_ids_for_completion() -> tuple[tuple[str, str], ...]:
    """Ids of open exchanges with their titles, or nothing when the node does not answer quickly."""
    return tuple((exchange.id, exchange.title) for exchange in _open_exchanges())


def question_ids_for_completion() -> tuple[tuple[str, str], ...]:
    """Ids of open questions with their exchanges' titles, or nothing when the node does not answer quickly."""
    return tuple((question, exchange.title) for exchange in _open_exchanges() for question in exchange.questions)


def approval_ids_for_completion() -> tuple[tuple[str, str], ...]:
    """Ids of open approvals with what they are about, or nothing when the node does not answer quickly."""
    return tuple((approval.id, approval.subject) for approval in _quickly(lambda node: node.approvals()))


def workspaces_for_completion() -> tuple[str, ...]:
    """Names of workspaces, or nothing when the node does not answer quickly."""
    return tuple(workspace.name for workspace in _quickly(lambda node: node.workspaces()))


def peers_for_completion() -> tuple[str, ...]:
    """Names of peers, or nothing when the node does not answer quickly."""

    async def named(node: LocalClient) -> tuple[str, ...]:
        return tuple(peer.name for peer in (await node.mesh()).peers)

    return _quickly(named)


def agents_for_completion() -> tuple[str, ...]:
    """Names of agent CLIs, or nothing when the node does not answer quickly."""
    return tuple(agent.name for agent in _quickly(lambda node: node.agents()))


def _open_exchanges() -> tuple[ExchangeView, ...]:
    return _quickly(lambda node: node.exchanges())


def _quickly(work: Callable[[LocalClient], Awaitable[tuple[T, ...]]]) -> tuple[T, ...]:
    try:
        return on_node(work, patience_s=COMPLETION_SECONDS)
    except (MeshError, OSError):
        return ()
