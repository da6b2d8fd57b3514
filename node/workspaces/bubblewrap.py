"""Workspaces that are sandboxes on this machine, made by bubblewrap: own home, own /tmp, own view of the files.

A sandbox lives as long as its pane: there is no process that belongs to a workspace as such. What makes a workspace on
is its door, a folder with a hard link to the node's socket; what makes it off is that the door is gone and that nobody
holds the lock which every sandbox of it takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from node.core.errors import ErrorCode, MeshError
from node.core.ids import is_id
from node.core.workspace import StateCode, Workspace, WorkspaceState, path_list
from node.platform import paths
from node.workspaces.driver import (
    SESSION_VARIABLE,
    Place,
    Starts,
    Wrapped,
    check_inside,
    check_words,
    environment_inside,
)
from node.workspaces.programs import Outcome, appearing, readable, run
from node.workspaces.sandbox import View, program_inside, show_project, show_system

_INSTALL: Final = "Install it: apt install bubblewrap, dnf install bubblewrap, or pacman -S bubblewrap"
_RUN_SECONDS: Final = 60.0
_END_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.01
_LOCK_INSIDE: Final = Path("/run/heliograph.lock")
# struct flock on Linux: l_type, l_whence, l_start, l_len, l_pid.
_FLOCK: Final = "hhqqi4x"


class Bubblewrap:
    """Implements Driver."""

    def __init__(self, place: Place, *, program: str = "bwrap") -> None:
        self._place = place
        self._program = program
        self._starts = Starts()

    # --- off and on ---------------------------------------------------------------------------------------------------

    async def boot(self, workspace: Workspace) -> None:
        """Make its folders, see that a sandbox really starts here, and open its door."""
        async with self._starts.turn(workspace):
            self._starts.begin(workspace)
            try:
                self._check_bwrap(workspace)
                await asyncio.to_thread(self._make_folders, workspace)
                outcome = await self._run(workspace, ("true",), f"The sandbox of workspace {workspace.name!r}")
                if outcome.status != 0:
                    raise _unusable(workspace, outcome)
                await asyncio.to_thread(self._open_door, workspace)
            finally:
                self._starts.done(workspace)

    async def off(self, workspace: Workspace) -> None:
        """Close its door and kill every sandbox of it, with all that runs inside."""
        async with self._starts.turn(workspace):
            await asyncio.to_thread(shutil.rmtree, self._door(workspace), ignore_errors=True)
            try:
                async with asyncio.timeout(_END_SECONDS):
                    await _until_nobody_holds(self._lock(workspace))
            except TimeoutError as error:
                message = (
                    f"Workspace {workspace.name!r} still has a sandbox {_END_SECONDS:g} s after it was killed. Look "
                    "for bwrap processes that hang in the system, then try again."
                )
                raise MeshError(ErrorCode.UNAVAILABLE, message) from error

    async def state(self, workspace: Workspace) -> WorkspaceState:
        """On while its door leads to this node."""
        if self._starts.starting(workspace):
            return WorkspaceState(code=StateCode.STARTING)
        return await asyncio.to_thread(self._look, workspace)

    def _look(self, workspace: Workspace) -> WorkspaceState:
        door = self._door(workspace) / paths.AGENT_SOCKET
        if not door.exists():
            return WorkspaceState(code=StateCode.OFF)
        try:
            if door.samefile(self._place.run / paths.AGENT_SOCKET):
                return WorkspaceState(code=StateCode.ON)
        except FileNotFoundError:
            pass
        why = "its door leads to a node that has ended; starting a session there opens it again"
        return WorkspaceState(code=StateCode.BROKEN, why=why)

    def _make_folders(self, workspace: Workspace) -> None:
        folder = self._folder(workspace)
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "home").mkdir(mode=0o700, exist_ok=True)
        # Never replaced: the sandboxes that run hold a lock on this very file.
        os.close(os.open(self._lock(workspace), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        door = self._door(workspace)
        door.parent.mkdir(mode=0o700, exist_ok=True)
        door.mkdir(mode=0o700, exist_ok=True)

    def _open_door(self, workspace: Workspace) -> None:
        """Link the socket into the door's folder, anew when the node listens on a new one.

        The folder is what sandboxes have mounted, so those which already run see the new link. A socket mounted by
        itself would stay the old one.
        """
        socket, door = self._place.run / paths.AGENT_SOCKET, self._door(workspace) / paths.AGENT_SOCKET
        try:
            with contextlib.suppress(FileNotFoundError):
                if door.samefile(socket):
                    return
            fresh = door.with_name("arriving")
            fresh.unlink(missing_ok=True)
            fresh.hardlink_to(socket)
            fresh.replace(door)
        except OSError as error:
            message = (
                f"Workspace {workspace.name!r} cannot be opened: the node's socket {socket} could not be linked into "
                f"it ({error.strerror}). See that the node is up, then try again."
            )
            raise MeshError(ErrorCode.UNAVAILABLE, message) from error

    # --- sessions -----------------------------------------------------------------------------------------------------

    def wrap(
        self,
        workspace: Workspace,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        given: Mapping[str, str] | None = None,
        read: Iterable[Path] = (),
        write: Iterable[Path] = (),
    ) -> Wrapped:
        """The program in a sandbox of its own that ends with the pane."""
        check_words(argv, cwd)
        if not (self._door(workspace) / paths.AGENT_SOCKET).exists():
            message = f"Workspace {workspace.name!r} is off. Starting a session there turns it on; try that again."
            raise MeshError(ErrorCode.WRONG_STATE, message)
        project = Path(os.path.realpath(cwd))
        inside = self._environment(workspace, env, given)
        view = self._view(workspace)
        if not project.is_relative_to(self._own_home(workspace)):
            show_project(view, project)
        session = env.get(SESSION_VARIABLE, "")
        if is_id(session):
            inbox = self._place.home / "inbox" / session
            inbox.mkdir(mode=0o700, parents=True, exist_ok=True)
            view.show(inbox)
        for path in read:
            view.show(path)
        for path in write:
            view.show(path, writable=True)
        program = program_inside(view, argv[0], project, inside)
        words = self._words(workspace, view, project, (program, *argv[1:]))
        # Through the environment of bwrap itself: on its command line everybody could read it.
        return Wrapped(argv=words, cwd=str(self._place.home), env=inside)

    def path_inside(self, workspace: Workspace, local: Path) -> str:  # noqa: ARG002  (the Driver's word)
        """The same path: what is shown at all is shown where it is."""
        return os.path.realpath(local)

    async def copy_in(self, workspace: Workspace, local: Path, inside: str) -> None:
        """Written by a program inside: outside, a link that an agent made could lead the node anywhere."""
        check_inside(inside)
        words = ("sh", "-c", 'cat > "$1.arriving" && mv -f -- "$1.arriving" "$1"', "sh", inside)
        with readable(local, self._place.limits.message_bytes) as feed:
            outcome = await self._run(workspace, words, f"The copy to {inside}", feed=feed)
        _check_copied(workspace, outcome, inside)

    async def copy_out(self, workspace: Workspace, inside: str, local: Path) -> None:
        """Read by a program inside, for the same reason."""
        check_inside(inside)
        with appearing(local) as part:
            with part.open("wb") as into:
                outcome = await self._run(workspace, ("cat", "--", inside), f"The copy of {inside}", into=into)
            _check_copied(workspace, outcome, inside)

    async def _run(
        self,
        workspace: Workspace,
        argv: Sequence[str],
        what: str,
        *,
        feed: BinaryIO | None = None,
        into: BinaryIO | None = None,
    ) -> Outcome:
        """Run a program of the system in a sandbox of the workspace, at its home."""
        self._check_bwrap(workspace)
        view = await asyncio.to_thread(self._view, workspace)
        return await run(
            self._words(workspace, view, self._own_home(workspace), argv),
            what=what, seconds=_RUN_SECONDS, env=self._environment(workspace, os.environ, None), feed=feed, into=into,
            most_bytes=self._place.limits.message_bytes,
        )  # fmt: skip

    # --- the sandbox --------------------------------------------------------------------------------------------------

    def _view(self, workspace: Workspace) -> View:
        home, run = self._place.home, self._place.run
        view = View(private=(home, run), shared=(home / "worktrees",))
        show_system(view)
        for path in path_list(workspace.setting("read")):
            view.show_chosen(Path(path), writable=False, what="a `read` folder")
        for path in path_list(workspace.setting("write")):
            view.show_chosen(Path(path), writable=True, what="a `write` folder")
        view.show(self._own_home(workspace), writable=True)
        # Only the link to agent.sock is in it: neither the person's socket and token nor the terminals' socket.
        view.show(self._door(workspace), at=run)
        view.show(self._lock(workspace), at=_LOCK_INSIDE)
        return view

    def _words(self, workspace: Workspace, view: View, cwd: Path, argv: Sequence[str]) -> tuple[str, ...]:
        network = ("--unshare-net",) if workspace.setting("network") == "off" else ()
        return (
            self._program,
            # Without a user namespace of its own, a program inside could look into the node's by /proc/PID/root.
            "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", *network,
            "--cap-drop", "ALL", "--die-with-parent", *view.words(), "--remount-ro", "/",
            "--lock-file", str(_LOCK_INSIDE), "--chdir", str(cwd), "--", *argv,
        )  # fmt: skip

    def _environment(
        self, workspace: Workspace, env: Mapping[str, str], given: Mapping[str, str] | None
    ) -> dict[str, str]:
        own = {name: env[name] for name in ("PATH", "USER", "LOGNAME", "SHELL") if name in env}
        own |= {"HOME": str(self._own_home(workspace)), paths.HOME_VARIABLE: str(self._place.home)}
        return {"PATH": os.defpath} | environment_inside(workspace, env, None) | own | dict(given or {})

    def _check_bwrap(self, workspace: Workspace) -> None:
        if not sys.platform.startswith("linux"):
            message = (
                f"Workspace {workspace.name!r} is a bubblewrap sandbox, and these are made by Linux only. Use a "
                "workspace with the driver `command` here, for instance over a virtual machine."
            )
            raise MeshError(ErrorCode.UNSUPPORTED, message)
        if shutil.which(self._program) is None:
            message = f"Workspace {workspace.name!r} needs the program {self._program}, which is not here. {_INSTALL}."
            raise MeshError(ErrorCode.UNAVAILABLE, message)

    def _folder(self, workspace: Workspace) -> Path:
        return self._place.home / "workspaces" / workspace.key

    def _own_home(self, workspace: Workspace) -> Path:
        return self._folder(workspace) / "home"

    def _lock(self, workspace: Workspace) -> Path:
        return self._folder(workspace) / "lock"

    def _door(self, workspace: Workspace) -> Path:
        # Beside the socket, because a hard link cannot lead to another file system.
        return self._place.run / "doors" / workspace.key


def _unusable(workspace: Workspace, outcome: Outcome) -> MeshError:
    message = (
        f"bubblewrap is installed but cannot make a sandbox for workspace {workspace.name!r} on this machine: "
        f"{outcome.why}. Most often the kernel or a container around the node forbids user namespaces: allow them "
        "(sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap), or use another driver."
    )
    return MeshError(ErrorCode.UNAVAILABLE, message, {"workspace": workspace.name})


def _check_copied(workspace: Workspace, outcome: Outcome, inside: str) -> None:
    if outcome.status != 0:
        message = f"{inside} could not be copied in workspace {workspace.name!r}: {outcome.why}."
        raise MeshError(ErrorCode.UNAVAILABLE, message, {"path": inside})


async def _until_nobody_holds(lock: Path) -> None:
    while True:
        if not await asyncio.to_thread(_kill_holder, lock):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _kill_holder(lock: Path) -> bool:
    """Kill one sandbox that holds the lock, by its first process; False when nobody holds it."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        holder = _holder(descriptor)
        if holder is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(holder)
            try:
                # Asked again: had it ended before it was opened, its number could be another process's by now.
                if _holder(descriptor) == holder:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
        return True
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> int | None:
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    return None if kind == fcntl.F_UNLCK else pid
