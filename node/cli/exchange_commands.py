"""What the person says in exchanges: `request`, `wait`, `answer`, `steer`, `close`, `cancel`. Never for an agent."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import click

from node.cli.command import INTERRUPTED, ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.conversation import held_words, message_lines, next_step, rung_words, why_withheld
from node.cli.options import body, exchange_argument, json_option, question_argument, session_argument
from node.cli.text import one_line, plural
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.model import AWAITS_APPROVAL, MessageKind, Status
from node.core.views import THE_PERSON, ConversationView, ExchangeView, MessageView, ReceiptView

if TYPE_CHECKING:
    from node.local_client import LocalClient

T = TypeVar("T")

DEFAULT_WAIT_SECONDS = 600
LONGEST_WAIT_SECONDS = 86_400
# As timeout(1) has it.
TIMED_OUT = 124
ENDED_BADLY = 1
# One look at the ladder for each; the node takes part of a wait as well as the whole.
_CHUNK_SECONDS = 5
_PAUSE_SECONDS = 1.0
_TURNS_TO_THE_PERSON = frozenset({MessageKind.ASK, MessageKind.DELIVER})
_BAD_ENDS = frozenset({Status.CANCELLED, Status.FAILED, Status.REJECTED})

_wait_option = click.option(
    "--wait",
    "wait_seconds",
    type=click.IntRange(0, LONGEST_WAIT_SECONDS),
    default=None,
    metavar="SECONDS",
    help="How long to wait for a reply or a question.",
)
_text_argument = click.argument("text", metavar="TEXT|-")


@dataclass(slots=True, kw_only=True)
class Followed:
    """What waiting came to: the exchange as it is now, all that arrived, and whether the time ran out first."""

    exchange: ExchangeView
    messages: list[MessageView] = field(default_factory=list)
    timed_out: bool = False

    @property
    def status(self) -> int:
        """The exit status that says so."""
        if self.exchange.status in _BAD_ENDS:
            return ENDED_BADLY
        return TIMED_OUT if self.timed_out else 0


async def follow(
    node: LocalClient,
    exchange: ExchangeView,
    seconds: float,
    *,
    arrived: Callable[[MessageView, ExchangeView], None],
    looked: Callable[[ExchangeView, float], None],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Followed:
    """Waits in an exchange of the person's until it is their turn, it closed, or `seconds` are over."""
    began = clock()
    followed = Followed(exchange=exchange)
    while True:
        left = seconds - (clock() - began)
        arrival = await node.wait_exchange(exchange.id, max(min(math.ceil(left), _CHUNK_SECONDS), 0))
        followed.exchange = arrival.exchange
        followed.messages += arrival.messages
        for message in arrival.messages:
            arrived(message, arrival.exchange)
        if arrival.exchange.status.closed or any(m.kind in _TURNS_TO_THE_PERSON for m in arrival.messages):
            return followed
        if not arrival.messages and clock() - began >= seconds:
            followed.timed_out = True
            return followed
        if not arrival.messages and not arrival.timed_out:
            # The node cuts a wait short when something is unread in another exchange, and would do so again at once.
            await pause(_PAUSE_SECONDS)
        looked(arrival.exchange, clock() - began)


@examples(
    'helio request @payments "Which port does the service listen on?"',
    "git diff | helio request @reviewer - --title 'Review this' --wait 1800",
    'helio request @payments "Run the slow tests" --no-wait --json',
)
@click.command("request", cls=ExampleCommand)
@session_argument
@_text_argument
@click.option("--title", default="", help="What it is about  [default: its first line]")
@_wait_option
@click.option("--no-wait", is_flag=True, help="Hand it in and return.")
@json_option
@click.pass_context
def request_command(
    ctx: click.Context,
    *,
    session: str,
    text: str,
    title: str,
    wait_seconds: int | None,
    no_wait: bool,
    in_json: bool,
) -> None:
    """Ask the agent in SESSION for something, as yourself, and wait for its reply.

    `-` reads the text from standard input. What comes meanwhile (reports, a question, the result) is printed; a
    question or a result ends the wait. Waits 600 seconds unless told otherwise; the request goes on after the wait.
    """
    if no_wait and wait_seconds:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "--wait and --no-wait contradict each other; give one of them.")
    wanted = body(text)
    seconds = 0 if no_wait else DEFAULT_WAIT_SECONDS if wait_seconds is None else wait_seconds
    _hand_in(
        ctx, lambda node: node.send_request(session, wanted, title=title), verb="is recorded", seconds=seconds,
        in_json=in_json,
    )  # fmt: skip


