"""The node's settings: config.toml in its home, read once at start."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits, limits_from

_SECTIONS = frozenset({"limits", "mesh"})
_HIGHEST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshConfig:
    """How the node meets others. A port 0 is any free one; no `interfaces` means all that are fit for it.

    `announce_name` also tells the network this machine's name, which `discovery` alone does not.
    """

    listen: bool = True
    host: str = ""
    port: int = 4_354
    pairing_port: int = 4_355
    discovery: bool = True
    interfaces: tuple[str, ...] = ()
    announce_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What config.toml may set; all of it has defaults."""

    limits: Limits = field(default_factory=Limits)
    mesh: MeshConfig = field(default_factory=MeshConfig)


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
    limits = given.get("limits", {})
    wrong = [f"{name} = {value!r}" for name, value in limits.items() if type(value) is not int]
    if wrong:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{path}: limits are whole numbers, not {wrong[0]}.")
    return Config(limits=limits_from(limits), mesh=_mesh(path, given.get("mesh", {})))


def _mesh(path: Path, given: Mapping[str, object]) -> MeshConfig:
    defaults = MeshConfig()
    chosen: dict[str, object] = {}
    for name, value in given.items():
        if name not in MeshConfig.__dataclass_fields__:
            known = ", ".join(MeshConfig.__dataclass_fields__)
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                f"{path} has {name!r} under [mesh], which is no setting; the settings are: {known}.",
            )
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
    if not 0 <= settings.port <= _HIGHEST_PORT:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{path}: port under [mesh] is 0 to {_HIGHEST_PORT}, not {settings.port}.",
        )
    return settings
