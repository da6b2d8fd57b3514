"""Any other program: typed at only when its screen shows an empty prompt beyond doubt, and never at a shell."""

from node.agents.adapter import Adapter
from node.core.prompt import GENERIC as GENERIC_PROMPT

GENERIC = Adapter(name="generic", programs=frozenset(), prompt=GENERIC_PROMPT)
