"""`helio pair`: makes two nodes trust each other, with a person at each, or with a code that both know."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import click

from node.cli.command import INTERRUPTED, ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.mesh_commands import grants_words
from node.cli.options import json_option
from node.cli.text import one_line
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant
from node.core.node_id import short
from node.core.views_mesh import PairingEvent, PairingStep

if TYPE_CHECKING:
    from node.local_client import LocalClient
    from node.ports_mesh import PairingWish

_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no"})
_LINE_BYTES: Final = 1_024
_grants = click.Choice([grant.value for grant in Grant])


@examples(
    "helio pair                                     wait for the other machine, and show it a code",
    "helio pair 192.168.1.20:4355                   dial a machine that waits, and type its code",
    "helio pair --headless --give request           make a code for a machine without a person",
    "helio pair 10.0.0.5:4355 --code-stdin < code   pair with such a code",
)
@click.command("pair", cls=ExampleCommand)
@click.argument("target", default="", metavar="[NAME|ADDRESS]")
@click.option("--want", "wants", type=_grants, multiple=True, help="What this node wants to be allowed there.")
@click.option("--give", "gives", type=_grants, multiple=True, help="What the other may be allowed here.")
@click.option("--name", default="", help="How this node calls itself to the other.  [default: the machine's name]")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Where to wait.  [default: the usual port]")
@click.option("--headless", is_flag=True, help="Wait with a code that is made now, and ask nobody.")
@click.option("--code-stdin", is_flag=True, help="Read a code that both know from standard input, and ask nobody.")
@json_option
@click.pass_context
def pair_command(
    ctx: click.Context,
    *,
    target: str,
    wants: tuple[str, ...],
    gives: tuple[str, ...],
    name: str,
    port: int,
    headless: bool,
    code_stdin: bool,
    in_json: bool,
) -> None:
    """Pair this node with another one. Without a target it waits, for two minutes.

    The one that waits shows a code, which is typed at the other; then the one that waits asks whether all is right.
    """
    from node.ports_mesh import PairingWish

    if headless and target:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "--headless makes a code to wait with; leave out the target.")
    code = _code_of_stdin() if code_stdin else ""
    if code_stdin and not code:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            "No code came on standard input, e.g. helio pair ADDRESS --code-stdin < code",
        )
    asked = not (code or headless)
    given = frozenset(Grant(grant) for grant in gives)
    wish = PairingWish(
        target=target,
        wants=frozenset(Grant(grant) for grant in wants),
        # A person who waits sees what is asked for before they agree; what is agreed on is never more than that.
        gives=given or (frozenset(Grant) if asked and not target else frozenset()),
        code=code,
        headless=headless,
        name=name,
        port=port,
    )
    teller = _Teller(Console.of_streams(), in_json=in_json, known_code=bool(code))
    try:
        on_node(lambda node: _run(node, wish, teller, asked=asked))
    except KeyboardInterrupt:
        teller.left()
        ctx.exit(INTERRUPTED)


def _code_of_stdin() -> str:
    line = sys.stdin.buffer.readline(_LINE_BYTES) if sys.stdin is not None else b""
    return _bare(line.decode("utf-8", "replace"))


def _bare(code: str) -> str:
    """A code as it is typed, without the blanks by which it is easier to read."""
    return "".join(code.split())


async def _run(node: LocalClient, wish: PairingWish, teller: _Teller, *, asked: bool) -> None:
    """Plays the run through, with the person at this terminal where one is `asked`."""
    last: PairingEvent | None = None
    try:
        async with _lines() if asked else nullcontext() as lines:
            last = await _played(node, wish, teller, lines)
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    if last is None or last.step is not PairingStep.PAIRED:
        raise _failure(last)


def _failure(last: PairingEvent | None) -> MeshError:
    """Why there is no pair: the node's own refusal as it is, else what ended the run."""
    reason, words = (last.reason, last.words) if last is not None else ("", "")
    code = ErrorCode(reason) if reason in set(ErrorCode) else ErrorCode.UNAVAILABLE
    return MeshError(code, words or "The pairing did not come about. See `helio peers`, and begin anew on both.")


async def _played(
    node: LocalClient, wish: PairingWish, teller: _Teller, lines: asyncio.StreamReader | None
) -> PairingEvent | None:
    last: PairingEvent | None = None
    asking: asyncio.Task[None] | None = None
    async with asyncio.TaskGroup() as group, aclosing(node.run_pairing(wish)) as events:
        async for event in events:
            last = event
            teller.tell(event)
            if asking is not None:
                asking.cancel()
            if event.step in {PairingStep.ASK_CODE, PairingStep.ASK_CONFIRM} and lines is not None:
                asking = group.create_task(_answer(node, event, lines, teller))
        if asking is not None:
            asking.cancel()
    return last


