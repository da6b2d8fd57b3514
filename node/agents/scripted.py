"""The scripted agent of the demo and the tests: an MCP client that follows a script instead of a model."""

from node.agents.adapter import Adapter
from node.core.prompt import DEMO

SCRIPTED = Adapter(name="scripted", programs=frozenset({"helio-agent", "node.demo.agent"}), prompt=DEMO)
