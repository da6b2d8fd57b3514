"""`helio run` and the commands that show, name and put away sessions."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Json, Tone, confirm, plain, print_document
from node.cli.options import complete_agent, complete_workspace, json_option, put_away_argument, session_argument
from node.cli.showing import SESSION_VARIABLE, Showing, already_here, become, ensure_there, showing
from node.cli.text import Column, listed, one_line, plural, table
from node.cli.times import age
from node.core.errors import ErrorCode, MeshError
from node.core.model import SessionStatus
from node.core.policy import nickname_key
from node.core.views import NamedSessionView, SessionView

if TYPE_CHECKING:
    from node.local_client import LocalClient

_COLUMNS_FOR_COMMANDS = 100
# What describes the terminal that `helio run` is typed in is false in the session's own.
_OF_THE_TERMINAL = frozenset(
    {"TERM", "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOW", "WINDOWID", "VTE_VERSION"}
)
_OF_THE_TERMINAL_PREFIXES = (
    "TERM_PROGRAM",
    "TERM_SESSION_ID",
    "ITERM_",
    "KITTY_",
    "WEZTERM_",
    "ALACRITTY_",
    "GHOSTTY_",
)


def _complete_command(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Agent CLIs for the first word; what follows it is the program's own business."""
    return [] if ctx.params.get("command") else complete_agent(ctx, param, incomplete)


@examples(
    "helio run --nick payments -- claude",
    "helio run -d --title 'Nightly tests' -- codex --full-auto",
)
@click.command("run", cls=ExampleCommand, context_settings={"allow_interspersed_args": False})
@click.option("--nick", default="", metavar="NAME", help="Nickname others reach it by: 1-32 letters, digits, . - _")
@click.option("--title", default="", help="What it is for  [default: derived from the command]")
@click.option(
    "--workspace", default="", metavar="NAME", help="Where it runs  [default: this machine]",
    shell_complete=complete_workspace,
)  # fmt: skip
@click.option(
    "--attach/--no-attach", "attach", default=None, help="Show it at once  [default: yes, when typed at a terminal]"
)
@click.option("-d", "--detach", is_flag=True, help="The same as --no-attach.")
@json_option
@click.argument(
    "command", nargs=-1, required=True, metavar="-- CMD...", type=click.UNPROCESSED, shell_complete=_complete_command
)
def run_command(
    *, nick: str, title: str, workspace: str, attach: bool | None, detach: bool, in_json: bool, command: tuple[str, ...]
) -> None:
    """Start CMD (an agent, or any program) as a session in a terminal of the node.

    It runs in this folder, with this environment, and goes on when you detach (Ctrl-b d), when this terminal closes and
    when the node stops.
    """
    # The ports bring the screen's rules with them, which take a while to load.
    from node.ports import NewSession

    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if detach and attach:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "--attach and --detach contradict each other; give one of them.")
    show = (at_terminal if attach is None else attach) and not detach and not in_json
    if show and not at_terminal:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "--attach needs a terminal. Leave it out, or use --detach.")
    size = shutil.get_terminal_size((0, 0)) if at_terminal else os.terminal_size((0, 0))
    new = NewSession(
        argv=command, cwd=_working_folder(), env=session_environment(os.environ), nickname=nick, title=title,
        workspace=workspace, width=size.columns, height=size.lines,
    )  # fmt: skip

    async def start(node: LocalClient) -> tuple[NamedSessionView, Showing | None]:
        started = await node.run_session(new)
        if not show:
            return started, None
        inside = await _session_around(node) is not None
        argv = await node.attach_argv(started.session.id)
        return started, showing(argv, os.environ, in_session=inside)

    named, shown = on_node(start)
    if in_json:
        print_document(plain(named))
        return
    console = Console.of_streams()
    label = one_line(named.session.label)
    console.say(f"Session {console.strong(label)} ({named.session.id}) runs: {_words(named.session.argv)}")
    _warn_of_look_alikes(named, console)
    if shown is not None:
        ensure_there(shown)
        console.say(f"Leave it with {shown.keys}; it keeps running. Come back with: helio attach {label}")
        become(shown)
    console.say(f"Show it with: helio attach {label}")


