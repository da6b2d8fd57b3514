"""Exchanges and messages as people read them: lists, whole conversations, and each message's ladder."""

from __future__ import annotations

from collections.abc import Sequence

from node.cli.console import Console, Tone
from node.cli.text import Column, barred, one_line, plural, table
from node.cli.times import MICRO, age, moment
from node.core.ids import short
from node.core.model import AWAITS_APPROVAL, REFUSED_BY_PERSON, WITHDRAWN, End, Kind, MessageKind, Status
from node.core.prompt import HeldReason
from node.core.views import ConversationView, ExchangeView, LadderView, MessageView
from node.core.views_work import FileView

ARROW = "->"
# What stands in the way of a message where no notice does.
_WITHOUT_NOTICE = {
    AWAITS_APPROVAL: "held: waits for a person's approval",
    REFUSED_BY_PERSON: "refused by the person at the other end",
    WITHDRAWN: "withdrawn before anybody read it",
}
_TONES = {
    Status.ASKED: Tone.WARN,
    Status.DELIVERED: Tone.NAME,
    Status.ACCEPTED: Tone.GOOD,
    Status.REJECTED: Tone.BAD,
    Status.FAILED: Tone.BAD,
}


def exchange_table(exchanges: Sequence[ExchangeView], now_us: int, console: Console) -> list[str]:
    """One line for each exchange: its id, status, ends, title, how far its newest message got, and when it changed."""
    columns = (
        Column(heading="ID"),
        Column(heading="STATUS"),
        Column(heading="FROM", flexible=True, drop=2),
        Column(heading="TO", flexible=True, drop=1),
        Column(heading="TITLE", flexible=True, least=12),
        Column(heading="MESSAGES", right=True, drop=5),
        Column(heading="NEWEST", flexible=True, least=10, drop=3),
        Column(heading="CHANGED", right=True, drop=4),
    )
    rows = [
        (
            short(exchange.id),
            exchange.status_words,
            one_line(exchange.opener),
            one_line(exchange.worker),
            one_line(exchange.title),
            str(exchange.messages),
            rung_words(exchange.rung),
            age(exchange.changed_us, now_us),
        )
        for exchange in exchanges
    ]
    return table(columns, rows, console.columns)


def conversation(view: ConversationView, console: Console) -> list[str]:
    """The exchange's head and every message in order, each with its ladder."""
    lines = head(view.exchange, console)
    for message in view.messages:
        lines += ["", *message_lines(message, view.exchange, console)]
    return lines


def head(exchange: ExchangeView, console: Console) -> list[str]:
    """What the exchange is and where it stands."""
    status = exchange.status_words
    if tone := _TONES.get(exchange.status):
        status = console.tint(status, tone)
    lines = [
        f"{exchange.kind.value.capitalize()} {console.strong(exchange.id)}  {status}",
        f"  title     {one_line(exchange.title)}",
        f"  from      {one_line(exchange.opener)} ({End.OPENER.role(exchange.kind)})",
        f"  to        {one_line(exchange.worker)} ({End.WORKER.role(exchange.kind)})",
        f"  opened    {moment(exchange.opened_us)}",
        f"  changed   {moment(exchange.changed_us)}",
    ]
    if len(exchange.hops) > 1:
        lines.append(
            f"  chain     {short(exchange.chain)}: {f' {ARROW} '.join(one_line(hop) for hop in exchange.hops)}"
        )
    if exchange.branch:
        lines.append(f"  branch    {one_line(exchange.branch)}")
    if exchange.parent:
        lines.append(f"  part of   {short(exchange.parent)}")
    if exchange.reason:
        lines.append(f"  reason    {one_line(exchange.reason)}")
    if exchange.questions:
        lines.append(f"  asked     {', '.join(exchange.questions)}")
    return lines


