"""`helio mirror`: this machine as a thin client of servers, whose delegations and timeline it shows read-only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.options import complete_peer, json_option, peer_argument
from node.cli.text import Column, one_line, table
from node.core.errors import ErrorCode, MeshError
from node.core.ids import PREFIX_MINIMUM
from node.core.mesh import Grant, LinkState
from node.core.mirror import GRANTS, asked_of
from node.core.node_id import short
from node.core.policy import nickname_key
from node.core.trust import plain_id
from node.core.views_mirror import MirrorView
from tunnel.watching import Wish, watch

if TYPE_CHECKING:
    from node.local_client import LocalClient

TAIL = 100


@examples(
    "helio mirror add studio",
    "helio mirror watch",
    "helio mirror watch studio --timeline",
    "helio mirror pause studio",
)
@click.group("mirror", cls=ExampleGroup, invoke_without_command=True)
@json_option
@click.pass_context
def mirror_command(ctx: click.Context, *, in_json: bool) -> None:
    """Mirror servers: ask their sessions from here, and watch their delegations and timelines.

    Nothing flows back but what this node asks for, and what is watched cannot be changed from here.
    """
    if ctx.invoked_subcommand is None:
        _list(in_json=in_json)


@examples("helio mirror add studio", "helio mirror add 192.168.1.20:4354")
@click.command("add", cls=ExampleCommand)
@peer_argument
@json_option
def add_command(*, peer: str, in_json: bool) -> None:
    """Mirror a peer, named by its name, the beginning of its id, or an address of it."""

    async def add(node: LocalClient) -> tuple[MirrorView, str]:
        return await node.add_mirror(peer), short((await node.identity()).shown)

    view, client = on_node(add)
    if in_json:
        print_document(plain(view))
        return
    console = Console.of_streams()
    console.say(f"{one_line(view.name)} is mirrored{', and paused' if view.paused else ''}.")
    _say_missing(view, client, console)


def _say_missing(view: MirrorView, client: str, console: Console) -> None:
    """What the server's person has to run, as long as something is not granted."""
    missing = [grant.value for grant in GRANTS if grant not in view.got]
    if missing:
        name = one_line(view.name)
        console.note(f"As far as is known here, {name} has not granted {', '.join(missing)} yet. On {name}, run:")
        console.note(f"  {asked_of(client)}")


@examples("helio mirror list", "helio mirror list --json")
@click.command("list", cls=ExampleCommand)
@json_option
def list_command(*, in_json: bool) -> None:
    """List what this node mirrors."""
    _list(in_json=in_json)


def _list(*, in_json: bool) -> None:
    async def ask(node: LocalClient) -> tuple[tuple[MirrorView, ...], str]:
        return await node.mirrors(), short((await node.identity()).shown)

    mirrors, client = on_node(ask)
    if in_json:
        print_document(plain(mirrors))
        return
    console = Console.of_streams()
    if not mirrors:
        console.say(
            "Nothing is mirrored. `helio peers` shows whom this node knows; to mirror one: helio mirror add PEER"
        )
        return
    columns = (
        Column(heading="NAME"),
        Column(heading="ID"),
        Column(heading="MIRROR"),
        Column(heading="LINK"),
        Column(heading="WE MAY THERE", flexible=True, least=8),
        Column(heading="ADDRESS", flexible=True, least=10, drop=1),
    )
    console.lines(table(columns, [_row(view) for view in mirrors], console.columns))
    for view in mirrors:
        if view.link.why and not view.paused:
            console.note(console.tint(f"{one_line(view.name)}: {one_line(view.link.why)}", Tone.WARN))
        if view.link.state is LinkState.UP and view.relay_why and Grant.REQUEST in view.got and not view.paused:
            why = f"{one_line(view.name)}: nothing is forwarded there: {one_line(view.relay_why)}"
            console.note(console.tint(why, Tone.WARN))
        if view.link.state is LinkState.UP:
            _say_missing(view, client, console)


def _row(view: MirrorView) -> tuple[str, ...]:
    return (
        one_line(view.name),
        short(view.shown),
        "paused" if view.paused else "on",
        view.link.state.value,
        ", ".join(sorted(view.got)) or "nothing",
        one_line(view.link.address),
    )


