"""Rows as bytes and hashes that must never drift, what a row refuses to hold, and each attack a chain can show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from node.core import merkle
from node.core.canonical import MAX_INT, MAX_ROW_BYTES, decode, encode
from node.core.errors import ErrorCode, MeshError
from node.core.evidence import Evidence, Page
from node.core.note import TreeHead
from node.core.timeline import Clock, Content, Entry, Head, Party, Row, RowKind, Scan, append, commitment
from node.core.timeline_check import ProblemCode, Verification, Verifier
from node.signatures import NoteChecks

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "timeline_rows.json").read_text())
ORIGIN = "local/nodeaaaaaaaaaaaa/1"
SALT = bytes(range(16))
SECOND = 1_000_000
PLAIN = Row(row=RowKind.LIFECYCLE, engine="lifecycle", decision="started", sw="heliograph/0.1.0")
FULL = Row(
    row=RowKind.MESSAGE,
    engine="agent.delegation",
    decision="withheld",
    reason="prompt_injection",
    msg="abcdefgh23456789",
    conv="bbcdefgh23456789",
    parent="cbcdefgh23456789",
    root="dbcdefgh23456789",
    depth=2,
    kind="brief",
    leg="egress",
    src=Party(node="nodeaaaaaaaaaaaa", workspace="default", session="s1", agent="claude-code", role="delegator"),
    dst=Party(node="nodebbbbbbbbbbbb", role="delegate"),
    content=Content(
        bytes=1200, chars=1190, commit=commitment(SALT, "body"), files=((commitment(SALT, "file"), 7),), truncated=True
    ),
    side={"title": commitment(SALT, "Fix the build"), "preview": commitment(SALT, "größer \ud83d")},
    scan=Scan(engine="rules", version="3", status="flagged", score=930, rules=("override", "bidi")),
    policy="9f86d081884c7d65",
    sw="heliograph/0.1.0+g12ab",
    extra={"hops": ["nodea", "nodeb"], "limit": {"open": 8, "reached": True}, "none": None},
)
OUTCOME = Row(
    row=RowKind.OUTCOME, engine="agent.delegation", decision="delivered", msg=FULL.msg, leg="local", sw=PLAIN.sw
)


def clock(second: int, *, boot: str = "boot-1", wall: int = 0) -> Clock:
    """The clock after so many seconds, its wall time moved by `wall` seconds."""
    return Clock(ts_us=(1_790_000_000 + second + wall) * SECOND, mono_us=second * SECOND, boot=boot)


def written(rows: Iterable[tuple[Clock, Row]], origin: str = ORIGIN) -> tuple[Head, list[Entry]]:
    head, entries = Head.empty(origin), []
    for when, row in rows:
        head, entry = append(head, when, row)
        entries.append(entry)
    return head, entries


def log(size: int, origin: str = ORIGIN) -> tuple[Head, list[Entry]]:
    return written(((clock(second), (PLAIN, FULL, OUTCOME)[second % 3]) for second in range(size)), origin)


def verified(entries: Iterable[Entry], checkpoints: dict[int, bytes] | None = None) -> Verification:
    if checkpoints is not None:
        # A chain knows nothing of them.
        seen = [TreeHead(origin=ORIGIN, size=size, root=root) for size, root in checkpoints.items()]
        evidence = Evidence(ORIGIN, checks=NoteChecks(), seen=seen)
        evidence.feed(Page(rows=[(entry.seq, entry.data, entry.leaf) for entry in entries]))
        return evidence.finish(signing=True)
    verifier = Verifier(ORIGIN)
    for entry in entries:
        verifier.feed(entry.seq, entry.data, entry.leaf)
    return verifier.finish()


def rehashed(entry: Entry, data: bytes) -> Entry:
    """The entry with other bytes and the hash that fits them, as one who can write the store would leave it."""
    return Entry(seq=entry.seq, data=data, leaf=merkle.leaf_hash(data))


# Bytes and hashes


def test_rows_are_the_very_bytes_and_hashes_of_the_vectors() -> None:
    rows = [(clock(0), PLAIN), (replace(clock(1), off_us=-250), FULL), (clock(2), OUTCOME)]
    head = Head.empty(VECTORS["origin"])
    for (when, row), vector in zip(rows, VECTORS["rows"], strict=True):
        head, entry = append(head, when, row)
        assert entry.data.decode("ascii") == vector["data"]
        assert entry.leaf.hex() == vector["leaf"]
        assert head.root.hex() == vector["root"]


@pytest.mark.parametrize("vector", VECTORS["commitments"], ids=lambda vector: ascii(vector["text"]))
def test_commitments_are_those_of_the_vectors(vector: dict[str, str]) -> None:
    assert commitment(bytes.fromhex(vector["salt"]), vector["text"]) == vector["sha256"]


@pytest.mark.parametrize("text", VECTORS["not_rows"].values(), ids=VECTORS["not_rows"])
def test_bytes_that_are_not_the_canonical_form_are_no_row(text: str) -> None:
    with pytest.raises(MeshError) as refused:
        decode(text.encode())
    assert refused.value.code is ErrorCode.TAMPERED


def test_the_limits_of_what_is_read() -> None:
    filler = MAX_ROW_BYTES - len(b'{"a":""}')
    assert decode(b'{"a":"' + b"x" * filler + b'"}') == {"a": "x" * filler}
    with pytest.raises(MeshError):
        decode(b'{"a":"' + b"x" * (filler + 1) + b'"}')
    assert decode(f'{{"a":{MAX_INT},"b":{-MAX_INT}}}'.encode()) == {"a": MAX_INT, "b": -MAX_INT}


def test_a_text_commits_to_the_same_hash_before_and_after_json() -> None:
    halves = "\ud83d" + "\ude42"
    assert commitment(SALT, halves) == commitment(SALT, json.loads(json.dumps(halves))) == commitment(SALT, "🙂")
    assert commitment(SALT, "\ud83d") != commitment(SALT, "\ude42")
    with pytest.raises(MeshError):
        commitment(b"short", "text")


def test_lone_surrogates_do_not_break_writing() -> None:
    data = encode({"text": "a\ud800b\udfff"})
    assert data == rb'{"text":"a\ud800b\udfff"}'
    assert decode(data) == {"text": "a\ud800b\udfff"}


# What a row may hold


@pytest.mark.parametrize(
    ("field", "row"),
    [
        ("decision", replace(PLAIN, decision="Relayed to Bob")),
        ("engine", replace(PLAIN, engine="")),
        ("reason", replace(PLAIN, reason="because\nrelayed")),
        ("msg", replace(PLAIN, msg="two words")),
        ("conv", replace(PLAIN, conv="x" * 129)),
        ("root", replace(PLAIN, root="half\ud800")),
        ("depth", replace(PLAIN, depth=-1)),
        ("leg", replace(PLAIN, leg="sideways")),
        ("from.session", replace(PLAIN, src=Party(session="my secret session"))),
        ("to.agent", replace(PLAIN, dst=Party(agent="größer"))),
        ("content.bytes", replace(PLAIN, content=Content(bytes=2**53, chars=0))),
        ("content.commit", replace(PLAIN, content=Content(bytes=1, chars=1, commit="password"))),
        ("content.files", replace(PLAIN, content=Content(bytes=1, chars=1, files=(("A" * 64, 1),)))),
        ("side", replace(PLAIN, side={"The title": "a" * 64})),
        ("title", replace(PLAIN, side={"title": "plain text"})),
        ("scan.status", replace(PLAIN, scan=Scan(engine="rules", version="1", status="fine"))),
        ("scan.score", replace(PLAIN, scan=Scan(engine="rules", version="1", status="clean", score=1001))),
        ("scan.rules", replace(PLAIN, scan=Scan(engine="rules", version="1", status="clean", rules=("a b",)))),
        ("extra.note", replace(PLAIN, extra={"note": "free text"})),
        ("extra", replace(PLAIN, extra={"Not a code": 1})),
        ("extra.big", replace(PLAIN, extra={"big": 2**53})),
        ("extra.a.a.a.a", replace(PLAIN, extra={"a": {"a": {"a": {"a": {}}}}})),
        ("extra.ratio", replace(PLAIN, extra={"ratio": 0.5})),  # type: ignore[dict-item]
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_row_outside_the_schema_is_refused_by_name_without_its_value(field: str, row: Row) -> None:
    head, _ = log(2)
    with pytest.raises(MeshError) as refused:
        append(head, clock(2), row)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    assert refused.value.details == {"field": field}
    for leaked in ("Bob", "secret", "password", "plain text", "free text"):
        assert leaked not in refused.value.message


def test_a_float_as_time_is_refused() -> None:
    with pytest.raises(MeshError) as refused:
        append(Head.empty(ORIGIN), Clock(ts_us=1.5, mono_us=0, boot="b"), PLAIN)  # type: ignore[arg-type]
    assert refused.value.details == {"field": "ts"}


@pytest.mark.parametrize("origin", ["", "has space", "-starts-with-dash", "x" * 129, "line\nbreak"])
def test_an_origin_is_a_plain_path(origin: str) -> None:
    with pytest.raises(MeshError):
        Head.empty(origin)


def test_a_head_whose_parts_clash_is_refused() -> None:
    head, _ = log(5)
    for broken in ({"size": 7}, {"last": None}, {"frontier": ()}, {"size": -1}):
        with pytest.raises(MeshError):
            replace(head, **broken)  # type: ignore[arg-type]


def test_a_long_row_is_trimmed_in_the_documented_order_and_what_went_stays_provable() -> None:
    files = tuple((commitment(SALT, str(number)), number) for number in range(120))
    rules = tuple(f"rule-{number:02}-{'x' * 40}" for number in range(40))
    only_files = replace(FULL, content=replace(FULL.content or Content(bytes=1, chars=1), files=files))
    fields = decode(append(Head.empty(ORIGIN), clock(0), only_files)[1].data)
    assert set(fields["cut"]) == {"files"}
    assert fields["content"]["files"] == [list(file) for file in files[:8]]
    left_out = json.dumps([list(file) for file in files[8:]], separators=(",", ":")).encode()
    assert fields["cut"]["files"] == {"count": 112, "sha256": merkle.sha256(left_out).hexdigest()}
    assert fields["extra"] == FULL.extra

    everything = replace(
        only_files,
        scan=Scan(engine="rules", version="1", status="clean", rules=rules),
        side={f"name{number}": "a" * 64 for number in range(60)},
        extra={f"field{number}": "x" * 100 for number in range(20)},
    )
    fields = decode(append(Head.empty(ORIGIN), clock(0), everything)[1].data)
    assert set(fields["cut"]) == {"files", "rules", "extra"}
    assert fields["scan"]["rules"] == list(rules[:8])
    assert fields["cut"]["extra"]["count"] == 20
    assert "extra" not in fields


def test_a_row_that_is_too_long_even_so_is_not_written() -> None:
    with pytest.raises(MeshError) as refused:
        append(Head.empty(ORIGIN), clock(0), replace(PLAIN, side={f"name{n}": "a" * 64 for n in range(200)}))
    assert refused.value.code is ErrorCode.AUDIT_UNAVAILABLE


def test_a_full_log_takes_no_row() -> None:
    size = MAX_INT + 1
    full = Head(origin=ORIGIN, size=size, last=b"x" * 32, frontier=(b"x" * 32,) * size.bit_count())
    with pytest.raises(MeshError) as refused:
        append(full, clock(0), PLAIN)
    assert refused.value.code is ErrorCode.AUDIT_UNAVAILABLE


# Verification


def test_an_untouched_log_verifies_and_gives_the_head_s_root() -> None:
    head, entries = log(50)
    found = verified(entries, {10: merkle.root_of(entry.leaf for entry in entries[:10]), 50: head.root})
    assert (found.ok, found.problem, found.rows, found.first_seq, found.last_seq) == (True, None, 50, 0, 49)
    assert found.root == head.root
    assert (found.clock_steps, found.warnings) == ((), ())


def test_an_empty_log_verifies() -> None:
    found = verified([], {0: merkle.EMPTY_ROOT})
    assert (found.ok, found.rows, found.first_seq, found.last_seq) == (True, 0, None, None)
    assert found.root == merkle.EMPTY_ROOT


def changed(old: bytes, new: bytes) -> Callable[[list[Entry]], list[Entry]]:
    """An attack: other bytes in row 4, with the hash that fits them."""
    return lambda entries: [*entries[:4], rehashed(entries[4], entries[4].data.replace(old, new, 1)), *entries[5:]]


def edit(entries: list[Entry]) -> list[Entry]:
    return [*entries[:4], replace(entries[4], data=entries[4].data.replace(b"withheld", b"relayed")), *entries[5:]]


def swap_bytes(entries: list[Entry]) -> list[Entry]:
    third, fourth = replace(entries[4], seq=3), replace(entries[3], seq=4)
    return [*entries[:3], third, fourth, *entries[5:]]


def delete_and_renumber(entries: list[Entry]) -> list[Entry]:
    return [*entries[:4], *(replace(entry, seq=entry.seq - 1) for entry in entries[5:])]


def renumber_inside(entries: list[Entry]) -> list[Entry]:
    moved = [rehashed(replace(e, seq=e.seq - 1), e.data.replace(b'"seq":5', b'"seq":4')) for e in entries[5:6]]
    return [*entries[:4], *moved]


def splice(entries: list[Entry]) -> list[Entry]:
    return [*entries[:4], log(8, "local/nodebbbbbbbbbbbb/1")[1][4], *entries[5:]]


def sibling_history(entries: list[Entry]) -> list[Entry]:
    other = written((clock(second + 1), PLAIN) for second in range(8))[1]
    return [*entries[:4], other[4], *entries[5:]]


def without_a_field(entries: list[Entry]) -> list[Entry]:
    fields = decode(entries[4].data)
    del fields["boot"]
    data = json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()
    return [*entries[:4], rehashed(entries[4], data), *entries[5:]]


@pytest.mark.parametrize(
    ("attack", "code", "seq"),
    [
        (edit, ProblemCode.EDITED, 4),
        (changed(b"withheld", b"relayed"), ProblemCode.CHAIN_BROKEN, 5),
        (lambda entries: [replace(entries[0], leaf=bytes(32)), *entries[1:]], ProblemCode.EDITED, 0),
        (lambda entries: entries[:4] + entries[5:], ProblemCode.MISSING, 4),
        (delete_and_renumber, ProblemCode.RENUMBERED, 4),
        (renumber_inside, ProblemCode.CHAIN_BROKEN, 4),
        (lambda entries: entries[3:], ProblemCode.HEAD_MISSING, 0),
        (lambda entries: [*entries[:4], entries[3], *entries[4:]], ProblemCode.DUPLICATE, 3),
        (swap_bytes, ProblemCode.RENUMBERED, 3),
        (lambda entries: [*entries[:3], entries[4], entries[3], *entries[5:]], ProblemCode.MISSING, 3),
        (changed(b'"decision":', b'"decision":"relayed","decision":'), ProblemCode.NOT_CANONICAL, 4),
        (splice, ProblemCode.FOREIGN, 4),
        (sibling_history, ProblemCode.CHAIN_BROKEN, 4),
        (changed(b":", b": "), ProblemCode.NOT_CANONICAL, 4),
        (changed(b'"v":1}', b'"v":2}'), ProblemCode.CHAIN_BROKEN, 5),
        (without_a_field, ProblemCode.NOT_CANONICAL, 4),
    ],
)
def test_an_attack_is_found_with_its_row_and_reason(
    attack: Callable[[list[Entry]], list[Entry]], code: ProblemCode, seq: int
) -> None:
    _, entries = log(8)
    found = verified(attack(entries))
    assert not found.ok
    assert found.problem is not None
    assert (found.problem.code, found.problem.seq) == (code, seq)
    assert f"row {seq}" in found.problem.words
    assert found.rows <= 5


@pytest.mark.parametrize(
    ("kept", "code"),
    [(8, None), (7, ProblemCode.TAIL_MISSING), (3, ProblemCode.TAIL_MISSING), (0, ProblemCode.TAIL_MISSING)],
)
def test_a_cut_tail_is_found_by_a_checkpoint(kept: int, code: ProblemCode | None) -> None:
    head, entries = log(8)
    problem = verified(entries[:kept], {8: head.root}).problem
    assert (problem.code if problem else None) is code
    assert verified(entries[:kept]).ok, "a chain alone cannot show it, which is why checkpoints exist"


def test_a_history_rewritten_as_a_whole_is_found_by_a_checkpoint() -> None:
    head, _ = log(8)
    _, other = written((clock(second), PLAIN) for second in range(8))
    assert verified(other).ok
    problem = verified(other, {8: head.root}).problem
    assert problem is not None
    assert (problem.code, problem.seq) == (ProblemCode.ROOT_DIFFERS, 7)


def test_a_pruned_log_goes_on_from_a_trusted_head() -> None:
    start, _ = log(5)
    head, entries = log(8)
    verifier = Verifier(ORIGIN, start=start)
    for entry in entries[5:]:
        assert verifier.feed(entry.seq, entry.data, entry.leaf) is None
    found = verifier.finish()
    assert (found.ok, found.rows, found.first_seq, found.last_seq, found.root) == (True, 3, 5, 7, head.root)


def test_a_start_of_another_log_is_refused() -> None:
    start, _ = log(5)
    with pytest.raises(MeshError):
        Verifier("local/nodebbbbbbbbbbbb/1", start=start)


def test_after_the_first_problem_nothing_more_is_read() -> None:
    _, entries = log(8)
    verifier = Verifier(ORIGIN)
    first = verifier.feed(3, entries[3].data, entries[3].leaf)
    assert first is not None
    assert verifier.feed(0, entries[0].data, entries[0].leaf) is first
    assert verifier.finish().problem is first
