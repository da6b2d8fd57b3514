"""The codes that rows of the timeline are written with: closed tables in one place, so that words are total over them.

A row holds codes and whoever shows it has the words, in the reader's language. Once written, a code keeps its meaning
for ever: one that is no longer used stays here, and none is given a second meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class RowEngine(StrEnum):
    """Which part of the node decided."""

    DELEGATION = "agent.delegation"
    REQUEST = "agent.request"
    APPROVAL = "approval"
    CLOCK = "clock"
    EXPORT = "export"
    FILE = "file"
    GRANT = "grant"
    KEY = "key"
    LIFECYCLE = "lifecycle"
    MESH = "mesh"
    MIRROR = "mirror"
    OVERRIDE = "override"
    PAIRING = "pairing"
    PEER = "peer"
    PRUNE = "prune"
    SCREENING = "screening"
    SESSION = "session"
    TIMELINE = "timeline"
    WORKSPACE = "workspace"
    WORKTREE = "worktree"


class RowDecision(StrEnum):
    """What was decided, or what happened."""

    # Of messages and what becomes of them.
    RELAYED = "relayed"
    WITHHELD = "withheld"
    HELD = "held"
    REFUSED = "refused"
    FAILED = "failed"
    LANDED = "landed"
    RECORDED_THERE = "recorded_there"
    NOTICED = "noticed"
    READ = "read"
    ANSWERED = "answered"
    GIVEN_BACK = "given_back"
    GAVE_UP = "gave_up"
    EXPIRED = "expired"
    APPROVED = "approved"
    RELEASED = "released"
    REFUSED_BY_PERSON = "refused_by_person"
    WITHDRAWN = "withdrawn"
    FILES_FLAGGED = "files_flagged"
    FILES_UNSCREENED = "files_unscreened"
    # Of files.
    QUARANTINED = "quarantined"
    FETCHED = "fetched"
    PUSHED = "pushed"
    # Of sessions, worktrees and workspaces.
    RESERVED = "reserved"
    STARTED = "started"
    STARTED_FRESH = "started_fresh"
    RESUMED = "resumed"
    LAUNCH_FAILED = "launch_failed"
    ENDED = "ended"
    NAMED = "named"
    RENAMED = "renamed"
    ARCHIVED = "archived"
    UNARCHIVED = "unarchived"
    REMOVED = "removed"
    WORDS_WITHHELD = "words_withheld"
    NAME_WITHHELD = "name_withheld"
    CREATED = "created"
    MERGED = "merged"
    CONFLICT = "conflict"
    ADDED = "added"
    CHANGED = "changed"
    REACH_CHANGED = "reach_changed"
    # Of questions to the person.
    ASKED = "asked"
    DENIED = "denied"
    ALLOWED_ONCE = "allowed_once"
    ALLOWED_SESSION = "allowed_session"
    ALLOWED_ALWAYS = "allowed_always"
    USED = "used"
    # Of the screen.
    MODE_CHANGED = "mode_changed"
    VERSION_CHANGED = "version_changed"
    UNAVAILABLE = "unavailable"
    AVAILABLE = "available"
    ALLOW_ADDED = "allow_added"
    # Of peers, grants, mirrors and keys.
    BEGAN = "began"
    PAIRED = "paired"
    UNPAIRED = "unpaired"
    ADDRESS_ADDED = "address_added"
    GIVEN = "given"
    TAKEN = "taken"
    PAUSED = "paused"
    LINK_REFUSED = "link_refused"
    WATCH_BEGAN = "watch_began"
    WATCH_ENDED = "watch_ended"
    RENEWED = "renewed"
    REKEYED = "rekeyed"
    TOLD = "told"
    ROTATED = "rotated"
    REPLACED = "replaced"
    LOG_KEY_BEGAN = "log_key_began"
    LOG_KEY_FOLLOWED = "log_key_followed"
    LOG_KEY_REPLACED = "log_key_replaced"
    # Of the node, its clock and the timeline itself.
    STOPPED = "stopped"
    POLICY_CHANGED = "policy_changed"
    STEPPED = "stepped"
    BEGUN = "begun"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    PRUNED = "pruned"
    ERASED = "erased"
    GAP = "gap"
    RECOVERED = "recovered"


class RowReason(StrEnum):
    """Why. Many are the codes of other tables, under the same name: see `tests/unit/core/test_row_codes.py`."""

    # What a refusal was for: the codes of node.core.errors.
    INVALID_ARGUMENT = "invalid_argument"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    ALREADY_EXISTS = "already_exists"
    WRONG_STATE = "wrong_state"
    LIMIT = "limit"
    CYCLE = "cycle"
    REACH = "reach"
    WITHHELD = "withheld"
    APPROVAL = "approval"
    UNIDENTIFIED = "unidentified"
    UNAUTHENTICATED = "unauthenticated"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    SCANNER_UNAVAILABLE = "scanner_unavailable"
    UNAVAILABLE = "unavailable"
    NODE_RUNNING = "node_running"
    NODE_NOT_RUNNING = "node_not_running"
    TAMPERED = "tampered"
    UNSUPPORTED = "unsupported"
    INTERNAL = "internal"
    UNKNOWN = "unknown"
    # What the screen found, and what a text asks for: the codes of node.core.holds.
    PROMPT_INJECTION = "prompt_injection"
    CREDENTIAL = "credential"
    SECRETS = "secrets"
    CREDENTIAL_FILES = "credential_files"
    ENV_DUMP = "env_dump"
    GUARDS_OFF = "guards_off"
    MERGE = "merge"
    PUBLISH = "publish"
    PERMISSION = "permission"
    SEND_OUTSIDE = "send_outside"
    # How the screen works in a workspace, and by what a flagged text was relayed.
    BLOCK = "block"
    HOLD = "hold"
    LOG = "log"
    LOG_ONLY = "log_only"
    ALLOW_LIST = "allow_list"
    PERSON = "person"
    # Why a notice waits: the codes of node.core.prompt.
    BUSY = "busy"
    DRAFT = "draft"
    DIALOG = "dialog"
    COPY_MODE = "copy_mode"
    NOT_FOREGROUND = "not_foreground"
    STOPPED = "stopped"
    GONE = "gone"
    OTHER_PROGRAM = "other_program"
    UNKNOWN_SCREEN = "unknown_screen"
    SWALLOWED = "swallowed"
    UNCONFIRMED = "unconfirmed"
    STANDING = "standing"
    TYPING = "typing"
    # What became of a message, and of its files.
    OPENING = "opening"
    IMPLIED = "implied"
    UNREAD = "unread"
    FILES = "files"
    UNREACHABLE = "unreachable"
    SCREENED_FILES = "screened_files"
    UNCLAIMED = "unclaimed"
    # What the person is asked for: the codes of node.core.approval.
    OUTSIDE_FILE = "outside_file"
    WORKTREE_MERGE = "worktree_merge"
    MESSAGE = "message"
    MESSAGE_FILE = "message_file"
    # Of sessions.
    GIVEN_UP = "given_up"
    # How a pairing run ended: the codes of node.core.pairing_messages.
    VERSION = "version"
    MALFORMED = "malformed"
    OUT_OF_ORDER = "out_of_order"
    OTHER_WAY = "other_way"
    SAME_NODE = "same_node"
    OTHER_CERTIFICATE = "other_certificate"
    WRONG_COMMITMENT = "wrong_commitment"
    WRONG_CODE = "wrong_code"
    BAD_SIGNATURE = "bad_signature"
    DECLINED = "declined"
    EXPIRED = "expired"
    LOST = "lost"
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"
    # Of peers and grants: whether it was one before, and which end said it.
    NEW = "new"
    AGAIN = "again"
    HERE = "here"
    THERE = "there"
    UNPAIRED = "unpaired"
    # Why a call of another node was turned away, and why a watch was over.
    STRANGER = "stranger"
    WRONG_TLS = "wrong_tls"
    REVOKED = "revoked"
    TOO_MANY = "too_many"
    TOO_OFTEN = "too_often"
    SILENT = "silent"
    OVERSIZED = "oversized"
    HANDSHAKE_FAILED = "handshake_failed"
    BAD_ROTATION = "bad_rotation"
    NOT_GRANTED = "not_granted"
    MORE = "more"
    OTHER = "other"
    LEFT = "left"
    GRANT_TAKEN = "grant_taken"
    # How the run of the node before ended.
    CLEAN = "clean"
    UNCLEAN = "unclean"
    FIRST = "first"
    # Of the timeline: why rows or texts went, and why there is a gap or another log.
    AGE = "age"
    SIZE = "size"
    BY_PERSON = "by_person"
    DISK_FULL = "disk_full"
    READ_ONLY = "read_only"
    REMOVED = "removed"
    REPLACED = "replaced"
    ROLLED_BACK = "rolled_back"
    FORKED = "forked"
    DAMAGED = "damaged"
    TRUNCATED = "truncated"
    OVERWRITTEN = "overwritten"
    LOCKED = "locked"
    DISK_FAILED = "disk_failed"
    TIMELINE = "timeline"
    OWNER_ALLOWED = "owner_allowed"


class RowSubject(StrEnum):
    """What a row is about, as its `kind`: a kind of message, the tool of a refused command, an end of a pairing."""

    BRIEF = "brief"
    REQUEST = "request"
    ASK = "ask"
    ANSWER = "answer"
    REPORT = "report"
    DELIVER = "deliver"
    STEER = "steer"
    CLOSE = "close"
    CANCEL = "cancel"
    NOTE = "note"
    DELEGATE = "delegate"
    CLOSE_DELEGATION = "close_delegation"
    DIALER = "dialer"
    WAITER = "waiter"


class RowRole(StrEnum):
    """What a party of a row is, where it is not told by its session alone."""

    DELEGATOR = "delegator"
    DELEGATE = "delegate"
    ASKER = "asker"
    PEER_SESSION = "peer_session"
    PERSON = "person"
    NODE = "node"


class RowRule(StrEnum):
    """The rule by which the screen's word was not followed, in `extra.rule`."""

    BLOCK = "screen.block"
    HOLD = "screen.hold"
    LOG = "screen.log"
    ALLOWED = "screen.allowed"
    APPROVALS_PENDING = "approvals_pending"


