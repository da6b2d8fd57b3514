"""The timeline at a terminal: days as headings, lines that fit, and nothing in them that passes for a line of ours."""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cli.console import Tone
from node.cli.text import width
from node.cli.timeline_follow import follow_rows
from node.cli.timeline_lines import Line, Lines
from node.core.catalogue.languages import CATALOGUES
from node.core.errors import ErrorCode, MeshError
from node.core.timeline import Clock, Content, Head, Party, Row, RowKind, Scan, append
from node.core.timeline_groups import Grouper, Shown
from node.core.views import TimelineRowView
from tests.integration.mesh import scenario

NOON_US = 1_796_040_000_000_000  # 2026-11-30 12:00 UTC
SECOND_US = 1_000_000
LATE_US = NOON_US + 90 * SECOND_US
SAID = '"Which port does the dev server use? I need it for the proxy."'
PLACE, LUGAR = "#0  exchange cccccccc", "#0  troca cccccccc"
FILES = Content(bytes=1, chars=1, files=(("a" * 64, 1_500),))
PRUNED = {"first": 0, "next": 2_048, "first_ts": NOON_US, "root": "ab" * 32, "boots": 3, "why": "age"}
BACK = {"step_us": -5_000_000}
ROW = Row(
    row=RowKind.MESSAGE, engine="agent.request", decision="relayed", sw="t/1", msg="m" * 16, conv="c" * 16,
    kind="request", leg="local",
)  # fmt: skip
SIDE = (("preview", "Which port does the dev server use? I need it for the proxy."), ("recipient", "@bob"),
        ("sender", "@alice"), ("title", "Which port does the dev…"))  # fmt: skip


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def views(*given: tuple[Row, int, tuple[tuple[str, str], ...]]) -> list[TimelineRowView]:
    head, made = Head.empty("local/n/1"), []
    for row, ts_us, side in given:
        head, entry = append(head, Clock(ts_us=ts_us, mono_us=ts_us, boot="b"), row)
        made.append(TimelineRowView(seq=entry.seq, data=entry.data, leaf=entry.leaf, side=side))
    return made


def grouped(rows: list[TimelineRowView]) -> list[Shown[TimelineRowView]]:
    grouper = Grouper[TimelineRowView]()
    return [*(one for row in rows for one in grouper.feed(row)), *grouper.flush()]


def lines(rows: list[TimelineRowView], columns: int | None, lang: str = "en", **names: str) -> list[Line]:
    writer = Lines(CATALOGUES[lang], columns, names)
    return [line for one in grouped(rows) for line in writer.of(one)]


def texts(rows: list[TimelineRowView], columns: int | None, lang: str = "en", **names: str) -> list[str]:
    return [line.text for line in lines(rows, columns, lang, **names)]


def outcome(decision: str, reason: str | None = None, **changes: object) -> Row:
    return replace(ROW, row=RowKind.OUTCOME, decision=decision, reason=reason, **changes)  # type: ignore[arg-type]


ASKED = [
    (ROW, NOON_US, SIDE),
    (outcome("noticed"), NOON_US + SECOND_US, ()),
    (outcome("read"), NOON_US + 2 * SECOND_US, ()),
    (outcome("answered"), NOON_US + 12 * SECOND_US, ()),
]


def test_a_message_at_80_columns() -> None:
    assert texts(views(*ASKED), 80) == [
        "Monday 30 November 2026  (UTC)",
        "12:00:00  request    relayed    @alice -> @bob",
        "          noticed, read, answered after 12 s",
        '          #0  exchange cccccccc  "Which port does the dev server use? I need i…"',
    ]


def test_a_message_at_200_columns() -> None:
    assert texts(views(*ASKED), 200) == [
        "Monday 30 November 2026  (UTC)",
        f"12:00:00  request    relayed    @alice -> @bob  noticed, read, answered after 12 s  {PLACE}  {SAID}",
    ]


def test_a_message_in_portuguese() -> None:
    assert texts(views(*ASKED), 200, "pt") == [
        "segunda-feira, 30 de novembro de 2026  (UTC)",
        f"12:00:00  pedido     encaminhada  @alice -> @bob  avisada, lida, respondida após 12 s  {LUGAR}  {SAID}",
    ]


