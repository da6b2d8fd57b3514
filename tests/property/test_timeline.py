"""Rows survive writing and reading, and no small change to a stored log is ever called fine."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.core import merkle
from node.core.canonical import MAX_INT, MAX_ROW_BYTES, JsonValue, decode, encode
from node.core.errors import MeshError
from node.core.timeline import Clock, Content, Entry, Head, Party, Row, RowKind, Scan, append, commitment
from node.core.timeline_check import Verification, Verifier

ORIGIN = "org.example/nodeaaaaaaaaaaaa/1"
CODES = st.from_regex(r"[a-z][a-z0-9_.-]{0,15}", fullmatch=True)
TOKENS = st.from_regex(r"[A-Za-z0-9._:+/=@-]{1,40}", fullmatch=True)
HASHES = st.binary(min_size=32, max_size=32).map(bytes.hex)
COUNTS = st.integers(0, MAX_INT)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)


def nested(strings: st.SearchStrategy[str]) -> st.SearchStrategy[JsonValue]:
    plain = st.one_of(st.none(), st.booleans(), st.integers(-MAX_INT, MAX_INT), strings)
    one = st.one_of(plain, st.lists(plain, max_size=3), st.dictionaries(CODES, plain, max_size=3))
    return st.one_of(one, st.lists(one, max_size=3), st.dictionaries(CODES, one, max_size=3))


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), strategy)


PARTIES = st.builds(Party, **{name: maybe(TOKENS) for name in ("node", "workspace", "session", "agent", "role")})
ROWS = st.builds(
    Row,
    row=st.sampled_from(RowKind),
    engine=CODES,
    decision=CODES,
    sw=TOKENS,
    reason=maybe(CODES),
    kind=maybe(CODES),
    **{name: maybe(TOKENS) for name in ("msg", "conv", "parent", "root", "policy")},
    depth=maybe(COUNTS),
    leg=st.sampled_from([None, "local", "egress", "ingress"]),
    src=maybe(PARTIES),
    dst=maybe(PARTIES),
    content=maybe(
        st.builds(
            Content,
            bytes=COUNTS,
            chars=COUNTS,
            commit=maybe(HASHES),
            files=st.lists(st.tuples(HASHES, COUNTS), max_size=4).map(tuple),
            truncated=st.booleans(),
        )
    ),
    side=st.dictionaries(CODES, HASHES, max_size=4),
    scan=maybe(
        st.builds(
            Scan,
            engine=TOKENS,
            version=TOKENS,
            status=st.sampled_from(["clean", "flagged", "unavailable", "skipped"]),
            score=st.integers(0, 1000),
            rules=st.lists(CODES, max_size=4).map(tuple),
        )
    ),
    extra=st.dictionaries(CODES, nested(TOKENS), max_size=3),
)
CLOCKS = st.builds(Clock, ts_us=COUNTS, mono_us=COUNTS, boot=TOKENS, off_us=maybe(st.integers(-MAX_INT, MAX_INT)))


def joined(value: JsonValue) -> JsonValue:
    """`value` with surrogate halves that stand side by side made one character, as any JSON reader does."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        case list():
            return [joined(item) for item in value]
        case dict():
            return {key: joined(item) for key, item in value.items()}
        case _:
            return value


def written(rows: list[tuple[Clock, Row]]) -> tuple[Head, list[Entry]]:
    head, entries = Head.empty(ORIGIN), []
    for when, row in rows:
        head, entry = append(head, when, row)
        entries.append(entry)
    return head, entries


def verified(entries: list[Entry]) -> Verification:
    verifier = Verifier(ORIGIN)
    for entry in entries:
        verifier.feed(entry.seq, entry.data, entry.leaf)
    return verifier.finish()


def story(size: int) -> tuple[Head, list[Entry]]:
    row = Row(row=RowKind.MESSAGE, engine="agent.delegation", decision="relayed", msg="abcdefgh23456789", sw="1")
    return written([(Clock(ts_us=number * 1000, mono_us=number * 1000, boot="b"), row) for number in range(size)])


HEAD, ENTRIES = story(6)


@settings(deadline=None)
@given(st.dictionaries(CODES, nested(ANY_TEXT), max_size=5))
def test_what_is_written_is_read_back(value: dict[str, JsonValue]) -> None:
    data = encode(value)
    assert data.isascii()
    assert decode(data) == joined(value)
    assert encode(decode(data)) == data


