"""`helio timeline overview` and `helio timeline logs`: what happened lately in numbers, and which logs there are."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

import click

from node.cli import timeline_pieces as pieces
from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, document, plain, print_document
from node.cli.options import json_option
from node.cli.text import Column, one_line, shorten, table, width
from node.cli.timeline_options import lang_option
from node.cli.timeline_rows import row_document
from node.cli.times import moment, point_in_time
from node.core.canonical import decode
from node.core.catalogue.languages import chosen
from node.core.catalogue.words import Catalogue
from node.core.errors import ErrorCode, MeshError
from node.core.node_id import short as short_node
from node.core.node_id import show as show_node
from node.core.timeline_groups import number, text
from node.core.timeline_overview import Overview
from node.core.views import LogView, TimelineRowView

if TYPE_CHECKING:
    from node.local_client import LocalClient

_PEERS_NAMED = 8
_SET_IN = "  "


@examples("helio timeline overview", "helio timeline overview --since 7d", "helio timeline overview --lang pt")
@click.command("overview", cls=ExampleCommand)
@click.option("--since", default="24h", metavar="TIME", help="From when on: 24h, 7d, 2027-01-31.  [default: 24h]")
@lang_option
@json_option
def overview_command(*, since: str, lang: str | None, in_json: bool) -> None:
    """Show what the timeline tells of the last day: messages, files, peers, approvals, and the latest blocks."""
    now_us = time.time_ns() // 1000
    since_us = point_in_time(since, now_us)
    if since_us > now_us:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{since[:40]} is still to come; give a time that is past.")

    async def ask(node: LocalClient) -> tuple[Overview[TimelineRowView], Mapping[str, str]]:
        overview = await node.timeline_overview(since_us)
        return overview, {peer.id: peer.name for peer in (await node.mesh()).peers}

    overview, names = on_node(ask)
    if in_json:
        click.echo(_document(overview))
        return
    console = Console.of_streams()
    for line in overview_lines(overview, names, chosen(lang, os.environ), console, now_us):
        console.say(line)


def overview_lines(
    overview: Overview[TimelineRowView], names: Mapping[str, str], words: Catalogue, console: Console, now_us: int
) -> Iterator[str]:
    """The overview as people read it; `names` are what this node's person calls its peers, by id."""
    since = moment(overview.since_us).partition(".")[0]
    yield console.strong(words.phrase("overview", since=since, time=words.duration(now_us - overview.since_us)))
    yield ""
    facts = _facts(overview, names, words, console)
    room = max(width(label) for label, _ in facts)
    for label, parts in facts:
        begin = f"{_SET_IN}{label}{' ' * (room - width(label))}"
        yield from _wrapped(begin, [part for part in parts if part], console.columns)
    yield ""
    yield console.strong(words.phrase("latest" if overview.blocks else "no_latest"))
    for row in reversed(overview.blocks):
        yield from _block(row, words, console)


def _facts(
    overview: Overview[TimelineRowView], names: Mapping[str, str], words: Catalogue, console: Console
) -> list[tuple[str, list[str]]]:
    def count(name: str, value: int, tone: Tone | None = None, *, always: bool = False) -> str:
        if not value and not always:
            return ""
        said = words.count(name, value)
        return console.tint(said, tone) if tone is not None and value else said

    named = [one_line(names.get(peer) or short_node(show_node(peer))) for peer in overview.peers[:_PEERS_NAMED]]
    others = overview.peers_total - len(named)
    peers = ", ".join(named) or words.phrase("nobody")
    if others > 0:
        peers += f" {words.phrase('and_more', n=words.number(others))}"
    facts = [
        ("messages", [
            count("relayed", overview.relayed, always=True),
            count("withheld", overview.withheld, Tone.BAD, always=True),
            count("held", overview.held, Tone.WARN),
            count("refused", overview.refused, Tone.BAD, always=True),
            count("undelivered", overview.undelivered, Tone.BAD),
            count("overrides", overview.overrides, Tone.WARN),
        ]),
        ("files", [
            count("file", overview.files, always=True),
            words.size(overview.file_bytes) if overview.files else "",
        ]),
        ("peers", [peers, count("turned_away", overview.turned_away, Tone.BAD)]),
        ("approvals", [
            count("asked", overview.approvals_asked, always=True),
            count("allowed", overview.approvals_allowed),
            count("denied", overview.approvals_denied),
        ]),
        ("timeline", [
            count("row", overview.rows, always=True),
            count("damaged", overview.damaged, Tone.BAD),
            count("gap", overview.gaps, Tone.BAD),
            count("clock_step", overview.clock_steps, Tone.WARN),
            count("export", overview.exports),
            count("prune", overview.prunes),
        ]),
    ]  # fmt: skip
    return [(words.phrase(name), parts) for name, parts in facts]


