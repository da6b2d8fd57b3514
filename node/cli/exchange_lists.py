"""`helio requests` and `helio delegations`: lists of exchanges, and one whole with its conversation and ladders."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, plain, print_document
from node.cli.conversation import conversation, exchange_table, kind_words
from node.cli.options import exchange_argument, json_option
from node.core.model import Kind

_HOW_TO_BEGIN = {
    Kind.REQUEST: 'Begin one with: helio request @NICK "..."',
    Kind.DELEGATION: "An agent begins one with its tool `delegate`.",
}

_all_option = click.option("-a", "--all", "closed", is_flag=True, help="Also those that are closed.")
_limit_option = click.option(
    "-n", "--limit", type=click.IntRange(1, 10_000), default=None, metavar="N", help="At most N, the newest first."
)


def _show_list(kind: Kind, *, closed: bool, limit: int | None, in_json: bool) -> None:
    exchanges = on_node(lambda node: node.exchanges(closed=closed, kind=kind, limit=limit or 0))
    if in_json:
        print_document(plain(exchanges))
        return
    console = Console.of_streams()
    if not exchanges:
        console.say(f"No {kind_words(kind, closed=closed)}. {_HOW_TO_BEGIN[kind]}")
        return
    console.lines(exchange_table(exchanges, time.time_ns() // 1000, console))


def _list_command(kind: Kind) -> ExampleCommand:
    @examples(f"helio {kind.value}s list", f"helio {kind.value}s list --all --json")
    @click.command("list", cls=ExampleCommand, help=f"List {kind.value}s, the newest change first.")
    @_all_option
    @_limit_option
    @json_option
    def command(*, closed: bool, limit: int | None, in_json: bool) -> None:
        _show_list(kind, closed=closed, limit=limit, in_json=in_json)

    return command


def _show_command(kind: Kind) -> ExampleCommand:
    @examples(f"helio {kind.value}s show k2x7q4ab")
    @click.command(
        "show",
        cls=ExampleCommand,
        help=f"Show a {kind.value} whole: where it stands, its messages, and how far each one provably got.",
    )
    @exchange_argument
    @json_option
    def command(*, exchange: str, in_json: bool) -> None:
        view = on_node(lambda node: node.exchange(exchange))
        if in_json:
            print_document(plain(view))
            return
        console = Console.of_streams()
        console.lines(conversation(view, console))

    return command


def _group(kind: Kind) -> ExampleGroup:
    name = f"{kind.value}s"

    @examples(f"helio {name}", f"helio {name} --all --json", f"helio {name} show k2x7q4ab")
    @click.group(
        name,
        cls=ExampleGroup,
        invoke_without_command=True,
        help=f"List {name}, or show one with its conversation. Without a command: list.",
    )
    @_all_option
    @_limit_option
    @json_option
    @click.pass_context
    def group(ctx: click.Context, *, closed: bool, limit: int | None, in_json: bool) -> None:
        if ctx.invoked_subcommand is None:
            _show_list(kind, closed=closed, limit=limit, in_json=in_json)

    make: tuple[Callable[[Kind], ExampleCommand], ...] = (_list_command, _show_command)
    for command in make:
        group.add_command(command(kind))
    return group


requests_command = _group(Kind.REQUEST)
delegations_command = _group(Kind.DELEGATION)
