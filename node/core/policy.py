"""Policy: nicknames, who may reach whom, which exchange is meant, and waits that would never end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.ids import match_prefix, short
from node.core.model import Address, Blocked, End, Exchange, Session, SessionStatus

NICKNAME_MAX: Final = 32
_NICK_PUNCTUATION: Final = frozenset("._-")
# Letters and marks by category that nothing is drawn for: a nickname with one would look exactly like another.
_DRAWS_NOTHING: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

# Letters of other scripts and digits that read like a Latin letter; enough to flag a look-alike, not to spell.
_LOOKS_LIKE: Final = str.maketrans(
    "0135|аеорсухіјѕԁһӏɡαονρτικß",
    "oiesiaeopcyxijsdhlgaovptikb",
)


def clean_nickname(wanted: str) -> str:
    """The nickname in NFC without a leading @; INVALID_ARGUMENT unless 1-32 letters, digits, `.`, `-`, `_`."""
    nick = unicodedata.normalize("NFC", wanted.strip()).removeprefix("@")
    good = 1 <= len(nick) <= NICKNAME_MAX and all(
        ch in _NICK_PUNCTUATION or unicodedata.category(ch)[0] == "L" or unicodedata.category(ch) in {"Nd", "Mn", "Mc"}
        for ch in nick
    )
    hides = _DRAWS_NOTHING.search(nick) is not None
    if not good or hides or not any(ch.isalnum() for ch in nick) or unicodedata.category(nick[0])[0] == "M":
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{wanted[:60]!r} cannot be a nickname: use 1 to {NICKNAME_MAX} letters, digits, '.', '-' or '_', "
            "with at least one letter or digit.",
        )
    return nick


def nickname_key(nick: str) -> str:
    """What makes two nicknames the same: NFC, then case folded, then NFC again."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", nick).casefold())


def nickname_skeleton(nick: str) -> str:
    """What makes two nicknames look the same: compatibility form, no marks, look-alike letters folded."""
    plain = unicodedata.normalize("NFKD", nick).casefold()
    bare = "".join(ch for ch in plain if not unicodedata.combining(ch))
    return bare.translate(_LOOKS_LIKE).replace("l", "i").replace("rn", "m").replace("vv", "w")


@dataclass(frozen=True, slots=True, kw_only=True)
class NicknameChoice:
    """A nickname that may be given, and the sessions whose nickname looks like it."""

    nickname: str
    key: str
    look_alikes: tuple[str, ...]


def choose_nickname(wanted: str, holders: Iterable[Session], *, for_session: str | None) -> NicknameChoice:
    """The choice for `wanted`; ALREADY_EXISTS names the session that holds it."""
    nick = clean_nickname(wanted)
    key = nickname_key(nick)
    skeleton = nickname_skeleton(nick)
    alike: list[str] = []
    for session in holders:
        if session.nickname is None or session.id == for_session:
            continue
        if nickname_key(session.nickname) == key:
            raise MeshError(
                ErrorCode.ALREADY_EXISTS,
                f"@{nick} is taken by session {short(session.id)} ({session.title or 'untitled'}, "
                f"{session.status.value}). Choose another nickname, or archive that session first.",
                {"holder": session.id},
            )
        if nickname_skeleton(session.nickname) == skeleton:
            alike.append(f"@{session.nickname}")
    return NicknameChoice(nickname=nick, key=key, look_alikes=tuple(alike))


def find_session(wanted: str, sessions: Sequence[Session], *, in_reach: Collection[str] | None = None) -> Session:
    """The one session that @nickname or an id prefix names, whole names only.

    NOT_FOUND lists the ids `in_reach` (None: all of `sessions`), AMBIGUOUS when a nickname reads like another's id.
    """
    text = wanted.strip()
    if not text:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "No session was named. Give an @nickname from list_peers.")
    name = text.removeprefix("@")
    key = nickname_key(name)
    named = next((s for s in sessions if s.nickname is not None and nickname_key(s.nickname) == key), None)
    by_id = {s.id: s for s in sessions}
    if not text.startswith("@") and re.fullmatch(r"[a-z2-7]{6,16}", name):
        if name in by_id:
            return by_id[name]
        # An agent chooses its delegate's nickname: it must not take over what is meant for another session's id.
        if named is not None and any(i.startswith(name) and i != named.id for i in by_id):
            raise MeshError(
                ErrorCode.AMBIGUOUS,
                f"{name} is the nickname of one session and begins the id of another. Write @{name} for the first, or "
                "the whole id of the other.",
            )
        if named is None:
            try:
                return by_id[match_prefix(name, by_id, what="session")]
            except MeshError as error:
                if error.code is not ErrorCode.NOT_FOUND:
                    raise
    if named is not None:
        return named
    known = sorted(s.nickname for s in sessions if s.nickname is not None and (in_reach is None or s.id in in_reach))
    shown = ", ".join(f"@{n}" for n in known[:12]) or "none yet"
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"No session is called @{name[:NICKNAME_MAX]}. Sessions you can reach: {shown}. Names match whole and "
        "ignore case; call list_peers.",
        {"choices": tuple(f"@{n}" for n in known[:12])},
    )