@examples("helio mirror rm studio")
@click.command("rm", cls=ExampleCommand)
@peer_argument
@json_option
def rm_command(*, peer: str, in_json: bool) -> None:
    """Mirror a server no more. It stays a peer; `helio peers unpair` ends that."""
    view = on_node(lambda node: node.remove_mirror(peer))
    _done(view, f"{one_line(view.name)} is not mirrored any more. It is still a peer.", in_json=in_json)


@examples("helio mirror pause studio")
@click.command("pause", cls=ExampleCommand)
@peer_argument
@json_option
def pause_command(*, peer: str, in_json: bool) -> None:
    """Open nothing to a mirrored server until it is resumed."""
    view = on_node(lambda node: node.pause_mirror(peer, paused=True))
    _done(view, f"The mirror of {one_line(view.name)} is paused.", in_json=in_json)


@examples("helio mirror resume studio")
@click.command("resume", cls=ExampleCommand)
@peer_argument
@json_option
def resume_command(*, peer: str, in_json: bool) -> None:
    """Let a paused mirror go on."""
    view = on_node(lambda node: node.pause_mirror(peer, paused=False))
    _done(view, f"The mirror of {one_line(view.name)} goes on.", in_json=in_json)


def _done(view: MirrorView, text: str, *, in_json: bool) -> None:
    if in_json:
        print_document(plain(view))
    else:
        Console.of_streams().say(text)


@examples(
    "helio mirror watch",
    "helio mirror watch studio attic",
    "helio mirror watch studio --once --json",
    "helio mirror watch studio --timeline",
)
@click.command("watch", cls=ExampleCommand)
@click.argument("peers", nargs=-1, metavar="[PEER...]", shell_complete=complete_peer)
@click.option("--timeline", is_flag=True, help="Follow the timeline instead of the panel, checking each row.")
@click.option("--once", is_flag=True, help="Show what there is now, and end.")
@click.option(
    "-n", "--limit", "tail", type=click.IntRange(0), default=TAIL, metavar="N", show_default=True,
    help="With --timeline: how many of the last rows to begin with.",
)  # fmt: skip
@json_option
def watch_command(*, peers: tuple[str, ...], timeline: bool, once: bool, tail: int, in_json: bool) -> None:
    """Watch the delegations of mirrored servers, live and read-only, until Ctrl-C. Without PEER, all that are on.

    At a terminal the panels are drawn anew; elsewhere each change is a line, or with --json an object.
    """
    console = Console.of_streams()

    async def show(node: LocalClient) -> None:
        mirrors = await _chosen(node, peers)
        client = short((await node.identity()).shown)
        wish = Wish(mirrors=mirrors, client=client, timeline=timeline, once=once, in_json=in_json, tail=tail)
        await watch(node, wish, console)

    try:
        on_node(show)
    except KeyboardInterrupt:
        # The only way out of watching; nothing went wrong.
        if once:
            raise


async def _chosen(node: LocalClient, peers: tuple[str, ...]) -> tuple[MirrorView, ...]:
    """The mirrors that are meant, each once."""
    mirrors = await node.mirrors()
    if not peers:
        on = tuple(view for view in mirrors if not view.paused)
        if not on:
            raise MeshError(
                ErrorCode.NOT_FOUND,
                "Nothing is mirrored, or all mirrors are paused. `helio mirror list` shows them; to mirror a peer: "
                "helio mirror add PEER",
            )
        return on
    found = [_named(peer, mirrors) for peer in peers]
    return tuple({view.id: view for view in found}.values())


def _named(wanted: str, mirrors: Sequence[MirrorView]) -> MirrorView:
    """The one mirror of that name, @name, or beginning of an id."""
    key, prefix = nickname_key(wanted.strip().removeprefix("@")), plain_id(wanted)
    named = [view for view in mirrors if nickname_key(view.name) == key]
    begun = [view for view in mirrors if len(prefix) >= PREFIX_MINIMUM and view.id.startswith(prefix)]
    found = {view.id: view for view in (*named, *begun)}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        names = tuple(view.name for view in found.values())
        raise MeshError(ErrorCode.AMBIGUOUS, f"{wanted!r} names {len(found)} mirrors: {', '.join(names)}. Say which.")
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"{wanted!r} is not mirrored by this node. `helio mirror list` shows what is; to mirror a peer: helio mirror "
        "add PEER",
    )


for _command in (
    add_command, list_command, rm_command, pause_command, resume_command, watch_command
):  # fmt: skip
    mirror_command.add_command(_command)
