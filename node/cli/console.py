"""What the command line writes on: lines for people, documents for scripts, notes and progress on standard error."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import TypeAlias

import click

from node.cli.text import shorten
from node.core.errors import ErrorCode, MeshError

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
_LEAST_COLUMNS = 40


class Tone(StrEnum):
    """How a word of ours is meant; shown as a colour where there are colours."""

    GOOD = "green"
    WARN = "yellow"
    BAD = "red"
    NAME = "cyan"
    QUIET = "bright_black"


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The two streams as they are: `columns` is None where lines are not cut, `live` whether progress may be shown."""

    columns: int | None
    colour: bool
    live: bool

    @classmethod
    def of_streams(cls) -> Console:
        """As standard output and standard error are now."""
        shown = sys.stdout.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        columns = max(shutil.get_terminal_size((80, 24)).columns, _LEAST_COLUMNS) if shown else None
        return cls(columns=columns, colour=shown and not plain, live=sys.stderr.isatty())

    def say(self, line: str = "") -> None:
        """One line on standard output; whatever others wrote in it is escaped by the caller."""
        click.echo(line, color=self.colour)

    def lines(self, lines: Iterable[str]) -> None:
        """Several lines on standard output."""
        for line in lines:
            self.say(line)

    def note(self, line: str) -> None:
        """One line on standard error."""
        click.echo(line, err=True)

    def tint(self, text: str, tone: Tone) -> str:
        """`text` in the colour of `tone`, or as it is where there are no colours."""
        return click.style(text, fg=tone.value) if self.colour else text

    def strong(self, text: str) -> str:
        """`text` in bold, or as it is where there are no colours."""
        return click.style(text, bold=True) if self.colour else text

    @contextmanager
    def progress(self) -> Iterator[ProgressLine]:
        """A line of progress on a terminal's standard error, gone at the end; nothing anywhere else."""
        line = ProgressLine(live=self.live)
        try:
            yield line
        finally:
            line.clear()


class ProgressLine:
    """One line that is written over; silent unless `live`."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown = ""

    def show(self, text: str) -> None:
        """Put `text` there instead of what was shown."""
        fitting = shorten(text, max(shutil.get_terminal_size((80, 24)).columns - 1, _LEAST_COLUMNS))
        if self._live and fitting != self._shown:
            self._shown = fitting
            sys.stderr.write(f"\r\x1b[K{fitting}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._shown = ""
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def document(value: Json) -> str:
    """`value` as one line of JSON in ASCII: no terminal takes anything in it for a command."""
    return json.dumps(value, separators=(", ", ": "))


def print_document(value: Json) -> None:
    """One JSON document, or one of a stream of them, on standard output."""
    click.echo(document(value))


def plain(value: object) -> Json:
    """A view as JSON: dataclasses as objects, enums as their values, tuples as lists, bytes in hex, paths as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    if isinstance(value, frozenset):
        return sorted((plain(item) for item in value), key=str)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def error_document(error: MeshError) -> Json:
    """A refusal as scripts read it."""
    return {"error": {"code": error.code.value, "message": error.message, "details": plain(error.details)}}


def confirm(question: str, *, unasked: str, declined: str = "Nothing was changed.") -> None:
    """Asks a person; WRONG_STATE with the other texts where there is nobody to ask, or when the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise MeshError(ErrorCode.WRONG_STATE, unasked)
    if not click.confirm(question, err=True):
        raise MeshError(ErrorCode.WRONG_STATE, declined)
