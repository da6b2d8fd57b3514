"""The node's terminals: panes of its own tmux server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.model import AgentState
from node.core.prompt import PaneRef, PromptProfile, Screen, Typed
from node.platform import launch, paths, processes
from node.typist import Look, Pace, Typist, suspended

TMUX_TIMEOUT_SECONDS: Final = 10.0
NAME_CHARACTERS: Final = 64
_POLL_SECONDS: Final = 0.005
# Written for the launcher, which takes it away at once.
_SPECS: Final = "launch-*.json"

# The server outlives its last session, so that a start never meets one that is just leaving. Programs in a pane may
# rename nothing; names are shown and never read back.
_CONFIGURATION: Final = """\
set -g exit-empty off
set -g remain-on-exit off
set -g destroy-unattached off
set -g update-environment ""
set -g default-terminal "screen-256color"
set -g escape-time 10
set -g focus-events on
set -g history-limit 20000
set -g allow-rename off
set -g automatic-rename off
set -g set-titles off
set -g visual-bell off
set -g bell-action none
set -g status-interval 0
set -g status-style "bg=default,fg=default,dim"
set -g status-left " #{window_name} "
set -g status-left-length 70
set -g status-right ""
set -g window-status-format ""
set -g window-status-current-format ""
"""

_PANES: Final = "#{pane_id} #{pane_pid} #{pid} #{pane_dead} #{pane_tty}"
# From tmux 3.7 on the last one is 0 or 1; older servers do not know it and leave it out.
_LOOK: Final = "#{pane_pid} #{pane_in_mode} #{cursor_x} #{cursor_y} #{pane_width} #{bracket_paste_flag}"
_CUT: Final = "= screen ="
_NOT_THERE: Final = re.compile(
    r"no server running|server exited|lost server|no current|no buffer"
    # Anything else that keeps us from the socket says nothing of whether the panes are there.
    r"|error connecting to .*\((?:No such file or directory|Connection refused)\)"
    r"|can't find (?:pane|window|session)"
)


class Tmux:
    """One tmux server, on the socket at `socket` (its folder must be private). Every call raises MeshError alone."""

    def __init__(self, socket: Path, *, pace: Pace | None = None, program: str = "tmux") -> None:
        self._socket = socket
        self._configuration = socket.with_name(socket.name + ".conf")
        self._program = program
        self._typist = Typist(self, pace or Pace())
        # Panes of full-screen programs that were in line mode when last looked at.
        self._maybe_suspended: set[PaneRef] = set()

    # --- panes ---------------------------------------------------------------------------------------------------

    async def start(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], name: str, width: int = 160, height: int = 48
    ) -> PaneRef:
        """A new pane running `argv` in `cwd`, its environment exactly `env` plus TERM; no shell is involved.

        INVALID_ARGUMENT when the program or the folder is not there, UNAVAILABLE when the program ends at once.
        """
        _check_program(argv, cwd, env)
        spec = await asyncio.to_thread(self._write_spec, argv, cwd, env)
        launcher = (sys.executable, "-I", "-S", launch.__file__, str(spec))
        try:
            pane = await self._tmux(
                ("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", str(width), "-y", str(height)),
                ("-n", _shown_name(name), "--", *launcher),
                cwd=cwd,
            )
        except MeshError:
            spec.unlink(missing_ok=True)
            raise
        found = await self._pane(pane.strip())
        if found is None or not await _launched(found, spec):
            spec.unlink(missing_ok=True)
            message = (
                f"The program {argv[0]} ended as soon as it was started, so there is no session. "
                "Run it by hand in that folder to see what it says."
            )
            raise MeshError(ErrorCode.UNAVAILABLE, message)
        return found

    async def panes(self) -> tuple[PaneRef, ...]:
        """Every living pane of the server, read anew; () when the server does not run."""
        listing = await self._tmux(("list-panes", "-a", "-F", _PANES), missing="")
        found = await asyncio.to_thread(self._living, listing)
        self._typist.keep_only(found)
        self._maybe_suspended &= set(found)
        return found

    async def forget_unstarted(self) -> None:
        """Remove what a killed node left of terminals that it never started: whole environments. Before any start."""
        words = {word for ref in await self.panes() for word in processes.command_line(ref.pid)}
        for spec in self._socket.parent.glob(_SPECS):
            if str(spec) not in words:
                spec.unlink(missing_ok=True)

    async def environment(self, ref: PaneRef) -> Mapping[str, str]:
        """What the pane's program was started with, once it has been started; empty when the pane has ended."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + TMUX_TIMEOUT_SECONDS
        while clock() < deadline:
            if launch.__file__ not in processes.command_line(ref.pid):
                break
            await asyncio.sleep(_POLL_SECONDS)
        found = await asyncio.to_thread(processes.environment, ref.pid)
        process = processes.read(ref.pid)
        # Looked at last: a number that was taken by another process shows now.
        return found if process is not None and process.start == ref.started else {}

    async def wake_suspended(self, ref: PaneRef, profile: PromptProfile) -> None:
        """Sends SIGCONT to a full-screen agent whose terminal is in line mode at two looks in a row.

        On Ctrl-Z some put the terminal back and wait to be continued, but are never stopped: the system does not stop
        a process without a parent of its own session. At one look it may have just begun.
        """
        waits = profile.box_end is not None and await asyncio.to_thread(suspended, ref, profile)
        if not waits:
            self._maybe_suspended.discard(ref)
        elif ref in self._maybe_suspended:
            self._maybe_suspended.discard(ref)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(ref.pid, signal.SIGCONT)
        else:
            self._maybe_suspended.add(ref)

    async def alive(self, ref: PaneRef) -> bool:
        """Whether that very pane, with that very process, is still there."""
        return await self._pane(ref.pane) == ref

    async def capture(self, ref: PaneRef) -> Screen:
        """What the pane shows; NOT_FOUND when it has ended."""
        look = await self.look(ref)
        if look is None:
            raise _ended(ref)
        return look.screen

    async def kill(self, ref: PaneRef) -> None:
        """End the pane, if it is still that one; its programs get SIGHUP."""
        if await self.alive(ref):
            await self._tmux(("kill-pane", "-t", ref.pane), missing="")

    async def rename(self, ref: PaneRef, name: str) -> None:
        """Show `name` in the pane's status line; NOT_FOUND when it has ended."""
        if not await self.alive(ref):
            raise _ended(ref)
        await self._tmux(("rename-window", "-t", ref.pane, "--", _shown_name(name)))

    def attach_argv(self, ref: PaneRef) -> tuple[str, ...]:
        """The command that shows the pane in the terminal it is run in."""
        return (self._program, "-u", "-S", ref.server, "attach-session", "-t", ref.pane)

    async def kill_server(self) -> None:
        """End the server with every pane; nothing happens when it does not run."""
        server = await self._tmux(("display-message", "-p", "#{pid}"), missing="")
        await self._tmux(("kill-server",), missing="")
        if server:
            await _left(int(server))

    async def version(self) -> str:
        """The version of the tmux program, as it says it; UNAVAILABLE when there is none."""
        return (await self._tmux(("-V",))).strip().removeprefix("tmux ")

    # --- typing --------------------------------------------------------------------------------------------------

    async def type_notice(
        self,
        ref: PaneRef,
        text: str,
        profile: PromptProfile,
        state_now: Callable[[], AgentState],
        turn_started: Callable[[], Awaitable[object]] | None = None,
    ) -> Typed:
        """Type a notice and enter it, or say why it was held: `Typist.type_notice`."""
        return await self._typist.type_notice(ref, text, profile, state_now, turn_started)

    async def look(self, ref: PaneRef) -> Look | None:
        """The pane as it is now, in one call; None when it has ended or is another one by now."""
        answer = await self._tmux(
            ("display-message", "-p", "-t", ref.pane, _LOOK, ";"),
            ("list-clients", "-t", ref.pane, "-F", "#{client_activity}", ";"),
            ("display-message", "-p", _CUT, ";"),
            ("capture-pane", "-p", "-t", ref.pane),
            missing="",
        )
        head, cut, body = answer.partition(f"{_CUT}\n")
        if not cut:
            return None
        facts, *activity = head.splitlines()
        pid, mode, column, line, width, *bracketed = facts.split()
        if int(pid) != ref.pid:
            return None
        lines = tuple(body.removesuffix("\n").split("\n"))
        return Look(
            screen=Screen(lines=lines, cursor=(int(column), int(line)), width=int(width)),
            scrolling=mode != "0",
            bracketed=bracketed[0] != "0" if bracketed else None,
            person_s=max((int(second) for second in activity), default=0),
        )

    async def paste(self, ref: PaneRef, seen: Look, text: str) -> bool:
        """Paste `text`; False, with nothing pasted, when the pane is no longer as it was seen."""
        buffer = f"notice{ref.pane}"
        # Through standard input no word of it is parsed: neither a final ";" nor a leading "-". tmux itself writes the
        # paste marks (-p); marks of our own would show as text from tmux 3.7 on.
        await self._tmux(("load-buffer", "-b", buffer, "-"), feed=text.encode())
        done = await self._if_as_seen(ref, seen, f"paste-buffer -p -d -b {buffer} -t {ref.pane}")
        if not done:
            await self._tmux(("delete-buffer", "-b", buffer), missing="")
        return done

    async def enter(self, ref: PaneRef, seen: Look) -> bool:
        """Press Enter; False, with nothing pressed, when the pane is no longer as it was seen."""
        # The byte, not the key's name: from tmux 3.7 on the key may become a sequence that submits nothing.
        return await self._if_as_seen(ref, seen, f"send-keys -t {ref.pane} -H 0d")

    async def _if_as_seen(self, ref: PaneRef, seen: Look, command: str) -> bool:
        """Run a tmux command only if the pane's process, mode and cursor are as seen, which the server checks itself.

        Between a look and the next tmux process some milliseconds pass; a dialog that comes up then moves the cursor.
        """
        column, line = seen.screen.cursor
        as_seen = f"{ref.pid}/0/{column}/{line}"
        test = "#{==:#{pane_pid}/#{pane_in_mode}/#{cursor_x}/#{cursor_y}," + as_seen + "}"
        done = await self._tmux(
            ("if-shell", "-F", "-t", ref.pane, test, f"{command} ; display-message -p done"), missing=""
        )
        return done.strip() == "done"

    # --- the tmux program ----------------------------------------------------------------------------------------

    async def _pane(self, pane: str) -> PaneRef | None:
        return next((ref for ref in await self.panes() if ref.pane == pane), None)

    def _living(self, listing: str) -> tuple[PaneRef, ...]:
        found: list[PaneRef] = []
        for row in listing.splitlines():
            pane, pid, server_pid, dead, tty = row.split(" ", 4)
            process = processes.read(int(pid))
            # Another parent than the server: the pane's process has ended, and its number was taken by another.
            if dead == "0" and process is not None and process.ppid == int(server_pid) and not process.ended:
                ref = PaneRef(server=str(self._socket), pane=pane, pid=int(pid), started=process.start, tty=tty)
                found.append(ref)
        return tuple(found)

    def _write_spec(self, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> Path:
        """Write what the launcher is to start, and the server's configuration, beside its socket."""
        paths.check_private(self._socket.parent)
        self._configuration.write_text(_CONFIGURATION + _palette_key(), encoding="utf-8")
        prefix, suffix = _SPECS.split("*")
        # mkstemp makes it 0600, and so secrets in the environment are on no command line.
        descriptor, path = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=self._socket.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"argv": list(argv), "cwd": cwd, "env": dict(env)}, file)
        return Path(path)

    async def _tmux(
        self, *parts: Sequence[str], feed: bytes | None = None, cwd: str | None = None, missing: str | None = None
    ) -> str:
        """What tmux prints for a command. With `missing`, that is the answer when the server or pane is not there."""
        words = [word for part in parts for word in part]
        try:
            process = await asyncio.create_subprocess_exec(
                self._program, "-u", "-S", str(self._socket), "-f", str(self._configuration), *words,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                cwd=cwd, env=_server_environment(),
            )  # fmt: skip
        # Of these the second comes when a folder on the PATH may not be searched.
        except (FileNotFoundError, PermissionError) as error:
            message = "There is no tmux on this machine's PATH, and sessions need it. Install tmux 3.2 or newer."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        except OSError as error:
            # No process or descriptor is left, for now: whoever looks again later may fare better.
            message = f"The system could not start tmux ({error.strerror}). End programs that are not needed."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        try:
            async with asyncio.timeout(TMUX_TIMEOUT_SECONDS):
                output, complaint = await process.communicate(feed)
        except TimeoutError as error:
            message = f"tmux did not answer within {TMUX_TIMEOUT_SECONDS:.0f} s (command {words[0]}). Try again."
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                if process.stdin is not None:
                    # Else its pipe would be closed only after the event loop is.
                    process.stdin.close()
                await process.wait()
        if process.returncode == 0:
            return output.decode("utf-8", "replace")
        said = complaint.decode("utf-8", "replace").strip()
        if missing is not None and _NOT_THERE.search(said):
            return missing
        raise MeshError(ErrorCode.UNAVAILABLE, f"tmux refused the command {words[0]}: {said or 'no reason given'}.")


