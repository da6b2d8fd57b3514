"""What the two ends of a pairing run compute from what was said: commitment, transcript, code, statement and proof.

Every hash is over its purpose and its fields, each with its length before it: no two different runs hash alike.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from node.core.pairing_messages import Hello, Role

FEWEST_DIGITS: Final = 6
MOST_DIGITS: Final = 8

_TAG: Final = b"heliograph pairing 1"
_LENGTH_BYTES: Final = 4


def commitment(certificate: str, nonce: bytes) -> bytes:
    """What the dialer says before it shows its nonce, so that nobody can choose a nonce after seeing the other's."""
    return _hash("commitment", certificate.encode(), nonce)


def transcript(dialer: Hello, waiter: Hello, nonce: bytes) -> bytes:
    """The hash of all that was said; `nonce` is what the dialer revealed, empty with a code known beforehand."""
    return _hash("transcript", _said(dialer), _said(waiter), nonce)


def code(run: bytes, digits: int) -> str:
    """The code of a run's transcript. A longer one begins with the shorter."""
    number = int.from_bytes(_hash("code", run), "big") % 10**MOST_DIGITS
    return f"{number:0{MOST_DIGITS}d}"[:digits]


def statement(run: bytes, role: Role) -> bytes:
    """What the end with that role signs."""
    return _framed(_TAG, b"confirm", role.value.encode(), run)


def proof(key: bytes, run: bytes, role: Role) -> bytes:
    """Shows that the end with that role has the key, which takes the code, and that it heard the same run."""
    return hmac.digest(key, _framed(_TAG, b"proof", role.value.encode(), run), "sha256")


def same(one: bytes | str, other: bytes | str) -> bool:
    """Whether both are equal, in a time which does not tell how far they agree."""
    return hmac.compare_digest(
        one.encode() if isinstance(one, str) else one, other.encode() if isinstance(other, str) else other
    )


def _said(hello: Hello) -> bytes:
    return _framed(
        str(hello.version).encode(),
        hello.certificate.encode(),
        hello.opening,
        hello.pake,
        _framed(*(name.encode() for name in hello.wants)),
        _framed(*(name.encode() for name in hello.gives)),
        hello.name.encode(),
        str(hello.port).encode(),
    )


def _hash(purpose: str, *fields: bytes) -> bytes:
    return hashlib.sha256(_framed(_TAG, purpose.encode(), *fields)).digest()


def _framed(*fields: bytes) -> bytes:
    return b"".join(len(one).to_bytes(_LENGTH_BYTES, "big") + one for one in fields)
