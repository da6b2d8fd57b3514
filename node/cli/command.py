"""Commands with examples in their help, groups that load a command when it is called, and how every refusal ends."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from node.cli.console import document, error_document
from node.cli.person_words import for_person
from node.cli.text import one_line
from node.core.errors import ErrorCode, MeshError

if TYPE_CHECKING:
    from click.formatting import HelpFormatter

USAGE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141
CANNOT_WRITE = 1
# What writing to a stream may come to; errors about files name the file as well.
_OF_STREAMS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


class ExampleCommand(click.Command):
    """A command whose help ends with examples: lines as they are typed."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: HelpFormatter) -> None:
        """Examples as they are, never wrapped; then the epilog proper."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


class ExampleGroup(click.Group):
    """A group whose help ends with examples."""

    command_class = ExampleCommand
    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: HelpFormatter) -> None:
        """Examples as they are, never wrapped; then the epilog proper."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


def _write_examples(examples: Sequence[str], formatter: HelpFormatter) -> None:
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


CommandType = TypeVar("CommandType", bound="ExampleCommand | ExampleGroup")


def examples(*lines: str) -> Callable[[CommandType], CommandType]:
    """Gives a command its examples; the outermost decorator."""

    def give(command: CommandType) -> CommandType:
        command.examples = lines
        return command

    return give


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A command, which its module calls NAME_command, and its line in the help (none: it is not shown)."""

    name: str
    module: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of the help and the commands below it."""

    heading: str
    entries: tuple[Entry, ...]


class RootGroup(ExampleGroup):
    """The command `helio`: a command's module is loaded when it is called, and every refusal ends the same way."""

    sections: tuple[Section, ...] = ()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """The names, in the order of the help."""
        return [entry.name for section in self.sections for entry in section.entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  (click's signature)
        """The command of that name, from its module."""
        for section in self.sections:
            for entry in section.entries:
                if entry.name == cmd_name:
                    found = getattr(importlib.import_module(entry.module), f"{cmd_name}_command")
                    if not isinstance(found, click.Command):
                        raise TypeError(f"{entry.module}.{cmd_name}_command is not a command")
                    return found
        return None

    def format_commands(self, ctx: click.Context, formatter: HelpFormatter) -> None:  # noqa: ARG002  (click's signature)
        """The commands under their headings, without loading any."""
        for section in self.sections:
            with formatter.section(section.heading):
                formatter.write_dl([(entry.name, entry.summary) for entry in section.entries if entry.summary])

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command; a reader that went away ends it quietly, as it ends other programs in a pipe."""
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _settle(sys.stdout)
            ctx.exit(CLOSED_PIPE)
        return result

    def run_to_status(self, arguments: list[str]) -> int:
        """The exit status: refusals as one line on standard error (a JSON object with --json), Ctrl-C as 130.

        Output that cannot be written is said in a line.
        """
        try:
            return self._to_status(arguments)
        except OSError as error:
            if error.errno not in _OF_STREAMS or error.filename is not None:
                raise
            for stream in (sys.stdout, sys.stderr):
                _settle(stream)
            _complain(f"helio: the output cannot be written: {error.strerror}.")
            return CANNOT_WRITE

    def _to_status(self, arguments: list[str]) -> int:
        before_words = arguments[: arguments.index("--")] if "--" in arguments else arguments
        in_json = "--json" in before_words
        try:
            status = self.main(arguments, prog_name="helio", standalone_mode=False)
        except click.exceptions.NoArgsIsHelpError as error:
            # Asked for nothing: the help is what was wanted, and the status says that nothing was done.
            click.echo(error.format_message())
            return error.exit_code
        except click.UsageError as error:
            hint = f" See: {error.ctx.command_path} --help" if error.ctx is not None else ""
            message = error.format_message()
            ended = message if message.endswith((".", "?")) else f"{message}."
            return _refuse(MeshError(ErrorCode.INVALID_ARGUMENT, f"{ended}{hint}"), USAGE, in_json=in_json)
        except click.ClickException as error:
            refusal = MeshError(ErrorCode.INVALID_ARGUMENT, error.format_message())
            return _refuse(refusal, error.exit_code, in_json=in_json)
        except click.Abort:
            return INTERRUPTED
        except MeshError as error:
            # Imports gRPC, which the help and most refusals never need.
            from node.errmap import MEANINGS

            words = for_person(error.message, self._command_of(before_words))
            said = MeshError(error.code, words, error.details)
            return _refuse(said, MEANINGS[error.code].exit, in_json=in_json)
        return status if isinstance(status, int) else 0

    def _command_of(self, words: Sequence[str]) -> str:
        """The command among the words; empty for none."""
        known = {entry.name for section in self.sections for entry in section.entries}
        return next((word for word in words if word in known), "")


def _settle(stream: TextIO) -> None:
    """Sends what cannot be written nowhere, so that it does not raise once more when the interpreter ends."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(line: str) -> None:
    with suppress(OSError):
        click.echo(line, err=True)


def _refuse(error: MeshError, status: int, *, in_json: bool) -> int:
    click.echo(document(error_document(error)) if in_json else f"helio: {one_line(error.message)}", err=True)
    return status
