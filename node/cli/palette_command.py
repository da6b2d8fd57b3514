"""`helio palette`: choose a session, and its @nickname stands at the prompt of a pane, not yet submitted."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.palette_choices import Choice, Key, Typed, choices, pressed, ranked, read_keys
from node.cli.palette_screen import screen
from node.core.errors import ErrorCode, MeshError
from node.platform import paths

_PANE = re.compile(r"%[0-9]{1,9}", re.ASCII)
_TMUX_SECONDS = 10
# As long as tmux itself waits by its `escape-time` here: what comes later is no part of a sequence.
_ESCAPE_SECONDS = 0.05
_CHUNK = 1024
_ENTER_SCREEN, _LEAVE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"


@examples("helio palette --pane %3", "(in a session: press Ctrl-b @)")
@click.command("palette", cls=ExampleCommand)
@click.option("--pane", required=True, metavar="%N", help="The pane of the node's tmux at whose prompt to insert.")
def palette_command(*, pane: str) -> None:
    """Choose a session by its @nickname or title; `@nickname ` is put at the prompt of a pane, without submitting it.

    A session without a nickname is offered under a new one, which it gets when it is chosen. Type to filter, move with
    the arrows or Ctrl-N and Ctrl-P, choose with Tab or Enter, leave with Esc.
    """
    if _PANE.fullmatch(pane) is None:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{pane[:20]!r} is no pane of tmux; those are called %0, %1, ...")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "The palette needs a terminal to show itself in, and this is none.")
    prompt = Prompt(pane)
    prompt.check()
    with _raw_terminal():
        name = _choose(pane)
    if name is not None:
        prompt.insert(f"@{name} ")


def _choose(pane: str) -> str | None:
    """The nickname of the session that the person chose, given to it if it had none; None when they left."""
    offered, typed, said = _offered(pane), Typed(), ""
    while True:
        fitting = ranked(offered, typed.text)
        size = os.get_terminal_size(sys.stdout.fileno())
        _show(screen(fitting, typed, total=len(offered), columns=size.columns, rows=size.lines, said=said))
        said = ""
        for key in _keys():
            if key is Key.LEAVE:
                return None
            fitting = ranked(offered, typed.text)
            if key is not Key.CHOOSE:
                typed = pressed(typed, key, len(fitting))
            elif fitting:
                try:
                    return _named(fitting[typed.marked])
                except MeshError as refusal:
                    # Somebody took the name meanwhile, or the session is gone: offer what there is now.
                    offered, typed, said = _offered(pane), Typed(text=typed.text), refusal.message


def _offered(pane: str) -> tuple[Choice, ...]:
    return choices(on_node(lambda node: node.sessions()), pane)


def _named(choice: Choice) -> str:
    if not choice.new:
        return choice.name
    named = on_node(lambda node: node.set_nickname(choice.session, choice.name))
    return named.session.nickname or choice.name


def _keys() -> tuple[Key | str, ...]:
    """What was pressed, at least something; the end of the input leaves."""
    source = sys.stdin.fileno()
    data = os.read(source, _CHUNK)
    if not data:
        return (Key.LEAVE,)
    # An arrow may come in pieces, of which the first looks like the Esc key.
    while data.endswith((b"\x1b", b"\x1b[", b"\x1bO")) and select.select([source], [], [], _ESCAPE_SECONDS)[0]:
        data += os.read(source, _CHUNK)
    return read_keys(data)


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Every key is ours, and what the terminal showed before comes back afterwards."""
    source = sys.stdin.fileno()
    before = termios.tcgetattr(source)
    tty.setraw(source)
    _show(_ENTER_SCREEN)
    try:
        yield
    finally:
        _show(_LEAVE_SCREEN)
        termios.tcsetattr(source, termios.TCSADRAIN, before)


class Prompt:
    """The prompt of a pane of the node's tmux."""

    def __init__(self, pane: str) -> None:
        self._pane = pane
        self._server = ("tmux", "-u", "-S", str(paths.run_dir(paths.home()) / paths.TMUX_SOCKET))

    def check(self) -> None:
        """NOT_FOUND when the pane is not there."""
        if self._tmux("display-message", "-p", "-t", self._pane, "#{pane_id}").strip() != self._pane:
            raise MeshError(ErrorCode.NOT_FOUND, f"There is no pane {self._pane} in the node's tmux.")

    def insert(self, text: str) -> None:
        """Put `text` where the cursor is, as a paste; nothing is submitted."""
        buffer = f"palette{self._pane}"
        # tmux itself writes the paste marks, where the program there asked for them.
        paste = ("paste-buffer", "-p", "-d", "-b", buffer, "-t", self._pane)
        self._tmux("load-buffer", "-b", buffer, "-", ";", *paste, feed=text)

    def _tmux(self, *words: str, feed: str = "") -> str:
        try:
            done = subprocess.run(
                (*self._server, *words), input=feed.encode(), capture_output=True, timeout=_TMUX_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE, f"tmux did not do what was asked ({error}). Check with: helio doctor"
            ) from error
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise MeshError(
                ErrorCode.NOT_FOUND, f"The pane {self._pane} cannot be reached: {said or 'no reason given'}."
            )
        return done.stdout.decode("utf-8", "replace")
