"""Credentials in a message: keys, tokens, private keys, passwords in URLs and lines of an .env file.

Where node.core.redact takes too much, this takes only what is surely a secret: a message is stopped for it. Examples
and placeholders, of which documentation is full, are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from node.core import screen_shape
from node.core.redact import SHAPES


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One secret: what kind, and where it is in code points. Its value is kept nowhere."""

    kind: str
    start: int
    end: int


def credentials(text: str) -> tuple[Credential, ...]:
    """The credentials of `text` in their order, none overlapping another. Time grows in step with the text."""
    runs = screen_shape.dense(text, _LEAST_RUN)
    shaped = (one for anchor, find in _SHAPED if anchor in runs for one in find(text))
    others = (one for find in _OTHERS for one in find(text))
    found = sorted((*shaped, *others), key=lambda one: (one.start, one.start - one.end, one.kind))
    apart: list[Credential] = []
    for one in found:
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
        elif one.end > apart[-1].end:
            apart[-1] = Credential(kind=apart[-1].kind, start=apart[-1].start, end=one.end)
    return tuple(apart)


def without_credentials(text: str) -> str:
    """`text` with a mark such as [redacted:github] in the place of each credential."""
    pieces: list[str] = []
    done = 0
    for one in credentials(text):
        pieces += (text[done : one.start], f"[redacted:{one.kind}]")
        done = one.end
    return "".join((*pieces, text[done:])) if pieces else text


def all_without_credentials(texts: Sequence[str]) -> tuple[str, ...]:
    """The same for texts that are read one after the other: of what is cut in two by the end of one, nothing stays."""
    cleaned = tuple(map(without_credentials, texts))
    if credentials("\n".join(text for text in cleaned if text)):
        return tuple("[redacted]" if text else text for text in cleaned)
    return cleaned


def masked(text: str) -> str:
    """`text`, of the same length, with nothing of a credential in it."""
    for one in credentials(text):
        text = f"{text[: one.start]}{'•' * (one.end - one.start)}{text[one.end :]}"
    return text


# --- what is none -----------------------------------------------------------------------------------------------------

# Words and signs of those who write examples, and of templates that a program fills in.
_MADE_UP: Final = re.compile(
    r"example|sample|dummy|placeholder|change.?me|your[_-]|redacted|insert|replace|fake|foobar|abcdef|123456|\.\.\.|…"
    # The token that every page about signed tokens shows.
    r"|IxMjM0NTY3ODkw"
    r"|<|>|\$\{|\$\(|\{\{|%\(|\*\*\*|x{4}|0{6}|(.)\1{5}",
    re.IGNORECASE,
)
_TELLING: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z]).{8,}", re.DOTALL)


def _made_up(value: str) -> bool:
    return _MADE_UP.search(value) is not None


# --- finders ----------------------------------------------------------------------------------------------------------

# Characters without a blank that every token with a shape has; ordinary text has few such runs.
_LEAST_RUN: Final = 14
# The literal that a prefix begins with: looking for it is a hundred times quicker than the pattern.
_LITERAL: Final = re.compile(r"[\w:-]+")
_TELEGRAM: Final = ":AA"
# Too common for what they would find: a part of a token, and words of programs.
_LEFT_OUT: Final = frozenset({"eyJ", "dapi", "hf_", "npm_", "pypi-"})
_MORE: Final[tuple[tuple[str, str, str], ...]] = (
    ("jwt", "eyJ", r"eyJ[\w-]{10,2048}\.eyJ[\w-]{10,4096}\.[\w-]{20,2048}"),
    ("databricks", "dapi", r"(?<!\w)dapi[0-9a-f]{32}(?!\w)"),
    ("huggingface", "hf_", r"(?<!\w)hf_[A-Za-z]{34}(?!\w)"),
    ("npm", "npm_", r"(?<!\w)npm_[0-9A-Za-z]{36}(?!\w)"),
    ("pypi", "pypi-", r"(?<!\w)pypi-AgE[\w-]{50,500}"),
)


def _finder(kind: str, pattern: re.Pattern[str]) -> Callable[[str], Iterator[Credential]]:
    def find(text: str) -> Iterator[Credential]:
        for match in pattern.finditer(text):
            if not _made_up(match[0]):
                yield Credential(kind=kind, start=match.start(), end=match.end())

    return find


_PRIVATE_KEY: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{1,60}-----")
_PEM_CHARS: Final = 16_384
_PEM_LEAST: Final = 60


def _private_keys(text: str) -> Iterator[Credential]:
    if "PRIVATE KEY" not in text:
        return
    for begin in _PRIVATE_KEY.finditer(text):
        end = _PEM_END.search(text, begin.end(), begin.end() + _PEM_CHARS)
        stop = end.end() if end else min(len(text), begin.end() + _PEM_CHARS)
        body = text[begin.end() : end.start() if end else stop]
        # A fence alone is how people speak of keys.
        if sum(char.isalnum() for char in body) >= _PEM_LEAST and "..." not in body:
            yield Credential(kind="private-key", start=begin.start(), end=stop)


_USERINFO: Final = re.compile(r"://(?P<user>[^\s:/?#@\"'<>]{0,100}):(?P<value>[^\s/?#@\"'<>]{6,200})@[\w.\[-]")


def _url_passwords(text: str) -> Iterator[Credential]:
    if "://" not in text or "@" not in text:
        return
    for match in _USERINFO.finditer(text):
        value = match["value"]
        if _made_up(value) or value.lower() in _NO_PASSWORDS or value == match["user"]:
            continue
        if "$" not in value and "{" not in value:
            yield Credential(kind="url-password", start=match.start("value"), end=match.end("value"))


_NO_PASSWORDS: Final = frozenset(
    {"pass", "password", "passwd", "pwd", "secret", "token", "postgres", "root", "admin", "user", "guest", "test"}
)
_ENV_NAMES: Final = ("KEY", "TOKEN", "SECRET", "PASSWD", "PASSWORD", "PASSPHRASE")
_ENV_LINE: Final = re.compile(
    r"^[ \t]{0,8}(?:export[ \t]{1,8})?"
    rf"[A-Z0-9_]{{0,60}}(?:{'|'.join(_ENV_NAMES)})[0-9_]{{0,4}}"
    r"=(?P<quote>[\"']?)(?P<value>[^\s\"'`]{8,400})(?P=quote)[ \t]{0,8}$",
    re.MULTILINE,
)


def _env_lines(text: str) -> Iterator[Credential]:
    if "=" not in text or not any(name in text for name in _ENV_NAMES):
        return
    for match in _ENV_LINE.finditer(text):
        value = match["value"]
        if not _made_up(value) and _TELLING.fullmatch(value) and not value.startswith(("$", "/", "http", "{", "(")):
            yield Credential(kind="env-line", start=match.start("value"), end=match.end("value"))


def _anchor(prefix: str) -> str:
    literal = _LITERAL.match(prefix)
    return literal[0] if literal else _TELEGRAM


_SHAPED: Final[tuple[tuple[str, Callable[[str], Iterator[Credential]]], ...]] = (
    *(
        (_anchor(prefix), _finder(kind, re.compile(f"{prefix}[{run}]{{{least},}}+")))
        for kind, prefix, run, least in SHAPES
        if prefix not in _LEFT_OUT
    ),
    *((anchor, _finder(kind, re.compile(pattern))) for kind, anchor, pattern in _MORE),
)
_OTHERS: Final[tuple[Callable[[str], Iterator[Credential]], ...]] = (_private_keys, _url_passwords, _env_lines)
