"""How a session's terminal comes into view: in a terminal, in another tmux, or in the node's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from node.core.errors import ErrorCode, MeshError

# As node.workspaces.driver sets it, which is too much to load for a name.
SESSION_VARIABLE = "HELIOGRAPH_SESSION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What to become to show a session, with which environment, and the keys that lead back.

    `look` is a command that fails when there is nothing to show any more; empty where that cannot be told.
    """

    argv: tuple[str, ...]
    look: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    keys: str


def showing(attach_argv: Sequence[str], environment: Mapping[str, str], *, in_session: bool = False) -> Showing:
    """How to show the pane that the node's `attach_argv` names from here; WRONG_STATE when here is that very pane.

    In the tmux of the node itself (`in_session`: here is a session of it) the client changes over instead of nesting.
    """
    server, pane = _value_of("-S", attach_argv), _value_of("-t", attach_argv)
    look = (attach_argv[0], "-S", server, "has-session", "-t", pane) if server and pane else ()
    around = environment.get("TMUX", "").split(",")[0]
    # The node starts its sessions without TMUX; where there is one, a tmux of the person's may lie between.
    if server and (os.path.realpath(around) == os.path.realpath(server) if around else in_session):
        if pane == environment.get("TMUX_PANE"):
            raise already_here()
        # tmux finds the client that is to change by the pane whose terminal this is.
        switch = (attach_argv[0], "-S", server, "switch-client", "-t", pane)
        keys = "Ctrl-b L (back to where you were)"
        return Showing(argv=switch, look=look, environment=tuple(environment.items()), keys=keys)
    # tmux refuses to nest on seeing these, but the node's tmux is another server than the one around this terminal.
    outside = tuple((name, value) for name, value in environment.items() if name not in {"TMUX", "TMUX_PANE"})
    # The tmux around takes its prefix first; pressed twice it comes through.
    keys = "Ctrl-b Ctrl-b d (your own tmux's prefix comes first)" if around else "Ctrl-b d"
    return Showing(argv=tuple(attach_argv), look=look, environment=outside, keys=keys)


def already_here() -> MeshError:
    """The refusal to show a session inside itself."""
    message = "You are in this session already: this terminal is the one it runs in."
    return MeshError(ErrorCode.WRONG_STATE, message)


def _value_of(option: str, argv: Sequence[str]) -> str:
    """The word after an option, empty for none."""
    return argv[argv.index(option) + 1] if option in argv[:-1] else ""


def ensure_there(shown: Showing) -> None:
    """UNAVAILABLE when the terminal has ended meanwhile: what tmux says of that is no sentence for the person."""
    try:
        gone = bool(shown.look) and subprocess.run(shown.look, check=False, capture_output=True).returncode != 0
    except OSError as error:
        raise _cannot_start(shown, error) from error
    if gone:
        message = "Its program has ended already, so there is no terminal to show. See: helio sessions"
        raise MeshError(ErrorCode.UNAVAILABLE, message)


def become(shown: Showing) -> None:
    """Replace this process by what shows a session; UNAVAILABLE when that program is not on this machine."""
    sys.stdout.flush()
    try:
        os.execvpe(shown.argv[0], list(shown.argv), dict(shown.environment))  # noqa: S606  (no shell is the point)
    except OSError as error:
        raise _cannot_start(shown, error) from error


def _cannot_start(shown: Showing, error: OSError) -> MeshError:
    message = f"{shown.argv[0]} cannot be started ({error.strerror}). Check with: helio doctor"
    return MeshError(ErrorCode.UNAVAILABLE, message)
