"""The mesh's part of the database: its questions and its writes."""

from __future__ import annotations

import json
import sqlite3

from node.core.mesh import Grant, Peer
from node.core.policy import nickname_key
from node.store.rows import SqlValue

_PEER_COLUMNS = (
    "id, name, name_key, spki, certificate, addresses, given, got, paired_us, seen_us, rotated_us, holds, issued"
)
_MARKS = ", ".join("?" * len(_PEER_COLUMNS.split(",")))
_CHANGES = ", ".join(f"{c.strip()} = excluded.{c.strip()}" for c in _PEER_COLUMNS.split(",")[1:])
# By id, and by nothing else: OR REPLACE would delete another peer of the same name.
_PUT_PEER = f"INSERT INTO peers ({_PEER_COLUMNS}) VALUES ({_MARKS}) ON CONFLICT (id) DO UPDATE SET {_CHANGES}"
_NODE_COLUMNS = (
    ("exchanges", "opener_node"), ("exchanges", "worker_node"), ("messages", "to_node"), ("mirrors", "peer"),
    ("relays", "peer"), ("remote_sessions", "node"),
)  # fmt: skip


class MeshReader:
    """Implements ports_mesh.MeshReader."""

    _db: sqlite3.Connection

    def peers(self) -> tuple[Peer, ...]:
        """All peers by name."""
        return tuple(_peer_of(row) for row in self._db.execute(f"SELECT {_PEER_COLUMNS} FROM peers ORDER BY name_key"))

    def peer(self, peer_id: str) -> Peer | None:
        """The peer of that whole id."""
        return self._peer("id", peer_id)

    def peer_by_spki(self, spki: str) -> Peer | None:
        """The peer whose key is pinned so."""
        return self._peer("spki", spki)

    def _peer(self, column: str, value: str) -> Peer | None:
        row = self._db.execute(f"SELECT {_PEER_COLUMNS} FROM peers WHERE {column} = ?", (value,)).fetchone()
        return _peer_of(row) if row else None

    def mesh_state(self, name: str) -> str | None:
        """What is remembered under that name, JSON."""
        row = self._db.execute("SELECT value FROM mesh_state WHERE name = ?", (name,)).fetchone()
        return str(row["value"]) if row else None

    def own_node(self) -> str | None:
        """The node id under which this database was last used; None when nobody has said."""
        row = self._db.execute("SELECT value FROM meta WHERE key = 'node'").fetchone()
        return str(row["value"]) if row else None


class MeshTx(MeshReader):
    """Implements ports_mesh.MeshTx."""

    def put_peer(self, peer: Peer) -> None:
        """Inserts or replaces a peer."""
        self._db.execute(_PUT_PEER, _peer_values(peer))

    def remove_peer(self, peer_id: str) -> None:
        """Forgets a peer."""
        self._db.execute("DELETE FROM peers WHERE id = ?", (peer_id,))

    def put_mesh_state(self, name: str, value: str) -> None:
        """Remembers JSON under that name; an empty text forgets it."""
        if value:
            self._db.execute("INSERT OR REPLACE INTO mesh_state VALUES (?, ?)", (name, value))
        else:
            self._db.execute("DELETE FROM mesh_state WHERE name = ?", (name,))

    def set_own_node(self, node: str) -> None:
        """Says under which id this database is used from now on."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('node', ?)", (node,))

    def rename_node(self, old: str, new: str) -> None:
        """What is stored of the node of id `old` is about `new` from now on: it has another key."""
        for table, column in _NODE_COLUMNS:
            self._db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, old))


def _peer_values(peer: Peer) -> tuple[SqlValue, ...]:
    """`peer` in the order of _PEER_COLUMNS."""
    return (
        peer.id,
        peer.name,
        nickname_key(peer.name),
        peer.spki,
        peer.certificate,
        json.dumps(peer.addresses),
        json.dumps(sorted(peer.given)),
        json.dumps(sorted(peer.got)),
        peer.paired_us,
        peer.seen_us,
        peer.rotated_us,
        peer.holds,
        peer.issued,
    )


def _peer_of(row: sqlite3.Row) -> Peer:
    """The peer in a row of _PEER_COLUMNS."""
    return Peer(
        id=row["id"],
        name=row["name"],
        spki=row["spki"],
        certificate=row["certificate"],
        addresses=tuple(json.loads(row["addresses"])),
        given=frozenset(Grant(grant) for grant in json.loads(row["given"])),
        got=frozenset(Grant(grant) for grant in json.loads(row["got"])),
        paired_us=row["paired_us"],
        seen_us=row["seen_us"],
        rotated_us=row["rotated_us"],
        holds=row["holds"],
        issued=row["issued"],
    )
