"""`helio id` and `helio peers`: who this node is to others, and whom it trusts with what."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.options import grants_argument, json_option, peer_argument
from node.cli.text import Column, listed, one_line, plural, table
from node.cli.times import age, moment
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, LinkState
from node.core.views_mesh import FoundView, IdentityView, MeshView, PeerView

_TONES = {
    LinkState.UP: Tone.GOOD,
    LinkState.CONNECTING: Tone.WARN,
    LinkState.DOWN: Tone.WARN,
    LinkState.REFUSED: Tone.BAD,
    LinkState.OFF: Tone.QUIET,
}
_MS = 1_000


@examples("helio id", "helio id --json", "helio id rotate")
@click.group("id", cls=ExampleGroup, invoke_without_command=True)
@json_option
@click.pass_context
def id_command(ctx: click.Context, *, in_json: bool) -> None:
    """Show this node's id, which people compare and peers pin."""
    if ctx.invoked_subcommand is None:
        _show_identity(on_node(lambda node: node.identity()), in_json=in_json)


@examples("helio id rotate", "helio id rotate --yes")
@click.command("rotate", cls=ExampleCommand)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def rotate_command(*, yes: bool, in_json: bool) -> None:
    """Give the node a new key and so a new id. The old key signs it, so peers go on trusting this node."""
    if not yes and not click.confirm("The node gets a new id. Peers learn it when they are next connected. Go on?"):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "Nothing was changed.")
    _show_identity(on_node(lambda node: node.rotate_identity()), in_json=in_json)


id_command.add_command(rotate_command)


def _show_identity(identity: IdentityView, *, in_json: bool) -> None:
    if in_json:
        print_document(plain(identity))
        return
    console = Console.of_streams()
    console.say(identity.shown)
    console.note(f"certificate until {moment(identity.expires_us)}, key changed {plural(identity.rotations, 'time')}")


@examples(
    "helio peers",
    "helio peers rename studio mac-studio",
    "helio peers grant studio request mirror-panel",
    "helio peers revoke studio request",
    "helio peers unpair studio",
)
@click.group("peers", cls=ExampleGroup, invoke_without_command=True)
@json_option
@click.pass_context
def peers_command(ctx: click.Context, *, in_json: bool) -> None:
    """List the nodes that this one is paired with, and those that it hears on the network."""
    if ctx.invoked_subcommand is None:
        _show_mesh(in_json=in_json)


@examples("helio peers list", "helio peers list --json")
@click.command("list", cls=ExampleCommand)
@json_option
def list_command(*, in_json: bool) -> None:
    """List peers and nodes on the network."""
    _show_mesh(in_json=in_json)


