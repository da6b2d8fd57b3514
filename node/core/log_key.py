"""The keys that sign a log's checkpoints: who endorses them, how one follows another, and whether a note is of one.

A node's own key proves who it is on the network; a log key signs checkpoints alone. The node's key endorses each log
key, and when the node's key changes the log key does too: old and new sign that, in a row of the log itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, NoReturn, Protocol

from node.core import note, trust
from node.core.canonical import JsonValue, encode
from node.core.errors import ErrorCode, MeshError
from node.core.note import ED25519, ML_DSA_44, Note, Signature, TreeHead
from node.core.timeline import Row, RowKind

USE: Final = "heliograph/log-key/1"
STEP_USE: Final = "heliograph/log-key-step/1"
ENGINE: Final = "key"
BEGAN: Final = "log_key_began"
FOLLOWED: Final = "log_key_followed"
REPLACED: Final = "log_key_replaced"
DECISIONS: Final = frozenset({BEGAN, FOLLOWED, REPLACED})

_KEY_BYTES: Final = 32


class Checks(Protocol):
    """What is asked of public keys: adapters know the arithmetic. All say False rather than raise."""

    def ed25519(self, public: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature is of that Ed25519 key (32 bytes)."""
        ...

    def ml_dsa_44(self, public: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature is of that ML-DSA-44 key (1,312 bytes), with an empty context."""
        ...

    def node(self, spki: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature (ECDSA with SHA-256, DER) is of that P-256 key (DER SubjectPublicKeyInfo)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogKey:
    """The public half: an Ed25519 key (32 bytes), and an ML-DSA-44 one whose signatures then are needed as well.

    `second_hash` (hex) names the latter where its 1,312 bytes are not at hand.
    """

    public: bytes
    second: bytes | None = None
    second_hash: str | None = None

    @property
    def pledge(self) -> str | None:
        """The SHA-256 (hex) of the second key, None when it has none."""
        return self.second_hash if self.second is None else sha256(self.second).hexdigest()

    def id_of(self, origin: str) -> str:
        """The id (8 hex digits) by which signature lines of that log name it."""
        return note.key_id(origin, ED25519, self.public).hex()

    def same(self, other: LogKey) -> bool:
        """Whether it is that key, as far as both are known."""
        return self.public == other.public and self.pledge == other.pledge


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """A key that signed a log, and from which row on."""

    log: str
    first: int
    key: LogKey


class LogSigner(Protocol):
    """The private half of a log key, and the node's key beside it."""

    @property
    def key(self) -> LogKey: ...
    @property
    def spki(self) -> bytes:
        """The node's public key (DER SubjectPublicKeyInfo)."""
        ...

    def sign(self, message: bytes) -> bytes:
        """With the Ed25519 key."""
        ...

    def sign_second(self, message: bytes) -> bytes:
        """With the ML-DSA-44 key, of a log key that has one."""
        ...

    def sign_as_node(self, message: bytes) -> bytes:
        """With the node's key."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Endorsement:
    """What a node's key signed: that this is the key of its log from a row on."""

    log: str
    first: int
    key: LogKey
    spki: bytes
    signature: bytes = b""

    @property
    def node(self) -> str:
        """The id of the node whose key signed, if it did."""
        return trust.node_id_of(sha256(self.spki).hexdigest())

    def statement(self) -> bytes:
        """The bytes that are signed."""
        fields: dict[str, JsonValue] = {
            "from": self.first,
            "key": _typed(self.key.public),
            "log": self.log,
            "node": self.node,
            "use": USE,
        }
        return encode(fields if self.key.pledge is None else fields | {"second": self.key.pledge})

    def holds(self, checks: Checks) -> bool:
        """Whether that node's key signed it."""
        return checks.node(self.spki, self.statement(), self.signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStep:
    """What a row says of the log's key: the new one with the node's word for it, and the one that it follows."""

    endorsement: Endorsement
    by_new: bytes = b""
    old: bytes | None = None
    by_old: bytes | None = None

    def statement(self) -> bytes:
        """The bytes that both keys sign."""
        made = self.endorsement
        fields: dict[str, JsonValue] = {
            "from": made.first,
            "log": made.log,
            "new": _typed(made.key.public),
            "use": STEP_USE,
        }
        if made.key.pledge is not None:
            fields["second"] = made.key.pledge
        if self.old is not None:
            fields["old"] = _typed(self.old)
        return encode(fields)

    @property
    def decision(self) -> str:
        """The row's code for it."""
        if self.old is None:
            return BEGAN
        return REPLACED if self.by_old is None else FOLLOWED

    def row(self, sw: str) -> Row:
        """The row that records it."""
        made = self.endorsement
        extra: dict[str, JsonValue] = {
            "by_new": note.encode64(self.by_new),
            "by_node": note.encode64(made.signature),
            "key": _typed(made.key.public),
            "spki": note.encode64(made.spki),
        }
        if made.key.pledge is not None:
            extra["second"] = made.key.pledge
        if self.old is not None:
            extra["old"] = _typed(self.old)
        if self.by_old is not None:
            extra["by_old"] = note.encode64(self.by_old)
        return Row(row=RowKind.KEY, engine=ENGINE, decision=self.decision, sw=sw, extra=extra)


def step(log: str, first: int, new: LogSigner, *, old: LogKey | None, old_signer: LogSigner | None) -> KeyStep:
    """The new key takes over with row `first`; `old_signer` is None when the old key is lost, and cannot say so."""
    made = Endorsement(log=log, first=first, key=new.key, spki=new.spki)
    made = replace(made, signature=new.sign_as_node(made.statement()))
    unsigned = KeyStep(endorsement=made, old=None if old is None else old.public)
    statement = unsigned.statement()
    by_old = old_signer.sign(statement) if old is not None and old_signer is not None else None
    return replace(unsigned, by_new=new.sign(statement), by_old=by_old)


def endorse(log: str, first: int, key: LogKey, signer: LogSigner) -> Endorsement:
    """The node's word for a key of its log, given anew."""
    made = Endorsement(log=log, first=first, key=key, spki=signer.spki)
    return replace(made, signature=signer.sign_as_node(made.statement()))


def read_step(log: str, seq: int, fields: Mapping[str, JsonValue], checks: Checks) -> KeyStep | None:
    """What a key row says once its signatures are checked, but the old key's, which only who knows that key can check.

    None for a row about the node's own key. TAMPERED when a signature is not of the key that it names.
    """
    if fields.get("engine") != ENGINE or fields.get("decision") not in DECISIONS:
        return None
    extra = fields.get("extra")
    if not isinstance(extra, dict):
        _forged("it does not say which key")
    pledge = extra.get("second")
    key = LogKey(public=_untyped(extra.get("key")), second_hash=pledge if isinstance(pledge, str) else None)
    made = Endorsement(
        log=log, first=seq, key=key, spki=_bytes(extra.get("spki")), signature=_bytes(extra.get("by_node"))
    )
    old = _untyped(extra["old"]) if "old" in extra else None
    by_old = _bytes(extra["by_old"]) if "by_old" in extra else None
    found = KeyStep(endorsement=made, by_new=_bytes(extra.get("by_new")), old=old, by_old=by_old)
    if found.decision != fields["decision"]:
        _forged("it does not carry what its decision says")
    if not made.holds(checks):
        _forged("the node's key has not signed it")
    statement = found.statement()
    if not checks.ed25519(key.public, statement, found.by_new):
        _forged("the new key has not signed it")
    if old is not None and by_old is not None and not checks.ed25519(old, statement, by_old):
        _forged("the old key has not signed it")
    return found


def sign_head(head: TreeHead, signer: LogSigner, time_s: int) -> str:
    """The checkpoint as a signed note."""
    text, name, key = note.head_text(head), head.origin, signer.key
    lines = [
        Signature(name=name, key_id=note.key_id(name, ED25519, key.public), data=signer.sign(text.encode("ascii")))
    ]
    if key.second is not None:
        signed = signer.sign_second(note.cosigned_message(head, name, time_s))
        lines.append(
            Signature(name=name, key_id=note.key_id(name, ML_DSA_44, key.second), data=note.timed(time_s, signed))
        )
    return note.write(Note(text=text, signatures=tuple(lines)))


def named_by(written: Note, origin: str, key: LogKey) -> bool:
    """Whether a note has a signature line that names that key of that log."""
    wanted = note.key_id(origin, ED25519, key.public)
    return any(line.name == origin and line.key_id == wanted for line in written.signatures)


def unsigned_why(written: Note, head: TreeHead, key: LogKey, checks: Checks) -> str:
    """Why a note is not a checkpoint of that key; empty when it is. Signatures of other keys are ignored."""
    origin, text = head.origin, written.text.encode("utf-8")
    first = note.key_id(origin, ED25519, key.public)
    lines = [line for line in written.signatures if line.name == origin and line.key_id == first]
    if not lines:
        return "the log's key has not signed it"
    if not all(checks.ed25519(key.public, text, line.data) for line in lines):
        return "its signature is not of the log's key"
    if key.second is None:
        return ""
    second = note.key_id(origin, ML_DSA_44, key.second)
    lines = [line for line in written.signatures if line.name == origin and line.key_id == second]
    if not lines:
        return "the log's second key has not signed it"
    for line in lines:
        time_s, signature = note.read_timed(line.data)
        if not checks.ml_dsa_44(key.second, note.cosigned_message(head, origin, time_s), signature):
            return "its second signature is not of the log's second key"
    return ""


def _typed(public: bytes) -> str:
    return note.encode64(bytes((ED25519,)) + public)


def _untyped(value: JsonValue) -> bytes:
    data = _bytes(value)
    if len(data) != 1 + _KEY_BYTES or data[0] != ED25519:
        _forged("a key in it is not an Ed25519 key")
    return data[1:]


def _bytes(value: JsonValue) -> bytes:
    if not isinstance(value, str):
        _forged("a part of it is absent")
    return note.decode64(value)


def _forged(why: str) -> NoReturn:
    raise MeshError(ErrorCode.TAMPERED, f"This row about the log's key was not written by its node: {why}.")
