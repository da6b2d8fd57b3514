"""Between protobuf messages and plain values, for calls between nodes: what a peer sends is held to sizes and words.

A grant that this version does not know is UNSUPPORTED, anything else malformed INVALID_ARGUMENT.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Beat, Grant, Greeting
from node.core.rotation import Step
from node.wire.v1 import mesh_pb2 as pb

CERTIFICATE_BYTES: Final = 4_096
STATEMENT_BYTES: Final = 1_024
# ECDSA over P-256, DER.
SIGNATURE_BYTES: Final = 80
_HIGHEST_US: Final = 2**53 - 1

_is_word = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,31}", re.ASCII).fullmatch


def version_from_wire(wire: pb.GreetRequest | pb.AttendRequest) -> str:
    """The caller's version."""
    return _word("a version", wire.version)


def greeting_to_wire(greeting: Greeting) -> pb.GreetResponse:
    return pb.GreetResponse(
        version=greeting.version,
        grants=_grant_names(greeting.grants),
        now_us=greeting.now_us,
        tls=greeting.tls,
        group=greeting.group,
        issued=greeting.issued,
    )


def greeting_from_wire(wire: pb.GreetResponse) -> Greeting:
    if len(wire.issued) > CERTIFICATE_BYTES:
        raise _malformed(f"a certificate has {CERTIFICATE_BYTES} bytes at most, not {len(wire.issued)}")
    return Greeting(
        version=_word("a version", wire.version),
        grants=_grants(wire.grants),
        now_us=_time(wire.now_us),
        # Absent when its library does not say.
        tls=_word("a version of TLS", wire.tls) if wire.tls else "",
        group=_word("a key exchange", wire.group) if wire.group else "",
        issued=wire.issued,
    )


def beat_to_wire(beat: Beat) -> pb.AttendResponse:
    return pb.AttendResponse(beat=beat.number, now_us=beat.now_us, grants=_grant_names(beat.grants))


def beat_from_wire(wire: pb.AttendResponse) -> Beat:
    if wire.beat == 0:
        raise _malformed("beats count from 1")
    return Beat(number=wire.beat, now_us=_time(wire.now_us), grants=_grants(wire.grants))


def new_key_to_wire(new: Step) -> pb.RekeyRequest:
    return pb.RekeyRequest(certificate=new.certificate, statement=new.statement, signature=new.signature)


def new_key_from_wire(wire: pb.RekeyRequest) -> Step:
    for what, size, most in (
        ("certificate", len(wire.certificate), CERTIFICATE_BYTES),
        ("statement", len(wire.statement), STATEMENT_BYTES),
        ("signature", len(wire.signature), SIGNATURE_BYTES),
    ):
        if not 0 < size <= most:
            raise _malformed(f"its {what} has {size} bytes, and 1 to {most} are possible")
    return Step(certificate=wire.certificate, statement=wire.statement, signature=wire.signature)


def _grant_names(grants: frozenset[Grant]) -> list[str]:
    return sorted(grant.value for grant in grants)


def _grants(names: Iterable[str]) -> frozenset[Grant]:
    given = tuple(names)
    try:
        grants = frozenset(Grant(name) for name in given)
    except ValueError as error:
        raise MeshError(
            ErrorCode.UNSUPPORTED,
            "The other node speaks of a grant which this one does not know: the two are of different versions. Update "
            "heliograph on the older one.",
        ) from error
    if len(grants) != len(given):
        raise _malformed("it names a grant twice")
    return grants


def _word(what: str, text: str) -> str:
    if _is_word(text) is None:
        raise _malformed(f"{what} is 1 to 32 letters, digits, '.', '_', '+' or '-'")
    return text


def _time(us: int) -> int:
    if not 0 < us <= _HIGHEST_US:
        raise _malformed("its time is none")
    return us


def _malformed(why: str) -> MeshError:
    return MeshError(
        ErrorCode.INVALID_ARGUMENT,
        f"What the other node sent is malformed: {why}. It does not speak as a node does; update heliograph on both.",
    )
