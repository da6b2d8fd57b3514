"""`helio transfers`: the files that are on their way between this node and others, and those of late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, ProgressLine, Tone, plain, print_document
from node.cli.options import json_option
from node.cli.text import Column, one_line, table
from node.cli.times import age, span
from node.core.transfers import Direction, Transfer, TransferState

if TYPE_CHECKING:
    from node.local_client import LocalClient

_LOOK_AGAIN_S = 0.5
_BAR = 20
_SHOWN_OF_HASH = 12
_MICRO = 1_000_000
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@examples("helio transfers", "helio transfers --watch", "helio transfers --json")
@click.command("transfers", cls=ExampleCommand)
@click.option("-w", "--watch", is_flag=True, help="Show how it goes on, until nothing moves any more.")
@json_option
def transfers_command(*, watch: bool, in_json: bool) -> None:
    """List files on their way between this node and others, newest first, and those of late.

    With --watch --json there is one document for each look.
    """
    console = Console.of_streams()
    if watch:
        with console.progress() as line:
            listed = on_node(lambda node: _followed(node, line, in_json=in_json))
    else:
        listed = on_node(lambda node: node.transfers())
    if in_json:
        print_document(plain(listed))
        return
    console.lines(transfer_lines(listed, time.time_ns() // 1000, console))
    for one in listed:
        if one.why:
            console.note(console.tint(f"{named(one)}: {one_line(one.why)}", Tone.WARN))


async def _followed(node: LocalClient, line: ProgressLine, *, in_json: bool) -> tuple[Transfer, ...]:
    """How they stand once nothing moves any more; progress is shown until then."""
    while True:
        listed = await node.transfers()
        moving = [one for one in listed if one.state is TransferState.MOVING]
        if not moving:
            return listed
        if in_json:
            print_document(plain(listed))
        line.show(progress_words(moving, time.time_ns() // 1000))
        await asyncio.sleep(_LOOK_AGAIN_S)


def transfer_lines(listed: Sequence[Transfer], now_us: int, console: Console) -> list[str]:
    """A table, or a sentence when there is nothing to show."""
    if not listed:
        return ["No files moved between this node and others since it was started."]
    columns = (
        Column(heading="FILE", flexible=True, least=10),
        Column(heading="WAY", flexible=True, least=8),
        Column(heading="SIZE", right=True),
        Column(heading="DONE", drop=1),
        Column(heading="RATE", right=True, drop=2),
        Column(heading="STATE"),
        Column(heading="SINCE", right=True, drop=3),
    )
    return table(columns, [_row(one, now_us) for one in listed], console.columns)


def _row(one: Transfer, now_us: int) -> tuple[str, ...]:
    return (
        named(one),
        _way(one),
        size_words(one.size),
        bar(one.done, one.size),
        f"{size_words(one.rate)}/s" if one.rate else "",
        one.state.value,
        age(one.since_us, now_us),
    )


def progress_words(moving: Sequence[Transfer], now_us: int) -> str:
    """One line for all that moves."""
    done, size, rate = (
        sum(numbers) for numbers in zip(*((one.done, one.size, one.rate) for one in moving), strict=True)
    )
    what = f"{named(moving[0])} {_way(moving[0])}" if len(moving) == 1 else f"{len(moving)} files"
    left = f", {span(now_us - (size - done) * _MICRO // rate, now_us)} left" if rate else ""
    return f"{bar(done, size)} {what}, {size_words(rate)}/s{left}"


def named(one: Transfer) -> str:
    """The file's name, or the beginning of its hash where only the other node knows it."""
    return one_line(one.name) or one.sha256[:_SHOWN_OF_HASH]


def _way(one: Transfer) -> str:
    peer = one_line(one.peer_name) or one.peer[:_SHOWN_OF_HASH]
    return f"{'to' if one.direction is Direction.OUT else 'from'} {peer}"


def bar(done: int, size: int) -> str:
    """`[=====>    ]  50%`; an empty file is all there."""
    share = min(1.0, done / size) if size else 1.0
    full = int(share * _BAR)
    head = ">" if 0 < full < _BAR else ""
    return f"[{('=' * full)[: full - len(head)]}{head}{' ' * (_BAR - full)}] {int(share * 100):3}%"


def size_words(size: int) -> str:
    """`512 bytes`, `1.5 MB`: in units of 1,000, as disks and networks are sold."""
    amount, unit = float(size), 0
    while amount >= 999.95 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} {_UNITS[0]}"
