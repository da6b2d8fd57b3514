"""`helio timeline`: rows of the security timeline for people and scripts."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from node.cli.bundle_command import bundle_command, proof_command
from node.cli.command import ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone
from node.cli.options import json_option
from node.cli.retention_command import erase_command, prune_command
from node.cli.text import fold
from node.cli.timeline_rows import row_document, row_line
from node.cli.times import point_in_time
from node.cli.verify_command import verify_command
from node.core.errors import ErrorCode, MeshError
from node.core.policy import nickname_key
from node.core.views import TimelineRowView

if TYPE_CHECKING:
    from node.local_client import LocalClient

ROWS_AT_A_TERMINAL = 100
_SET_IN = "    "


@examples(
    "helio timeline",
    "helio timeline --follow --decision withheld",
    "helio timeline --since 2h --session @payments",
    "helio timeline --json --since 2027-01-31 > rows.jsonl",
    "helio timeline verify",
    "helio timeline bundle -o laptop.bundle",
)
@click.group("timeline", cls=ExampleGroup, invoke_without_command=True)
@click.option("-f", "--follow", is_flag=True, help="Go on with new rows as they are written, until Ctrl-C.")
@click.option("--engine", default="", metavar="CODE", help="Only rows of this engine, such as agent.request.")
@click.option("--decision", default="", metavar="CODE", help="Only rows with this decision, such as withheld.")
@click.option("--session", default="", metavar="SESSION", help="Only rows from or to this session (@nickname or id).")
@click.option("--exchange", default="", metavar="ID", help="Only rows of this exchange.")
@click.option("--message", default="", metavar="ID", help="Only rows of this message.")
@click.option("--since", metavar="TIME", help="Only rows from then on: 2027-01-31T09:30, 2h, 3d.")
@click.option("--until", metavar="TIME", help="Only rows before then.")
@click.option("--from-seq", type=click.IntRange(0), default=0, metavar="N", help="Only rows numbered N and above.")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=None, metavar="N",
    help=f"Only the last N matching rows  [default: {ROWS_AT_A_TERMINAL} at a terminal, all elsewhere]",
)  # fmt: skip
@json_option
@click.pass_context
def timeline_command(
    ctx: click.Context,
    *,
    follow: bool,
    engine: str,
    decision: str,
    session: str,
    exchange: str,
    message: str,
    since: str | None,
    until: str | None,
    from_seq: int,
    limit: int | None,
    in_json: bool,
) -> None:
    """Show the timeline: every decision about every message, relayed or withheld, in order.

    A row a line (set in where it does not fit), with local time; or one JSON object a row with --json, whose `row`
    holds the exact bytes that were hashed.
    """
    if ctx.invoked_subcommand is not None:
        return
    # The ports bring the screen's rules with them, which take a while to load.
    from node.ports_timeline import RowFilter

    now_us = time.time_ns() // 1000
    console = Console.of_streams()
    last = limit or (ROWS_AT_A_TERMINAL if console.columns is not None and not in_json else 0)
    wanted = RowFilter(
        from_seq=from_seq, limit=last, tail=last > 0, engine=engine, decision=decision, session=session.strip(),
        exchange=exchange.strip().lower(), message=message.strip().lower(),
        since_us=point_in_time(since, now_us) if since else 0,
        until_us=point_in_time(until, now_us) if until else 0,
    )  # fmt: skip
    if follow and until:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "--follow goes on into the future; leave --until out.")

    async def show(node: LocalClient) -> int:
        named = await _session_id(node, wanted.session)
        shown = 0
        async with aclosing(node.timeline(replace(wanted, session=named), follow=follow)) as rows:
            async for row in rows:
                shown += 1
                _show_row(row, console, in_json=in_json)
        return shown

    try:
        shown = on_node(show)
    except KeyboardInterrupt:
        # The only way out of --follow; nothing went wrong. Elsewhere the rows are cut short, and 130 says so.
        if follow:
            return
        raise
    if follow:
        raise MeshError(ErrorCode.NODE_NOT_RUNNING, "The node stopped, so no more rows come. Start it with: helio up")
    if not shown and not in_json:
        console.note(
            "No rows match." if replace(wanted, limit=0, tail=False) != RowFilter() else "The timeline has no rows yet."
        )


async def _session_id(node: LocalClient, wanted: str) -> str:
    """The id behind an @nickname, since rows hold no names; what is no nickname is taken for an id."""
    if not wanted.startswith("@"):
        return wanted.lower()
    key = nickname_key(wanted[1:])
    for session in await node.sessions(archived=True):
        if session.nickname is not None and nickname_key(session.nickname) == key:
            return session.id
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"No session is called {wanted} now. Rows hold ids, not names: give the session's id (helio sessions --all).",
    )


def _show_row(row: TimelineRowView, console: Console, *, in_json: bool) -> None:
    if in_json:
        click.echo(row_document(row))
        return
    line = row_line(row)
    # Folded by us and set in: what a terminal folds begins at the edge, where it could pass for a row of its own.
    for number, part in enumerate(fold(line.text, console.columns and console.columns - len(_SET_IN))):
        console.say((_SET_IN if number else "") + (console.tint(part, Tone.BAD) if line.alarming else part))


for _command in (verify_command, bundle_command, proof_command, prune_command, erase_command):
    timeline_command.add_command(_command)
