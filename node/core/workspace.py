"""Workspaces: where sessions run, which of them may ask which, and the settings that each driver takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from node.core import policy
from node.core.errors import ErrorCode, MeshError
from node.core.model import DEFAULT_WORKSPACE, Session
from node.core.workspace_template import PLACEHOLDERS, check_template

SETTING_CHARS: Final = 4_096
REACH_NAMES: Final = 256
TIMEOUT_DEFAULT_S: Final = 60
TIMEOUT_MAX_S: Final = 3_600


class DriverKind(StrEnum):
    """How a workspace is made: the machine itself, a sandbox on it, or whatever commands reach."""

    HOST = "host"
    BUBBLEWRAP = "bubblewrap"
    COMMAND = "command"


class StateCode(StrEnum):
    """Whether sessions can run in a workspace."""

    OFF = "off"
    STARTING = "starting"
    ON = "on"
    BROKEN = "broken"


class ScreenMode(StrEnum):
    """What becomes of a message that the screen flags: stopped or held as the screen says, held at worst, or logged."""

    BLOCK = "block"
    HOLD = "hold"
    LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceState:
    """A workspace as its driver finds it; `why` is empty unless it is broken."""

    code: StateCode
    why: str = ""

    def __str__(self) -> str:
        return f"{self.code.value}: {self.why}" if self.why else self.code.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A place where sessions run. `settings` are sorted pairs, as `checked_settings` makes them.

    `reach` names the workspaces whose sessions its own may ask: None is every one, mirrors too, and () only itself.
    `mode` is what becomes of a message to them that the screen flags.
    """

    name: str
    driver: DriverKind
    settings: tuple[tuple[str, str], ...] = ()
    reach: tuple[str, ...] | None = None
    mode: ScreenMode = ScreenMode.BLOCK

    @property
    def key(self) -> str:
        """What makes two names the same: case and Unicode form do not count."""
        return name_key(self.name)

    @property
    def mirrors_in_reach(self) -> bool:
        """Whether its sessions may ask sessions on mirrored nodes: not once reach is restricted."""
        return self.reach is None

    def setting(self, name: str, default: str = "") -> str:
        """The value of a setting, or `default` when it is not set."""
        return dict(self.settings).get(name, default)

    def reaches(self, other: Workspace) -> bool:
        """Whether sessions here may ask sessions in `other`. Says nothing about the way back."""
        if self.reach is None or other.key == self.key:
            return True
        return other.key in {name_key(name) for name in self.reach}


DEFAULT: Final = Workspace(name=DEFAULT_WORKSPACE, driver=DriverKind.HOST)


# --- names ------------------------------------------------------------------------------------------------------------


def clean_name(wanted: str) -> str:
    """The name in NFC; INVALID_ARGUMENT unless it could be a nickname."""
    text = wanted.strip()
    try:
        if text.startswith("@"):
            raise MeshError(ErrorCode.INVALID_ARGUMENT, "An @ begins the name of a session.")
        return policy.clean_nickname(text)
    except MeshError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{wanted[:60]!r} cannot name a workspace: use 1 to {policy.NICKNAME_MAX} letters, digits, '.', '-' or "
            "'_', with at least one letter or digit.",
        ) from error


def name_key(name: str) -> str:
    """What makes two workspace names the same."""
    return policy.nickname_key(name)


def find(wanted: str, workspaces: Iterable[Workspace]) -> Workspace:
    """The workspace of that name, the default one for an empty name; NOT_FOUND lists those there are."""
    known = with_default(workspaces)
    name = wanted.strip() or DEFAULT_WORKSPACE
    for workspace in known:
        if workspace.key == name_key(name):
            return workspace
    names = tuple(workspace.name for workspace in known)
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"There is no workspace {name[: policy.NICKNAME_MAX]!r} on this node. There are: {_listed(names)}. "
        "A person adds one with `helio workspace add`.",
        {"choices": names[:12]},
    )


def with_default(workspaces: Iterable[Workspace]) -> tuple[Workspace, ...]:
    """The workspaces, led by the default one: DEFAULT unless a changed one is among them."""
    listed = tuple(workspaces)
    own = next((workspace for workspace in listed if workspace.key == DEFAULT.key), DEFAULT)
    return (own, *(workspace for workspace in listed if workspace.key != DEFAULT.key))


# --- making and changing ----------------------------------------------------------------------------------------------


def add(
    name: str,
    driver: str,
    settings: Mapping[str, str],
    existing: Iterable[Workspace],
    *,
    reach: Sequence[str] | None = None,
) -> Workspace:
    """A new workspace; INVALID_ARGUMENT for a bad name, driver or setting, ALREADY_EXISTS for a name that is taken."""
    clean = clean_name(name)
    known = with_default(existing)
    for other in known:
        if other.key == name_key(clean):
            raise MeshError(
                ErrorCode.ALREADY_EXISTS,
                f"There is a workspace {other.name!r} already; names ignore case. Choose another, or change that one "
                f"with `helio workspace set {other.name} KEY=VALUE`.",
            )
    kind = driver_kind(driver)
    made = Workspace(name=clean, driver=kind, settings=checked_settings(kind, settings))
    return made if reach is None else set_reach(made, reach, (*known, made))