def _check_program(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
    if not argv or not argv[0] or any("\0" in word for word in (*argv, cwd, *env, *env.values())):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "A session needs a program to run, without NUL characters.")
    if not Path(cwd).is_dir():
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"The folder {cwd} does not exist. Choose one that does.")
    program = argv[0] if os.sep not in argv[0] else str(Path(cwd, argv[0]))
    if shutil.which(program, path=env.get("PATH", os.defpath)) is None:
        message = f"There is no program {argv[0]} on this session's PATH. Install it or give its full path."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message)


async def _launched(ref: PaneRef, spec: Path) -> bool:
    """Wait until the launcher has taken `spec` and become the program; False when it ended instead."""
    deadline = asyncio.get_running_loop().time() + TMUX_TIMEOUT_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        process = processes.read(ref.pid)
        if process is None or process.ended or process.start != ref.started:
            return False
        if await asyncio.to_thread(_is_the_program, ref.pid, spec):
            return True
        await asyncio.sleep(_POLL_SECONDS)
    raise MeshError(ErrorCode.UNAVAILABLE, "This machine is too busy to start a program right now. Try again.")


def _is_the_program(pid: int, spec: Path) -> bool:
    # Before the launcher has run, the process is a copy of the server; afterwards it has the program's words.
    return not spec.exists() and launch.__file__ not in processes.command_line(pid)


