"""Ids: 16 lowercase base32 characters holding 80 random bits; the short form is the first 8."""

from __future__ import annotations

import re
from collections.abc import Iterable

from node.core.errors import ErrorCode, MeshError

ID_BYTES = 10
ID_LENGTH = 16
SHORT_LENGTH = 8
PREFIX_MINIMUM = 6

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
# What 10 bits spell: an id is made for every message, and base64.b32encode works letter by letter.
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_ID = re.compile(r"[a-z2-7]{16}\Z")
_PREFIX = re.compile(r"[a-z2-7]{6,16}\Z")


def make_id(random_bytes: bytes) -> str:
    """The id that 10 random bytes spell."""
    if len(random_bytes) != ID_BYTES:
        raise ValueError(f"an id is made of {ID_BYTES} bytes, not {len(random_bytes)}")
    bits = int.from_bytes(random_bytes, "big")
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(70, -1, -10)])


def is_id(text: str) -> bool:
    """Whether `text` is a whole id."""
    return _ID.match(text) is not None


def short(full_id: str) -> str:
    """The first 8 characters, for people to read."""
    return full_id[:SHORT_LENGTH]


def match_prefix(wanted: str, candidates: Iterable[str], *, what: str, listed: str = "") -> str:
    """The one candidate that `wanted` (6 to 16 characters) begins; NOT_FOUND or AMBIGUOUS otherwise.

    `listed` is where a person finds the ids, if only a person uses them.
    """
    prefix = wanted.strip().lower()
    if not _PREFIX.match(prefix):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{wanted[:40]!r} is not an id: ids are {ID_LENGTH} letters a-z and digits 2-7, and at least the first "
            f"{PREFIX_MINIMUM} are needed. Copy the id from {listed or 'list_delegations'}.",
        )
    found = sorted({c for c in candidates if c.startswith(prefix)})
    if not found:
        if listed:
            raise MeshError(ErrorCode.NOT_FOUND, f"No {what} {prefix} was found; see {listed}.")
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"No {what} {prefix} was found among yours. Call list_delegations for the ids you can use.",
        )
    if len(found) > 1:
        raise MeshError(
            ErrorCode.AMBIGUOUS,
            f"{prefix} begins {len(found)} ids: {', '.join(found[:8])}. Give more characters.",
            {"choices": tuple(found[:8])},
        )
    return found[0]
