"""What the node says to agents and people alike, put into a person's commands. Pure.

The core names an agent's tools (`list_peers`), which a person does not have; every phrase that does so is here, and a
test holds this table against the sources.
"""

from __future__ import annotations

import re

_SESSIONS = "`helio sessions`"
_EXCHANGES = "`helio requests` or `helio delegations`"
_APPROVALS = "`helio approvals`"
# Where the ids of each command's first argument are listed; those of exchanges elsewhere.
_LISTED_IN = {
    **dict.fromkeys(("attach", "nick", "rename", "archive", "request"), _SESSIONS),
    **dict.fromkeys(("unarchive", "rm"), "`helio sessions --all`"),
    "approvals": _APPROVALS,
}
_LISTED_BY_KIND = {"session": _SESSIONS, "open approval": _APPROVALS}

_NOT_FOUND = re.compile(r"No (?P<what>[\w ]+) (?P<id>[a-z2-7]+) was found among yours\. Call list_delegations .*\Z")
_ALREADY = re.compile(
    r"(?P<verb>accept|reject|cancel) does not fit exchange (?P<id>\w+), which is (?P<status>\w+): .*\Z"
)
_ALREADY_SO = {"accept": "Accepted", "reject": "Rejected", "cancel": "Cancelled"}
# In this order; `{listed}` is where the command's ids are listed.
_PHRASES = (
    (re.compile(r"Give an @nickname from list_peers"), f"Give an @nickname that {_SESSIONS} shows"),
    (re.compile(r"; call list_peers\b"), f"; see {_SESSIONS}"),
    (re.compile(r"\bCopy the id from list_delegations"), "Copy the id from {listed}"),
    (re.compile(r"\bCall list_delegations (?=to see)"), "Use {listed} "),
    (re.compile(r"\bCall answer again with question set to the id you mean"), "Name one: helio answer ID TEXT"),
    (re.compile(r"\bCall (\w+) again with exchange set to the id you mean"), r"Name one: helio \1 ID"),
    (re.compile(r"\bCall wait for the answers first"), "Wait for the answers first"),
    (re.compile(r"\bCall list_peers\."), f"See {_SESSIONS} and `helio mirror list`."),
    (re.compile(r"\blist_peers shows"), f"{_SESSIONS} shows"),
    (re.compile(r"\blist_delegations shows"), "{listed} shows"),
)  # fmt: skip


def for_person(message: str, command: str = "") -> str:
    """The message with a person's commands for an agent's tools; `command` is the one that was refused."""
    if missing := _NOT_FOUND.match(message):
        listed = _LISTED_BY_KIND.get(missing["what"]) or _LISTED_IN.get(command, _EXCHANGES)
        return f"No {missing['what']} {missing['id']} was found. See {listed} for those there are."
    if (done := _ALREADY.match(message)) and _ALREADY_SO[done["verb"]] == done["status"]:
        return f"Exchange {done['id']} is already {done['status'].lower()}; nothing was changed."
    listed = _LISTED_IN.get(command, _EXCHANGES)
    for phrase, words in _PHRASES:
        message = phrase.sub(words.replace("{listed}", listed), message)
    return message
