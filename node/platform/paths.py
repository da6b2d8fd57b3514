"""Where a node keeps what it owns, and which folders are private enough to hold its sockets."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from node.core.errors import ErrorCode, MeshError

HOME_VARIABLE: Final = "HELIOGRAPH_HOME"
# sockaddr_un.sun_path with its closing NUL: 104 bytes on macOS, 108 on Linux. The smaller one, so that a home can move.
SOCKET_PATH_BYTES: Final = 104
# What stands in the run folder.
LOCAL_SOCKET: Final = "local.sock"
SEEN_FILE: Final = "timeline.seen"
"""In the home: the last signed checkpoint of the timeline, as one signed note."""
LOCAL_TOKEN: Final = "token"  # noqa: S105  (a file's name)
AGENT_SOCKET: Final = "agent.sock"
TMUX_SOCKET: Final = "tmux.sock"
# The longest socket name that a run folder is promised to have room for.
SOCKET_NAME_BYTES: Final = 24
# Not TMPDIR or XDG_RUNTIME_DIR: agent CLIs pass on few variables, and all programs of a node must find the same folder.
_SHORT_BASE: Final = Path("/tmp")  # noqa: S108  (the folder below it is 0700 and its owner is checked)


def home() -> Path:
    """The node's folder: $HELIOGRAPH_HOME made absolute, else ~/.heliograph. It need not exist yet."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".heliograph"


def run_path(home: Path) -> Path:
    """Where the node's sockets are: `home`/run, or a folder named after the home's hash under /tmp when a socket's path
    would be too long. Nothing is made; whoever trusts what is there calls `check_private` first."""
    preferred = home / "run"
    if _fits(preferred):
        return preferred
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return _SHORT_BASE / f"heliograph-{os.getuid()}-{digest}"


def run_dir(home: Path) -> Path:
    """The folder of the node's sockets, made 0700 if missing and checked; short enough for SOCKET_NAME_BYTES names."""
    run = run_path(home)
    if run.parent == home:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _made_private(run)


def check_private(directory: Path) -> None:
    """Refuse (UNAVAILABLE) unless `directory` is a real folder of ours that nobody else can enter."""
    try:
        found = directory.lstat()
    except OSError as error:
        raise _refusal(directory, f"cannot be looked at ({error.strerror})", "Check the folders above it") from error
    if not stat.S_ISDIR(found.st_mode):
        raise _refusal(directory, "is not a folder", f"Move it away, or set {HOME_VARIABLE} to another place")
    if found.st_uid != os.getuid():
        raise _refusal(
            directory, f"belongs to user {found.st_uid}, not to you", f"Set {HOME_VARIABLE} to another place"
        )
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise _refusal(directory, f"is open to other users (mode {mode:04o})", f"Run: chmod 700 '{directory}'")


def _fits(directory: Path) -> bool:
    return len(os.fsencode(directory)) + 1 + SOCKET_NAME_BYTES < SOCKET_PATH_BYTES


def _made_private(directory: Path) -> Path:
    # mkdir does not follow a link at the last step, and the check looks at what is there now, whoever made it.
    directory.mkdir(mode=0o700, exist_ok=True)
    check_private(directory)
    return directory


def _refusal(directory: Path, what: str, then: str) -> MeshError:
    message = f"The folder {directory} {what}, so this node cannot keep its sockets there. {then}, then start again."
    return MeshError(ErrorCode.UNAVAILABLE, message, {"path": str(directory)})