@settings(deadline=None)
@given(st.lists(st.tuples(CLOCKS, ROWS), max_size=4))
def test_any_log_of_valid_rows_verifies_and_says_what_was_put_in(rows: list[tuple[Clock, Row]]) -> None:
    head, entries = written(rows)
    found = verified(entries)
    assert found.ok, found.problem
    assert (found.rows, found.root) == (len(rows), head.root)
    for (when, row), entry in zip(rows, entries, strict=True):
        fields = decode(entry.data)
        assert len(entry.data) <= MAX_ROW_BYTES
        assert None not in fields.values()
        assert (fields["ts"], fields["mono"], fields["boot"]) == (when.ts_us, when.mono_us, when.boot)
        for name in ("engine", "decision", "reason", "msg", "conv", "parent", "root", "depth", "kind", "leg", "policy"):
            assert fields.get(name) == getattr(row, name)
        assert fields.get("side", {}) == dict(row.side)
        assert fields.get("extra", {}) == row.extra


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=60) | st.text('{}[]":,0123.eE-+ntfalsrue \\uab', max_size=40).map(str.encode))
def test_whatever_is_read_is_its_own_canonical_form_or_is_refused(data: bytes) -> None:
    try:
        value = decode(data)
    except MeshError:
        return
    assert isinstance(value, dict)
    assert list(value) == sorted(value)
    assert b" " not in data


@pytest.mark.parametrize("number", range(len(ENTRIES)))
def test_no_flipped_bit_of_bytes_or_hash_is_called_fine(number: int) -> None:
    entry = ENTRIES[number]
    start, _ = story(number)
    for bit in range(8 * (len(entry.data) + len(entry.leaf))):
        stored = bytearray(entry.data + entry.leaf)
        stored[bit // 8] ^= 1 << bit % 8
        data, leaf = bytes(stored[: len(entry.data)]), bytes(stored[len(entry.data) :])
        problem = Verifier(ORIGIN, start=start).feed(number, data, leaf)
        assert problem is not None
        assert problem.seq == number


@pytest.mark.parametrize("number", range(len(ENTRIES) - 1))
def test_no_flipped_bit_is_called_fine_when_its_hash_was_made_to_fit(number: int) -> None:
    start, _ = story(number)
    entry, following = ENTRIES[number], ENTRIES[number + 1]
    for bit in range(8 * len(entry.data)):
        data = bytearray(entry.data)
        data[bit // 8] ^= 1 << bit % 8
        verifier = Verifier(ORIGIN, start=start)
        verifier.feed(number, bytes(data), merkle.leaf_hash(bytes(data)))
        verifier.feed(number + 1, following.data, following.leaf)
        assert not verifier.finish().ok


@pytest.mark.parametrize("change", ["drop", "repeat", "swap", "reverse"])
@settings(deadline=None)
@given(st.data())
def test_no_reordering_verifies(change: str, data: st.DataObject) -> None:
    entries = list(ENTRIES)
    first = data.draw(st.integers(0, len(entries) - 2))
    second = data.draw(st.integers(first + 1, len(entries) - 1))
    if change == "drop":
        del entries[first:second]
    elif change == "repeat":
        entries.insert(second, entries[first])
    elif change == "swap":
        entries[first], entries[second] = entries[second], entries[first]
    else:
        entries[first : second + 1] = reversed(entries[first : second + 1])
    assert not verified(entries).ok
    renumbered = [Entry(seq=seq, data=entry.data, leaf=entry.leaf) for seq, entry in enumerate(entries)]
    assert not verified(renumbered).ok


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16), ANY_TEXT, ANY_TEXT)
def test_a_commitment_names_one_salt_and_one_text(salt: bytes, other: bytes, text: str, words: str) -> None:
    same = salt == other and joined(text) == joined(words)
    assert (commitment(salt, text) == commitment(other, words)) is same


def test_verification_needs_no_more_memory_for_more_rows() -> None:
    def peak(size: int) -> int:
        row = Row(row=RowKind.GAP, engine="store", decision="recorded", sw="1")
        head, verifier = Head.empty(ORIGIN), Verifier(ORIGIN)
        tracemalloc.start()
        for number in range(size):
            # Every row is worth a warning and a clock step, so the lists of findings must be bounded as well.
            when = Clock(ts_us=number % 2 * 10_000_000, mono_us=number, boot="b")
            head, entry = append(head, when, row)
            verifier.feed(entry.seq, entry.data, entry.leaf)
        assert verifier.finish().ok
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(200)
    assert peak(4_000) < 2 * peak(400)
