"""Which acts on which objects only a person may grant, over the concepts of the policy's words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An act on an object is an ask of `kind`; a bare imperative only next to one of `told`."""

    kind: str
    acts: frozenset[str]
    objects: frozenset[str]
    told: frozenset[str]


def _rule(kind: str, acts: str, objects: str, told: str) -> Rule:
    return Rule(
        kind=kind, acts=frozenset(acts.split()), objects=frozenset(objects.split()), told=frozenset(told.split())
    )


RULES = (
    _rule("secrets", "GIVE", "SECRET", "ME ADDRESS OUTSIDE AGENT"),
    _rule("credential_files", "GIVE DUMP", "KEYFILE", "ME ADDRESS OUTSIDE AGENT"),
    _rule("env_dump", "GIVE DUMP", "ENV", "ME ADDRESS OUTSIDE AGENT"),
    _rule("guards_off", "OFF", "GUARD", "ME NOW AGENT"),
    _rule("guards_off", "TURN", "GUARD", "ME NOW AGENT"),
    _rule("guards_off", "USE", "FLAG", "ME NOW AGENT"),
    _rule("merge", "MERGE", "CHANGE IT NUMBER", "ME NOW AGENT"),
    _rule("merge", "PUSH", "MAINLINE", "ME NOW AGENT"),
    _rule("merge", "FORCE", "HISTORY", "ME NOW AGENT"),
    _rule("publish", "PUBLISH", "PLACE VERSION IT", "ME NOW AGENT"),
    _rule("permission", "GRANT", "RIGHT", "ME NOW"),
    _rule("send_outside", "GIVE", "OUTSIDE ADDRESS", "OUTSIDE ADDRESS"),
)
ACTS = frozenset(name for rule in RULES for name in rule.acts)
OBJECTS = frozenset(name for rule in RULES for name in rule.objects)
TELLING = frozenset(name for rule in RULES for name in rule.told)
EVIDENCE = frozenset({"ASK", "ASKED", "CAN", "FREE"})
SELDOM_DOCUMENTED = frozenset({"OFF"})
