"""The node's durable state: one SQLite file, one writer, everything else reads."""

from node.store.engine import SqliteStore, StoreSettings

__all__ = ["SqliteStore", "StoreSettings"]
