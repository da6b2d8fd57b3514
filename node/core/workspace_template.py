"""Templates of commands: cut into words once, never run by a shell here, and filled so that no value can add a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from node.core.errors import ErrorCode, MeshError

# What stands for something in a template, by setting. `argv` and `env` are several words, the rest is one.
PLACEHOLDERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "start": ("name",),
    "stop": ("name",),
    "state": ("name",),
    "exec": ("name", "session", "socket", "cwd", "env", "argv"),
    "copy_in": ("name", "local", "remote"),
    "copy_out": ("name", "local", "remote"),
})  # fmt: skip
_NEEDED: Final[Mapping[str, str]] = MappingProxyType({"exec": "argv", "copy_in": "remote", "copy_out": "remote"})
_SEVERAL: Final = frozenset({"argv", "env"})
# Made by the node or a person, of letters that no shell minds; anybody may have chosen the others.
_TAME: Final = frozenset({"name", "session", "socket"})
_BARE: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_MARK: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def expand(template: str, values: Mapping[str, str | tuple[str, ...]]) -> tuple[str, ...]:
    """The words of a checked template, cut once as a shell would cut it, with its placeholders filled.

    `{x}` is the value as it is, `{x:sh}` the value quoted for a shell, `{argv...}` as many words as there are. What is
    filled in is neither cut nor filled again.
    """
    words: list[str] = []
    for word in cut(template):
        whole = _MARK.fullmatch(word)
        if whole and whole[1] and whole[1].endswith("..."):
            words.extend(values[whole[1].removesuffix("...")])
        else:
            words.append(_MARK.sub(lambda mark: _filled(mark, values), word))
    return tuple(words)


def mentions(template: str, name: str) -> bool:
    """Whether a checked template has a placeholder for `name`."""
    return any((mark[1] or "").removesuffix("...").removesuffix(":sh") == name for mark in _MARK.finditer(template))


def _filled(mark: re.Match[str], values: Mapping[str, str | tuple[str, ...]]) -> str:
    if mark[1] is None:
        return mark[0][0]
    value = values[mark[1].removesuffix(":sh")]
    if not isinstance(value, str):
        return join(value)
    return quote(value) if mark[1].endswith(":sh") else value


def check_template(key: str, value: str) -> None:
    """Refuse (INVALID_ARGUMENT) a template that is no command line, or which would hand a value to a shell unquoted."""
    try:
        words = cut(value)
    except ValueError as error:
        raise _wrong(key, f"is not a command line ({error})") from error
    if not words:
        raise _wrong(key, "is empty")
    used: set[str] = set()
    for word in words:
        for mark in _MARK.finditer(word):
            if mark[1] is not None:
                used.add(_check_mark(key, mark[1], word, word[: mark.start()], in_shell=_is_script(word, words)))
    if (needed := _NEEDED.get(key)) and needed not in used:
        raise _wrong(key, f"says nowhere what {{{needed}}} is to be: use {{{needed}:sh}} or {{{needed}}}")


def _check_mark(key: str, mark: str, word: str, before: str, *, in_shell: bool) -> str:
    """The name that a placeholder has; INVALID_ARGUMENT when it cannot stand where it does."""
    name = mark.removesuffix("...").removesuffix(":sh")
    shown = f"{{{mark[:40]}}}"
    forms = {f"{name}...", f"{name}:sh"} if name in _SEVERAL else {name, f"{name}:sh"}
    if name not in PLACEHOLDERS[key] or mark not in forms:
        there = " ".join(f"{{{one}...}}" if one in _SEVERAL else f"{{{one}}}" for one in PLACEHOLDERS[key])
        raise _wrong(key, f"has {shown}, which means nothing there. It may have {there}, each also as {{NAME:sh}}; "
                     "a brace itself is written twice")  # fmt: skip
    if mark.endswith(":sh"):
        if _inside_quotes(before):
            raise _wrong(key, f"has {shown} inside quotes of the inner command; it brings its own, so leave them out")
    elif mark.endswith("...") and word != shown:
        raise _wrong(key, f"has {shown} as a part of a word; it is several words: let it stand alone, or use :sh")
    elif name not in _TAME and in_shell:
        raise _wrong(key, f"hands {shown} to a shell as it is; write {{{name}:sh}}, which is quoted for it")
    return name


def _is_script(word: str, words: Iterable[str]) -> bool:
    # ssh puts its words together again for a shell at the other end; and a word with blanks in it is a shell's.
    return any(letter.isspace() for letter in word) or any(one.rsplit("/", 1)[-1] == "ssh" for one in words)


def quote(word: str) -> str:
    """`word` as a POSIX shell reads it back, whatever is in it."""
    return word if _BARE.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def join(words: Iterable[str]) -> str:
    """The words as one line for a POSIX shell."""
    return " ".join(quote(word) for word in words)


def cut(line: str) -> tuple[str, ...]:
    """The words of a line as a POSIX shell cuts it, nothing expanded; ValueError when it ends in the middle of one."""
    words: list[str] = []
    word: str | None = None
    quoted = ""
    letters = iter(line)
    for letter in letters:
        if letter == "\\" and quoted != "'":
            following = next(letters, None)
            if following is None:
                raise ValueError("it ends with a backslash")
            # Between double quotes a backslash stays, unless it takes away the meaning of what follows.
            kept = "\\" if quoted and following not in '"\\$`' else ""
            word = (word or "") + kept + following
        elif letter == quoted:
            quoted = ""
        elif not quoted and letter in "'\"":
            quoted = letter
            word = word or ""
        elif not quoted and letter.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + letter
    if quoted:
        raise ValueError(f"a {quoted} is not closed")
    return tuple(words) if word is None else (*words, word)


def _inside_quotes(text: str) -> bool:
    """Whether a shell that has read `text` takes the next letter for a quoted one."""
    quoted = ""
    letters = iter(text)
    for letter in letters:
        if letter == "\\" and quoted != "'":
            if next(letters, None) is None:
                return True
        elif quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "'\"":
            quoted = letter
    return quoted != ""


def _wrong(key: str, what: str) -> MeshError:
    return MeshError(ErrorCode.INVALID_ARGUMENT, f"The setting {key} {what}. Correct it and try again.")
