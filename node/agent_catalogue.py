"""What agent CLIs are installed, as people are shown it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from node.agents import adapter_named, catalogue
from node.core.views_work import AgentView


class AgentClis:
    """Implements ports_work.AgentCatalogue over the PATH of `environment`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)

    async def listed(self) -> tuple[AgentView, ...]:
        """Every agent CLI that the node knows; each that is there is asked for its version."""
        found = await asyncio.to_thread(catalogue, self._environment)
        return tuple(
            AgentView(
                name=one.name,
                program=adapter_named(one.name).command,
                path=one.path or None,
                version=one.version or None,
                works=one.works,
                why=one.why_not,
            )
            for one in found
        )
