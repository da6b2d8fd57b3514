"""One small file per agent CLI: how it is started, configured and resumed, and what its screen and its hooks say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from node.agents.adapter import Adapter
from node.agents.claude import CLAUDE
from node.agents.codex import CODEX
from node.agents.gemini import GEMINI
from node.agents.generic import GENERIC
from node.agents.installed import Installed, survey
from node.agents.opencode import OPENCODE
from node.agents.qwen import QWEN
from node.agents.scripted import SCRIPTED

ADAPTERS: tuple[Adapter, ...] = (CLAUDE, CODEX, GEMINI, OPENCODE, QWEN, SCRIPTED)


def adapter_for(argv: Sequence[str]) -> Adapter:
    """The adapter which knows the program that `argv` starts, else the generic one, which never types."""
    words = [PurePath(word).name for word in argv[:4]]
    for adapter in ADAPTERS:
        if adapter.recognises(words):
            return adapter
    return GENERIC


def adapter_named(name: str) -> Adapter:
    """The adapter of that name; the generic one for a name that is not known any more."""
    return next((adapter for adapter in ADAPTERS if adapter.name == name), GENERIC)


def catalogue(env: Mapping[str, str]) -> tuple[Installed, ...]:
    """What `helio agents` shows: every agent CLI, whether it is on the PATH of `env`, and whether it is known to work.

    Runs each that is there with --version, so it takes some seconds and blocks.
    """
    return survey(ADAPTERS, env)
