"""Rows of panels and of timelines, as tests of the mirror use them."""

from __future__ import annotations

from dataclasses import replace

from node.core.ids import make_id
from node.core.panel import PanelRow
from node.core.timeline import Clock, Head, Row, RowKind, append
from tunnel.mirrored_log import LogBatch, SideText

ORIGIN = "local/studio/1"


def panel_id(number: int) -> str:
    return make_id(number.to_bytes(10, "big"))


def panel_row(number: int, **changes: object) -> PanelRow:
    made = PanelRow(
        id=panel_id(number), kind="delegation", title=f"Work {number}", state="working", opener="@lead",
        worker="@hand", parent="", last_word="On it.", changed_us=number,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def log_rows(count: int, *, origin: str = ORIGIN, words: str = "relayed") -> list[bytes]:
    """The first rows of a log, as bytes."""
    head, rows = Head.empty(origin), list[bytes]()
    for at in range(count):
        row = Row(row=RowKind.MESSAGE, engine="agent.request", decision=words, sw="heliograph/0")
        head, entry = append(head, Clock(ts_us=1_000 + at, mono_us=at, boot="boot"), row)
        rows.append(entry.data)
    return rows


def batch(
    rows: list[bytes], first: int, until: int, *, origin: str = ORIGIN, texts: tuple[SideText, ...] = ()
) -> LogBatch:
    return LogBatch(origin=origin, first_seq=first, rows=tuple(rows[first:until]), texts=texts)
