"""`helio timeline`: rows of the security timeline for people and scripts, and the check that nobody changed them."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.export_command import export_command
from node.cli.options import json_option
from node.cli.text import fold, one_line, plural
from node.cli.timeline_rows import row_document, row_line
from node.cli.times import point_in_time
from node.core.errors import ErrorCode, MeshError
from node.core.policy import nickname_key
from node.core.timeline_check import ProblemCode
from node.core.views import TimelineRowView, VerifyView

if TYPE_CHECKING:
    from node.local_client import LocalClient

TAMPERED = 1
INCOMPLETE = 2
ROWS_AT_A_TERMINAL = 100
_SET_IN = "    "


@examples(
    "helio timeline",
    "helio timeline --follow --decision withheld",
    "helio timeline --since 2h --session @payments",
    "helio timeline --json --since 2027-01-31 > rows.jsonl",
    "helio timeline verify",
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


@examples("helio timeline verify", "helio timeline verify --json")
@click.command("verify", cls=ExampleCommand)
@json_option
@click.pass_context
def verify_command(ctx: click.Context, *, in_json: bool) -> None:
    """Check every row: its bytes against its hash, the chain, the numbers, the tree's root.

    Exit status: 0 all is as it was written, 1 somebody changed it, 2 the check could not be completed.
    """
    console = Console.of_streams()
    last = on_node(lambda node: verify(node, console, quiet=in_json))
    if in_json:
        print_document(plain(last))
    else:
        _say_result(last, console)
    ctx.exit(verify_status(last))


timeline_command.add_command(verify_command)
timeline_command.add_command(export_command)


async def verify(node: LocalClient, console: Console, *, quiet: bool) -> VerifyView:
    """The last word of a verification, with progress at a terminal unless `quiet`."""
    last = VerifyView(rows=0, total=0)
    with console.progress() as line:
        async with aclosing(node.verify_timeline()) as views:
            async for last in views:
                if not quiet and last.total:
                    done = 100 * last.rows // last.total
                    line.show(f"verifying: {last.rows} of {plural(last.total, 'row')} ({done} %)")
    return last


def verify_status(last: VerifyView) -> int:
    """The exit status for what a verification ended with."""
    if last.result is None:
        return INCOMPLETE
    if last.result.problem is not None:
        # Rows of a later schema are no sign of tampering, and this version cannot tell.
        return INCOMPLETE if last.result.problem.code is ProblemCode.UNKNOWN_VERSION else TAMPERED
    return 0 if last.result.ok else TAMPERED


def _say_result(last: VerifyView, console: Console) -> None:
    result = last.result
    if result is None:
        console.note(f"helio: the check ended after {last.rows} of {plural(last.total, 'row')}. Run it again.")
        return
    for warning in result.warnings:
        console.note(f"note: {one_line(warning)}")
    if result.problem is not None:
        words = f"row {result.problem.seq}: {one_line(result.problem.words)} ({result.problem.code.value})"
        console.say(f"{console.tint('NOT OK', Tone.BAD)}  {words}")
        console.say(f"  log   {one_line(result.origin)}")
        console.say(f"  rows  {last.rows} of {last.total} looked at; keep a copy of the node's folder as it is")
        return
    console.say(f"{console.tint('ok', Tone.GOOD)}  {plural(last.rows, 'row')}, none missing, none changed")
    console.say(f"  log   {one_line(result.origin)}")
    console.say(f"  root  {one_line(result.root)}")
