"""The node's durable state: one SQLite file, one writer, everything else reads."""

from node.store.engine import SqliteStore
from node.store.opening import StoreSettings

__all__ = ["SqliteStore", "StoreSettings"]
