"""A row's bytes as one pattern: what matches it is canonical and of this schema, at a tenth of the cost of parsing.

What does not match may still be a row: one that was trimmed or holds nested values is for `canonical.decode`. So this
only ever says yes where that would, once the names that no pattern can hold to their order were looked at; a property
test holds the two together.
"""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = r"[A-Za-z0-9._:+/=@-]{1,128}+"
_CODE: Final = r"[a-z][a-z0-9_.-]{0,63}+"
_HASH: Final = r"[0-9a-f]{64}"
# Up to 16 digits, and so below 2^53: those from 9 * 10^15 on are left to the parser.
_COUNT: Final = r"(?:0|[1-8][0-9]{0,15}+|9[0-9]{0,14}+)"
_BELOW_ZERO: Final = r"-(?:[1-8][0-9]{0,15}+|9[0-9]{0,14}+)"
_ORIGIN: Final = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}+"
# After a field of an object in which all are optional: a comma that something follows, or the object's end.
_NEXT: Final = r"(?:,(?!\})|(?=\}))"


def _text(name: str, form: str) -> str:
    return f'"{name}":"{form}",'


def _maybe(part: str) -> str:
    return f"(?:{part})?+"


def _party(name: str) -> str:
    fields = "".join(_maybe(f'"{one}":"{_WORD}"{_NEXT}') for one in ("agent", "node", "role", "session", "workspace"))
    return rf'"{name}":\{{{fields}\}},'


_FILE: Final = rf'\["{_HASH}",{_COUNT}\]'
_CONTENT: Final = (
    rf'"content":\{{"bytes":{_COUNT},"chars":{_COUNT},' + _maybe(_text("commit", _HASH))
    + _maybe(rf'"files":\[{_FILE}(?:,{_FILE})*+\],') + r'"truncated":(?:true|false)\},'
)  # fmt: skip
_SCAN: Final = (
    r'"scan":\{' + _text("engine", _WORD) + _maybe(rf'"rules":\["{_CODE}"(?:,"{_CODE}")*+\],')
    + f'"score":{_COUNT},' + _text("status", "(?:clean|flagged|unavailable|skipped)") + rf'"version":"{_WORD}"\}},'
)  # fmt: skip
_PLAIN: Final = rf'(?:"{_WORD}"|{_COUNT}|{_BELOW_ZERO}|true|false|null)'
_VALUE: Final = rf"(?:{_PLAIN}|\[(?:{_PLAIN}(?:,{_PLAIN})*+)?+\])"
_ONE_EXTRA: Final = f'"{_CODE}":{_VALUE}'
_ONE_SIDE: Final = f'"{_CODE}":"{_HASH}"'
_KINDS: Final = "(?:message|outcome|policy|lifecycle|prune|gap|clock|key|export|override)"

_ROW: Final = "".join((
    r"\{", f'"boot":"({_WORD})",', _maybe(_CONTENT), _maybe(_text("conv", _WORD)), _text("decision", _CODE),
    _maybe(f'"depth":{_COUNT},'), _text("engine", _CODE),
    _maybe(rf'"extra":\{{({_ONE_EXTRA}(?:,{_ONE_EXTRA})*+)\}},'), _maybe(_party("from")), _maybe(_text("kind", _CODE)),
    _maybe(_text("leg", "(?:local|egress|ingress)")), f'"log":"({_ORIGIN})",', f'"mono":({_COUNT}),',
    _maybe(_text("msg", _WORD)), _maybe(f'"off":(?:{_COUNT}|{_BELOW_ZERO}),'), _maybe(_text("parent", _WORD)),
    _maybe(_text("policy", _WORD)), _maybe(f'"prev":"({_HASH})",'), _maybe(_text("reason", _CODE)),
    _maybe(_text("root", _WORD)), f'"row":"({_KINDS})",', _maybe(_SCAN), f'"seq":({_COUNT}),',
    _maybe(rf'"side":\{{({_ONE_SIDE}(?:,{_ONE_SIDE})*+)\}},'), _text("sw", _WORD), _maybe(_party("to")),
    f'"ts":({_COUNT}),', r'"v":1\}',
))  # fmt: skip

match_row: Final = re.compile(_ROW.encode("ascii")).fullmatch
"""Of a row's bytes: boot, inside of extra, log, mono, prev, row, seq, inside of side, ts; None where there is none."""

_names: Final = re.compile(rf'"({_CODE})":'.encode("ascii")).findall


def in_order(inside: bytes) -> bool:
    """Whether the inside of a matched `side` or `extra` has each name once, in their order."""
    names: list[bytes] = _names(inside)
    return all(map(bytes.__lt__, names, names[1:]))
