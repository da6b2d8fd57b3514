"""The node's durable state: one SQLite file, one writer, everything else reads."""

from node.store.engine import SqliteStore
from node.store.guard import RESERVE_BYTES
from node.store.opening import StoreSettings

__all__ = ["RESERVE_BYTES", "SqliteStore", "StoreSettings"]
