"""The node's settings: config.toml in its home, read once at start."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits, limits_from

_SECTIONS = frozenset({"identity", "limits", "mesh", "screen", "timeline"})
_KEYCHAIN = ("auto", "off")
_CREDENTIALS = ("withhold", "redact")
_SECOND_SIGNATURES = ("none", "ml-dsa-44")
_ON_FAILURE = ("refuse", "allow_with_gap")
_LONGEST_DAYS = 36_500
_LEAST_BYTES = 16_777_216
_HIGHEST_PORT = 65_535
# Where nodes wait for pairing if nobody chose otherwise.
PAIRING_PORT = 4_355


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshConfig:
    """How the node meets others. A port 0 is any free one; no `interfaces` means all that are fit for it.

    `announce_name` also tells the network this machine's name, which `discovery` alone does not.
    """

    listen: bool = True
    host: str = ""
    port: int = 4_354
    pairing_port: int = PAIRING_PORT
    discovery: bool = True
    interfaces: tuple[str, ...] = ()
    announce_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig:
    """Where a new key of the node is kept: `auto` is the macOS Keychain where there is one, `off` a file."""

    keychain: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenConfig:
    """What becomes of a message with a credential in it: it is withheld, or goes on without the credential."""

    credentials: str = "withhold"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineConfig:
    """With what checkpoints are signed besides Ed25519 (nothing more, or ML-DSA-44), and how long the timeline is kept.

    Rows are kept for `keep_days` and up to `keep_bytes`, the texts beside them for `keep_texts_days`. `on_failure` says
    what becomes of messages when rows cannot be written in full though the disk can: see docs/timeline-keeping.md.
    """

    second_signature: str = "none"
    on_failure: str = "refuse"
    keep_days: int = 90
    keep_bytes: int = 2_147_483_648
    keep_texts_days: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What config.toml may set; all of it has defaults."""

    limits: Limits = field(default_factory=Limits)
    mesh: MeshConfig = field(default_factory=MeshConfig)
    identity: IdentityConfig = field(default_factory=IdentityConfig)
    screen: ScreenConfig = field(default_factory=ScreenConfig)
    timeline: TimelineConfig = field(default_factory=TimelineConfig)


def load(home: Path) -> Config:
    """The settings of the node at `home`; INVALID_ARGUMENT says what in the file is wrong."""
    path = home / "config.toml"
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{path} is not valid TOML: {error}. Mend that line.") from error
    unknown = sorted(set(given) - _SECTIONS)
    if unknown:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{path} has {unknown[0]!r}, which is no setting; the sections are: {', '.join(sorted(_SECTIONS))}.",
        )
    limits = _section(path, given, "limits")
    wrong = [f"{name} = {value!r}" for name, value in limits.items() if type(value) is not int]
    if wrong:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{path}: limits are whole numbers, not {wrong[0]}.")
    whole = {name: value for name, value in limits.items() if type(value) is int}
    return Config(
        limits=limits_from(whole),
        mesh=_mesh(path, _section(path, given, "mesh")),
        identity=IdentityConfig(
            keychain=_choice(path, "identity", "keychain", _section(path, given, "identity"), _KEYCHAIN)
        ),
        screen=ScreenConfig(
            credentials=_choice(path, "screen", "credentials", _section(path, given, "screen"), _CREDENTIALS)
        ),
        timeline=_timeline(path, _section(path, given, "timeline")),
    )


def _section(path: Path, given: Mapping[str, object], name: str) -> dict[str, object]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{path}: {name} is a section, not {found!r}. Write [{name}] on a line of its own, and the settings below.",
        )
    return found


def _choice(path: Path, section: str, name: str, given: Mapping[str, object], choices: Sequence[str]) -> str:
    """The one setting of a section that has no other: one of `choices`, the first when it is not set."""
    _check_known(path, section, given, (name,))
    return _chosen(path, section, name, given, choices)


def _chosen(path: Path, section: str, name: str, given: Mapping[str, object], choices: Sequence[str]) -> str:
    chosen = given.get(name, choices[0])
    for one in choices:
        if chosen == one:
            return one
    allowed = " or ".join(json.dumps(one) for one in choices)
    raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{path}: {name} under [{section}] is {allowed}, not {chosen!r}.")


def _timeline(path: Path, given: Mapping[str, object]) -> TimelineConfig:
    _check_known(path, "timeline", given, TimelineConfig.__dataclass_fields__)
    defaults = TimelineConfig()
    return TimelineConfig(
        second_signature=_chosen(path, "timeline", "second_signature", given, _SECOND_SIGNATURES),
        on_failure=_chosen(path, "timeline", "on_failure", given, _ON_FAILURE),
        keep_days=_between(path, given, "keep_days", defaults.keep_days, (1, _LONGEST_DAYS)),
        keep_bytes=_between(path, given, "keep_bytes", defaults.keep_bytes, (_LEAST_BYTES, 1 << 50)),
        keep_texts_days=_between(path, given, "keep_texts_days", defaults.keep_texts_days, (1, _LONGEST_DAYS)),
    )


def _between(path: Path, given: Mapping[str, object], name: str, default: int, bounds: tuple[int, int]) -> int:
    chosen, (least, most) = given.get(name, default), bounds
    if type(chosen) is int and least <= chosen <= most:
        return chosen
    raise MeshError(
        ErrorCode.INVALID_ARGUMENT,
        f"{path}: {name} under [timeline] is a whole number from {least} to {most}, not {chosen!r}.",
    )


def _mesh(path: Path, given: Mapping[str, object]) -> MeshConfig:
    defaults = MeshConfig()
    chosen: dict[str, object] = {}
    _check_known(path, "mesh", given, MeshConfig.__dataclass_fields__)
    for name, value in given.items():
        default = getattr(defaults, name)
        if name == "interfaces":
            fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
            value = tuple(value) if fits and isinstance(value, list) else value
        else:
            fits = type(value) is type(default)
        if not fits:
            kind = {bool: "true or false", int: "a whole number", str: "a text"}.get(type(default), "a list of texts")
            raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{path}: {name} under [mesh] is {kind}, not {value!r}.")
        chosen[name] = value
    settings = replace(defaults, **chosen)  # type: ignore[arg-type]
    _check(path, settings)
    return settings


def _check(path: Path, settings: MeshConfig) -> None:
    """INVALID_ARGUMENT unless the node can listen as the settings say."""
    for name, port in (("port", settings.port), ("pairing_port", settings.pairing_port)):
        if not 0 <= port <= _HIGHEST_PORT:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT, f"{path}: {name} under [mesh] is 0 to {_HIGHEST_PORT}, not {port}."
            )
    if settings.listen and settings.port == settings.pairing_port != 0:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{path}: port and pairing_port under [mesh] are both {settings.port}, and the node needs two. Give one of "
            "them another number.",
        )
    try:
        ip_address(settings.host or "::")
    except ValueError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{path}: host under [mesh] is an IP address, such as 192.168.1.20 or fd00::20, or empty for all; not "
            f"{settings.host[:64]!r}.",
        ) from error


def _check_known(path: Path, section: str, given: Iterable[str], known: Iterable[str]) -> None:
    settings = tuple(known)
    for name in given:
        if name not in settings:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                f"{path} has {name!r} under [{section}], which is no setting; the settings are: {', '.join(settings)}.",
            )
