"""A mirrored panel after any run of changes, losses, repetitions and resumes: equal to the server's, or it says gap."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from node.core.panel import PanelDelta, PanelRow, PanelSnapshot
from tests.panels import ORIGIN, batch, log_rows, panel_row
from tunnel.mirror import Bounds, MirroredPanel, Panel, Slot, Taken
from tunnel.mirrored_log import MirroredLog

ROOMY = Bounds(rows=100, title_chars=120)
HISTORY = 4


@dataclass(slots=True)
class Server:
    """A server whose rows change; after a restart it is another run."""

    number: int = 0
    rows: dict[int, PanelRow] = field(default_factory=dict)
    panel: Panel = field(default_factory=lambda: Panel(run="run-0", history=HISTORY))

    def change(self, row: int, state: str) -> None:
        self.rows[row] = panel_row(row, state=state)
        self.panel.update(self.rows.values(), left_out=len(self.rows) % 3)

    def remove(self, row: int) -> None:
        self.rows.pop(row, None)
        self.panel.update(self.rows.values(), left_out=len(self.rows) % 3)

    def restart(self) -> None:
        self.number += 1
        self.panel = Panel(run=f"run-{self.number}", history=HISTORY)
        self.panel.update(self.rows.values(), left_out=len(self.rows) % 3)


ROWS = st.integers(0, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), ROWS, st.sampled_from(["working", "asked", "delivered", "accepted"])),
        st.tuples(st.just("remove"), ROWS, st.just("")),
        st.tuples(st.sampled_from(["take", "lose", "repeat", "reconnect", "restart", "beat"]), st.just(0), st.just("")),
    ),
    max_size=60,
)


def matches(mirrored: MirroredPanel, server: Server) -> bool:
    return (
        dict(mirrored.rows) == {row.id: row for row in server.rows.values()}
        and mirrored.left_out == server.panel.left_out
        and (mirrored.run, mirrored.revision) == (server.panel.run, server.panel.revision)
    )


class Stream:
    """One watcher's stream: the server's slot for it, and what is on its way."""

    def __init__(self, server: Server, mirrored: MirroredPanel) -> None:
        run, held = mirrored.wanted
        self.slot = Slot(held if run == server.panel.run else 0)

    def take(self, server: Server) -> PanelDelta | PanelSnapshot | None:
        self.slot.offer(server.panel.revision)
        if not self.slot.pending:
            return None
        since = self.slot.take()
        assert not self.slot.pending
        return server.panel.since(server.panel.run if since else "", since)


class Play:
    """A server, a mirror of it, and the stream between them."""

    def __init__(self) -> None:
        self.server, self.mirrored = Server(), MirroredPanel(ROOMY)
        self.last: PanelDelta | None = None
        self.reconnect()

    def reconnect(self) -> None:
        self.stream = Stream(self.server, self.mirrored)

    def restart(self) -> None:
        self.server.restart()
        self.last = None
        self.reconnect()

    def lose(self) -> None:
        self.stream.take(self.server)

    def repeat(self) -> None:
        if self.last is not None and self.mirrored.run == self.server.panel.run:
            self.mirrored.take(self.last)

    def beat(self) -> None:
        self.mirrored.heard(self.stream.slot.held)

    def take(self) -> None:
        sent = self.stream.take(self.server)
        if sent is not None:
            self.mirrored.take(sent)
            self.last = sent if isinstance(sent, PanelDelta) else self.last
        if not self.mirrored.gap and self.mirrored.wanted == (self.server.panel.run, self.server.panel.revision):
            assert matches(self.mirrored, self.server)


@given(STEPS)
def test_any_run_of_losses_ends_equal_or_says_gap(steps: list[tuple[str, int, str]]) -> None:
    play = Play()
    does = {
        "take": play.take, "lose": play.lose, "repeat": play.repeat, "reconnect": play.reconnect,
        "restart": play.restart, "beat": play.beat,
    }  # fmt: skip
    for what, row, state in steps:
        if what == "change":
            play.server.change(row, state)
        elif what == "remove":
            play.server.remove(row)
        else:
            does[what]()
    # The last word is a beat, and a stream that is made anew because of it.
    play.beat()
    if play.mirrored.wanted != (play.server.panel.run, play.server.panel.revision):
        play.reconnect()
        play.take()
    assert not play.mirrored.gap
    assert matches(play.mirrored, play.server)


@given(st.lists(st.integers(0, 30), max_size=60))
def test_a_slow_watcher_is_owed_one_thing_however_much_changes(rows: list[int]) -> None:
    server, mirrored = Server(), MirroredPanel(ROOMY)
    stream = Stream(server, mirrored)
    mirrored.take(server.panel.snapshot())
    stream.slot = Slot(server.panel.revision)
    state = count()
    for row in rows:
        server.change(row, f"s{next(state)}")
        stream.slot.offer(server.panel.revision)
    sent = stream.take(server)
    assert (sent is None) is (not rows)
    if sent is not None:
        assert mirrored.take(sent) is Taken.SHOWN
        assert stream.take(server) is None
    assert matches(mirrored, server)


SNAPSHOTS = st.builds(
    PanelSnapshot, run=st.text(max_size=3), revision=st.integers(0, 9), left_out=st.integers(0, 9),
    rows=st.lists(st.builds(panel_row, st.integers(0, 40), title=st.text(max_size=300))).map(tuple),
)  # fmt: skip
DELTAS = st.builds(
    PanelDelta, from_revision=st.integers(0, 9), revision=st.integers(0, 9), left_out=st.integers(0, 9),
    changed=st.lists(st.builds(panel_row, st.integers(0, 40), state=st.text(max_size=300))).map(tuple),
    removed=st.lists(st.text(max_size=20)).map(tuple),
)  # fmt: skip


@given(st.lists(st.one_of(SNAPSHOTS, DELTAS)))
def test_whatever_a_server_sends_the_mirror_holds_no_more_than_its_bounds(
    sent: list[PanelSnapshot | PanelDelta],
) -> None:
    bounds = Bounds(rows=8, title_chars=20)
    mirrored = MirroredPanel(bounds)
    for one in sent:
        mirrored.take(one)
        mirrored.heard(one.revision + 1)
        assert len(mirrored.rows) <= bounds.rows
        assert mirrored.left_out <= 9 + bounds.rows
        assert all(len(row.title) <= 20 and len(row.state) <= 64 for row in mirrored.rows.values())


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.sampled_from(["good", "other", "forged"]))))
def test_a_mirrored_log_takes_each_row_once_and_names_every_hole(parts: list[tuple[int, int, str]]) -> None:
    good, other = log_rows(12), log_rows(12, origin="local/other/1")
    forged = log_rows(12, words="withheld")
    log = MirroredLog(keep=5)
    shown: list[int] = []
    for first, until, kind in parts:
        if kind == "other":
            assert log.take(batch(other, first, until)) == ()
            continue
        shown += [row.seq for row in log.take(batch(good if kind == "good" else forged, first, until))]
        assert len(log.rows) <= 5
    assert shown == sorted(set(shown))
    missing = {seq for one in log.breaks if one.code == "missing" for seq in range(one.first, one.last + 1)}
    if shown:
        assert log.origin == ORIGIN
        assert log.breaks_total > len(log.breaks) or set(range(shown[0], log.next)) == set(shown) | missing
