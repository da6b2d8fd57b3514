"""Rows for the timeline's bench: what a relayed message of 1 KB leaves, with the texts beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from node.core.timeline import Content, Party, Row, RowKind, Scan
from node.ports import Tx
from node.store import SqliteStore
from node.version import SOFTWARE
from tools.bench import own_node

GROUP = 100
"""Rows that become durable together."""
_AT_ONCE = 1_000
_TEXTS = (
    ("preview", own_node.BODY[:200]),
    ("recipient", "@books"),
    ("sender", "@invoices"),
    ("title", "Invoices of March"),
)


def message_row(number: int) -> Row:
    """The row of a message: ids of ordinary length, about 0.8 KB as stored."""
    node, other = "b" * 52, "d" * 52
    return Row(
        row=RowKind.MESSAGE,
        engine="agent.request",
        decision="relayed",
        sw=SOFTWARE,
        msg=f"{number:016d}",
        conv="c" * 16,
        root="c" * 16,
        depth=0,
        kind="report",
        leg="egress",
        src=Party(node=node, workspace="default", session="s" * 16, agent="claude", role="worker"),
        dst=Party(node=other, session="t" * 16, role="opener"),
        content=Content(bytes=own_node.BODY_BYTES, chars=own_node.BODY_BYTES, files=(("a" * 64, 4_096),)),
        scan=Scan(engine="heliograph", version="7-cef0ad1d", status="clean", score=12),
    )


def append(tx: Tx, *, first: int, rows: int, texts: Sequence[tuple[str, str]] = ()) -> None:
    """So many rows with the same texts beside each."""
    for number in range(first, first + rows):
        tx.append(message_row(number), texts)


async def fill(store: SqliteStore, rows: int, say: Callable[[int], None]) -> None:
    """Appends rows with their texts up to a total of `rows`; `say` is told how many there are."""
    done = await store.read(lambda reader: reader.size())
    while done < rows:
        some = min(_AT_ONCE, rows - done)
        await store.write(partial(append, first=done, rows=some, texts=_TEXTS))
        done += some
        say(done)
