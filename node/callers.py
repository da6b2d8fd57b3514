"""Which session is calling: proven from the operating system, never from anything the caller says.

The evidence is the socket's peer, its chain of parents, the terminals and starts of all these processes, and a fresh
list of the panes. Where it does not agree the caller is unidentified; there is no second-best guess.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from node.core.errors import ErrorCode, MeshError
from node.core.prompt import PaneRef
from node.platform import processes
from node.platform.peercred import Peer, PeerSocket, peer_of
from node.platform.processes import Process

_START_IT: Final = "Start the agent with `helio run -- COMMAND`, and call from inside that terminal."
_CODEX: Final = (
    "Codex runs its tools in one background server for all of its terminals. "
    "Start it with `helio run -- codex --no-daemon`, or set features.daemon_auto_start=false in its config.toml."
)
_AGAIN: Final = "Call again; if this stays, run `helio doctor`."


class PaneLister(Protocol):
    """Where the panes come from."""

    async def panes(self) -> tuple[PaneRef, ...]:
        """Every living pane, read anew."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A proven caller: its pane and the process that connected.

    `full`: that process is also in the terminal session which the pane's own process leads. Without it (an agent that
    starts its tools in sessions of their own) the parents alone, all of one mind, name the pane.
    """

    pane: PaneRef
    pid: int
    full: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """One process of a caller's chain, with the arguments it was started with as far as they can be seen."""

    process: Process
    argv: tuple[str, ...] = ()


class Callers:
    """Proves callers against the panes of `lister`; only processes of user `uid` are heard."""

    def __init__(self, lister: PaneLister, uid: int) -> None:
        self._lister = lister
        self._uid = uid

    async def prove(self, sock: PeerSocket) -> Proof:
        """The session at the other end of a connected unix socket, once its request was read; else UNIDENTIFIED."""
        peer = _ask(sock)
        try:
            if peer.uid != self._uid:
                raise _unidentified(f"The caller runs as user {peer.uid}, this node as user {self._uid}.", _START_IT)
            chain = await asyncio.to_thread(_ancestors, peer.pid)
            # Anew each time: pane ids, terminal names and process numbers are all used again.
            panes = await self._lister.panes()
            proof = agree(peer.pid, chain, panes)
            await asyncio.to_thread(_check_unchanged, peer, chain, proof)
            # macOS answers with whoever used the socket last, so another answer means another process has it by now.
            again = _ask(sock)
            again.close()
            if (again.pid, again.uid, again.pidversion) != (peer.pid, peer.uid, peer.pidversion):
                raise _unidentified("The connection passed from one process to another during the call.", _AGAIN)
            return proof
        finally:
            peer.close()


def agree(pid: int, chain: Sequence[Ancestor], panes: Sequence[PaneRef]) -> Proof:
    """The pane that all evidence about process `pid` names; UNIDENTIFIED, with what failed, when it does not agree."""
    if not chain or chain[0].process.pid != pid or chain[0].process.ended:
        raise _unidentified(f"The calling process {pid} ended before it could be looked at.", _AGAIN)
    caller = chain[0].process
    who = f"process {pid} ({caller.name})"
    if any(_is_shared_codex(ancestor) for ancestor in chain):
        raise _unidentified(f"The call of {who} comes through Codex's shared background server.", _CODEX)
    by_process = {(pane.pid, pane.started): pane for pane in panes}
    by_tty = {pane.tty: pane for pane in panes}
    reached = [by_process[key] for step in chain if (key := (step.process.pid, step.process.start)) in by_process]
    named = [by_tty[step.process.tty] for step in chain if step.process.tty in by_tty]
    if not reached and not named:
        raise _unidentified(f"Nothing ties {who} to a terminal of this node.", _START_IT)
    if not reached:
        cause = f"The call of {who} shows the terminal of pane {named[0].pane}, but its parents do not lead there: "
        raise _unidentified(cause + "it was detached from the session that started it.", _START_IT)
    if not named:
        cause = f"The parents of {who} lead to pane {reached[0].pane}, but none of them has that terminal."
        raise _unidentified(cause, _START_IT)
    if len({*reached, *named}) > 1:
        ids = ", ".join(dict.fromkeys(pane.pane for pane in (*named, *reached)))
        raise _unidentified(f"The terminal and the parents of {who} name different panes ({ids}).", _START_IT)
    return Proof(pane=reached[0], pid=pid, full=caller.sid == reached[0].pid)


def _ask(sock: PeerSocket) -> Peer:
    try:
        return peer_of(sock)
    except (OSError, ValueError) as error:
        raise _unidentified(f"The system does not tell who is calling ({error}).", _AGAIN) from error


def _ancestors(pid: int) -> tuple[Ancestor, ...]:
    return tuple(
        Ancestor(process=process, argv=processes.command_line(process.pid)) for process in processes.chain(pid)
    )


def _check_unchanged(peer: Peer, chain: Sequence[Ancestor], proof: Proof) -> None:
    """Refuse when a process on the way to the pane ended or got another parent meanwhile: its number may be reused."""
    for step in chain:
        before = step.process
        now = processes.read(before.pid)
        if now is None or now.ended or (now.start, now.ppid, now.sid) != (before.start, before.ppid, before.sid):
            raise _unidentified(f"Process {before.pid} ({before.name}) changed while the call was proven.", _AGAIN)
        if before.pid == proof.pane.pid:
            break
    # Looked at last: a peer that still lives had its number all the time, so the chain above was its chain.
    if peer.gone():
        raise _unidentified(f"The calling process {peer.pid} ended while the call was proven.", _AGAIN)


def _is_shared_codex(ancestor: Ancestor) -> bool:
    # Started as `codex app-server`, through a launcher (`node PATH/codex app-server`), or from a copy of the binary.
    words = ancestor.argv[:4]
    if "app-server" not in words:
        return False
    return any("codex" in word.rsplit("/", 1)[-1].lower() for word in (ancestor.process.name, *words))


def _unidentified(cause: str, then: str) -> MeshError:
    return MeshError(ErrorCode.UNIDENTIFIED, f"{cause} The node acts only for sessions it can prove. {then}")
