"""Rows for exports, hostile ones above all: what agents and peers may have written beside a row, and damaged bytes."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from node.core.export_record import Record, record_of
from node.core.timeline import Clock, Content, Head, Party, Row, RowKind, Scan, append
from node.core.views import TimelineRowView

NODE = "nodeaaaaaaaaaaaa"
LOG = f"local/{NODE}/1"
NOW_US = 1_790_000_000_250_000

# What each kind of reader takes for something else than text.
HOSTILE = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    '  =HYPERLINK("http://example.org","x")',
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff201",
    "'=1",
    "'",
    "a\rb",
    "a\nb",
    "a\r\n2027-01-31,forged,row\r\n",
    "a\x85b\u2028c\u2029d",
    "\u202eevil\u2066\u2069\u200b\ufeff",
    "\x00\x1b[2J\x07\x7f\x9b31m",
    'say ""hi"", "x"',
    "\\x3d1 \\u{3d} \\\\ \\",
    "\ud800 half \udfff",
    ']"\\ [x@1 y="z"]',
    "ünï 😀 日本",
    '{"a": "b"}',
    " ",
    "",
)
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.lists(st.sampled_from(HOSTILE), max_size=3).map("".join),
)
FIELDS = st.sampled_from(["title", "sender", "recipient", "preview", "snippet", "name", "words", "x-1.y_z"])
SIDES = st.dictionaries(FIELDS, TEXTS, max_size=5)

MESSAGE = Row(
    row=RowKind.MESSAGE,
    engine="agent.delegation",
    decision="relayed",
    sw="heliograph/1",
    msg="m" * 16,
    conv="c" * 16,
    parent="p" * 16,
    root="r" * 16,
    depth=2,
    kind="brief",
    leg="egress",
    src=Party(node=NODE, workspace="default", session="s" * 16, agent="claude", role="delegator"),
    dst=Party(node="peerbbbbbbbbbbbb", session="t" * 16, agent="codex", role="delegate"),
    content=Content(bytes=120, chars=100, commit="ab" * 32, files=(("cd" * 32, 5),)),
    scan=Scan(engine="rules", version="1", status="clean", score=0),
)
WITHHELD = Row(
    row=RowKind.MESSAGE,
    engine="agent.request",
    decision="withheld",
    reason="prompt_injection",
    sw="heliograph/1",
    msg="m" * 16,
    conv="c" * 16,
    kind="request",
    leg="local",
    src=Party(node=NODE, session="s" * 16, agent="claude", role="asker"),
    dst=Party(node=NODE, role="person"),
    scan=Scan(engine="rules", version="1", status="flagged", score=905, rules=("override", "disguise")),
)


def record(row: Row, *, side: Mapping[str, str] | None = None, ts_us: int = NOW_US, log: str = LOG) -> Record:
    """The row as exports read it, as the first of a log."""
    return records([row], side=side, ts_us=ts_us, log=log)[0]


def records(
    rows: list[Row], *, side: Mapping[str, str] | None = None, ts_us: int = NOW_US, log: str = LOG
) -> list[Record]:
    """A log's first rows, each with the same texts beside it."""
    head, made = Head.empty(log), []
    for row in rows:
        head, entry = append(head, Clock(ts_us=ts_us, mono_us=5, boot="boot-1"), row)
        view = TimelineRowView(seq=entry.seq, data=entry.data, leaf=entry.leaf, side=tuple((side or {}).items()))
        made.append(record_of(view, log))
    return made


def damaged(data: bytes, side: Mapping[str, str] | None = None) -> Record:
    """A row whose bytes are no row."""
    return record_of(TimelineRowView(seq=3, data=data, leaf=b"\x05" * 32, side=tuple((side or {}).items())), LOG)


def utc(_us: int) -> int:
    """A zone without an offset."""
    return 0
