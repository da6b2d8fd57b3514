"""`helio timeline prune` and `erase`: rows that are older than they are kept, and texts beside rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, confirm, plain, print_document
from node.cli.options import json_option
from node.cli.text import one_line, plural
from node.cli.timeline_options import session_id
from node.cli.times import day, point_in_time
from node.core.retention import DOUBTS
from node.core.views_retention import EraseView, PruneView

if TYPE_CHECKING:
    from node.local_client import LocalClient
    from node.ports_timeline import Erasure

_NOTHING_DUE = "Nothing is due: no whole 256 rows are older than they are kept, nor is there more than is kept."


@examples("helio timeline prune --dry-run", "helio timeline prune", "helio timeline prune --json")
@click.command("prune", cls=ExampleCommand)
@click.option("--dry-run", is_flag=True, help="Only say which rows would go.")
@json_option
def prune_command(*, dry_run: bool, in_json: bool) -> None:
    """Delete rows that are older than they are kept, or more than is kept, as the node does each hour by itself.

    Whole ranges of 256 rows go, the oldest first, behind a signed row that says so; their hashes stay, so the rest
    still verifies. How long and how much is kept is keep_days and keep_bytes under [timeline] of config.toml. Nothing
    goes on the word of a clock that nothing else bears out.
    """
    console = Console.of_streams()
    ranges = on_node(lambda node: _pruned(node, console, dry_run=dry_run, quiet=in_json))
    if in_json:
        print_document({"dry_run": dry_run, "ranges": plain(ranges)})
        return
    console.lines(prune_lines(ranges, console, dry_run=dry_run))
    for doubt in dict.fromkeys(one.doubt for one in ranges if one.doubt is not None):
        console.note(console.tint(DOUBTS[doubt], Tone.WARN))


async def _pruned(node: LocalClient, console: Console, *, dry_run: bool, quiet: bool) -> list[PruneView]:
    """The last word about each range, with progress at a terminal."""
    last: dict[tuple[str, int], PruneView] = {}
    with console.progress() as line:
        async with aclosing(node.prune_timeline(dry_run=dry_run)) as views:
            async for view in views:
                last[view.log, view.first] = view
                if not quiet and view.deleted:
                    line.show(f"deleting: {view.deleted} of {plural(view.next - view.first, 'row')}")
    return list(last.values())


def prune_lines(ranges: Sequence[PruneView], console: Console, *, dry_run: bool) -> list[str]:
    """A line for each range, or a sentence when there is none."""
    if not ranges:
        return [_NOTHING_DUE]
    lines: list[str] = []
    for one in ranges:
        words = "would go" if dry_run else "deleted"
        state = console.tint("stay", Tone.WARN) if one.doubt is not None else words
        why = "older than they are kept" if one.why == "age" else "more than is kept"
        span = f"rows {one.first} to {one.next - 1} of {one_line(one.log)}"
        lines.append(f"{span}, {day(one.first_us)} to {day(one.last_us)}: {state} ({why})")
    return lines


@examples(
    "helio timeline erase 1234 1235",
    "helio timeline erase --exchange 7f3k2m9q --yes",
    "helio timeline erase --session @payments --field preview",
    "helio timeline erase --older-than 7d",
)
@click.command("erase", cls=ExampleCommand)
@click.argument("seqs", nargs=-1, type=click.IntRange(0), metavar="[SEQ]...")
@click.option(
    "--field", default="", metavar="FIELD", help="Only texts of that kind: title, preview, snippet, sender..."
)
@click.option("--exchange", default="", metavar="ID", help="Only beside rows of this exchange.")
@click.option("--session", default="", metavar="SESSION", help="Only beside rows from or to it (@nickname or id).")
@click.option("--older-than", metavar="AGE", help="Only beside rows from before then: 30d, 12h, 2027-01-31.")
@click.option("--log", default="", metavar="ORIGIN", help="In another log of this node than the current one.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def erase_command(
    *,
    seqs: tuple[int, ...],
    field: str,
    exchange: str,
    session: str,
    older_than: str | None,
    log: str,
    yes: bool,
    in_json: bool,
) -> None:
    """Erase texts beside rows: titles, previews, names. The rows stay, and the timeline still verifies.

    Of what is given all must be true. The bytes are overwritten in the node's files, and a row says how many texts were
    erased, by you. An exchange keeps its own messages, and what was exported or copied before is out of reach.
    """
    from node.ports_timeline import Erasure

    console = Console.of_streams()
    before_us = point_in_time(older_than, time.time_ns() // 1000) if older_than else 0

    async def wish(node: LocalClient) -> Erasure:
        return Erasure(
            log=log, seqs=seqs, field=field.strip(), exchange=exchange.strip().lower(), before_us=before_us,
            session=await session_id(node, session.strip()),
        )  # fmt: skip

    async def count(node: LocalClient) -> EraseView:
        return await _erased(node, await wish(node), console, dry_run=True, quiet=in_json)

    async def erase(node: LocalClient) -> EraseView:
        return await _erased(node, await wish(node), console, dry_run=False, quiet=in_json)

    found = on_node(count).found
    if found and not yes:
        what = f"{plural(found, 'text')} beside rows of the timeline would be erased for good."
        confirm(f"{what} Go on?", unasked=f"Nothing was erased: there is no terminal to ask at. {what} Add --yes.")
    done = on_node(erase) if found else EraseView(seq=0, size=0, found=0, erased=0)
    if in_json:
        print_document({"erased": done.erased})
    else:
        console.say(f"{plural(done.erased, 'text')} erased." if found else "There are no such texts.")


async def _erased(node: LocalClient, wish: Erasure, console: Console, *, dry_run: bool, quiet: bool) -> EraseView:
    last = EraseView(seq=0, size=0, found=0, erased=0)
    with console.progress() as line:
        async with aclosing(node.erase_timeline(wish, dry_run=dry_run)) as views:
            async for last in views:
                if not quiet and last.size:
                    line.show(f"looking: row {last.seq} of {last.size}, {plural(last.found, 'text')}")
    return last
