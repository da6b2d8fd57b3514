"""What becomes of a text that the screen flags: who decides, what a person is asked, what their no undoes. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from node.core.ids import short
from node.core.model import Author, Exchange, Message, MessageKind, Status
from node.core.verdict import CREDENTIAL, Decision, Field, Verdict
from node.core.workspace import ScreenMode

INJECTION: Final = "prompt_injection"
SNIPPET_CHARS: Final = 300
SHOWN_CHARS: Final = 10_000

# What each code of `Verdict.asks` is, behind "asks".
ASKS: Final[Mapping[str, str]] = MappingProxyType({
    "secrets": "for secrets",
    "credential_files": "for files that hold credentials",
    "env_dump": "for what stands in environment variables",
    "guards_off": "to switch guards off",
    "merge": "to merge something",
    "publish": "to publish something",
    "permission": "for permissions",
    "send_outside": "to send something outside",
})  # fmt: skip
_UNNAMED: Final = "reads like words that are to take an agent over"
_CREDENTIAL: Final = "carries a credential"


def text_digest(fields: Sequence[Field]) -> str:
    """What makes two messages the same text: SHA-256 (hex) of the canonical JSON list of the texts that are not empty.

    Exact: neither case nor blanks are forgiven.
    """
    texts = [field.text for field in fields if field.text]
    return sha256(json.dumps(texts, separators=(",", ":"), ensure_ascii=True).encode("ascii")).hexdigest()


_HOLD, _WITHHOLD, _LOG = Decision.HOLD, Decision.WITHHOLD, Decision.LOG
# (the workspace's mode, what the screen says) to what is done. Anybody may read what is not here.
_AGENTS: Final[Mapping[tuple[ScreenMode, Decision], Decision]] = MappingProxyType({
    (ScreenMode.BLOCK, _HOLD): _HOLD,
    (ScreenMode.BLOCK, _WITHHOLD): _WITHHOLD,
    (ScreenMode.HOLD, _HOLD): _HOLD,
    (ScreenMode.HOLD, _WITHHOLD): _HOLD,
    (ScreenMode.LOG, _HOLD): _LOG,
    (ScreenMode.LOG, _WITHHOLD): _LOG,
})  # fmt: skip
# Of what the person wrote they need not be asked whether they want it.
_PERSONS: Final = MappingProxyType(
    {**_AGENTS, (ScreenMode.BLOCK, _HOLD): _LOG, (ScreenMode.HOLD, _HOLD): _LOG}
)  # fmt: skip
# Nobody here can let it through to where it goes: the person who reads it decides, or those at the other node.
_ELSEWHERE: Final = MappingProxyType({**_PERSONS, (ScreenMode.HOLD, _WITHHOLD): _WITHHOLD})


def judged(verdict: Verdict, *, mode: ScreenMode, allowed: bool, author: Author, to_here: bool) -> Decision:
    """What is done with a text.

    `to_here`: a session of this node is to read it. `allowed`: a person has let exactly this text pass before.
    """
    if verdict.decision not in {_HOLD, _WITHHOLD}:
        return verdict.decision
    if allowed:
        return _LOG
    table = _ELSEWHERE if not to_here else _PERSONS if author is Author.PERSON else _AGENTS
    return table[mode, verdict.decision]


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """What several flagged files of one message come to, at least one: a person is asked about all of them at once."""
    first = max(verdicts, key=lambda one: (one.decision is _WITHHOLD, one.score))
    asks = tuple(dict.fromkeys(code for one in (first, *verdicts) for code in one.asks))
    return replace(first, decision=_HOLD, asks=asks)


def reason_of(verdict: Verdict) -> str:
    """Why a text is stopped, as a code."""
    return next((code for code in verdict.asks if code in ASKS), CREDENTIAL if verdict.credentials else INJECTION)


def asks_words(verdict: Verdict) -> str:
    """What a held text does, as the end of a sentence: "asks for secrets and to publish something"."""
    asked = [ASKS[code] for code in dict.fromkeys(verdict.asks) if code in ASKS]
    if not asked:
        return _CREDENTIAL if verdict.credentials else _UNNAMED
    *most, last = asked
    return f"asks {', '.join(most)} and {last}" if most else f"asks {last}"


def question(kind: MessageKind, sender: str, recipient: str, verdict: Verdict, *, file: str = "") -> str:
    """What the person is asked about a held message, or about a file of it; without the end of a sentence."""
    what = f"A {kind.value} from {sender} to {recipient}"
    what += f" brings the file {file}, which {asks_words(verdict)}" if file else f" {asks_words(verdict)}"
    snippet = " ".join(verdict.snippet.split())[:SNIPPET_CHARS]
    return f'{what}: "{snippet}"' if snippet else what


def shown_text(message: Message) -> str:
    """What of a held message a person decides about: its title, its text, the names of its files.

    All of it, but for a text so long that lists of it could not be passed on: that one says where the rest is.
    """
    files = [f"[file: {file.name}, {file.size:,} bytes]" for file in message.files]
    text = message.text[:SHOWN_CHARS]
    if len(message.text) > SHOWN_CHARS:
        left = f"{len(message.text) - SHOWN_CHARS:,} more characters in message {message.number}"
        files.append(f"[{left} of exchange {short(message.exchange)}]")
    return "\n".join(part for part in (message.title, text, *files) if part)


# --- what a no undoes -------------------------------------------------------------------------------------------------


def _not_opened(exchange: Exchange, _message: Message, _messages: Sequence[Message]) -> Exchange:
    return replace(exchange, status=Status.FAILED, questions=(), reason="withheld")


def _not_asked(exchange: Exchange, message: Message, _messages: Sequence[Message]) -> Exchange:
    left = tuple(one for one in exchange.questions if one != message.id)
    status = Status.WORKING if exchange.status is Status.ASKED and not left else exchange.status
    return replace(exchange, questions=left, status=status)


def _not_answered(exchange: Exchange, message: Message, _messages: Sequence[Message]) -> Exchange:
    if message.reply_to is None or exchange.status is Status.DELIVERED or message.reply_to in exchange.questions:
        return exchange
    return replace(exchange, status=Status.ASKED, questions=(*exchange.questions, message.reply_to))


def _not_delivered(exchange: Exchange, message: Message, messages: Sequence[Message]) -> Exchange:
    newest = _newest(messages, MessageKind.DELIVER)
    if exchange.status is not Status.DELIVERED or newest is None or newest.id != message.id:
        return exchange
    return replace(exchange, status=Status.WORKING)


def _not_steered(exchange: Exchange, message: Message, messages: Sequence[Message]) -> Exchange:
    """What was delivered before is still the result, if nothing has happened since."""
    others = [one for one in messages if one.id != message.id]
    newest = _newest(others, *(MessageKind.DELIVER, MessageKind.STEER, MessageKind.ASK, MessageKind.REPORT))
    if exchange.status is not Status.WORKING or newest is None or newest.kind is not MessageKind.DELIVER:
        return exchange
    return replace(exchange, status=Status.DELIVERED)


def _newest(messages: Sequence[Message], *kinds: MessageKind) -> Message | None:
    return next((one for one in reversed(messages) if one.kind in kinds and not one.withheld), None)


_UNDONE: Final[Mapping[MessageKind, Callable[[Exchange, Message, Sequence[Message]], Exchange]]] = MappingProxyType({
    MessageKind.BRIEF: _not_opened,
    MessageKind.REQUEST: _not_opened,
    MessageKind.ASK: _not_asked,
    MessageKind.ANSWER: _not_answered,
    MessageKind.DELIVER: _not_delivered,
    MessageKind.STEER: _not_steered,
})  # fmt: skip


def after_refusal(exchange: Exchange, message: Message, messages: Sequence[Message]) -> Exchange:
    """The exchange once a person refused `message`, whose step it had taken; `messages` are all of it, in order.

    An opening's exchange fails. What is closed stays closed, and a farewell is one whether it was read or not.
    """
    undo = _UNDONE.get(message.kind)
    return exchange if undo is None or exchange.status.closed else undo(exchange, message, messages)
