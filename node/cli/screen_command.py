"""`helio screen`: what the screen makes of a text, and why. It runs here; no node is asked and nothing is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.console import Console, Json, Tone, document, plain, print_document
from node.cli.options import json_option
from node.cli.text import one_line, shorten
from node.core.errors import ErrorCode, MeshError

if TYPE_CHECKING:
    from node.core.verdict import Verdict

_FILE_BYTES = 64 << 20
_SHOWN = 160
_FINDINGS = 12
_SET_IN = "    "

_file_argument = click.argument("file", metavar="FILE|-", type=click.Path(path_type=Path, allow_dash=True))


class _ScreenGroup(ExampleGroup):
    """A group whose first word is a file unless it is a command."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, and files."""
        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="file")]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words as click takes them, with the command that is meant."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["check", *args]
        return super().parse_args(ctx, args)


@examples(
    "helio screen brief.md",
    "git log -1 --format=%B | helio screen -",
    "helio screen --jsonl messages.jsonl > verdicts.jsonl",
    "helio screen explain brief.md",
)
@click.group("screen", cls=_ScreenGroup)
def screen_command() -> None:
    """Say what the screen would do with a text: relay it, hold it for a person, or withhold it.

    `helio screen FILE` is short for `helio screen check FILE`. The text never leaves this machine.
    """


@examples("helio screen check brief.md", "helio screen check --json -", "helio screen check --jsonl messages.jsonl")
@click.command("check", cls=ExampleCommand)
@_file_argument
@click.option(
    "--jsonl", "by_line", is_flag=True,
    help="FILE holds one JSON object a line, with its text under `text`; one verdict a line comes out, in their order.",
)  # fmt: skip
@json_option
def check_command(*, file: Path, by_line: bool, in_json: bool) -> None:
    """Say what the screen would do with a text, and at which place of it."""
    # The weights take a moment to load, which the help does not need.
    from node import shipped
    from node.core.screen import screen
    from node.core.screen_credentials import masked
    from node.core.verdict import Field

    text = "" if by_line else _read(file)
    scorer = shipped.scorer()

    def judge(text: str) -> Verdict:
        return screen([Field(name="text", text=text)], scorer)

    if by_line:
        for number, line in _lines(file):
            click.echo(document(_told(judge(_text_of(line, number)))))
        return
    verdict = judge(text)
    if in_json:
        print_document(_told(verdict))
        return
    console = Console.of_streams()
    told = {"relay": ("It would be relayed.", Tone.GOOD), "log": ("It would be relayed, and noted.", Tone.WARN),
            "hold": ("It would be held until the person at the other end decides.", Tone.WARN),
            "withhold": ("It would be withheld.", Tone.BAD)}  # fmt: skip
    words, tone = told[verdict.decision.value]
    console.say(f"{console.tint(words, tone)} Score {verdict.score / 1000:.2f}.")
    shown = masked(text)
    for finding in verdict.findings[:_FINDINGS]:
        place = shorten(one_line(shown[finding.start : finding.end]), _SHOWN)
        note = ", quoted" if finding.quoted else ""
        layer = "" if finding.view in {"plain", "raw"} else f" in {one_line(finding.view)}"
        console.say(f"{_SET_IN}{finding.rule} {finding.weight / 1000:.2f}{layer} at {finding.start}{note}: {place}")
    if len(verdict.findings) > _FINDINGS:
        console.say(f"{_SET_IN}and {len(verdict.findings) - _FINDINGS} more")
    if verdict.stops:
        console.say(verdict.advice)


@examples("helio screen explain brief.md", "helio screen explain --json -")
@click.command("explain", cls=ExampleCommand)
@_file_argument
@json_option
def explain_command(*, file: Path, in_json: bool) -> None:
    """Show why: the layers that were read, the windows of each with their scores, and the words that told most."""
    from node import shipped
    from node.core.screen_explain import explained
    from node.core.verdict import Field

    why = explained([Field(name="text", text=_read(file))], shipped.scorer())
    if in_json:
        print_document(plain(why))
        return
    console = Console.of_streams()
    console.say(
        f"{why.verdict.decision.value}, score {why.verdict.score / 1000:.2f} (withheld from 0.70 on; the learnt half's "
        f"line, an injection of {why.withhold_at / 1000:.2f}, counts as that). These decided:"
    )
    for finding in why.verdict.findings:
        console.say(f"{_SET_IN}{finding.rule} {finding.weight / 1000:.2f} in {finding.view}, at {finding.start}")
    for layer in why.layers:
        console.say(
            f"{console.strong(one_line(layer.view))}, {layer.characters} characters: injection "
            f"{layer.injection / 1000:.2f} ({one_line(layer.kind)}), asks {layer.ask / 1000:.2f} "
            f"({one_line(layer.ask_kind)})"
        )
        for window in layer.windows:
            shown = shorten(one_line(window.text), _SHOWN)
            console.say(f"{_SET_IN}{window.injection / 1000:.2f} {window.ask / 1000:.2f}  {shown}")
        if layer.words:
            console.say(f"{_SET_IN}telling words: {one_line(', '.join(layer.words))}")
    if why.left_out:
        console.note(f"{why.left_out} more layers are not shown.")


screen_command.add_command(check_command)
screen_command.add_command(explain_command)


def _told(verdict: Verdict) -> Json:
    """A verdict as scripts read it; the span is in code points, null when nothing is flagged."""
    decisive = verdict.decisive
    return {
        "flagged": verdict.stops,
        "decision": verdict.decision.value if verdict.stops else "relay",
        "score": verdict.score / 1000,
        "reasons": sorted({finding.rule for finding in verdict.findings}) if verdict.stops else [],
        "span": [decisive.start, decisive.end] if decisive is not None else None,
    }


# --- what is read -----------------------------------------------------------------------------------------------------


def _read(file: Path) -> str:
    with _opened(file) as stream:
        data = stream.read(_FILE_BYTES + 1)
    if len(data) > _FILE_BYTES:
        raise MeshError(
            ErrorCode.LIMIT,
            f"{_name(file)} has more than {_FILE_BYTES >> 20} MB, which no message has. Give a part of it.",
        )
    return _decoded(data, _name(file))


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, counted from 1."""
    with _opened(file) as stream:
        for number, data in enumerate(stream, start=1):
            if data.strip():
                yield number, _decoded(data, f"line {number} of {_name(file)}")


def _text_of(line: str, number: int) -> str:
    try:
        told = json.loads(line)
    except ValueError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"Line {number} is no JSON ({error}). Verdicts of the lines before it were printed; go on there once it is "
            "mended.",
        ) from error
    text = told.get("text") if isinstance(told, dict) else None
    if not isinstance(text, str):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f'Line {number} is no object with a string under "text". Verdicts of the lines before it were printed.',
        )
    return text


def _opened(file: Path) -> AbstractContextManager[IO[bytes]]:
    if str(file) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return file.open("rb")
    except OSError as error:
        raise MeshError(
            ErrorCode.NOT_FOUND,
            f"{_name(file)} cannot be read: {error.strerror}. Give another path, or - for standard input.",
        ) from error


def _name(file: Path) -> str:
    return "standard input" if str(file) == "-" else one_line(str(file))


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT, f"{what} is not UTF-8 text (byte {error.start}). Convert it first."
        ) from error
