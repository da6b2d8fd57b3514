"""Which engine decides what: the pairs of codes that rows are written with, for tests and whoever reads rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from node.core.row_codes import RowDecision, RowEngine

_E, _D = RowEngine, RowDecision

_MESSAGES: Final = frozenset({
    _D.RELAYED, _D.WITHHELD, _D.HELD, _D.REFUSED, _D.FAILED, _D.LANDED, _D.RECORDED_THERE, _D.NOTICED, _D.READ,
    _D.ANSWERED, _D.GIVEN_BACK, _D.GAVE_UP, _D.EXPIRED, _D.APPROVED, _D.RELEASED, _D.REFUSED_BY_PERSON, _D.WITHDRAWN,
    _D.FILES_FLAGGED, _D.FILES_UNSCREENED,
})  # fmt: skip

DECISIONS_OF: Final[Mapping[RowEngine, frozenset[RowDecision]]] = MappingProxyType({
    _E.DELEGATION: _MESSAGES,
    _E.REQUEST: _MESSAGES,
    _E.APPROVAL: frozenset({
        _D.ASKED, _D.DENIED, _D.ALLOWED_ONCE, _D.ALLOWED_SESSION, _D.ALLOWED_ALWAYS, _D.USED, _D.WITHDRAWN,
    }),
    _E.CLOCK: frozenset({_D.STEPPED}),
    _E.EXPORT: frozenset({_D.BEGUN, _D.FINISHED, _D.FAILED, _D.CANCELLED}),
    _E.FILE: frozenset({
        _D.REFUSED, _D.QUARANTINED, _D.HELD, _D.WITHHELD, _D.FETCHED, _D.PUSHED, _D.LANDED, _D.FAILED, _D.EXPIRED,
    }),
    _E.GRANT: frozenset({_D.GIVEN, _D.TAKEN}),
    _E.KEY: frozenset({
        _D.TOLD, _D.ROTATED, _D.REPLACED, _D.ADDED, _D.LOG_KEY_BEGAN, _D.LOG_KEY_FOLLOWED, _D.LOG_KEY_REPLACED,
    }),
    _E.LIFECYCLE: frozenset({_D.STARTED, _D.STOPPED, _D.POLICY_CHANGED}),
    _E.MESH: frozenset({_D.REFUSED}),
    _E.MIRROR: frozenset({
        _D.ADDED, _D.REMOVED, _D.PAUSED, _D.RESUMED, _D.LINK_REFUSED, _D.WATCH_BEGAN, _D.WATCH_ENDED,
    }),
    _E.OVERRIDE: frozenset({_D.RELAYED}),
    _E.PAIRING: frozenset({_D.BEGAN, _D.PAIRED, _D.FAILED}),
    _E.PEER: frozenset({_D.PAIRED, _D.RENAMED, _D.UNPAIRED, _D.ADDRESS_ADDED, _D.RENEWED, _D.REKEYED}),
    _E.PRUNE: frozenset({_D.PRUNED}),
    _E.SCREENING: frozenset({_D.MODE_CHANGED, _D.VERSION_CHANGED, _D.UNAVAILABLE, _D.AVAILABLE, _D.ALLOW_ADDED}),
    _E.SESSION: frozenset({
        _D.RESERVED, _D.STARTED, _D.STARTED_FRESH, _D.RESUMED, _D.LAUNCH_FAILED, _D.ENDED, _D.NAMED, _D.RENAMED,
        _D.ARCHIVED, _D.UNARCHIVED, _D.REMOVED, _D.WORDS_WITHHELD, _D.REFUSED,
    }),
    _E.TIMELINE: frozenset({_D.ERASED, _D.GAP, _D.RECOVERED}),
    _E.WORKSPACE: frozenset({_D.ADDED, _D.CHANGED, _D.REACH_CHANGED, _D.REMOVED}),
    _E.WORKTREE: frozenset({_D.CREATED, _D.REMOVED, _D.MERGED, _D.CONFLICT, _D.NAME_WITHHELD}),
})  # fmt: skip
"""What each engine may decide. Total over the engines; every decision is of one at least."""
