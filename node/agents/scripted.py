"""The scripted agent of the demo and the tests: an MCP client that follows a script instead of a model."""

from __future__ import annotations

import sys

from node.agents.adapter import Adapter, LaunchContext, Launched
from node.core.prompt import DEMO

MODULE = "node.demo.agent"
CONTROL = "control"


def _launches(context: LaunchContext, conversation: str | None) -> Launched:
    # It has nothing to resume, so it always starts afresh, under the id it is given.
    argv = (sys.executable, "-m", MODULE, "--name", context.session[:8], "--control", str(context.folder / CONTROL))
    return Launched(argv=argv, conversation=conversation or context.session)


SCRIPTED = Adapter(name="scripted", programs=frozenset({"helio-agent", MODULE}), prompt=DEMO, launches=_launches)
