"""Rows of calls that are refused at the agents' door: of programs that are no session's, or that call too often."""

from __future__ import annotations

import logging
from functools import partial

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.refusal_gate import RefusalGate
from node.core.row_codes import RowReason
from node.ledger import Ledger
from node.ports import Store

_log = logging.getLogger(__name__)


class DoorRows:
    """Writes so many a minute; further ones leave no row."""

    def __init__(self, *, store: Store, ledger: Ledger, limits: Limits) -> None:
        self._store = store
        self._ledger = ledger
        self._gate = RefusalGate(limits.refusal_rows_per_minute)

    async def refused(self, code: ErrorCode, session: str | None) -> None:
        """The call stays refused whether or not it can be written down."""
        if not self._gate.take(code, self._ledger.now_us()):
            return
        try:
            row = partial(self._ledger.door_row, reason=RowReason(code), session_id=session)
            await self._store.write(row)
        except MeshError as error:
            _log.warning("the refusal of a call (%s) could not be recorded: %s", code, error.message)