def change(workspace: Workspace, changes: Mapping[str, str]) -> Workspace:
    """The workspace with settings changed; an empty value takes a setting away."""
    merged = dict(workspace.settings) | dict(changes)
    kept = {key: value for key, value in merged.items() if value or key not in changes}
    # An unknown key is refused also when it is only taken away: it is a slip of the pen.
    _check_keys(workspace.driver, changes)
    return replace(workspace, settings=checked_settings(workspace.driver, kept))


def set_reach(workspace: Workspace, names: Sequence[str] | None, existing: Iterable[Workspace]) -> Workspace:
    """The workspace with another reach: None for every workspace; NOT_FOUND names one that does not exist."""
    if names is None:
        return replace(workspace, reach=None)
    if len(names) > REACH_NAMES:
        raise MeshError(
            ErrorCode.LIMIT,
            f"{len(names)} workspaces were named; a reach holds at most {REACH_NAMES}. Let it reach every workspace, "
            "or put sessions together in fewer of them.",
            {"limit": REACH_NAMES, "given": len(names)},
        )
    known = tuple(existing)
    found = {one.key: one.name for one in (find(clean_name(name), known) for name in names)}
    found.pop(workspace.key, None)
    return replace(workspace, reach=tuple(sorted(found.values(), key=name_key)))


def forget(workspace: Workspace, removed: str) -> Workspace:
    """The workspace without `removed` in its reach: a later workspace of that name must not be reached by accident."""
    if workspace.reach is None or name_key(removed) not in {name_key(name) for name in workspace.reach}:
        return workspace
    return replace(workspace, reach=tuple(name for name in workspace.reach if name_key(name) != name_key(removed)))


def screen_mode(mode: str) -> ScreenMode:
    """The mode of that name; INVALID_ARGUMENT lists those there are."""
    try:
        return ScreenMode(mode)
    except ValueError as error:
        names = ", ".join(one.value for one in ScreenMode)
        message = f"{mode[:40]!r} is no mode of the screen. The modes are: {names}. Nothing was changed."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message, {"choices": tuple(ScreenMode)}) from error


def driver_kind(driver: str) -> DriverKind:
    """The driver of that name; INVALID_ARGUMENT lists those there are."""
    try:
        return DriverKind(driver)
    except ValueError as error:
        names = ", ".join(kind.value for kind in DriverKind)
        message = f"{driver[:40]!r} is not a driver. The drivers are: {names}."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message, {"choices": tuple(DriverKind)}) from error


# --- the reach rule ---------------------------------------------------------------------------------------------------


def check_reach(from_workspace: Workspace, to_workspace: Workspace) -> None:
    """Refuse (REACH) that a session in one workspace asks one in the other. What answers an exchange is not asked.

    The rule is one-way: that B may not reach A says nothing about A reaching B, and answers travel back all the same.
    """
    if from_workspace.reaches(to_workspace):
        return
    source, target = from_workspace.name, to_workspace.name
    held = from_workspace.reach or ()
    every = " ".join((*held, target))
    raise MeshError(
        ErrorCode.REACH,
        f"Out of reach: sessions in workspace {source!r} may ask {reach_words(from_workspace)}, and that session is in "
        f"{target!r}. Ask one that list_peers shows. A person can allow it: helio workspace reach {source} {every}",
        {"rule": "workspace reach", "from": source, "to": target, "reach": held},
    )


def keys_in_reach(name: str, workspaces: Iterable[Workspace]) -> frozenset[str]:
    """The keys of the workspaces that sessions in workspace `name` may ask; its own alone when that was removed."""
    known = with_default(workspaces)
    here = next((one for one in known if one.key == name_key(name)), None)
    reached = (other.key for other in known if here is not None and here.reaches(other))
    return frozenset((name_key(name), *reached))


def ids_in_reach(session: str | None, sessions: Sequence[Session], workspaces: Iterable[Workspace]) -> frozenset[str]:
    """The ids of those of `sessions` that `session` may ask; the person (None) may ask every one."""
    here = next((one.workspace for one in sessions if one.id == session), None)
    if here is None:
        return frozenset(one.id for one in sessions)
    keys = keys_in_reach(here, workspaces)
    return frozenset(one.id for one in sessions if name_key(one.workspace) in keys)


