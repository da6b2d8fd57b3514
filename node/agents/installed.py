"""Which agent CLIs are installed here, and whether they are known to work: what `helio agents` shows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from node.agents.adapter import Adapter, version_in

_VERSION_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One agent CLI here. `path` and `version` are "" when it is not installed or does not say.

    `works`: this version is known to work; else `why_not` says what is the matter and what to do.
    """

    name: str
    path: str
    version: str
    works: bool
    why_not: str = ""


def survey(adapters: Sequence[Adapter], env: Mapping[str, str]) -> tuple[Installed, ...]:
    """Every agent that this node can start, looked for on the PATH of `env`. Runs each with --version: blocking."""
    known = [adapter for adapter in adapters if adapter.startable and not adapter.bundled]
    with ThreadPoolExecutor(max_workers=max(1, min(len(known), os.cpu_count() or 1))) as pool:
        return tuple(pool.map(lambda adapter: _look(adapter, env), known))


def _look(adapter: Adapter, env: Mapping[str, str]) -> Installed:
    path = adapter.find(env)
    if path is None:
        why_not = f"not installed: there is no program {adapter.command} on the PATH"
        return Installed(name=adapter.name, path="", version="", works=False, why_not=why_not)
    try:
        # Some start a second process, which would outlive a first that is killed: it gets no terminal to wait at.
        answer = subprocess.run(
            [path, "--version"], env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_VERSION_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Installed(name=adapter.name, path=path, version="", works=False, why_not=f"it does not start: {error}")
    found = version_in(answer.stdout) or version_in(answer.stderr)
    if answer.returncode != 0 or found is None:
        said = (answer.stderr or answer.stdout).strip().splitlines()
        why_not = f"it does not say its version (exit {answer.returncode}): {said[-1] if said else 'nothing'}"
        return Installed(name=adapter.name, path=path, version="", works=False, why_not=why_not)
    why_not = adapter.versions.doubt(found) if adapter.versions is not None else ""
    version = ".".join(map(str, found))
    return Installed(name=adapter.name, path=path, version=version, works=not why_not, why_not=why_not)