@examples("helio wait k2x7q4ab", "helio wait k2x7q4ab --wait 3600")
@click.command("wait", cls=ExampleCommand)
@exchange_argument
@_wait_option
@json_option
@click.pass_context
def wait_command(ctx: click.Context, *, exchange: str, wait_seconds: int | None, in_json: bool) -> None:
    """Wait on in a request of yours, as `helio request` does, until a question, a result or its end.

    What waits for you already is shown at once. Waits 600 seconds unless told otherwise.
    """
    seconds = DEFAULT_WAIT_SECONDS if wait_seconds is None else wait_seconds
    console = Console.of_streams()
    latest: list[ExchangeView] = []

    async def work(node: LocalClient) -> Followed:
        view = await node.exchange(exchange)
        if view.exchange.opener_session is not None or view.exchange.opener != THE_PERSON:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"What comes in {view.exchange.kind.value} {short(view.exchange.id)} is for {view.exchange.opener}, "
                f"not for you. See it with: helio {view.exchange.kind.value}s show {short(view.exchange.id)}",
            )
        latest.append(view.exchange)
        if view.exchange.status.closed:
            return Followed(exchange=view.exchange)
        if due := _due(view):
            # Read, so that no later wait takes them for news.
            arrival = await node.wait_exchange(view.exchange.id, 0)
            if not in_json:
                _show_arrived(due, arrival.exchange, console)
            return Followed(exchange=arrival.exchange, messages=due)
        return await _follow_aloud(node, view.exchange, seconds, console, quiet=in_json, latest=latest)

    followed = _or_say_that_it_goes_on(ctx, work, latest, console)
    if in_json:
        print_document(
            {
                "exchange": plain(followed.exchange),
                "messages": plain(followed.messages),
                "timed_out": followed.timed_out,
            }
        )
    else:
        _say_end(followed, seconds, console)
    ctx.exit(followed.status)


def _due(view: ConversationView) -> list[MessageView]:
    """What is the person's to answer or to close, whether they have seen it or not."""
    if view.exchange.status is Status.DELIVERED:
        return [message for message in view.messages if message.kind is MessageKind.DELIVER][-1:]
    return [message for message in view.messages if message.id in view.exchange.questions]


@examples(
    'helio answer q3m7x2ab "Port 8443"',
    'helio answer q3m7x2ab "Port 8443" --wait 600',
    "helio answer q3m7x2ab - < notes.txt",
)
@click.command("answer", cls=ExampleCommand)
@question_argument
@_text_argument
@_wait_option
@json_option
@click.pass_context
def answer_command(ctx: click.Context, *, question: str, text: str, wait_seconds: int | None, in_json: bool) -> None:
    """Answer a question of an agent, named by its id or its exchange's.

    You may also answer for an agent that was asked: the answer is marked as yours. Returns at once without --wait.
    """
    wanted = body(text)
    _hand_in(
        ctx, lambda node: node.answer(question, wanted), verb="is answered", seconds=wait_seconds or 0, in_json=in_json
    )


@examples('helio steer k2x7q4ab "Only the German texts, please"')
@click.command("steer", cls=ExampleCommand)
@exchange_argument
@_text_argument
@_wait_option
@json_option
@click.pass_context
def steer_command(ctx: click.Context, *, exchange: str, text: str, wait_seconds: int | None, in_json: bool) -> None:
    """Change or add to what you want in a request of yours."""
    wanted = body(text)
    _hand_in(
        ctx, lambda node: node.steer(exchange, wanted), verb="is steered", seconds=wait_seconds or 0, in_json=in_json
    )


@examples("helio close k2x7q4ab --accept", 'helio close k2x7q4ab --reject --note "The tests still fail"')
@click.command("close", cls=ExampleCommand)
@exchange_argument
@click.option("--accept", "accepted", flag_value=True, type=bool, default=None, help="It is what you wanted.")
@click.option("--reject", "accepted", flag_value=False, type=bool, default=None, help="It is not.")
@click.option("--note", default="", help="Why; the other end reads it.")
@json_option
@click.pass_context
def close_command(ctx: click.Context, *, exchange: str, accepted: bool | None, note: str, in_json: bool) -> None:
    """Accept or reject what was delivered in a request of yours."""
    if accepted is None:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "Say whether it is what you wanted: --accept or --reject.")
    verb = "is closed as accepted" if accepted else "is closed as rejected"
    _hand_in(
        ctx, lambda node: node.close_exchange(exchange, accepted=accepted, note=note), verb=verb, seconds=0,
        in_json=in_json,
    )  # fmt: skip


@examples('helio cancel k2x7q4ab --reason "Not needed any more"')
@click.command("cancel", cls=ExampleCommand)
@exchange_argument
@click.option("--reason", default="", help="Why; both ends read it.")
@json_option
@click.pass_context
def cancel_command(ctx: click.Context, *, exchange: str, reason: str, in_json: bool) -> None:
    """Call work off: in any exchange of this node, also between two agents."""
    _hand_in(
        ctx, lambda node: node.cancel_exchange(exchange, reason=reason), verb="is cancelled", seconds=0, in_json=in_json
    )


