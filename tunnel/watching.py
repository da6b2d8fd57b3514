"""What `helio mirror watch` prints: panels drawn over and over at a terminal, changes line by line elsewhere, rows."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from node.cli.console import Console, Json, ProgressLine, Tone, document, plain, print_document
from node.cli.text import one_line, plural
from node.cli.timeline_rows import row_document, row_line
from node.core.catalogue.languages import chosen
from node.core.errors import ErrorCode, MeshError
from node.core.mirror import asked_of
from node.core.panel import PanelDelta, PanelRow, PanelSnapshot
from node.core.views_mirror import MirroredRows, MirrorEvent, MirrorStanding, MirrorView, StreamState
from tunnel.mirror import Bounds, MirroredPanel
from tunnel.screen import Section, change_line, changes, head_line, panel_lines, screen

# How often a screen is drawn at most, and at least: ages go on.
_DRAW_S: Final = 0.1
_REDRAW_S: Final = 5.0
ONCE_S: Final = 15.0
# The node holds what it mirrors to its limits; this is what one answer of it can hold at all.
_BOUNDS: Final = Bounds(rows=100_000, title_chars=4_096, name_chars=4_096, word_chars=4_096)
_ENTER: Final = "\x1b[?1049h\x1b[?25l"
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_HOPELESS: Final = frozenset({StreamState.WAITING, StreamState.PAUSED, StreamState.BROKEN})


class Watches(Protocol):
    """What a client of the node has that can watch: see LocalClient."""

    def watch_mirror(
        self, peer: str, *, panel: bool = False, timeline: bool = False, tail: int = 0
    ) -> AsyncGenerator[MirrorEvent, None]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How the person wants to look. `client` is this node's id as it is typed at a server."""

    mirrors: tuple[MirrorView, ...]
    client: str
    timeline: bool
    once: bool
    in_json: bool
    tail: int


