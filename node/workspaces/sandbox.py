"""The view that a bubblewrap workspace has of this machine: what is mounted where, and what is refused."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import node
from node.core.errors import ErrorCode, MeshError

# The system, as far as it is there. Where a distribution has a link (/bin -> usr/bin), a link is made.
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")
# Not all of /etc: host keys, password hashes and other programs' secrets are there too.
_ETC: Final = (
    "alternatives", "bash.bashrc", "bashrc", "ca-certificates", "crypto-policies", "debian_version", "fonts",
    "gai.conf", "group", "host.conf", "hostname", "hosts", "inputrc", "java", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "login.defs", "magic", "mime.types", "networks",
    "nsswitch.conf", "os-release", "passwd", "pki", "profile", "profile.d", "protocols", "resolv.conf", "services",
    "shells", "skel", "ssl", "terminfo", "timezone", "zoneinfo",
)  # fmt: skip
_GIT_DIRECTORY: Final = "gitdir: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One thing of the machine that is seen at the same path inside, or at `at`."""

    source: Path
    at: Path
    writable: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """As bwrap wants to be told."""
        return ("--bind" if self.writable else "--ro-bind", str(self.source), str(self.at))


class View:
    """What is seen inside, put together; the deeper of two mounts wins, and of two at one path the later.

    What a person or an agent chooses may not show anything of the `private` folders, but for what is in `shared` ones.
    """

    def __init__(self, *, private: Iterable[Path], shared: Iterable[Path]) -> None:
        self._private = tuple(Path(os.path.realpath(path)) for path in private)
        self._shared = tuple(Path(os.path.realpath(path)) for path in shared)
        self._words: dict[Path, tuple[str, ...]] = {}

    def show(self, source: Path, *, at: Path | None = None, writable: bool = False) -> None:
        """Show a folder or file that the node itself chose."""
        place = at or source
        self._words[place] = Mount(source=source, at=place, writable=writable).words

    def show_chosen(self, path: Path, *, writable: bool, what: str) -> None:
        """Show a folder that a person or an agent chose; INVALID_ARGUMENT when it is none or would show too much."""
        real = Path(os.path.realpath(path))
        if not real.exists():
            message = f"{path}, {what} of this workspace, does not exist. Make it, or choose another."
            raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
        for private in self._private:
            holds, lies_in = private.is_relative_to(real), real.is_relative_to(private)
            if holds or (lies_in and not any(shared in real.parents for shared in self._shared)):
                message = (
                    f"{path}, {what} of this workspace, would show the node's own files ({private}) to its sessions. "
                    "Choose a folder that neither holds them nor lies among them."
                )
                raise MeshError(ErrorCode.INVALID_ARGUMENT, message, {"path": str(path)})
        self.show(real, writable=writable)

    def make(self, place: str, *words: str) -> None:
        """Anything else that is to be at `place`."""
        self._words[Path(place)] = words

    def sees(self, path: Path) -> bool:
        """Whether that path of the machine is the same file inside."""
        for place in (path, *path.parents):
            words = self._words.get(place)
            if words is not None:
                return words[0] in {"--bind", "--ro-bind"} and words[1] == words[2]
        return False

    def words(self) -> list[str]:
        """All of it, shallow places first."""
        places = sorted(self._words, key=lambda place: len(place.parts))
        return [word for place in places for word in self._words[place]]


def show_system(view: View) -> None:
    """The read-only system, a /tmp of its own, and this program, so that `helio mcp` runs inside."""
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            view.make(name, "--symlink", str(path.readlink()), name)
        elif path.is_dir():
            view.show(path)
    for name in _ETC:
        path = Path("/etc", name)
        if path.exists():
            # A link into /run, as resolv.conf often is, would lead nowhere inside.
            view.show(Path(os.path.realpath(path)), at=path)
    view.make("/proc", "--proc", "/proc")
    view.make("/dev", "--dev", "/dev")
    view.make("/tmp", "--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108  (a place inside)
    view.make("/var/tmp", "--perms", "1777", "--tmpfs", "/var/tmp")  # noqa: S108
    for path in dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), Path(node.__file__).parent)):
        if not view.sees(path):
            view.show(path)


def show_project(view: View, cwd: Path) -> None:
    """The project folder, writable, with the repository of a worktree; of a repository neither hooks nor settings.

    Git runs hooks and settings of a repository wherever it is used, so writing them would be a way out.
    """
    view.show_chosen(cwd, writable=True, what="the project folder")
    repository = _repository_of(cwd)
    if repository is None:
        return
    view.show_chosen(repository, writable=True, what="the repository of the project folder")
    for name in ("config", "config.worktree", "hooks"):
        guarded = repository / name
        if guarded.is_symlink():
            message = (
                f"{guarded} is a link, and what it leads to would be writable for the sessions of this workspace. "
                "Put a real file or folder there, or start the session in another folder."
            )
            raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
        if name == "hooks":
            guarded.mkdir(exist_ok=True)
        if guarded.exists():
            view.show(guarded)


def _repository_of(cwd: Path) -> Path | None:
    """The folder in which git keeps the history of a work tree; None when it is none, or cannot be believed."""
    marker = cwd / ".git"
    if marker.is_dir() and not marker.is_symlink():
        return marker if (marker / "config").is_file() else None
    try:
        said = marker.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
        if marker.is_symlink() or not said.startswith(_GIT_DIRECTORY):
            return None
        own = Path(os.path.realpath(cwd / said.removeprefix(_GIT_DIRECTORY)))
        back = (own / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
    except OSError:
        return None
    # An agent may write anything into its `.git` file. The repository must name this work tree as well.
    if own.parent.name != "worktrees" or os.path.realpath(own / back) != os.path.realpath(marker):
        return None
    repository = own.parent.parent
    return repository if (repository / "config").is_file() else None


def program_inside(view: View, program: str, cwd: Path, env: Mapping[str, str]) -> str:
    """The path of a program that can be started inside; INVALID_ARGUMENT says what to show when it cannot be seen."""
    wanted = program if os.sep not in program else str(cwd / program)
    found = shutil.which(wanted, path=env.get("PATH", os.defpath))
    if found is None:
        message = f"There is no program {program} on this session's PATH. Install it or give its full path."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
    # Its folder without links, for a link in between may not be seen; but its own name, by which some programs go.
    started = Path(os.path.realpath(Path(found).parent), Path(found).name)
    for path in (started, Path(os.path.realpath(found))):
        if not view.sees(path):
            message = (
                f"The program {program} is at {path}, which this workspace does not see. A person can show the folder "
                f"it is installed in: helio workspace set NAME read={path.parent}"
            )
            raise MeshError(ErrorCode.INVALID_ARGUMENT, message, {"path": str(path)})
    return str(started)