async def _left(pid: int) -> None:
    """Wait until a server that was told to leave has left: a start would meet it on its way out."""
    async with asyncio.timeout(TMUX_TIMEOUT_SECONDS):
        while True:
            process = processes.read(pid)
            if process is None or process.ended:
                return
            await asyncio.sleep(_POLL_SECONDS)


def _shown_name(name: str) -> str:
    """`name` fit for a status line: no controls, and no "#", with which tmux runs commands and draws styles."""
    kept = "".join(character for character in name if character.isprintable() and character != "#")
    kept = kept.strip()[:NAME_CHARACTERS] or "session"
    # As a word of a command line, a final ";" would end the command.
    return f"{kept[:-1]}\\;" if kept.endswith(";") else kept


def _palette_key() -> str:
    """The line of the configuration by which C-b @ shows the palette above the pane, and keeps it there if it fails."""
    palette = shlex.join((sys.executable, "-P", "-m", "node.entry", "palette", "--pane")).replace("#", "##")
    # Of the two, only run-shell says which pane that is.
    popup = f"display-popup -EE -w 80% -h 60% {_quoted(palette + ' #{pane_id}')}"
    return f"bind-key @ run-shell -C {_quoted(popup)}\n"


def _quoted(text: str) -> str:
    """`text` as one word of a tmux command."""
    return '"' + re.sub(r'(["\\$])', r"\\\1", text) + '"'


def _server_environment() -> dict[str, str]:
    """What the tmux server keeps in mind: enough to run, and nothing of the terminal the node was started from."""
    known = (
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR",
        # By these the palette finds its node and itself; sessions get their environment from elsewhere.
        paths.HOME_VARIABLE, "PYTHONPATH",
    )  # fmt: skip
    return {name: os.environ[name] for name in known if name in os.environ} | {"TERM": "xterm-256color"}


def _ended(ref: PaneRef) -> MeshError:
    return MeshError(ErrorCode.NOT_FOUND, f"The terminal pane {ref.pane} of this session has ended.")
