"""What tests of notices share: two sessions, what was typed at them, and what their senders are shown."""

from __future__ import annotations

from node.core.model import Message, MessageKind
from node.core.prompt import HeldReason, Typed
from tests.clock_twins import SECOND_US
from tests.integration.mesh import Agent, Mesh

MINUTE = 60
HELD = {reason: Typed(held=reason) for reason in HeldReason}


async def pair(mesh: Mesh) -> tuple[Agent, Agent]:
    return await mesh.seat("alice"), await mesh.seat("bob")


def passed(mesh: Mesh, seconds: float) -> bool:
    """Lets time pass; true, so that it can stand before a condition."""
    mesh.clock.advance(seconds)
    return True


def typed_at(mesh: Mesh, agent: Agent) -> list[float]:
    """When lines were entered at that session's prompt, in seconds after the first."""
    times = [at for session, at, _ in mesh.typer.lines if session == agent.session.id]
    return [round((at - times[0]) / SECOND_US) for at in times]


async def seen_by_sender(sender: Agent, message: Message) -> Message:
    """The message as its sender is shown it."""
    (found,) = await sender.list(message.exchange)
    return next(m for m in found.messages if m.id == message.id)


async def notes_of(mesh: Mesh, exchange: str) -> list[str]:
    messages = await mesh.store.read(lambda reader: reader.messages(exchange))
    return [m.text for m in messages if m.kind is MessageKind.NOTE]


async def unread_messages(mesh: Mesh, agent: Agent) -> tuple[Message, ...]:
    return await mesh.store.read(lambda reader: reader.unread(agent.address, None, 100))