class SideField(StrEnum):
    """The texts beside a row, each of which is in the row as a salted commitment.

    SEAL is no text for people: 16 bytes (hex) that the commitments to a message's text and files were made with.
    """

    ADDRESS = "address"
    BEFORE = "before"
    DESTINATION = "destination"
    FILTER = "filter"
    NAME = "name"
    NICKNAME = "nickname"
    PREVIEW = "preview"
    PROPOSAL = "proposal"
    RECIPIENT = "recipient"
    SEAL = "seal"
    SENDER = "sender"
    SNIPPET = "snippet"
    TITLE = "title"
    WORDS = "words"


class ExtraKey(StrEnum):
    """The plain values in a row's `extra`."""

    APPROVAL = "approval"
    BYTES = "bytes"
    COUNT = "count"
    EXPORT = "export"
    FIRST = "first"
    FORMAT = "format"
    FROM_SEQ = "from_seq"
    GIVEN = "given"
    GOT = "got"
    GRANTS = "grants"
    LIMIT = "limit"
    LOG = "log"
    NAME = "name"
    NEXT = "next"
    REASONS = "reasons"
    REDACTED = "redacted"
    RULE = "rule"
    SHA256 = "sha256"
    SIZE = "size"
    STEP_US = "step_us"
    TO_SEQ = "to_seq"


_E, _D = RowEngine, RowDecision

# That something was not let through; that it was and did not arrive; what a person wants to see first.
STOPPED: Final = frozenset({_D.WITHHELD, _D.REFUSED, _D.REFUSED_BY_PERSON})
UNDELIVERED: Final = frozenset({_D.GAVE_UP, _D.FAILED, _D.EXPIRED})
ALARMING: Final = STOPPED | UNDELIVERED | {_D.LAUNCH_FAILED}

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
