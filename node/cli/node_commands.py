"""`helio up`, `down` and `status`."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.lifecycle import NodeLog, await_end, await_start, launch, lock_owner
from node.cli.options import json_option
from node.cli.text import one_line, plural
from node.cli.times import moment, span
from node.core.errors import ErrorCode, MeshError
from node.core.views import StatusView
from node.platform import paths
from node.service import own_command

if TYPE_CHECKING:
    from node.local_client import LocalClient

_LOOK_PATIENCE_S = 1.0
_SILENT = frozenset({ErrorCode.NODE_NOT_RUNNING, ErrorCode.UNAVAILABLE})
_STARTING = frozenset({ErrorCode.NODE_NOT_RUNNING, ErrorCode.UNAVAILABLE, ErrorCode.UNAUTHENTICATED})


@examples("helio up", "helio --home ~/second-node up", "helio up --foreground")
@click.command("up", cls=ExampleCommand)
@click.option("--foreground", is_flag=True, help="Run here until Ctrl-C or SIGTERM, as a service does.")
@json_option
@click.pass_context
def up_command(ctx: click.Context, *, foreground: bool, in_json: bool) -> None:
    """Start the node of this machine. Nothing happens when it runs already.

    It goes on in the background and writes to log/node.log in its home.
    """
    home = paths.home()
    if foreground:
        # The daemon brings everything with it; no other command pays for that.
        from node.daemon import main

        ctx.exit(main(home))
    console = Console.of_streams()
    running = _status_or_none()
    if running is None:
        running, already = _start(home, console), False
    else:
        already = True
    if in_json:
        print_document({"already_running": already, "status": plain(running)})
        return
    words = "already runs" if already else "runs"
    console.say(f"The node {words}: process {running.pid}, home {one_line(running.home)}")
    if not already:
        console.say("Start a session with: helio run --nick NAME -- CMD...")


def _start(home: Path, console: Console) -> StatusView:
    argv, variables = own_command()
    try:
        log = NodeLog.at(home)
        process = launch(
            (*argv, "up", "--foreground"), {**os.environ, **variables, paths.HOME_VARIABLE: str(home)}, log
        )
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"The node could not be started in {home}: {error.strerror}{where}. Check with: helio doctor",
        ) from error
    # Imports gRPC; by now the client has done so anyway.
    from node.errmap import MEANINGS

    with console.progress() as line:
        return await_start(
            process,
            _status_or_none,
            log,
            taken=MEANINGS[ErrorCode.NODE_RUNNING].exit,
            waiting=lambda waited: line.show(f"starting the node: {waited:.0f} s"),
        )


def _status_or_none() -> StatusView | None:
    try:
        return on_node(lambda node: node.status(), patience_s=_LOOK_PATIENCE_S)
    except MeshError as error:
        # A node that is about to start or stop has no socket, a socket but no answer, or no token yet.
        if error.code in _STARTING and not _is_about_the_folder(error):
            return None
        raise


def _is_about_the_folder(error: MeshError) -> bool:
    """Whether waiting cannot help: the folder of the sockets is refused, for good."""
    return error.code is ErrorCode.UNAVAILABLE and "path" in error.details


@examples("helio down")
@click.command("down", cls=ExampleCommand)
@json_option
def down_command(*, in_json: bool) -> None:
    """Stop the node. Sessions keep running in their terminals; messages wait for the next `helio up`."""
    console = Console.of_streams()
    stopped = _stop(paths.home())
    if stopped is None:
        if in_json:
            print_document({"stopped": False, "pid": None, "sessions_running": None})
        else:
            console.say(f"No node runs at {one_line(str(paths.home()))}.")
        return
    with console.progress() as line:
        await_end(stopped.pid, waiting=lambda waited: line.show(f"stopping the node: {waited:.0f} s"))
    if in_json:
        print_document({"stopped": True, "pid": stopped.pid, "sessions_running": stopped.sessions})
        return
    console.say(f"The node has stopped (process {stopped.pid}).{_kept_words(stopped.sessions)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The process that was asked to stop, and how many sessions go on; None where the node could not say."""

    pid: int
    sessions: int | None


def _stop(home: Path) -> Stopped | None:
    """Asks the node to stop, by signal if it does not answer; None when there is none."""

    async def ask(node: LocalClient) -> Stopped:
        status = await node.status()
        return Stopped(pid=await node.stop(), sessions=status.sessions_running)

    try:
        return on_node(ask)
    except MeshError as error:
        owner = lock_owner(home)
        if error.code is ErrorCode.NODE_NOT_RUNNING and owner is None:
            return None
        if error.code not in _SILENT or owner is None:
            raise
    with suppress(ProcessLookupError):
        os.kill(owner, signal.SIGTERM)
    return Stopped(pid=owner, sessions=None)


def _kept_words(sessions: int | None) -> str:
    if sessions is None:
        return " It did not answer, so it was sent a signal. Sessions keep running."
    if not sessions:
        return ""
    return f" {plural(sessions, 'session')} {'keeps' if sessions == 1 else 'keep'} running."


@examples("helio status", "helio status --json")
@click.command("status", cls=ExampleCommand)
@json_option
def status_command(*, in_json: bool) -> None:
    """Show the node at a glance. Exit status 3 when it is not running."""
    status = on_node(lambda node: node.status())
    if in_json:
        print_document(plain(status))
        return
    console = Console.of_streams()
    console.lines(status_lines(status, time.time_ns() // 1000, console))


_BARS = " ▁▂▃▄▅▆▇█"


def _scores(counts: Sequence[int]) -> str:
    """How many texts, and how their scores are spread from harmless to surely an attack."""
    total, most = sum(counts), max(counts, default=0)
    if not total:
        return "nothing yet"
    # Most are harmless: by its logarithm one that is not can be seen beside a million that are.
    top = math.log1p(most)
    bars = "".join(_BARS[math.ceil(math.log1p(count) / top * (len(_BARS) - 1))] for count in counts)
    return f"{plural(total, 'text')}, by score 0 |{bars}| 1"


def status_lines(status: StatusView, now_us: int, console: Console) -> list[str]:
    """The node at a glance, a fact a line."""
    exchanges = f"{status.exchanges_open} open"
    if status.questions_open:
        questions = f"{plural(status.questions_open, 'question')} waiting for an answer"
        exchanges += ", " + console.tint(questions, Tone.WARN)
    timeline = plural(status.timeline_rows, "row")
    if not status.timeline_writable:
        timeline += ", " + console.tint("CANNOT BE WRITTEN: messages are refused (see: helio doctor)", Tone.BAD)
    return [
        f"node       {one_line(status.node_id)}  version {one_line(status.version)}",
        f"running    since {moment(status.started_us)} ({span(status.started_us, now_us)}), process {status.pid}",
        f"home       {one_line(status.home)}",
        f"sessions   {status.sessions_running} running, {status.sessions_ended} ended; "
        + plural(status.agents_connected, "agent connection"),
        f"exchanges  {exchanges}",
        f"notices    {status.notices_owed} owed",
        f"timeline   {timeline}",
        *(f"           {console.tint(one_line(words), Tone.BAD)}" for words in status.timeline_alarms),
        f"screen     {one_line(status.screen_engine)} {one_line(status.screen_version)}",
        f"screened   {_scores(status.screen_scores)}",
        f"tmux       {one_line(status.tmux_version)}",
    ]