def _wrapped(begin: str, parts: list[str], columns: int | None) -> Iterator[str]:
    """Parts side by side behind `begin`, on further lines below each other where they do not fit."""
    line, used = begin, width(begin)
    for part in parts:
        size = width(click.unstyle(part)) + len(_SET_IN) + 1
        if columns is not None and used + size > columns and used > width(begin):
            yield line
            line, used = " " * width(begin), width(begin)
        line += f"{_SET_IN} {part}"
        used += size
    yield line


def _block(row: TimelineRowView, words: Catalogue, console: Console) -> Iterator[str]:
    try:
        row_fields = decode(row.data)
    except MeshError as error:
        yield f"{_SET_IN}#{row.seq}  {words.phrase('damaged', why=one_line(error.message))}"
        return
    engine, kind, when = text(row_fields, "engine"), text(row_fields, "kind"), number(row_fields, "ts")
    what = words.kinds.get(kind, kind) if kind else words.engines.get(engine, engine)
    decided = pieces.decided(words, engine, text(row_fields, "decision"), text(row_fields, "reason"))
    at = moment(when).partition(".")[0] if when is not None else ""
    address = dict(row.side).get("address", "")
    parts = [at, one_line(what), decided, pieces.ends(words, row_fields, row.side), one_line(address), f"#{row.seq}"]
    room = (console.columns or 0) - len(_SET_IN)
    line = "  ".join(part for part in parts if part)
    yield _SET_IN + console.tint(shorten(line, room) if room > 0 else line, Tone.BAD)
    said = pieces.said(row.side)
    if said:
        set_in = (
            " " * (len(_SET_IN) + width(at) + 2) if console.columns is None or console.columns > 80 else _SET_IN * 2
        )
        fitting = shorten(said, max(console.columns - len(set_in) - 2, 8)) if console.columns is not None else said
        yield f'{set_in}"{fitting}"'


def _document(overview: Overview[TimelineRowView]) -> str:
    """The numbers and, as documents of rows, the blocks."""
    numbers = document(
        {one.name: plain(getattr(overview, one.name)) for one in fields(overview) if one.name != "blocks"}
    )
    blocks = ", ".join(row_document(row) for row in overview.blocks)
    return f'{numbers[:-1]}, "blocks": [{blocks}]}}'


@examples("helio timeline logs", "helio timeline --log local/NODE-ID/1", "helio timeline logs --json")
@click.command("logs", cls=ExampleCommand)
@lang_option
@json_option
def logs_command(*, lang: str | None, in_json: bool) -> None:
    """List the logs of this node: their origins, how many rows they have, and from which row on those are kept."""
    logs = on_node(lambda node: node.timeline_logs())
    if in_json:
        print_document(plain(logs))
        return
    console = Console.of_streams()
    console.lines(log_table(logs, chosen(lang, os.environ), console.columns))


def log_table(logs: tuple[LogView, ...], words: Catalogue, columns: int | None) -> list[str]:
    """A line a log, the current one last."""
    origin, size, first, state = words.phrase("log_headings").split()
    headings = (
        Column(heading=origin, flexible=True, least=20, path=True),
        Column(heading=size, right=True),
        Column(heading=first, right=True),
        Column(heading=state),
    )
    rows = [
        (
            one_line(log.origin),
            words.number(log.size),
            f"#{log.first}",
            words.phrase("current" if log.current else "closed"),
        )
        for log in logs
    ]
    return table(headings, rows, columns)