def session_environment(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The caller's variables for a new terminal, without those of the terminal they come from and undecodable ones."""
    return tuple(
        (name, value)
        for name, value in environment.items()
        if name not in _OF_THE_TERMINAL and not name.startswith(_OF_THE_TERMINAL_PREFIXES) and _is_text(name + value)
    )


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _working_folder() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError as error:
        message = "The folder you are in is gone. Change to another one, then run this again."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message) from error


@examples("helio sessions", "helio sessions --all --json")
@click.command("sessions", cls=ExampleCommand)
@click.option("-a", "--all", "archived", is_flag=True, help="Also sessions that were put away.")
@json_option
def sessions_command(*, archived: bool, in_json: bool) -> None:
    """List sessions, newest first: nickname, state, what is unread and open, title."""
    sessions = on_node(lambda node: node.sessions(archived=archived))
    if in_json:
        print_document(plain(sessions))
        return
    console = Console.of_streams()
    if not sessions:
        console.say("No sessions. Start one with: helio run --nick NAME -- CMD...")
        return
    console.lines(session_table(sessions, time.time_ns() // 1000, console))


def session_table(sessions: Sequence[SessionView], now_us: int, console: Console) -> list[str]:
    """One line for each session."""
    columns = (
        Column(heading="SESSION", flexible=True),
        Column(heading="ID", drop=1),
        Column(heading="STATE"),
        Column(heading="UNREAD", right=True, drop=2),
        Column(heading="OPEN", right=True, drop=3),
        Column(heading="TITLE", flexible=True, least=12),
        Column(heading="COMMAND", flexible=True, least=10, drop=6, worth_from=_COLUMNS_FOR_COMMANDS),
        Column(heading="FOLDER", flexible=True, least=10, drop=4, path=True),
        Column(heading="CHANGED", right=True, drop=5),
    )
    rows = [
        (
            one_line(session.label),
            session.id[:8],
            _state(session),
            str(session.unread),
            str(session.open_exchanges),
            one_line(session.title),
            _words(session.argv),
            folder_words(session.cwd, Path.home()),
            age(session.changed_us, now_us),
        )
        for session in sessions
    ]
    return table(columns, rows, console.columns)


def folder_words(folder: str, home: Path) -> str:
    """A folder on one line, the person's home as `~`."""
    inside = PurePath(folder)
    if inside.is_relative_to(home) and home != PurePath("/"):
        return one_line(str(PurePath("~", inside.relative_to(home))))
    return one_line(folder)


def _state(session: SessionView) -> str:
    if session.status is SessionStatus.RUNNING:
        return session.state.value.replace("_", " ")
    return session.status.value


def _words(argv: Sequence[str]) -> str:
    return one_line(" ".join(argv))


@examples("helio attach @payments")
@click.command("attach", cls=ExampleCommand)
@session_argument
def attach_command(session: str) -> None:
    """Show a session's terminal here. Detach with Ctrl-b d (inside a tmux: its prefix first); it keeps running."""

    async def look(node: LocalClient) -> Showing:
        argv = await node.attach_argv(session)
        around = await _session_around(node)
        if around is not None and _names(session, around):
            raise already_here()
        return showing(argv, os.environ, in_session=around is not None)

    shown = on_node(look)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "A session is shown in a terminal, and this is none.")
    ensure_there(shown)
    become(shown)


async def _session_around(node: LocalClient) -> SessionView | None:
    """The session of this node in which the command was typed; None outside of all."""
    own = os.environ.get(SESSION_VARIABLE)
    if not own:
        return None
    return next((known for known in await node.sessions() if known.id == own), None)


@examples("helio nick @payments billing", "helio nick k2x7q4ab payments", "helio nick @payments --clear")
@click.command("nick", cls=ExampleCommand)
@session_argument
@click.argument("name", required=False, metavar="[NEW]")
@click.option("--clear", is_flag=True, help="Take the nickname away.")
@json_option
def nick_command(*, session: str, name: str | None, clear: bool, in_json: bool) -> None:
    """Give a session a nickname, or take it away with --clear."""
    if clear == (name is not None):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "Give either a new nickname or --clear.")
    if name is not None and not name.strip():
        # An empty nickname would take it away, which nobody means by an empty variable in a script.
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "The new nickname is empty. To take it away, use --clear.")
    named = on_node(lambda node: node.set_nickname(session, name or ""))
    if in_json:
        print_document(plain(named))
        return
    console = Console.of_streams()
    if name is None:
        console.say(f"Session {named.session.id} has no nickname any more.")
        return
    console.say(f"Session {named.session.id} is now {console.strong(one_line(named.session.label))}.")
    _warn_of_look_alikes(named, console)


