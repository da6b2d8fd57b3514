"""Panels, mirrored panels and mirrored logs: what they show, what they refuse, and what they say is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from node.core.panel import PanelDelta, PanelSnapshot
from node.core.timeline import Clock, Head, Row, RowKind, append
from node.core.timeline_check import ProblemCode
from tests.panels import ORIGIN, batch, log_rows, panel_id, panel_row
from tunnel.mirror import Bounds, MirroredPanel, Panel, Slot, Taken
from tunnel.mirrored_log import BREAKS_KEPT, SIDE_CHARS, MirroredLog, SideText
from tunnel.pace import Pace

BOUNDS = Bounds(rows=3, title_chars=10)


def whole(*numbers: int, revision: int = 5, run: str = "r1", left_out: int = 0) -> PanelSnapshot:
    return PanelSnapshot(run=run, revision=revision, rows=tuple(map(panel_row, numbers)), left_out=left_out)


def delta(begin: int, end: int, *numbers: int, removed: tuple[int, ...] = (), state: str = "asked") -> PanelDelta:
    return PanelDelta(
        from_revision=begin, revision=end, changed=tuple(panel_row(one, state=state) for one in numbers),
        removed=tuple(map(panel_id, removed)), left_out=0,
    )  # fmt: skip


def test_a_panel_counts_up_only_when_something_changed() -> None:
    panel = Panel(run="r1", history=2)
    assert (panel.revision, panel.snapshot().rows) == (1, ())
    assert panel.update([panel_row(1), panel_row(2)])
    assert not panel.update([panel_row(1), panel_row(2)])
    assert panel.revision == 2
    assert panel.update([panel_row(1), panel_row(2)], left_out=4)
    assert panel.since("r1", 2) == PanelDelta(from_revision=2, revision=3, changed=(), removed=(), left_out=4)


def test_a_delta_goes_over_several_revisions_and_is_the_whole_when_those_are_forgotten() -> None:
    panel = Panel(run="r1", history=2)
    panel.update([panel_row(1), panel_row(2)])
    panel.update([panel_row(1), panel_row(2), panel_row(3)])
    panel.update([panel_row(3), panel_row(2, state="asked")])
    assert panel.since("r1", 2) == replace(
        delta(2, 4, 3, 2, removed=(1,)), changed=(panel_row(3), panel_row(2, state="asked"))
    )
    assert panel.since("r1", 4) == PanelDelta(from_revision=4, revision=4, changed=(), removed=(), left_out=0)
    for run, revision in (("r1", 1), ("r1", 5), ("r0", 4), ("", 0)):
        assert panel.since(run, revision) == panel.snapshot()


def test_latest_wins_in_a_slot() -> None:
    slot = Slot(3)
    assert not slot.pending
    slot.offer(5)
    slot.offer(4)
    assert (slot.pending, slot.take(), slot.pending, slot.held) == (True, 3, False, 5)


def test_a_mirrored_panel_follows_and_drops_what_is_old() -> None:
    mirrored = MirroredPanel(BOUNDS)
    assert mirrored.wanted == ("", 0)
    assert mirrored.take(whole(1, 2)) is Taken.SHOWN
    assert mirrored.take(delta(5, 7, 3, removed=(1,))) is Taken.SHOWN
    assert mirrored.wanted == ("r1", 7)
    assert [row.state for row in mirrored.rows.values()] == ["working", "asked"]
    # It goes further back than needed, and as far.
    assert mirrored.take(delta(6, 8, 2)) is Taken.SHOWN
    assert mirrored.take(delta(6, 8, removed=(2,))) is Taken.OLD
    assert mirrored.heard(8) is Taken.OLD
    assert set(mirrored.rows) == {panel_id(2), panel_id(3)}


@pytest.mark.parametrize("sent", [delta(9, 10, 2), delta(1, 2, 2)])
def test_a_delta_that_follows_nothing_is_a_gap_until_the_whole_comes(sent: PanelDelta) -> None:
    mirrored = MirroredPanel(BOUNDS)
    if sent.from_revision == 9:
        mirrored.take(whole(1))
    assert mirrored.take(sent) is Taken.GAP
    assert mirrored.wanted == ("", 0)
    assert mirrored.take(delta(5, 6, 2)) is Taken.GAP
    assert mirrored.take(whole(4, run="r2", revision=1)) is Taken.SHOWN
    assert (mirrored.gap, mirrored.wanted, set(mirrored.rows)) == (False, ("r2", 1), {panel_id(4)})


def test_a_beat_of_another_revision_is_a_gap() -> None:
    mirrored = MirroredPanel(BOUNDS)
    assert mirrored.heard(7) is Taken.OLD
    mirrored.take(whole(1))
    assert mirrored.heard(6) is Taken.GAP
    assert mirrored.wanted == ("", 0)


def test_rows_beyond_the_bounds_are_counted_and_texts_are_cut() -> None:
    mirrored = MirroredPanel(BOUNDS)
    mirrored.take(whole(1, 2, 3, 4, 5, left_out=2))
    assert (len(mirrored.rows), mirrored.left_out) == (3, 4)
    long = replace(
        panel_row(1), kind="k" * 999, title="t" * 999, state="s" * 999, opener="o" * 999, worker="w" * 999,
        parent="p" * 999, last_word="l" * 999,
    )  # fmt: skip
    mirrored.take(replace(delta(5, 6, removed=(5,)), changed=(long,)))
    row = mirrored.rows[panel_id(1)]
    texts = (row.kind, row.title, row.state, row.opener, row.worker, row.parent, row.last_word)
    assert list(map(len, texts)) == [64, 10, 64, 64, 64, 64, 200]
    assert mirrored.left_out == 1


def test_a_log_follows_its_server_and_is_resumed() -> None:
    rows, log = log_rows(9), MirroredLog(keep=4)
    assert log.wanted == ("", 0)
    assert [row.seq for row in log.take(batch(rows, 2, 6))] == [2, 3, 4, 5]
    assert (log.wanted, log.since, log.breaks_total) == ((ORIGIN, 6), 2, 0)
    # Told again from further back, as after a lost connection.
    assert [row.seq for row in log.take(batch(rows, 4, 9))] == [6, 7, 8]
    assert [row.data for row in log.rows] == rows[5:9]
    assert (log.heard(9), log.heard(10), log.breaks_total) == (False, True, 0)


def test_a_missing_row_is_a_break_that_stays() -> None:
    rows, log = log_rows(9), MirroredLog(keep=4)
    log.take(batch(rows, 0, 3))
    log.take(batch(rows, 5, 9))
    (found,) = log.breaks
    assert (found.first, found.last, found.code) == (3, 4, ProblemCode.MISSING)
    assert (log.since, log.next) == (5, 9)
    assert log.take(batch(rows, 3, 5)) == ()
    assert log.breaks_total == 1


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda rows: rows[3].replace(b"relayed", b"refused"), ProblemCode.CHAIN_BROKEN),
        (lambda rows: rows[3] + b" ", ProblemCode.NOT_CANONICAL),
        (lambda _rows: b"\xff\x00", ProblemCode.NOT_CANONICAL),
        (lambda rows: rows[4], ProblemCode.RENUMBERED),
        (lambda _rows: log_rows(4, origin="local/other/1")[3], ProblemCode.FOREIGN),
        (lambda rows: rows[3].replace(b'"v":1', b'"v":2'), ProblemCode.UNKNOWN_VERSION),
    ],
)
def test_a_row_that_was_forged_is_a_break(spoil: object, code: ProblemCode) -> None:
    assert callable(spoil)
    rows, log = log_rows(9), MirroredLog(keep=9)
    spoilt = [*rows[:3], spoil(rows), *rows[4:]]
    log.take(batch(spoilt, 0, 9))
    found = log.breaks[0]
    # A row that was edited is one of the log's, and does not fit the next one.
    assert (found.first, found.code) == (4 if code is ProblemCode.CHAIN_BROKEN else 3, code)
    assert (log.next, log.since) == (9, 4)


def test_rows_of_another_log_are_refused_as_a_whole() -> None:
    log = MirroredLog(keep=9)
    log.take(batch(log_rows(3), 0, 3))
    other = "local/other/1"
    for _ in range(3):
        assert log.take(batch(log_rows(9, origin=other), 3, 9, origin=other)) == ()
    assert (log.breaks_total, log.breaks[0].code, log.wanted) == (1, ProblemCode.FOREIGN, (ORIGIN, 3))
    assert other in log.breaks[0].words
    assert MirroredLog(keep=9).take(batch(log_rows(3), 0, 3, origin="\x1b[2J")) == ()


def test_a_log_that_shrinks_is_a_break() -> None:
    log = MirroredLog(keep=9)
    assert not log.heard(0)
    log.take(batch(log_rows(5), 0, 5))
    assert not log.heard(3)
    assert not log.heard(3)
    assert [(one.first, one.last, one.code) for one in log.breaks] == [(3, 4, ProblemCode.TAIL_MISSING)]


def test_breaks_are_counted_and_the_last_ones_kept() -> None:
    rows, log = log_rows(100), MirroredLog(keep=1)
    for at in range(0, 100, 2):
        log.take(batch(rows, at, at + 1))
    assert (log.breaks_total, len(log.breaks)) == (49, BREAKS_KEPT)


def test_only_texts_that_a_row_commits_to_are_taken_and_they_are_cut() -> None:
    side = {"title": "a" * 64}
    row = Row(row=RowKind.MESSAGE, engine="agent.request", decision="relayed", sw="heliograph/0", side=side)
    _, entry = append(Head.empty(ORIGIN), Clock(ts_us=1, mono_us=1, boot="boot"), row)
    texts = (
        SideText(seq=0, field="title", text="x" * 999), SideText(seq=0, field="preview", text="never written"),
        SideText(seq=1, field="title", text="of another row"),
    )  # fmt: skip
    (taken,) = MirroredLog(keep=9).take(batch([entry.data], 0, 1, texts=texts))
    assert taken.side == (("title", "x" * SIDE_CHARS),)
    assert taken.leaf == entry.leaf


def test_a_pace_allows_a_burst_and_then_so_many_a_second() -> None:
    pace = Pace(2.0, 3)
    assert [pace.take(10.0) for _ in range(4)] == [True, True, True, False]
    assert (pace.take(10.4), pace.take(10.5), pace.take(10.6)) == (False, True, False)
    assert [pace.take(99.0) for _ in range(4)] == [True, True, True, False]
    # A clock that goes back gives nothing away.
    assert not pace.take(50.0)


def test_who_keeps_to_a_pace_is_told_how_long_to_rest() -> None:
    pace = Pace(2.0, 2)
    assert [pace.spend(10.0) for _ in range(4)] == [0.0, 0.0, 0.5, 1.0]
    assert pace.spend(11.0) == pytest.approx(0.5)