def test_where_there_is_no_terminal_a_line_stands_by_itself() -> None:
    (line,) = texts(views(*ASKED), None)
    assert line == (
        "2026-11-30 12:00:00.000+00:00  request  relayed  @alice -> @bob  noticed, read, answered after 12 s  #0  "
        f"exchange cccccccc  {SAID}"
    )


def test_days_are_named_when_they_change_and_so_is_the_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the night in which clocks go back, an hour comes twice: the heading tells which one it is."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    night_us = 1_792_890_000_000_000  # 2026-10-25 01:00 UTC: summer time ends
    moments = [night_us - 1_800 * SECOND_US, night_us + 1_800 * SECOND_US, night_us + 86_400 * SECOND_US]
    shown = texts(views(*((replace(ROW, msg=None), at, SIDE) for at in moments)), 200)
    assert [line for line in shown if "2026" in line] == [
        "Sunday 25 October 2026  (UTC+02:00)",
        "Sunday 25 October 2026  (UTC+01:00)",
        "Monday 26 October 2026  (UTC+01:00)",
    ]
    assert [line[:8] for line in shown if "2026" not in line] == ["02:30:00", "02:30:00", "02:00:00"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([(ROW, NOON_US, SIDE)], "relayed    @alice -> @bob  #0"),
        ([*ASKED[:1], (outcome("read"), NOON_US + 100, ())], "read at once  #0"),
        ([*ASKED[:1], (outcome("read"), NOON_US - 5, ())], "@bob  read  #0"),
        ([*ASKED[:1], (outcome("gave_up", "unread"), LATE_US, ())], "given up (unread) after 1 min 30 s"),
        ([*ASKED[:1], (outcome("landed", engine="file", kind=None), NOON_US, ())], "files landed at once"),
        ([ASKED[3]], "… answered  message mmmmmmmm"),
        ([(replace(ROW, decision="teleported", reason="newer_code"), NOON_US, SIDE)], "teleported (newer_code)"),
        ([(replace(ROW, leg="egress"), NOON_US, SIDE)], "@bob  (out)"),
        ([(replace(ROW, content=FILES), NOON_US, SIDE)], "1 file, 1.5 kB"),
        ([(Row(row=RowKind.CLOCK, engine="clock", decision="stepped", sw="t", extra=BACK), NOON_US, ())],
         "clock      stepped  #0  step -5 s"),
        ([(Row(row=RowKind.PRUNE, engine="prune", decision="pruned", sw="t", extra=PRUNED),
           NOON_US, ())], "from row #0  first at 2026-11-30 12:00:00.000+00:00  before row #2048"),
        ([(Row(row=RowKind.POLICY, engine="grant", decision="given", sw="t", extra={"grants": ["request"], "got": []}),
           NOON_US, (("name", "studio"),))], 'given  #0  grants request  name="studio"'),
        ([(Row(row=RowKind.LIFECYCLE, engine="session", decision="started", sw="t", src=Party(session="s" * 16)),
           NOON_US, (("nickname", "dora"), ("title", "x")))], 'started    @dora  #0  title="x"'),
        ([(Row(row=RowKind.LIFECYCLE, engine="worktree", decision="created", sw="t", src=Party(session="named")),
           NOON_US, ())], "created    @today  #0"),
    ],
)  # fmt: skip
def test_what_a_line_says(given: list[tuple[Row, int, tuple[tuple[str, str], ...]]], says: str) -> None:
    shown = texts(views(*given), 300, named="@today")[1]
    assert says in shown


@pytest.mark.parametrize(
    ("given", "tone"),
    [
        ([(ROW, NOON_US, SIDE)], None),
        ([(replace(ROW, decision="withheld"), NOON_US, SIDE)], Tone.BAD),
        ([(replace(ROW, decision="held"), NOON_US, SIDE)], Tone.WARN),
        ([(replace(ROW, decision="held"), NOON_US, SIDE), (outcome("approved"), NOON_US, ())], None),
        ([(ROW, NOON_US, SIDE), (outcome("held", "busy"), NOON_US, ())], Tone.WARN),
        ([(ROW, NOON_US, SIDE), (outcome("held", "busy"), NOON_US, ()), (outcome("read"), NOON_US, ())], None),
        ([(ROW, NOON_US, SIDE), (outcome("read"), NOON_US, ()), (outcome("failed", "files"), NOON_US, ())], Tone.BAD),
    ],
)
def test_what_was_stopped_stands_out(
    given: list[tuple[Row, int, tuple[tuple[str, str], ...]]], tone: Tone | None
) -> None:
    assert lines(views(*given), 300)[1].tone is tone


