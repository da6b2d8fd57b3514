"""Links to peers, as far as they are thought: where to dial, what became of an attempt in words, when to try again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from node.core.backoff import delay
from node.core.trust import parse_address

FIRST_PAUSE_S: Final = 0.25
REFUSED_PAUSE_S: Final = 1.0
# Whoever was away for a short time is looked for often: a pause is at most this part of that time, or half a second.
_AWAY_PART: Final = 50.0
_SHORTEST_CAP_S: Final = 0.5

_UNPAIRED: Final = "the other node does not know this one (unpaired there?)"
_REASONS: Final = {
    "stranger": _UNPAIRED,
    "revoked": _UNPAIRED,
    "wrong_tls": "the other node takes nothing less than TLS 1.3, and this one did not offer it",
    "too_many": "too many calls of this node are open at the other one",
}
# Parts of what gRPC says, the first that fits counts: part, whether that is a refusal, words.
_SIGNS: Final = (
    ("certificate has expired", True, "the certificate at {at} has expired, or the clock of this machine is ahead"),
    ("certificate is not yet valid", True, "the certificate at {at} is not valid yet: a clock is far behind"),
    ("CERTIFICATE_VERIFY_FAILED", True, "another key answers at {at}, not the one that was paired"),
    ("Hostname Verification", True, "another key answers at {at}, not the one that was paired"),
    ("WRONG_VERSION_NUMBER", False, "what listens at {at} is no node"),
    ("Connection refused", False, "nothing listens at {at}"),
    ("No route to host", False, "this machine has no way to {at}"),
    ("unreachable", False, "this machine has no way to {at}"),
    ("Handshake read failed", False, "{at} ended the connection at once: it is full, or no node"),
    ("Socket closed", True, f"{{at}} ended the handshake: most likely {_UNPAIRED}, or a clock is far off"),
    ("Connection reset", True, f"{{at}} ended the handshake: most likely {_UNPAIRED}, or a clock is far off"),
    ("Broken pipe", True, f"{{at}} ended the handshake: most likely {_UNPAIRED}, or a clock is far off"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEnd:
    """How an attempt or a link ended. `refused` means that waiting will not mend it, a person has to."""

    why: str
    refused: bool = False
    was_up: bool = False


def end_of_call(*, status: str, text: str, reason: str | None, address: str, was_up: bool) -> LinkEnd:
    """What a failed call means: gRPC's status and text, and the peer's reason if the peer itself said one.

    A peer's own words are never passed on.
    """
    if reason in _REASONS:
        return LinkEnd(why=_REASONS[reason], refused=reason != "too_many", was_up=was_up)
    if was_up:
        return LinkEnd(why=f"the connection to {address} broke", was_up=True)
    for sign, refused, words in _SIGNS:
        if sign in text:
            return LinkEnd(why=words.format(at=address), refused=refused)
    if status == "DEADLINE_EXCEEDED":
        return LinkEnd(why=f"{address} does not answer")
    return LinkEnd(why=f"{address} cannot be reached ({status.lower().replace('_', ' ')})")


def pause_s(*, refused: bool, attempt: int, away_s: float, cap_s: float, fraction: float) -> float:
    """How long to wait after failure number `attempt` (from 0), when the last good sign is `away_s` ago.

    The longer the absence, the longer the pause: soon found again when back soon, left in peace when away for good.
    """
    if refused:
        return delay(attempt, base_s=min(REFUSED_PAUSE_S, cap_s), cap_s=cap_s, fraction=fraction)
    cap_s = min(cap_s, max(_SHORTEST_CAP_S, away_s / _AWAY_PART))
    return delay(attempt, base_s=min(FIRST_PAUSE_S, cap_s), cap_s=cap_s, fraction=fraction)


def dial_target(address: str) -> str:
    """gRPC's word for a literal address with a port; INVALID_ARGUMENT for all else.

    Names are not looked up: whoever answers for them would learn who talks to whom.
    """
    literal = parse_address(address)
    return f"{'ipv6' if literal.startswith('[') else 'ipv4'}:{literal.replace('%', '%25')}"