def check_mirrors(from_workspace: Workspace) -> None:
    """Refuse (REACH) that a session in a workspace with a restricted reach asks a session on a mirrored node."""
    if from_workspace.mirrors_in_reach:
        return
    source = from_workspace.name
    raise MeshError(
        ErrorCode.REACH,
        f"Out of reach: sessions in workspace {source!r} may ask {reach_words(from_workspace)}, and none on another "
        "Mac. Ask one that list_peers shows. A person can allow every workspace and mirror: "
        f"helio workspace reach {source} --all",
        {"rule": "workspace reach", "from": source, "reach": from_workspace.reach or ()},
    )


def reach_words(workspace: Workspace) -> str:
    """Whom its sessions may ask, for a sentence: "every workspace", "only this workspace", ..."""
    if workspace.reach is None:
        return "every workspace"
    if not workspace.reach:
        return "only sessions in the same workspace"
    return f"only sessions in the same workspace and in {_listed(workspace.reach)}"


# --- settings ---------------------------------------------------------------------------------------------------------


def checked_settings(driver: DriverKind, settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings, sorted; INVALID_ARGUMENT names an unknown, missing or wrong one."""
    _check_keys(driver, settings)
    for key, value in settings.items():
        if len(value) > SETTING_CHARS:
            raise MeshError(
                ErrorCode.LIMIT,
                f"The setting {key} has {len(value)} characters; the limit is {SETTING_CHARS}. Put a long command into "
                "a script and name that.",
                {"limit": SETTING_CHARS, "given": len(value)},
            )
        if "\0" in value:
            raise _wrong(key, "holds a NUL character")
        SETTINGS[driver][key](key, value)
    missing = [key for key in _REQUIRED[driver] if not settings.get(key)]
    if missing:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"The driver {driver.value!r} needs the setting {missing[0]!r}: {_REQUIRED[driver][missing[0]]}. "
            f"Give it as {missing[0]}=VALUE.",
        )
    return tuple(sorted(settings.items()))


def path_list(value: str) -> tuple[str, ...]:
    """The absolute paths of a setting in which colons part them."""
    return tuple(path for path in value.split(":") if path)


def name_list(value: str) -> tuple[str, ...]:
    """The names of a setting in which commas or blanks part them."""
    return tuple(value.replace(",", " ").split())


def _check_keys(driver: DriverKind, settings: Iterable[str]) -> None:
    known = SETTINGS[driver]
    for key in settings:
        if key not in known:
            there = f"It takes: {', '.join(known)}." if known else "It takes none."
            message = f"{key[:40]!r} is not a setting of the driver {driver.value!r}. {there}"
            raise MeshError(ErrorCode.INVALID_ARGUMENT, message, {"choices": tuple(known)})


_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _switch(key: str, value: str) -> None:
    if value not in {"on", "off"}:
        raise _wrong(key, "is either on or off")


def _paths(key: str, value: str) -> None:
    for path in path_list(value):
        if not path.startswith("/") or {".", ".."} & set(path.split("/")):
            raise _wrong(key, f"holds absolute paths without '.' and '..', parted by colons; {path[:80]!r} is none")


def _path(key: str, value: str) -> None:
    if not value.startswith("/") or {".", ".."} & set(value.split("/")):
        raise _wrong(key, f"is one absolute path without '.' and '..'; {value[:80]!r} is none")


def _variables(key: str, value: str) -> None:
    for name in name_list(value):
        if not _VARIABLE.match(name):
            raise _wrong(key, f"holds names of environment variables, parted by commas; {name[:40]!r} is none")


def _seconds(key: str, value: str) -> None:
    if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= TIMEOUT_MAX_S):
        raise _wrong(key, f"is a number of seconds from 1 to {TIMEOUT_MAX_S}")


def _wrong(key: str, what: str) -> MeshError:
    return MeshError(ErrorCode.INVALID_ARGUMENT, f"The setting {key} {what}. Correct it and try again.")


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - 12
    return ", ".join(names[:12]) + (f" and {rest} more" if rest > 0 else "")


# Every setting of every driver with the check of its value, in the order in which they are listed.
SETTINGS: Final[Mapping[DriverKind, Mapping[str, Callable[[str, str], None]]]] = MappingProxyType({
    DriverKind.HOST: {},
    DriverKind.BUBBLEWRAP: {"network": _switch, "read": _paths, "write": _paths, "env": _variables},
    DriverKind.COMMAND: {
        **dict.fromkeys(PLACEHOLDERS, check_template),
        "outside": _path, "inside": _path, "env": _variables, "timeout": _seconds,
    },
})  # fmt: skip
_REQUIRED: Final[Mapping[DriverKind, Mapping[str, str]]] = MappingProxyType({
    DriverKind.HOST: {},
    DriverKind.BUBBLEWRAP: {},
    DriverKind.COMMAND: {"exec": "the command that runs {argv:sh} there"},
})  # fmt: skip
