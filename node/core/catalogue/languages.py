"""The languages there are, and which one a reader's environment asks for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from node.core.catalogue.english import ENGLISH
from node.core.catalogue.portuguese import PORTUGUESE
from node.core.catalogue.words import Catalogue

CATALOGUES: Final[Mapping[str, Catalogue]] = MappingProxyType({one.language: one for one in (ENGLISH, PORTUGUESE)})
# The first of these that is not empty counts, as POSIX has it.
_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")


def chosen(named: str | None, environment: Mapping[str, str]) -> Catalogue:
    """The catalogue of the language named, or else of the environment's (`pt_BR.UTF-8`); English for any other."""
    wanted = named or next((environment[name] for name in _VARIABLES if environment.get(name)), "")
    language = wanted.replace("-", "_").partition(".")[0].partition("@")[0].partition("_")[0].lower()
    return CATALOGUES.get(language, ENGLISH)