def _warn_of_look_alikes(named: NamedSessionView, console: Console) -> None:
    if named.look_alikes:
        alike = listed([one_line(label) for label in named.look_alikes])
        text = f"Careful: {one_line(named.session.label)} looks like {alike}. Another nickname is safer."
        console.note(console.tint(text, Tone.WARN))


@examples("helio rename @payments 'Payment service, release 4'")
@click.command("rename", cls=ExampleCommand)
@session_argument
@click.argument("title")
@json_option
def rename_command(*, session: str, title: str, in_json: bool) -> None:
    """Give a session another title."""
    renamed = on_node(lambda node: node.rename_session(session, title))
    _done(renamed, f"Session {one_line(renamed.label)} is now titled: {one_line(renamed.title)}", in_json=in_json)


@examples("helio archive @payments")
@click.command("archive", cls=ExampleCommand)
@session_argument
@json_option
def archive_command(*, session: str, in_json: bool) -> None:
    """Put a session away: its terminal ends, its record stays, its nickname becomes free."""
    archived = on_node(lambda node: node.archive_session(session))
    text = f"Session {archived.id} is put away. Take it out again with: helio unarchive {archived.id[:8]}"
    _done(archived, text, in_json=in_json)


@examples("helio unarchive k2x7q4ab")
@click.command("unarchive", cls=ExampleCommand)
@put_away_argument
@json_option
def unarchive_command(*, put_away: str, in_json: bool) -> None:
    """Take a session out again, named by its id (see: helio sessions --all)."""
    out = on_node(lambda node: node.unarchive_session(put_away))
    lost = f" Its nickname @{one_line(out.nickname_lost)} belongs to another session now." if out.nickname_lost else ""
    text = f"Session {one_line(out.session.label)} is back ({_state(out.session)}).{lost}"
    _done(out, text, in_json=in_json)


@examples("helio rm @payments", "helio rm k2x7q4ab --yes")
@click.command("rm", cls=ExampleCommand)
@put_away_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask, even when exchanges are open.")
@json_option
def rm_command(*, put_away: str, yes: bool, in_json: bool) -> None:
    """Delete a session for good: its terminal ends, and what it still worked for fails.

    Asks first when exchanges are open. Its messages and timeline rows stay.
    """
    if not yes:
        _confirm_removal(put_away)
    removed = on_node(lambda node: node.remove_session(put_away))
    failed = [exchange[:8] for exchange in removed.failed_exchanges]
    with_it = f"; failed with it: {listed(failed)}" if failed else ""
    _done(removed, f"Session {removed.id} is deleted{with_it}.", in_json=in_json)


def _confirm_removal(wanted: str) -> None:
    sessions = on_node(lambda node: node.sessions(archived=True))
    named = [session for session in sessions if _names(wanted, session)]
    opened = sum(session.open_exchanges for session in named)
    if not opened:
        # Also when nothing fits: the node says best what is wrong with a name.
        return
    what = f"{one_line(named[0].label)} has {plural(opened, 'open exchange')}; what it still works for will fail."
    unasked = f"{what} To delete it all the same, add --yes."
    confirm(f"{what} Delete it?", unasked=unasked, declined="Nothing was deleted.")


def _names(wanted: str, session: SessionView) -> bool:
    """Whether the node may take `wanted` for `session`; wider than what the node does, never narrower."""
    bare = wanted.strip().removeprefix("@")
    return session.id.startswith(bare.lower()) or (
        session.nickname is not None and nickname_key(session.nickname) == nickname_key(bare)
    )


def _done(view: object, text: str, *, in_json: bool) -> None:
    if in_json:
        document: Json = plain(view)
        print_document(document)
    else:
        Console.of_streams().say(text)
