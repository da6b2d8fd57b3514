"""`helio timeline bundle` and `proof`: what somebody else needs to verify a timeline, or one row, without this node."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, document, print_document
from node.cli.options import json_option
from node.cli.text import plural
from node.cli.timeline_rows import row_document
from node.cli.verify_command import opened
from node.core.errors import ErrorCode, MeshError

if TYPE_CHECKING:
    from node.local_client import LocalClient
    from node.ports_timeline import BundleWish

_EVERY = 1_000
_TO_STDOUT = Path("-")


@examples(
    "helio timeline bundle -o laptop.bundle",
    "helio timeline bundle --from-seq 12000 --to-seq 12999 -o piece.bundle",
    "helio timeline verify laptop.bundle --node NODE_ID",
)
@click.command("bundle", cls=ExampleCommand)
@click.option(
    "--from-seq", type=click.IntRange(0), default=0, metavar="N", help="The first row (rounded down to 256s)."
)
@click.option("--to-seq", type=click.IntRange(0), default=None, metavar="M", help="The last row  [default: the newest]")
@click.option("--log", default="", metavar="ORIGIN", help="Another log of this node than the current one.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default=_TO_STDOUT,
    metavar="FILE", help="Where to write it  [default: standard output]",
)  # fmt: skip
@json_option
def bundle_command(*, from_seq: int, to_seq: int | None, log: str, output: Path, in_json: bool) -> None:
    """Write rows with signatures, hashes and keys into one file that can be verified anywhere, without this node.

    Texts beside rows (titles, previews, names) are in it, but those that were erased. FILE appears when it is whole.
    """
    from node.ports_timeline import BundleWish

    if to_seq is not None and to_seq < from_seq:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"--to-seq {to_seq} comes before --from-seq {from_seq}.")
    console = Console.of_streams()
    wish = BundleWish(log=log, from_seq=from_seq, to_seq=to_seq)
    with _target(output) as file:
        rows = on_node(lambda node: _write(node, wish, file, console))
    if output != _TO_STDOUT:
        if in_json:
            print_document({"file": str(output), "rows": rows})
        else:
            console.say(f"{output}: {plural(rows, 'row')}. To check it anywhere: helio timeline verify {output}")


async def _write(node: LocalClient, wish: BundleWish, file: BinaryIO, console: Console) -> int:
    rows = 0
    with console.progress() as line:
        async with aclosing(node.bundle_timeline(wish)) as items:
            async for item in items:
                if isinstance(item, str):
                    file.write(item.encode("utf-8") + b"\n")
                    continue
                file.write(row_document(item).encode("utf-8") + b"\n")
                rows += 1
                if rows % _EVERY == 0:
                    line.show(f"writing: {plural(rows, 'row')}")
    return rows


@contextmanager
def _target(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when all is written, and leaves nothing behind when it is not."""
    if path == _TO_STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = path.with_name(f".{path.name}.part")
    try:
        with opened(draft, "wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@examples("helio timeline proof 1234", "helio timeline proof 1234 --json")
@click.command("proof", cls=ExampleCommand)
@click.argument("seq", type=click.IntRange(0), metavar="SEQ")
@click.option("--log", default="", metavar="ORIGIN", help="Another log of this node than the current one.")
@json_option
def proof_command(*, seq: int, log: str, in_json: bool) -> None:
    """Print the proof that row SEQ is in the signed tree, as C2SP tlog-proof writes one."""
    proof = on_node(lambda node: node.prove_row(seq, log=log))
    click.echo(document({"seq": seq, "proof": proof}) if in_json else proof, nl=in_json)