def _hand_in(
    ctx: click.Context,
    command: Callable[[LocalClient], Awaitable[ReceiptView]],
    *,
    verb: str,
    seconds: int,
    in_json: bool,
) -> None:
    """Hands a command in, says what became of it, waits if wanted, and ends with the status that tells."""
    console = Console.of_streams()
    latest: list[ExchangeView] = []

    async def work(node: LocalClient) -> tuple[ReceiptView, Followed | None]:
        receipt = await command(node)
        if not in_json:
            _say_receipt(receipt, verb, console)
        if _unheard(receipt) or receipt.exchange.status.closed or not seconds:
            return receipt, None
        latest.append(receipt.exchange)
        return receipt, await _follow_aloud(node, receipt.exchange, seconds, console, quiet=in_json, latest=latest)

    receipt, followed = _or_say_that_it_goes_on(ctx, work, latest, console)
    if in_json:
        print_document(
            {
                "exchange": plain(followed.exchange if followed else receipt.exchange),
                "message": plain(receipt.message),
                "repeated": receipt.repeated,
                "messages": plain(followed.messages if followed else ()),
                "timed_out": followed.timed_out if followed else False,
            }
        )
    elif followed is not None:
        _say_end(followed, seconds, console)
    elif _can_be_waited_for(receipt):
        console.say(f"Wait for what comes next with: helio wait {short(receipt.exchange.id)}")
    if receipt.message.withheld:
        # Imports gRPC; by now the client has done so anyway.
        from node.errmap import MEANINGS

        ctx.exit(MEANINGS[ErrorCode.WITHHELD].exit)
    ctx.exit(followed.status if followed else 0)


def _can_be_waited_for(receipt: ReceiptView) -> bool:
    exchange = receipt.exchange
    return not _unheard(receipt) and not exchange.status.closed and exchange.opener == THE_PERSON


def _unheard(receipt: ReceiptView) -> bool:
    """Whether nobody reads it for now; one that is held may be, once the person allows it."""
    return receipt.message.withheld or receipt.message.ladder.held == AWAITS_APPROVAL


def _or_say_that_it_goes_on(
    ctx: click.Context, work: Callable[[LocalClient], Awaitable[T]], latest: list[ExchangeView], console: Console
) -> T:
    """What `work` comes to; when it is cut short, how the exchange that it last saw stands and how to go on."""
    try:
        return on_node(work)
    except (KeyboardInterrupt, MeshError) as interruption:
        if latest:
            console.note(f"helio: the {_goes_on(latest[-1])}")
        if isinstance(interruption, KeyboardInterrupt):
            ctx.exit(INTERRUPTED)
        raise


def _show_arrived(messages: Sequence[MessageView], now: ExchangeView, console: Console) -> None:
    """Messages to the person, each with what they may do about it."""
    for message in messages:
        console.say()
        console.lines(message_lines(message, now, console))
        if hint := next_step(message, now):
            console.say(f"  {hint}")


async def _follow_aloud(
    node: LocalClient,
    exchange: ExchangeView,
    seconds: int,
    console: Console,
    *,
    quiet: bool,
    latest: list[ExchangeView],
) -> Followed:
    """Waits and shows what comes; `latest` gets the exchange as it is at each look."""
    with console.progress() as line:

        def arrived(message: MessageView, now: ExchangeView) -> None:
            line.clear()
            if not quiet:
                _show_arrived([message], now, console)

        def looked(now: ExchangeView, waited: float) -> None:
            latest[:] = [now]
            line.show(f"waiting for {one_line(now.worker)}: {rung_words(now.rung)} ({waited:.0f} of {seconds} s)")

        looked(exchange, 0.0)
        return await follow(node, exchange, seconds, arrived=arrived, looked=looked)


def _say_receipt(receipt: ReceiptView, verb: str, console: Console) -> None:
    exchange, message = receipt.exchange, receipt.message
    what = f"{exchange.kind.value.capitalize()} {console.strong(short(exchange.id))}"
    if message.withheld:
        console.note(
            console.tint(f"helio: the screen withheld the text; {one_line(exchange.worker)} never sees it.", Tone.BAD)
        )
        for line in why_withheld(message, console.columns):
            console.note(line)
        console.note(f"  on record as message {message.id} of {exchange.kind.value} {short(exchange.id)}")
        return
    again = " (this had been done before)" if receipt.repeated else ""
    ends = "" if exchange.opener == THE_PERSON else f" from {one_line(exchange.opener)}"
    console.say(
        f"{what}{ends} to {one_line(exchange.worker)} {verb}{again}: "
        f"{message.kind.value} {short(message.id)}, {rung_words(message.ladder.rung)}"
    )


def _say_end(followed: Followed, seconds: int, console: Console) -> None:
    exchange = followed.exchange
    if followed.timed_out:
        console.note(f"helio: no reply within {plural(seconds, 'second')}; the {_goes_on(exchange)}")
    elif exchange.status.closed:
        why = f": {one_line(exchange.reason)}" if exchange.reason else ""
        console.say(f"{exchange.kind.value.capitalize()} {short(exchange.id)} is {exchange.status_words.lower()}{why}")


def _goes_on(exchange: ExchangeView) -> str:
    kind, wanted = exchange.kind.value, short(exchange.id)
    _, held, why = exchange.rung.partition("notice held: ")
    because = f" Its notice is held: {held_words(why)}." if held else ""
    return f"{kind} goes on.{because} Wait on with: helio wait {wanted}, or see it with: helio {kind}s show {wanted}"
