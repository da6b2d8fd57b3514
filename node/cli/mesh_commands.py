"""`helio id` and `helio peers`: who this node is to others, and whom it trusts with what."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, confirm, plain, print_document
from node.cli.options import grants_argument, json_option, peer_argument
from node.cli.text import Column, key_place, listed, one_line, plural, table
from node.cli.times import age, day
from node.core.mesh import Grant, LinkState
from node.core.node_id import short
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
    if not yes:
        _confirm("The node gets a new key and a new id, which its peers learn from it.")
    _show_identity(on_node(lambda node: node.rotate_identity()), in_json=in_json)
    note = "The new key counts when the node is started again; until then it goes on with the old one."
    Console.of_streams().note(f"{note} Run: helio down && helio up")


id_command.add_command(rotate_command)


def _confirm(what: str) -> None:
    unasked = f"Nothing was changed: there is no terminal to ask at. {what} To do it, add --yes."
    confirm(f"{what} Go on?", unasked=unasked)


def _show_identity(identity: IdentityView, *, in_json: bool) -> None:
    if in_json:
        print_document(plain(identity))
        return
    console = Console.of_streams()
    console.say(identity.shown)
    kept = f"{plural(identity.former_keys, 'former key')} {'is' if identity.former_keys == 1 else 'are'} kept"
    former = kept if identity.former_keys else "no former keys"
    place = key_place(in_keychain=identity.in_keychain)
    console.note(f"certificate good until {day(identity.expires_us)}; key kept in {place}; {former}")


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
        console.note(console.tint(one_line(mesh.why), Tone.WARN))


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
    reached = f"at port {mesh.port}" if mesh.port is not None else "by nobody: it does not listen, and only dials"
    return [*lines, "", f"This node is reached {reached}."]


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
        short(peer.shown),
        link.state.value,
        "" if link.rtt_us is None else f"{link.rtt_us / _MS:.1f} ms",
        _seen(peer, now_us),
        one_line(" ".join(word for word in (link.tls, link.group) if word)),
        grants_words(peer.given),
        grants_words(peer.got),
        one_line(link.address or (peer.addresses[0] if peer.addresses else "")),
    )


def _seen(peer: PeerView, now_us: int) -> str:
    """When it last proved itself: now while the link is up, else as it is on record."""
    if peer.link.state is LinkState.UP:
        return "now"
    return "never" if peer.seen_us is None else age(peer.seen_us, now_us)


def _found_table(found: Sequence[FoundView], now_us: int, console: Console) -> list[str]:
    columns = (
        Column(heading="INSTANCE"),
        Column(heading="CALLS ITSELF", flexible=True, least=8),
        Column(heading="VERSION"),
        Column(heading="SEEN", right=True),
        Column(heading="ADDRESS", flexible=True, least=10),
    )
    rows = [
        (
            one_line(one.instance),
            one_line(one.name),
            one_line(one.version),
            age(one.seen_us, now_us),
            one_line(listed(one.addresses)),
        )
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
@json_option
def rename_command(*, peer: str, name: str, in_json: bool) -> None:
    """Call a peer by another name, on this node alone."""
    renamed = on_node(lambda node: node.rename_peer(peer, name))
    _done(renamed, f"{one_line(short(renamed.shown))} is called {one_line(renamed.name)} now.", in_json=in_json)


@examples("helio peers grant studio request", "helio peers grant studio mirror-panel mirror-timeline")
@click.command("grant", cls=ExampleCommand)
@peer_argument
@grants_argument
@json_option
def grant_command(*, peer: str, grants: tuple[str, ...], in_json: bool) -> None:
    """Let a peer do something here: request, mirror-panel, mirror-timeline. It says nothing of what we may do there."""
    given = frozenset(Grant(grant) for grant in grants)
    _say_grants(on_node(lambda node: node.set_grants(peer, give=given)), in_json=in_json)


@examples("helio peers revoke studio request")
@click.command("revoke", cls=ExampleCommand)
@peer_argument
@grants_argument
@json_option
def revoke_command(*, peer: str, grants: tuple[str, ...], in_json: bool) -> None:
    """Take back what a peer may do here; what is open ends at once."""
    taken = frozenset(Grant(grant) for grant in grants)
    _say_grants(on_node(lambda node: node.set_grants(peer, take=taken)), in_json=in_json)


def _say_grants(peer: PeerView, *, in_json: bool) -> None:
    _done(peer, f"{one_line(peer.name)} may do here: {grants_words(peer.given)}.", in_json=in_json)


def _done(view: object, text: str, *, in_json: bool) -> None:
    if in_json:
        print_document(plain(view))
    else:
        Console.of_streams().say(text)


@examples("helio peers address studio 192.168.1.20:4354", "helio peers address studio '[fe80::1%en0]:4354'")
@click.command("address", cls=ExampleCommand)
@peer_argument
@click.argument("address")
@json_option
def address_command(*, peer: str, address: str, in_json: bool) -> None:
    """Tell where a peer can be dialled, where it is not heard on the network."""
    known = on_node(lambda node: node.add_peer_address(peer, address))
    _done(known, f"{one_line(known.name)} is dialled at {one_line(listed(known.addresses))}.", in_json=in_json)


@examples("helio peers unpair studio", "helio peers unpair studio --yes")
@click.command("unpair", cls=ExampleCommand)
@peer_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def unpair_command(*, peer: str, yes: bool, in_json: bool) -> None:
    """End the trust in a peer: what is open with it ends at once, and it is a stranger from then on."""
    if not yes:
        _confirm(f"{one_line(peer)} would be a stranger at once; only pairing anew brings it back.")
    name = on_node(lambda node: node.unpair(peer))
    said = f"{one_line(name)} is not a peer any more. If it still lists this node, unpair it there, too."
    _done({"name": name}, said, in_json=in_json)


for _command in (
    list_command, rename_command, grant_command, revoke_command, address_command, unpair_command
):  # fmt: skip
    peers_command.add_command(_command)