def reachable(
    wanted: str,
    sessions: Sequence[Session],
    actor: Address,
    *,
    resumable: Collection[str] = (),
    in_reach: Collection[str] | None = None,
) -> Session:
    """The session that a request may go to; says why not: unknown, oneself, or ended.

    An agent that ended can be asked when its profile is `resumable`: the node starts it again. `in_reach` are the ids
    of the sessions whose names the actor may learn.
    """
    target = find_session(wanted, sessions, in_reach=in_reach)
    if target.id == actor.session:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT, f"{target.label} is you. Name another session; list_peers shows who is there."
        )
    if target.status is SessionStatus.ENDED and target.profile in resumable:
        return target
    if target.status is not SessionStatus.RUNNING:
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"{target.label} has {target.status.value}: nobody would read the request, so it was not recorded. Ask "
            "another session, or have the person start it again.",
            {"session": target.id, "status": target.status.value},
        )
    return target


def derive_title(text: str, *, limit: int = 60) -> str:
    """A title from the first line that says something, cut at a word."""
    for line in text.splitlines():
        words = " ".join(line.strip().lstrip("#>*- ").split())
        if words:
            return words if len(words) <= limit else words[: limit - 1].rsplit(" ", 1)[0].rstrip(",;:.") + "…"
    return "untitled"


def resolve_exchange(
    wanted: str | None, candidates: Sequence[Exchange], actor: Address, *, end: End | None, tool: str
) -> Exchange:
    """The exchange meant by an id prefix, or by nothing when exactly one open exchange fits.

    `candidates` are those the actor is an end of; `end` limits to those where the actor is at that end.
    NOT_FOUND for foreign ids, AMBIGUOUS lists the ids, WRONG_STATE when nothing is open.
    """
    mine = [e for e in candidates if e.end_of(actor) is not None]
    if wanted:
        by_id = {e.id: e for e in mine}
        found = by_id[match_prefix(wanted, by_id, what="exchange")]
        if end is not None and found.end_of(actor) is not end:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"{tool} is for the {end.role(found.kind)} of an exchange; in {short(found.id)} you are the "
                f"{end.other.role(found.kind)}.",
                {"exchange": found.id},
            )
        return found
    open_ones = [e for e in mine if not e.status.closed and (end is None or e.end_of(actor) is end)]
    if len(open_ones) == 1:
        return open_ones[0]
    if not open_ones:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"You have no open exchange that {tool} fits. Call list_delegations to see yours.",
        )
    shown = open_ones[:8]
    raise MeshError(
        ErrorCode.AMBIGUOUS,
        f"{len(open_ones)} exchanges are open: {', '.join(short(e.id) for e in shown)}. Call {tool} again with "
        "exchange set to the id you mean.",
        {"choices": tuple(e.id for e in shown), "titles": tuple(e.title for e in shown)},
    )


def find_cycle(start: Address, target: Address, waits: Mapping[Address, Iterable[Address]]) -> tuple[Address, ...]:
    """The waits that lead from `target` back to `start`, both ends included; empty when there are none.

    `waits` maps each blocked session to those it is blocked on.
    """
    path: list[Address] = [target]
    trail = [iter(waits.get(target, ()))]
    seen = {target}
    if target == start:
        return (start,)
    while trail:
        for onward in trail[-1]:
            if onward == start:
                return (*path, onward)
            if onward not in seen:
                seen.add(onward)
                path.append(onward)
                trail.append(iter(waits.get(onward, ())))
                break
        else:
            trail.pop()
            path.pop()
    return ()


def waits_towards(node: str, waits: Sequence[Blocked], limit: int) -> tuple[Blocked, ...]:
    """Those waits that lead, over whatever others, to a wait for somebody on `node`; at most `limit`."""
    chosen = {index for index, one in enumerate(waits) if one.on.node == node}
    reached = {waits[index].who for index in chosen}
    while True:
        more = {i for i, one in enumerate(waits) if i not in chosen and one.on in reached}
        if not more:
            return tuple(waits[index] for index in sorted(chosen)[:limit])
        chosen |= more
        reached |= {waits[index].who for index in more}