@dataclass(slots=True)
class Server:
    """One server as it is shown here."""

    view: MirrorView
    panel: MirroredPanel = field(default_factory=lambda: MirroredPanel(_BOUNDS))
    standing: MirrorStanding | None = None
    breaks: int = 0
    done: bool = False

    @property
    def section(self) -> Section:
        """It on a screen."""
        return Section(
            name=self.view.name,
            standing=self.standing,
            rows=self.panel.rows,
            left_out=self.panel.left_out,
            known=bool(self.panel.run),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something came, and is in `server` by now; `before` is what its panel showed."""

    server: Server
    event: MirrorEvent
    before: Mapping[str, PanelRow]


class Look:
    """One way to show it; by itself it shows the panels in the end."""

    def __init__(self, wish: Wish, console: Console) -> None:
        self.wish = wish
        self.console = console

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Around all that is shown, however it ends."""
        yield

    async def draw(self, servers: Sequence[Server]) -> None:
        """Beside what comes, until cancelled."""

    def take(self, _news: News, /) -> None:
        """Something came."""

    def over(self, servers: Sequence[Server]) -> None:
        """Nothing more comes."""
        now_us = time.time_ns() // 1000
        for number, server in enumerate(servers):
            if self.wish.in_json:
                rows = plain(tuple(server.panel.rows.values()))
                print_document({**_names(server), "rows": rows, "left_out": server.panel.left_out})
                continue
            if number:
                self.console.say()
            self.console.say(head_line(server.section))
            self.console.lines(panel_lines(server.panel.rows, now_us, self.console.columns))


class Lines(Look):
    """Every change of a panel as a line, or as a document."""

    def take(self, news: News, /) -> None:
        """Prints it."""
        server, event = news.server, news.event
        if self.wish.in_json:
            print_document({**_names(server), **_document(event)})
        elif isinstance(event, MirrorStanding):
            self.console.note(head_line(server.section))
        else:
            for row, gone in changes(news.before, server.panel.rows):
                self.console.say(change_line(server.view.name, row, gone=gone))
        sys.stdout.flush()

    def over(self, servers: Sequence[Server]) -> None:
        """All has been said."""


class Screen(Look):
    """All panels on the terminal's other screen, drawn anew when something has changed."""

    def __init__(self, wish: Wish, console: Console) -> None:
        super().__init__(wish, console)
        self._changed = asyncio.Event()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """The other screen, and the usual one again."""
        _write(_ENTER)
        try:
            yield
        finally:
            _write(_LEAVE)

    async def draw(self, servers: Sequence[Server]) -> None:
        """Draws, and draws again."""
        while True:
            self._changed.clear()
            size = shutil.get_terminal_size((80, 24))
            sections = [server.section for server in servers]
            _write(screen(sections, time.time_ns() // 1000, columns=size.columns, lines=size.lines))
            await asyncio.sleep(_DRAW_S)
            try:
                async with asyncio.timeout(_REDRAW_S):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def take(self, _news: News, /) -> None:
        """It is drawn soon."""
        self._changed.set()

    def over(self, servers: Sequence[Server]) -> None:
        """It is gone from the screen."""


class Rows(Look):
    """Rows of timelines as they come, how far they are verified, and where they are not."""

    def __init__(self, wish: Wish, console: Console) -> None:
        super().__init__(wish, console)
        self._line = ProgressLine(live=console.live and not wish.in_json)
        self._verified: dict[str, str] = {}
        self._words = chosen(None, os.environ)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Left with Ctrl-C, too, it says how far it was verified."""
        try:
            yield
        finally:
            self._line.clear()
            for name, words in () if self.wish.in_json else self._verified.items():
                self.console.note(f"{one_line(name)}: {words}")

    def take(self, news: News, /) -> None:
        """Prints it; what is verified stays in the last line."""
        server, event = news.server, news.event
        self._line.clear()
        if isinstance(event, MirroredRows):
            self._verified[server.view.name] = verified_words(event)
            new, server.breaks = event.breaks_total - server.breaks, event.breaks_total
            if self.wish.in_json:
                self._documents(server, event)
            else:
                self._lines(server, event, new)
        elif self.wish.in_json:
            print_document({**_names(server), **_document(event)})
        else:
            self.console.note(head_line(server.section))
        sys.stdout.flush()
        self._line.show("  ".join(f"{one_line(name)}: {words}" for name, words in self._verified.items()))

    def over(self, servers: Sequence[Server]) -> None:
        """All has been said."""

    def _documents(self, server: Server, event: MirroredRows) -> None:
        head = f'{{"server": {document(server.view.name)}, "event": "row", '
        for row in event.rows:
            self.console.say(head + row_document(row).removeprefix("{"))
        print_document({**_names(server), **_document(event)})

    def _lines(self, server: Server, event: MirroredRows, new: int) -> None:
        name = one_line(server.view.name)
        if event.missed:
            self.console.note(f"{name}: {plural(event.missed, 'row')} came faster than they were shown")
        for row in event.rows:
            line = row_line(row, self._words)
            text = f"{name}  {line.text}" if len(self.wish.mirrors) > 1 else line.text
            self.console.say(self.console.tint(text, line.tone) if line.tone else text)
        for one in event.breaks[-new:] if new else ():
            self.console.note(self.console.tint(f"{name}: GAP at {one.first}: {one_line(one.words)}", Tone.BAD))


async def watch(node: Watches, wish: Wish, console: Console, *, once_s: float = ONCE_S) -> None:
    """Shows what the mirrored servers show, until the node stops; with `once` until each has, within `once_s`."""
    servers = [Server(view) for view in wish.mirrors]
    look = _look(wish, console)
    with look.shown():
        try:
            async with asyncio.timeout(once_s if wish.once else None), asyncio.TaskGroup() as group:
                drawing = group.create_task(look.draw(servers))
                await asyncio.wait([group.create_task(_follow(node, wish, server, look)) for server in servers])
                drawing.cancel()
        except TimeoutError:
            late = next(server for server in servers if not server.done)
            raise refusal(late.view, late.standing, wish.client) from None
        except BaseExceptionGroup as failed:
            # The first of them is why all the others were ended.
            raise failed.exceptions[0] from None
    look.over(servers)


def _look(wish: Wish, console: Console) -> Look:
    if wish.timeline:
        return Rows(wish, console)
    if wish.once:
        return Look(wish, console)
    return Lines(wish, console) if wish.in_json or console.columns is None else Screen(wish, console)


async def _follow(node: Watches, wish: Wish, server: Server, look: Look) -> None:
    watching = node.watch_mirror(server.view.id, panel=not wish.timeline, timeline=wish.timeline, tail=wish.tail)
    async with aclosing(watching) as events:
        async for event in events:
            before = dict(server.panel.rows)
            if isinstance(event, MirrorStanding):
                server.standing = event
                if wish.once and event.state in _HOPELESS:
                    raise refusal(server.view, event, wish.client)
            elif isinstance(event, PanelSnapshot | PanelDelta):
                server.panel.take(event)
            look.take(News(server=server, event=event, before=before))
            if wish.once and not isinstance(event, MirrorStanding):
                server.done = True
                return
    if not wish.once:
        raise MeshError(
            ErrorCode.NODE_NOT_RUNNING, "The node stopped, so nothing more is shown. Start it with: helio up"
        )


def refusal(view: MirrorView, standing: MirrorStanding | None, client: str) -> MeshError:
    """Why a server cannot be looked at now, and what to do."""
    state = standing.state if standing is not None else StreamState.CONNECTING
    why = f"{view.name} shows nothing now ({state.value}: {standing.why if standing else 'no answer'})."
    match state:
        case StreamState.WAITING:
            return MeshError(ErrorCode.REACH, f"{why} On {view.name}, run: {asked_of(client)}")
        case StreamState.PAUSED:
            return MeshError(ErrorCode.WRONG_STATE, f"{why} Run: helio mirror resume {view.name}")
        case _:
            return MeshError(ErrorCode.UNAVAILABLE, f"{why} `helio peers` shows the link.")


def verified_words(event: MirroredRows) -> str:
    """How far a mirrored timeline is verified, and how often it is not."""
    if not event.next:
        return "no rows yet"
    words = f"verified up to {event.next - 1}, from {event.since} on"
    return f"{words}; {plural(event.breaks_total, 'GAP', 'GAPS')}" if event.breaks_total else words


def _names(server: Server) -> dict[str, Json]:
    return {"server": server.view.name, "id": server.view.id}


def _document(event: MirrorEvent) -> dict[str, Json]:
    """An event for scripts; the rows of a timeline are documents of their own."""
    match event:
        case MirrorStanding():
            return {"event": "standing", **_fields(event)}
        case PanelSnapshot():
            return {"event": "panel", **_fields(event)}
        case PanelDelta():
            return {"event": "delta", **_fields(event)}
        case MirroredRows():
            without = {name: value for name, value in _fields(event).items() if name != "rows"}
            return {"event": "verified", **without}


def _fields(event: MirrorEvent) -> Mapping[str, Json]:
    fields = plain(event)
    return fields if isinstance(fields, Mapping) else {}


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
