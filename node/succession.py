"""What becomes of a node's records when its key has changed: they are about the new id, and the timeline says so.

The log's origin stays that of the first key. The origin is part of every row, and a row is never written again: another
origin would be another log, and the old one would have no end that anybody could check.
"""

from __future__ import annotations

from collections.abc import Sequence

from node.core.row_codes import RowDecision, RowEngine
from node.core.timeline import Party, Row, RowKind
from node.ports import Tx
from node.version import SOFTWARE


def settle(tx: Tx, line: Sequence[str]) -> None:
    """Brings the records to the id in use; to be called before anything acts under it.

    `line` are the node's ids as each key handed over to the next, the one in use last. Where the records know an id
    that does not lead there, the key was replaced by hand, and the row says that too.
    """
    me, known = line[-1], tx.own_node() or tx.head().origin.split("/")[1]
    tx.set_own_node(me)
    if known == me:
        return
    proven = known in line
    at = len(line) - 1 - line[::-1].index(known) if proven else 0
    steps = list(zip(line[at:], line[at + 1 :], strict=False)) if proven else [(known, me)]
    for old, new in steps:
        if old == new:
            continue
        tx.append(
            Row(
                row=RowKind.KEY,
                engine=RowEngine.KEY,
                decision=RowDecision.ROTATED if proven else RowDecision.REPLACED,
                sw=SOFTWARE,
                src=Party(node=old),
                dst=Party(node=new),
            )
        )
    tx.rename_node(known, me)
