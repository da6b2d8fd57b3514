"""The runs of a node as the timeline has them: how each began and ended, and what was different from the one before.

Called inside a transaction.
"""

from __future__ import annotations

from typing import Final

from node.core.row_codes import RowDecision, RowReason
from node.core.timeline import Scan
from node.ledger_rows import LedgerRows
from node.ports import Tx

# Kept among the node's states, under these names.
_RUN: Final = "run"
_POLICY: Final = "run_policy"
_SCREEN: Final = "run_screen"
_UNDER_WAY, _OVER = "under_way", "over"


def begun(tx: Tx, rows: LedgerRows) -> None:
    """The row of a run that begins, and another behind it if its policy is not that of the run before."""
    before = tx.mesh_state(_RUN)
    if before is None:
        reason = RowReason.FIRST if tx.size() == 0 else RowReason.UNKNOWN
    else:
        reason = RowReason.CLEAN if before == _OVER else RowReason.UNCLEAN
    tx.put_mesh_state(_RUN, _UNDER_WAY)
    rows.lifecycle_row(tx, RowDecision.STARTED, reason)
    _compare_policy(tx, rows)


def screen_known(tx: Tx, rows: LedgerRows, screen: Scan) -> None:
    """The row of a screen that works no more or again, or has another version of its rules or weights than before."""
    now = f"{screen.engine} {screen.version} {screen.status}"
    before = tx.mesh_state(_SCREEN)
    if before == now:
        return
    tx.put_mesh_state(_SCREEN, now)
    worked = before is None or not before.endswith(" unavailable")
    if screen.status == "unavailable":
        rows.screening_row(tx, RowDecision.UNAVAILABLE, screen, RowReason.SCANNER_UNAVAILABLE)
    elif not worked:
        rows.screening_row(tx, RowDecision.AVAILABLE, screen)
    elif before is not None:
        rows.screening_row(tx, RowDecision.VERSION_CHANGED, screen)


def over(tx: Tx, rows: LedgerRows) -> None:
    """The row of a run that ends as it should."""
    tx.put_mesh_state(_RUN, _OVER)
    rows.lifecycle_row(tx, RowDecision.STOPPED)


def _compare_policy(tx: Tx, rows: LedgerRows) -> None:
    before = tx.mesh_state(_POLICY)
    if rows.policy is None or before == rows.policy:
        return
    tx.put_mesh_state(_POLICY, rows.policy)
    if before is not None:
        rows.lifecycle_row(tx, RowDecision.POLICY_CHANGED)
