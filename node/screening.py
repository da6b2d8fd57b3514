"""What the node quotes of a program or the system, as a model may read it."""

from __future__ import annotations

from node.core.errors import MeshError
from node.core.row_codes import RowDecision, RowEngine
from node.core.verdict import Field
from node.ledger import Ledger
from node.ports import Screener, Store

_WITHHELD = "Its reason was withheld by the node's screen; the node's log has it."


class Reasons:
    """Says why something failed for a session, to those whose models read it."""

    def __init__(self, *, store: Store, screener: Screener, ledger: Ledger) -> None:
        self._store = store
        self._screener = screener
        self._ledger = ledger

    async def of(self, error: MeshError | OSError, session_id: str) -> str:
        """The reason in words, which may quote what a repository or a program chose; one withheld leaves a row."""
        words = error.message if isinstance(error, MeshError) else f"The system refused it ({error})."
        verdict = await self._screener.screen((Field(name="reason", text=words),))
        if not verdict.stops:
            return words
        await self._store.write(
            lambda tx: self._ledger.event_row(tx, RowEngine.SESSION, RowDecision.WORDS_WITHHELD, session_id)
        )
        return _WITHHELD
