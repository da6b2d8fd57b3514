"""The policy of a node as one short hash, which each row of a decision names: a changed rule shows where it began."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import Final

from node.core.canonical import JsonValue, encode
from node.core.limits import Limits

_HEX_DIGITS: Final = 16


def policy_hash(limits: Limits, *, credentials: str) -> str:
    """16 hex digits over every limit and over what the screen does with credentials.

    What a workspace allows is not in it: a change of that has a row of its own, and the row of each message that it
    decides has the rule.
    """
    policy: dict[str, JsonValue] = {"credentials": credentials, "limits": dict[str, JsonValue](asdict(limits))}
    return sha256(encode(policy)).hexdigest()[:_HEX_DIGITS]