def _show_mesh(*, in_json: bool) -> None:
    mesh = on_node(lambda node: node.mesh())
    if in_json:
        print_document(plain(mesh))
        return
    console = Console.of_streams()
    console.lines(mesh_lines(mesh, time.time_ns() // 1000, console))
    for peer in mesh.peers:
        if peer.link.why:
            console.note(console.tint(f"{one_line(peer.name)}: {one_line(peer.link.why)}", Tone.WARN))
    if mesh.why:
        console.note(console.tint(f"discovery: {one_line(mesh.why)}", Tone.WARN))


def mesh_lines(mesh: MeshView, now_us: int, console: Console) -> list[str]:
    """The peers as a table, then strangers that are heard on the network."""
    lines: list[str] = []
    if mesh.peers:
        lines += _peer_table(mesh.peers, now_us, console)
    else:
        lines.append("No peers yet. On this machine: helio pair. On the other: helio pair ADDRESS")
    strangers = [found for found in mesh.found if not found.peer]
    if strangers:
        lines += ["", "Heard on the network, not paired:", *_found_table(strangers, now_us, console)]
    return lines


def _peer_table(peers: Sequence[PeerView], now_us: int, console: Console) -> list[str]:
    columns = (
        Column(heading="NAME"),
        Column(heading="ID"),
        Column(heading="LINK"),
        Column(heading="RTT", right=True),
        Column(heading="SEEN", right=True),
        Column(heading="TLS", flexible=True, least=6),
        Column(heading="MAY DO HERE", flexible=True, least=8),
        Column(heading="WE MAY THERE", flexible=True, least=8),
        Column(heading="ADDRESS", flexible=True, least=10),
    )
    return table(columns, [_peer_row(peer, now_us) for peer in peers], console.columns)


def _peer_row(peer: PeerView, now_us: int) -> tuple[str, ...]:
    link = peer.link
    return (
        one_line(peer.name),
        peer.shown[:7],
        link.state.value,
        "" if link.rtt_us is None else f"{link.rtt_us / _MS:.1f} ms",
        "never" if peer.seen_us is None else age(peer.seen_us, now_us),
        one_line(" ".join(word for word in (link.tls, link.group) if word)),
        grants_words(peer.given),
        grants_words(peer.got),
        one_line(link.address or (peer.addresses[0] if peer.addresses else "")),
    )


def _found_table(found: Sequence[FoundView], now_us: int, console: Console) -> list[str]:
    columns = (
        Column(heading="INSTANCE"),
        Column(heading="VERSION"),
        Column(heading="SEEN", right=True),
        Column(heading="ADDRESS", flexible=True, least=10),
    )
    rows = [
        (one_line(one.instance), one_line(one.version), age(one.seen_us, now_us), one_line(listed(one.addresses)))
        for one in found
    ]
    return table(columns, rows, console.columns)


def grants_words(grants: frozenset[Grant]) -> str:
    """`nothing`, or the grants by name."""
    return ", ".join(sorted(grants)) or "nothing"


@examples("helio peers rename studio mac-studio")
@click.command("rename", cls=ExampleCommand)
@peer_argument
@click.argument("name")
def rename_command(*, peer: str, name: str) -> None:
    """Call a peer by another name, on this node alone."""
    renamed = on_node(lambda node: node.rename_peer(peer, name))
    Console.of_streams().say(f"{renamed.shown[:7]} is called {one_line(renamed.name)} now.")


@examples("helio peers grant studio request", "helio peers grant studio mirror-panel mirror-timeline")
@click.command("grant", cls=ExampleCommand)
@peer_argument
@grants_argument
def grant_command(*, peer: str, grants: tuple[str, ...]) -> None:
    """Let a peer do something here: request, mirror-panel, mirror-timeline. It says nothing of what we may do there."""
    given = frozenset(Grant(grant) for grant in grants)
    _say_grants(on_node(lambda node: node.set_grants(peer, give=given)))


@examples("helio peers revoke studio request")
@click.command("revoke", cls=ExampleCommand)
@peer_argument
@grants_argument
def revoke_command(*, peer: str, grants: tuple[str, ...]) -> None:
    """Take back what a peer may do here; what is open ends at once."""
    taken = frozenset(Grant(grant) for grant in grants)
    _say_grants(on_node(lambda node: node.set_grants(peer, take=taken)))


def _say_grants(peer: PeerView) -> None:
    Console.of_streams().say(f"{one_line(peer.name)} may do here: {grants_words(peer.given)}.")


@examples("helio peers address studio 192.168.1.20:4354", "helio peers address studio '[fe80::1%en0]:4354'")
@click.command("address", cls=ExampleCommand)
@peer_argument
@click.argument("address")
def address_command(*, peer: str, address: str) -> None:
    """Tell where a peer can be dialled, where it is not heard on the network."""
    known = on_node(lambda node: node.add_peer_address(peer, address))
    Console.of_streams().say(f"{one_line(known.name)} is dialled at {one_line(listed(known.addresses))}.")


@examples("helio peers unpair studio", "helio peers unpair studio --yes")
@click.command("unpair", cls=ExampleCommand)
@peer_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def unpair_command(*, peer: str, yes: bool) -> None:
    """End the trust in a peer: what is open with it ends at once, and it is a stranger from then on."""
    if not yes and not click.confirm(f"Unpair {one_line(peer)}? Only pairing anew brings it back."):
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "Nothing was changed.")
    name = on_node(lambda node: node.unpair(peer))
    Console.of_streams().say(f"{one_line(name)} is not a peer any more. On it: helio peers unpair, too.")


for _command in (
    list_command, rename_command, grant_command, revoke_command, address_command, unpair_command
):  # fmt: skip
    peers_command.add_command(_command)