def test_a_damaged_row_is_a_line() -> None:
    line, *_ = lines([TimelineRowView(seq=7, data=b"\xff\x1b", leaf=b"", side=SIDE)], 80)
    assert line.text.startswith("#7  DAMAGED: ")
    assert line.tone is Tone.BAD


HOSTILE = st.text(
    st.sampled_from("a 語\u202e\u2066\u2028\u2029\x85\x1b\n\r\t\x00\u200b\u061c\ufeff\U000e0041\\\"…é#0-:")
    | st.characters(), max_size=120,
)  # fmt: skip
NAMES = ("title", "sender", "recipient", "preview", "snippet", "nickname", "name", "words", "address", "odd")


@given(
    side=st.dictionaries(st.sampled_from(NAMES), HOSTILE, max_size=6),
    columns=st.integers(40, 220) | st.none(),
    row=st.sampled_from([
        ROW, replace(ROW, decision="withheld", scan=Scan(engine="e", version="1", status="flagged", rules=("a.b",))),
        Row(row=RowKind.POLICY, engine="peer", decision="paired", sw="t"),
        Row(row=RowKind.LIFECYCLE, engine="session", decision="named", sw="t"),
        outcome("read"),
    ]),
    lang=st.sampled_from(sorted(CATALOGUES)),
)  # fmt: skip
def test_no_text_can_leave_its_line_or_pass_for_one(
    side: dict[str, str], columns: int | None, row: Row, lang: str
) -> None:
    shown = texts(views((row, NOON_US, tuple(sorted(side.items())))), columns, lang)
    if columns is None:
        assert len(shown) == 1
    else:
        assert all(width(line) <= columns for line in shown)
        # The day, the line itself; all others are set in.
        assert len([line for line in shown if not line.startswith(" ")]) == 2
    for line in shown:
        assert not [one for one in line if unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@scenario
async def test_following_joins_what_comes_together_and_tells_later_of_the_rest() -> None:
    rows = views(*ASKED)
    told: list[tuple[int, bool, list[str]]] = []
    news = asyncio.Event()

    def show(one: Shown[TimelineRowView]) -> None:
        told.append((one.row.seq, one.late, [outcome.decision for outcome in one.outcomes]))
        news.set()

    async def stream() -> AsyncIterator[TimelineRowView]:
        yield rows[0]
        yield rows[1]
        # The rest comes once somebody has seen that.
        await news.wait()
        news.clear()
        yield rows[2]
        await news.wait()
        yield rows[3]

    await follow_rows(stream(), show)
    assert told == [(0, False, ["noticed"]), (0, True, ["read"]), (0, True, ["answered"])]


@scenario
async def test_what_ends_a_stream_and_what_ends_its_reader_are_told_as_they_are() -> None:
    rows = views(*ASKED)

    async def broken() -> AsyncIterator[TimelineRowView]:
        yield rows[0]
        raise MeshError(ErrorCode.NODE_NOT_RUNNING, "The node was killed.")

    async def endless() -> AsyncIterator[TimelineRowView]:
        yield rows[0]
        await asyncio.Event().wait()

    def gone(_one: Shown[TimelineRowView]) -> None:
        raise BrokenPipeError

    with pytest.raises(MeshError, match="was killed"):
        await follow_rows(broken(), lambda _one: None)
    with pytest.raises(BrokenPipeError):
        await follow_rows(endless(), gone)


@pytest.mark.parametrize("columns", [40, 80])
def test_long_names_go_on_below_set_in(columns: int) -> None:
    shown = texts(views((ROW, NOON_US, (("recipient", "b" * 300), ("sender", "a" * 300)))), columns)
    assert max(map(width, shown)) <= columns
    assert "".join(shown).count("a") >= 300
