"""Canonical JSON: the one way in which a row's values are written, and a reader that takes nothing else.

ASCII with JSON escapes, sorted unique keys, no white space, no floats, integers below 2^53 in size, at most 8 KiB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, TypeAlias

from node.core.errors import ErrorCode, MeshError

JsonValue: TypeAlias = "bool | int | str | list[JsonValue] | dict[str, JsonValue] | None"

MAX_ROW_BYTES: Final = 8192
MAX_INT: Final = 2**53 - 1
MAX_EXTRA_DEPTH: Final = 3

_AS_GIVEN = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"))
_SORTING = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"), sort_keys=True
)


def dump(value: JsonValue) -> bytes:
    return _SORTING.encode(value).encode("ascii")


def dump_sorted(value: JsonValue) -> bytes:
    """As `dump`, for what has its keys in order already: sorting costs as much again as writing."""
    return _AS_GIVEN.encode(value).encode("ascii")


def _no_float(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not an integer")


def _small_int(literal: str) -> int:
    # 2^53 has 16 digits; the length is looked at first because reading long digits takes time that grows faster.
    if len(literal) > 17 or abs(value := int(literal)) > MAX_INT:
        raise ValueError("an integer beyond 2^53")
    return value


_DECODER = json.JSONDecoder(parse_float=_no_float, parse_int=_small_int, parse_constant=_no_float)


def plain(name: str, value: JsonValue, depth: int, *, any_text: bool = False) -> JsonValue:
    """`value` copied if it is plain data no deeper than `depth`, with strings that are codes or ids (or any text)."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return integer(name, value)
    if isinstance(value, str):
        if not any_text:
            check(TOKEN, (name,), (value,))
        return value
    if depth == 0:
        refuse(name, f"it is nested more than {MAX_EXTRA_DEPTH} deep")
    if isinstance(value, list):
        return [plain(name, item, depth - 1, any_text=any_text) for item in value]
    # Types are not checked when a node runs, and a float would end up in a log that nobody can verify.
    if not isinstance(value, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse(name, f"a {type(value).__name__} is not a plain value")
    check(CODE, (name,) * len(value), tuple(value))
    return {key: plain(f"{name}.{key}", item, depth - 1, any_text=any_text) for key, item in sorted(value.items())}


class Form:
    """A shape that strings of a row have; many are matched at once, as rows are written while messages wait."""

    def __init__(self, one: str, words: str) -> None:
        self.one = re.compile(one, re.ASCII).fullmatch
        self.many = re.compile(f"{one}(?:\n{one})*+", re.ASCII).fullmatch
        self.words = words


CODE = Form(r"[a-z][a-z0-9_.-]{0,63}", "it must be a code: a-z first, then at most 63 of a-z 0-9 _ . -")
TOKEN = Form(
    r"[A-Za-z0-9._:+/=@-]{1,128}",
    "it must be an id or code of 1 to 128 of A-Z a-z 0-9 . _ : + / = @ -; names and texts go in as commitments",
)
HASH = Form(r"[0-9a-f]{64}", "it must be a commitment of 64 lower-case hex digits")


def check(form: Form, names: Sequence[str], values: Sequence[str | None]) -> None:
    """INVALID_ARGUMENT, with the name of the first, if a value that is there has not the form."""
    given = [value for value in values if value is not None]
    joined = "\n".join(given)
    if not given or (form.many(joined) is not None and joined.count("\n") == len(given) - 1):
        return
    for name, value in zip(names, values, strict=True):
        if value is not None and form.one(value) is None:
            refuse(name, form.words)


def choice(name: str, value: str, choices: frozenset[str]) -> str:
    if value not in choices:
        refuse(name, f"it must be one of {', '.join(sorted(choices))}")
    return value


def integer(name: str, value: int) -> int:
    if type(value) is not int or not -MAX_INT <= value <= MAX_INT:
        refuse(name, "it must be an integer below 2^53 in size")
    return value


def count(name: str, value: int) -> int:
    if type(value) is not int or not 0 <= value <= MAX_INT:
        refuse(name, "it must be an integer from 0 to below 2^53")
    return value


def refuse(name: str, why: str) -> NoReturn:
    # The value itself stays out of the message: it may be the very text that a row must not hold.
    raise MeshError(
        ErrorCode.INVALID_ARGUMENT, f"The timeline field {name!r} was refused by this node: {why}.", {"field": name}
    )


def _not_canonical(why: str) -> MeshError:
    return MeshError(ErrorCode.TAMPERED, f"This is not a timeline row as a node writes it: {why}.")


def encode(value: Mapping[str, JsonValue]) -> bytes:
    """Canonical bytes of an object whose keys are codes, of any size. INVALID_ARGUMENT for what a row cannot hold."""
    return dump(plain("object", dict(value), MAX_EXTRA_DEPTH + 1, any_text=True))


def decode(data: bytes) -> dict[str, JsonValue]:
    """The object in a row's bytes, only if they are its one canonical form and at most 8 KiB; else TAMPERED."""
    if len(data) > MAX_ROW_BYTES:
        raise _not_canonical(f"it has {len(data)} bytes, the limit is {MAX_ROW_BYTES}")
    try:
        value: JsonValue = _DECODER.decode(data.decode("ascii"))
        # Key order, duplicate keys, white space and odd escapes all show as a difference from our own writing.
        same = isinstance(value, dict) and dump(value) == data
    except (ValueError, RecursionError) as error:
        raise _not_canonical("it is not JSON of integers, ASCII and no more depth than a row has") from error
    if not isinstance(value, dict) or not same:
        raise _not_canonical("its bytes differ from the canonical form of what they say")
    return value
