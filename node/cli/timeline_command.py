"""`helio timeline`: rows of the security timeline for people and scripts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from node.cli.bundle_command import bundle_command, proof_command
from node.cli.command import ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console
from node.cli.export_command import export_command
from node.cli.options import json_option
from node.cli.retention_command import erase_command, prune_command
from node.cli.text import fold
from node.cli.timeline_follow import follow_rows, show_grouped
from node.cli.timeline_lines import Lines
from node.cli.timeline_options import filter_of, filter_options, lang_option, with_ids
from node.cli.timeline_overview import logs_command, overview_command
from node.cli.timeline_rows import row_document, row_line, shown_document
from node.cli.verify_command import verify_command
from node.core.catalogue.languages import chosen
from node.core.catalogue.words import Catalogue
from node.core.errors import ErrorCode, MeshError
from node.core.timeline_filter import RowFilter
from node.core.timeline_groups import Shown
from node.core.views import SessionView, TimelineRowView

if TYPE_CHECKING:
    from node.local_client import LocalClient

ROWS_AT_A_TERMINAL = 100
_SET_IN = "    "


@examples(
    "helio timeline",
    "helio timeline --follow --decision withheld",
    "helio timeline --since 2h --session @payments --outcome gave_up",
    "helio timeline --text 'port 8080' --rows",
    "helio timeline -n 50 --before 1200",
    "helio timeline --json --since 2027-01-31 > rows.jsonl",
    "helio timeline overview",
    "helio timeline verify",
    "helio timeline bundle -o laptop.bundle",
)
@click.group("timeline", cls=ExampleGroup, invoke_without_command=True)
@click.option("-f", "--follow", is_flag=True, help="Go on with new rows as they are written, until Ctrl-C.")
@filter_options(least_before=0, limit=f"  [default: {ROWS_AT_A_TERMINAL} at a terminal, all elsewhere]")
@click.option("--rows", "by_row", is_flag=True, help="Show each row by itself, with all that stands beside it.")
@click.option("--grouped", is_flag=True, help="With --json: one object for a message and what became of it.")
@lang_option
@json_option
@click.pass_context
def timeline_command(
    ctx: click.Context,
    /,
    *,
    follow: bool,
    from_seq: int | None,
    before: int | None,
    limit: int | None,
    by_row: bool,
    grouped: bool,
    lang: str | None,
    in_json: bool,
    **given: str | None,
) -> None:
    """Show the timeline: every decision about every message, relayed or withheld, in order.

    A message and what became of it are one line; a word for every code, in your language. With --json it is one object
    a row, in codes, whose `row` holds the exact bytes that were hashed. Filters may be typed as codes or in words, and
    all of them hold at once.
    """
    if ctx.invoked_subcommand is not None:
        return
    words = chosen(lang, os.environ)
    console = Console.of_streams()
    wish = _Wish(words=words, console=console, in_json=in_json, grouped=grouped if in_json else not by_row)
    last = limit or (ROWS_AT_A_TERMINAL if console.columns is not None and not in_json else 0)
    wanted = replace(filter_of(given, words, from_seq=from_seq, before=before, limit=last), whole=wish.grouped)
    if follow and (wanted.until_us or before is not None):
        option = "--until" if wanted.until_us else "--before"
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"--follow goes on into the future; leave {option} out.")
    if before == 0:
        console.note(words.phrase("no_match"))
        return
    tell = _Tell(wish)
    try:
        on_node(lambda node: _show(node, wanted, tell, follow=follow))
    except KeyboardInterrupt:
        # The only way out of --follow; nothing went wrong. Elsewhere the rows are cut short, and 130 says so.
        if follow:
            return
        raise
    if follow:
        raise MeshError(ErrorCode.NODE_NOT_RUNNING, "The node stopped, so no more rows come. Start it with: helio up")
    if not in_json:
        _say_the_rest(tell, wanted, wish)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """How rows are to be shown."""

    words: Catalogue
    console: Console
    in_json: bool
    grouped: bool


class _Tell:
    """Writes what is to be shown, and keeps count."""

    def __init__(self, wish: _Wish) -> None:
        self._wish = wish
        self._lines = Lines(wish.words, wish.console.columns)
        self.in_json = wish.in_json
        self.number = 0
        self.first: int | None = None

    def name(self, sessions: Iterable[SessionView]) -> None:
        """What sessions are called now, for rows that say it nowhere."""
        names = {session.id: session.label for session in sessions}
        self._lines = Lines(self._wish.words, self._wish.console.columns, names)

    def row(self, row: TimelineRowView) -> None:
        """One row by itself."""
        self._count(row)
        if self._wish.in_json:
            click.echo(row_document(row))
            return
        console = self._wish.console
        line = row_line(row, self._wish.words)
        # Folded by us and set in: what a terminal folds begins at the edge, where it could pass for a row of its own.
        for number, part in enumerate(fold(line.text, console.columns and console.columns - len(_SET_IN))):
            console.say((_SET_IN if number else "") + (console.tint(part, line.tone) if line.tone else part))

    def shown(self, shown: Shown[TimelineRowView]) -> None:
        """A message with what became of it, or a row of another kind."""
        self._count(shown.row)
        if self._wish.in_json:
            click.echo(shown_document(shown))
            return
        console = self._wish.console
        for line in self._lines.of(shown):
            text = console.tint(line.text, line.tone) if line.tone else line.text
            console.say(console.strong(text) if line.heading else text)

    def _count(self, row: TimelineRowView) -> None:
        self.number += 1
        self.first = row.seq if self.first is None else min(self.first, row.seq)


async def _show(node: LocalClient, wanted: RowFilter, tell: _Tell, *, follow: bool) -> None:
    named = await with_ids(node, wanted)
    if wanted.whole and not tell.in_json:
        tell.name(await node.sessions(archived=True))
    async with aclosing(node.timeline(named, follow=follow)) as rows:
        if not wanted.whole:
            async for row in rows:
                tell.row(row)
        elif follow:
            await follow_rows(rows, tell.shown)
        else:
            await show_grouped(rows, tell.shown)


def _say_the_rest(tell: _Tell, wanted: RowFilter, wish: _Wish) -> None:
    """What is to be known beside the rows: that there are none, or more, and where was searched."""
    console, words = wish.console, wish.words
    if wanted.text:
        console.note(words.phrase("no_text"))
    if not tell.number:
        anything = replace(wanted, limit=0, tail=False, whole=False) == RowFilter()
        console.note(words.phrase("no_rows" if anything else "no_match"))
    elif wanted.tail and console.columns is not None and tell.number >= wanted.limit and tell.first:
        console.note(words.phrase("earlier", seq=str(tell.first)))


for _command in (
    *(verify_command, overview_command, logs_command, bundle_command, proof_command),
    *(prune_command, erase_command, export_command),
):
    timeline_command.add_command(_command)
