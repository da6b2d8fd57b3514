"""Filters of rows say what a slow and plain reading of every row says, and miss nothing that is damaged."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from node.core.canonical import JsonValue, decode
from node.core.errors import MeshError
from node.core.merkle import leaf_hash
from node.core.timeline import Clock, Entry, Head, Party, Row, RowKind, append
from node.core.timeline_filter import Matcher, RowFilter

CODES = st.sampled_from(["relayed", "withheld", "read", "reason", "message", "agent.request", "a"])
IDS = st.sampled_from(["abc", "abd", "ab", "b", "Ab+c/=@"])
WORDS = st.sampled_from(["Straße", "STRASSE", "cafe\u0301", "CAFÉ", "port 8080", "", "\u202eevil", "İ"])
PARTIES = st.none() | st.builds(Party, node=st.none() | IDS, workspace=st.none() | IDS, session=st.none() | IDS)
ROWS = st.builds(
    Row,
    row=st.sampled_from([RowKind.MESSAGE, RowKind.OUTCOME, RowKind.POLICY]),
    engine=CODES,
    decision=CODES,
    reason=st.none() | CODES,
    sw=IDS,
    msg=st.none() | IDS,
    conv=st.none() | IDS,
    src=PARTIES,
    dst=PARTIES,
    # What looks like other fields, where none of them is.
    extra=st.just({}) | st.just({"decision": "withheld", "session": "abc", "row": "outcome"}),
)
SIDES = st.dictionaries(st.sampled_from(["title", "preview"]), WORDS, max_size=2).map(lambda side: tuple(side.items()))
TIMES = st.integers(0, 4)
FILTERS = st.builds(
    RowFilter,
    row=st.just("") | CODES,
    engine=st.just("") | CODES,
    decision=st.just("") | CODES,
    outcome=st.just("") | CODES,
    reason=st.just("") | CODES,
    session=st.just("") | IDS,
    workspace=st.just("") | IDS,
    peer=st.just("") | IDS,
    exchange=st.just("") | IDS,
    message=st.just("") | IDS,
    text=WORDS,
    since_us=TIMES,
    until_us=TIMES,
)


def entry_of(row: Row, ts_us: int) -> Entry:
    return append(Head.empty("local/n/1"), Clock(ts_us=ts_us, mono_us=0, boot="b"), row)[1]


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def plainly(row: dict[str, JsonValue], side: tuple[tuple[str, str], ...], wanted: RowFilter) -> bool:
    """The filter as its description has it."""

    def end(part: str) -> list[str]:
        parties = [row.get(name) for name in ("from", "to")]
        return [str(party[part]) for party in parties if isinstance(party, dict) and part in party]

    texts = [fold(text) for _, text in side]
    ts = row["ts"]
    assert isinstance(ts, int)
    return all((
        not wanted.row or row["row"] == wanted.row,
        not wanted.engine or row["engine"] == wanted.engine,
        not wanted.decision or row["decision"] == wanted.decision,
        not wanted.outcome or (row["row"] == "outcome" and row["decision"] == wanted.outcome),
        not wanted.reason or row.get("reason") == wanted.reason,
        not wanted.session or any(one.startswith(wanted.session) for one in end("session")),
        not wanted.workspace or wanted.workspace in end("workspace"),
        not wanted.peer or any(one.startswith(wanted.peer) for one in end("node")),
        str(row.get("conv", "")).startswith(wanted.exchange),
        str(row.get("msg", "")).startswith(wanted.message),
        all(any(word in text for text in texts) for word in fold(wanted.text).split()),
        wanted.since_us <= ts,
        not wanted.until_us or ts < wanted.until_us,
    ))  # fmt: skip


@given(row=ROWS, side=SIDES, wanted=FILTERS, ts_us=TIMES)
def test_a_filter_picks_what_it_describes(
    row: Row, side: tuple[tuple[str, str], ...], wanted: RowFilter, ts_us: int
) -> None:
    entry = entry_of(row, ts_us)
    assert Matcher(wanted)(entry.data, entry.leaf, side) == plainly(decode(entry.data), side, wanted)


@given(row=ROWS, field=st.sampled_from(["engine", "decision", "session", "text", "since_us"]), wanted=FILTERS)
def test_each_more_narrows(row: Row, field: str, wanted: RowFilter) -> None:
    """All that is given holds at once: without one of it, nothing is lost."""
    entry = entry_of(row, 2)
    wider = replace(wanted, **{field: 0 if field == "since_us" else ""})
    if Matcher(wanted)(entry.data, entry.leaf, ()):
        assert Matcher(wider)(entry.data, entry.leaf, ())


@given(row=ROWS, wanted=FILTERS, at=st.integers(0), bit=st.integers(0, 7))
def test_a_row_with_a_flipped_bit_is_never_filtered_away(row: Row, wanted: RowFilter, at: int, bit: int) -> None:
    entry = entry_of(row, 2)
    data = bytearray(entry.data)
    data[at % len(data)] ^= 1 << bit
    assert Matcher(wanted)(bytes(data), entry.leaf, ())


@given(row=ROWS, wanted=FILTERS, instead=ROWS)
# What is asked for stands in the bytes, where it means something else.
@example(
    row=Row(row=RowKind.POLICY, engine="a", decision="a", sw="b"),
    wanted=RowFilter(decision="withheld"),
    instead=Row(row=RowKind.POLICY, engine="a", decision="b", sw="b", extra={"decision": "withheld"}),
)
def test_a_row_in_the_place_of_another_is_never_filtered_away(row: Row, wanted: RowFilter, instead: Row) -> None:
    data, leaf = entry_of(instead, 2).data, entry_of(row, 2).leaf
    assert leaf_hash(data) == leaf or Matcher(wanted)(data, leaf, ())


@given(data=st.binary(max_size=60), wanted=FILTERS)
def test_what_is_no_row_is_never_filtered_away(data: bytes, wanted: RowFilter) -> None:
    """Not even with the hash that it should have."""
    try:
        decode(data)
    except MeshError:
        assert Matcher(wanted)(data, leaf_hash(data), ())