def message_lines(message: MessageView, exchange: ExchangeView, console: Console) -> list[str]:
    """One message: who to whom, the text behind a bar, its ladder; a withheld one with the screen's reason."""
    recipient = exchange.worker if message.sender_end is End.OPENER else exchange.opener
    number = console.strong(f"#{message.number} {message.kind.value}")
    answers = f"  answers {short(message.reply_to)}" if message.reply_to else ""
    lines = [
        f"{number}  {one_line(message.sender)} {ARROW} {one_line(recipient)}  {message.id}{answers}",
        *([f"  title: {one_line(message.title)}"] if message.title and message.title != exchange.title else []),
        *barred(message.text, console.columns),
        *(f"  file: {file_words(file)}" for file in message.files),
    ]
    if message.withheld:
        lines.append(console.tint(f"  {_stopped_by(message)}: it reached nobody", Tone.BAD))
        lines += why_withheld(message, console.columns)
    elif message.ladder.held == AWAITS_APPROVAL:
        why = f": it {one_line(message.advice)}" if message.advice else ""
        lines.append(console.tint(f"  held for a person's approval{why}", Tone.WARN))
        lines.append("  decide with: helio approvals")
    return [*lines, f"  {ladder_line(message.ladder)}"]


def _stopped_by(message: MessageView) -> str:
    refused = message.ladder.held == REFUSED_BY_PERSON
    return "refused by the person" if refused else "withheld by the screen"


def file_words(file: FileView) -> str:
    """A file's name, its size, the beginning of its hash, and where it landed."""
    size = f"{plural(file.size, 'byte')}" if file.size < 10_000 else f"{file.size:,} bytes"
    what = f"folder with {plural(file.entries, 'entry', 'entries')}, {size}" if file.folder else size
    where = f"at {one_line(file.path)}" if file.path is not None else "not landed"
    return f"{one_line(file.name)}  {what}  sha256 {one_line(file.short_hash)}  {where}"


def why_withheld(message: MessageView, columns: int | None) -> list[str]:
    """What the screen stopped at, and how to say it so that it passes."""
    lines: list[str] = []
    if message.snippet:
        lines += barred(message.snippet, columns, bar="  stopped at │ ")
    if message.advice and message.ladder.held == REFUSED_BY_PERSON:
        lines.append(f"  it {one_line(message.advice)}")
    elif message.advice:
        lines.append(f"  advice: {one_line(message.advice)}")
    return lines


def ladder_line(ladder: LadderView) -> str:
    """The rungs that are proven, in order, each with its distance from the first; then what holds the message up."""
    rungs = [f"recorded {moment(ladder.recorded_us)}", f"screened: {one_line(ladder.screened)}"]

    def reached(words: str, at_us: int | None) -> None:
        if at_us is not None:
            rungs.append(f"{words} +{max(at_us - ladder.recorded_us, 0) / MICRO:.1f}s")

    reached("landed", ladder.landed_us)
    if ladder.notices:
        rungs.append(f"noticed {ladder.notices}")
    reached("turn confirmed", ladder.confirmed_us)
    reached("read", ladder.read_us)
    reached("answered", ladder.answered_us)
    if words := _WITHOUT_NOTICE.get(ladder.held or ""):
        rungs.append(words)
        return "ladder: " + ", ".join(rungs)
    reached(f"gave up after {ladder.notices} notices", ladder.gave_up_us)
    if ladder.held and ladder.read_us is None and ladder.confirmed_us is None:
        rungs.append(f"notice held: {held_words(ladder.held)}")
    return "ladder: " + ", ".join(rungs)


def held_words(held: str) -> str:
    """Why a notice waits, in words where the code is a known one."""
    known = {reason.value: reason.words for reason in HeldReason}
    return known.get(held) or one_line(held)


def rung_words(rung: str) -> str:
    """A rung with the code of what holds the notice up, where it ends in one, put into words."""
    reached, code, held = rung.partition("notice held: ")
    return f"{one_line(reached)} {code}{held_words(held)}" if code else one_line(rung)


def next_step(message: MessageView, exchange: ExchangeView) -> str | None:
    """What the person may do about a message to them, as the command that does it."""
    match message.kind:
        case MessageKind.ASK:
            return f'answer it: helio answer {short(message.id)} "..."'
        case MessageKind.DELIVER if exchange.status is Status.DELIVERED:
            wanted = short(exchange.id)
            return f'close it: helio close {wanted} --accept (or --reject), or ask for more: helio steer {wanted} "..."'
        case _:
            return None


def kind_words(kind: Kind, *, closed: bool) -> str:
    """`open requests`, `delegations`."""
    words = f"{kind.value}s"
    return words if closed else f"open {words}"
