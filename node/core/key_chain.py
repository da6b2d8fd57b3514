"""Which key signs a log's checkpoints at each row, as its rows say, and which nodes answer for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from node.core import log_key, note
from node.core.canonical import JsonValue
from node.core.errors import MeshError
from node.core.log_key import Checks, Endorsement, LogKey
from node.core.timeline_check import MAX_FINDINGS, KeyChange, Problem, ProblemCode


class KeyChain:
    """Follows the log's key from row to row.

    `endorsed` are keys that came from outside the log; each counts only if its node's signature holds. Keys that sign
    for each other are of one node: whoever answers for one of them answers for those before and after it.
    """

    def __init__(self, origin: str, checks: Checks, endorsed: Sequence[Endorsement]) -> None:
        self._origin = origin
        self._checks = checks
        self._endorsed = tuple(one for one in endorsed if one.log == origin and one.holds(checks))
        self.current: LogKey | None = None
        self.nodes: list[str] = []
        self.changes: list[KeyChange] = []

    def take(self, seq: int, fields: Mapping[str, JsonValue]) -> Problem | None:
        """A key row. Gives what is wrong with it, or, if the old key did not sign, what is left open."""
        try:
            step = log_key.read_step(self._origin, seq, fields, self._checks)
        except MeshError as error:
            return Problem(seq=seq, code=ProblemCode.KEY_FORGED, words=f"row {seq}: {error.message}")
        if step is None:
            return None
        key = self._whole(step.endorsement.key)
        before, self.current = self.current, key
        if before is not None and before.same(key):
            # A node that stopped between the row and what it signed next says it again.
            return None
        if len(self.changes) < MAX_FINDINGS:
            self.changes.append(KeyChange(seq=seq, key=key.id_of(self._origin), how=step.decision))
        follows = step.old is not None and step.by_old is not None
        if before is not None and follows and step.old != before.public:
            words = f"row {seq}: it says that the log's key follows another one than it does"
            return Problem(seq=seq, code=ProblemCode.KEY_FORGED, words=words)
        unproven = (before is not None or step.old is not None) and not follows
        if unproven:
            self.nodes.clear()
        self._vouch(key, step.endorsement.node)
        if not unproven:
            return None
        words = f"row {seq}: the log's key was replaced, and the one before it did not sign that"
        return Problem(seq=seq, code=ProblemCode.KEY_UNPROVEN, words=words)

    def check(self, size: int, root: bytes, written: str) -> Problem | None:
        """Whether the note is a checkpoint of this log, of that size and root, of the key in force after its rows."""
        at = max(size - 1, 0)
        try:
            parsed = note.read(written)
            head = note.read_head(parsed.text)
            if (head.origin, head.size, head.root) != (self._origin, size, root):
                return _forged(at, f"the checkpoint of {size} rows says something else than it is kept as")
            if self.current is None:
                known = (one.key for one in self._endorsed if log_key.named_by(parsed, self._origin, one.key))
                self.current = next(known, None)
                if self.current is None:
                    words = f"row {at}: nobody says whose key it is that signed the checkpoint of {size} rows"
                    return Problem(seq=at, code=ProblemCode.KEY_UNKNOWN, words=words)
                self.changes.append(KeyChange(seq=at, key=self.current.id_of(self._origin), how="in_force"))
                self._vouch(self.current, "")
            if self.current.pledge is not None and self.current.second is None:
                words = f"row {at}: the second key that has to sign the checkpoint of {size} rows is not at hand"
                return Problem(seq=at, code=ProblemCode.KEY_UNKNOWN, words=words)
            why = log_key.unsigned_why(parsed, head, self.current, self._checks)
        except MeshError as error:
            return _forged(at, f"the checkpoint of {size} rows is none. {error.message}")
        if why:
            words = f"row {at}: of the checkpoint of {size} rows: {why}"
            return Problem(seq=at, code=ProblemCode.CHECKPOINT_KEY, words=words)
        return None

    def _vouch(self, key: LogKey, node: str) -> None:
        found = [one.node for one in self._endorsed if one.key.same(key)]
        for one in (*((node,) if node else ()), *found):
            if one not in self.nodes and len(self.nodes) < MAX_FINDINGS:
                self.nodes.append(one)

    def _whole(self, key: LogKey) -> LogKey:
        """The key with its second key, where something outside the log brought it."""
        second = next((one.key.second for one in self._endorsed if one.key.same(key)), None)
        return key if second is None else replace(key, second=second)


def _forged(seq: int, words: str) -> Problem:
    return Problem(seq=seq, code=ProblemCode.CHECKPOINT_FORGED, words=f"row {seq}: {words}")
