"""The node's settings: config.toml in its home, read once at start."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits, limits_from

_SECTIONS = frozenset({"limits"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What config.toml may set; all of it has defaults."""

    limits: Limits


def load(home: Path) -> Config:
    """The settings of the node at `home`; INVALID_ARGUMENT says what in the file is wrong."""
    path = home / "config.toml"
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config(limits=Limits())
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
    return Config(limits=limits_from(limits))