async def _answer(node: LocalClient, event: PairingEvent, lines: asyncio.StreamReader, teller: _Teller) -> None:
    line = await _typed(lines)
    if event.step is PairingStep.ASK_CODE:
        answer = node.answer_pairing(event.run, code=_bare(line or ""), confirmed=line is not None)
    else:
        while line is not None and line.casefold() not in _YES | _NO:
            teller.again()
            line = await _typed(lines)
        answer = node.answer_pairing(event.run, confirmed=line is not None and line.casefold() in _YES)
    try:
        await answer
    except MeshError as error:
        # The run ended meanwhile: its last event says how.
        if error.code not in {ErrorCode.NOT_FOUND, ErrorCode.WRONG_STATE}:
            raise


async def _typed(lines: asyncio.StreamReader) -> str | None:
    """The next line; None when there is no more, or no end of it, which counts as a no."""
    try:
        line = await lines.readline()
    except ValueError:
        return None
    return line.decode("utf-8", "replace").strip() if line else None


@asynccontextmanager
async def _lines() -> AsyncIterator[asyncio.StreamReader]:
    """What the person types; waiting for it can be given up when the run ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LINE_BYTES)
    if not _can_be_waited_for():
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            "Pairing asks a person, so standard input must be a terminal or a pipe. Without a person: --headless on "
            "one machine, --code-stdin on the other.",
        )
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        yield reader
    finally:
        # Others share the terminal, and expect it to block.
        descriptor = os.dup(0)
        transport.close()
        os.set_blocking(descriptor, True)
        os.close(descriptor)


def _can_be_waited_for() -> bool:
    """Whether standard input is a terminal, a pipe or a socket: of a file or /dev/null no event loop can wait."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, ValueError, OSError):
        # It was closed before this program began, or is no file at all.
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _Teller:
    """Says what happens: lines for people, or one JSON object a line."""

    def __init__(self, console: Console, *, in_json: bool, known_code: bool) -> None:
        """`known_code`: the code is one that both machines were given."""
        self._console = console
        self._in_json = in_json
        self._known_code = known_code
        self._agreed = False

    def tell(self, event: PairingEvent) -> None:
        """One step."""
        self._agreed = self._agreed or event.step is PairingStep.AGREED
        if self._in_json:
            print_document(plain(event))
            return
        self._console.lines(self._words(event))

    def again(self) -> None:
        """The person said neither yes nor no."""
        self._console.note("Type yes or no:")

    def left(self) -> None:
        """The person left the run, by Ctrl-C."""
        nothing = "Pairing was left; nothing was changed."
        late = "Pairing was left when this side had agreed; `helio peers` on both machines shows what came of it."
        self._console.note(f"helio: {late if self._agreed else nothing}")

    def _words(self, event: PairingEvent) -> list[str]:
        named = f"{one_line(event.name) or 'a node'} ({one_line(short(event.shown))})"
        other = named if event.shown else "the other node"
        strong, tint = self._console.strong, self._console.tint
        match event.step:
            case PairingStep.WAITING:
                at = one_line(event.address) if event.address else f"port {event.port}"
                target = one_line(event.address) if event.address else f"ADDRESS:{event.port}"
                if not (event.code or self._known_code):
                    return [f"Waiting at {at}. On the other machine: helio pair {target}"]
                lines = [f"Waiting at {at}. On the other machine: helio pair {target} --code-stdin"]
                if event.code:
                    lines += [f"The code for its standard input, good for one try: {strong(_spaced(event.code))}"]
                return lines
            case PairingStep.MET:
                asks, offers = grants_words(event.asks), grants_words(event.offers)
                return [
                    f"{other} answers. It calls itself so; the code tells whether it is the one you mean.",
                    f"It wants to be allowed here: {asks}. It would allow this node: {offers}.",
                    f"Its id: {one_line(event.shown)}",
                ]
            case PairingStep.CODE:
                return ["", f"    {strong(_spaced(event.code))}", "", "Type this code at the other machine."]
            case PairingStep.ASK_CODE:
                again = [one_line(event.words)] if event.words else []
                return [*again, "Type the code that the other machine shows, then Enter:"]
            case PairingStep.ASK_CONFIRM:
                asks = grants_words(event.asks)
                return [
                    "The code was typed. Ask whoever is at the other machine: did their screen take it?",
                    f"Then pair with {other}? It may do here: {asks}. Type yes or no:",
                ]
            case PairingStep.AGREED:
                return ["Waiting for the other side to agree."]
            case PairingStep.PAIRED:
                asks, offers = grants_words(event.asks), grants_words(event.offers)
                may = f"It may do here: {asks}. This node may do there: {offers}."
                return [tint(f"Paired with {other}.", Tone.GOOD), may]
            case PairingStep.FAILED:
                return []


def _spaced(code: str) -> str:
    """A code in halves, for people to read."""
    half = (len(code) + 1) // 2
    return f"{code[:half]} {code[half:]}"
