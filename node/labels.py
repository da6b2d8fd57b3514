"""How people and models read the ends of exchanges."""

from __future__ import annotations

from node.core import relay
from node.core.model import Address, Author
from node.ports import Reader


def label_of(reader: Reader, address: Address, author: Author) -> str:
    """How people and models read an address: @nickname, short id, the person or the node; @nickname@host elsewhere."""
    if author is Author.NODE:
        return "the node"
    if author is Author.FAR_NODE:
        return f"the node {host_of(reader, address.node)}"
    if author is Author.FAR_PERSON:
        return f"the person at {host_of(reader, address.node)}"
    if author is Author.PERSON or address.session is None:
        return "the person"
    session = reader.session(address.session)
    if session is not None:
        return session.label
    remote = reader.remote_session(address.session)
    if remote is not None and remote.node == address.node:
        return relay.label(remote, host_of(reader, remote.node))
    return f"deleted session {address.session[:8]}"


def far_label(reader: Reader, session_id: str) -> str:
    """How a session of another node is called, "@nickname@host"; "" for an id that is of none."""
    remote = reader.remote_session(session_id)
    return relay.label(remote, host_of(reader, remote.node)) if remote is not None else ""


def host_of(reader: Reader, node: str) -> str:
    """What this node's person calls another node."""
    peer = reader.peer(node)
    return peer.name if peer is not None else f"{node[:7]} (not paired any more)"
