"""`helio timeline verify`: whether anybody changed a timeline, that of the running node or one in a bundle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.options import json_option
from node.cli.text import one_line, plural
from node.core import node_id
from node.core.errors import ErrorCode, MeshError
from node.core.timeline_check import INCOMPLETE as INCOMPLETE_CODES
from node.core.views_timeline import ProblemView, VerifyResultView, VerifyView, view_verification

if TYPE_CHECKING:
    from node.core.bundle import BundleHeader
    from node.core.timeline_check import Verification
    from node.core.twins import Crossings
    from node.local_client import LocalClient

TAMPERED = 1
INCOMPLETE = 2
_MOST_BYTES_OF_NOTE = 262_144
_STEPS_SHOWN = 5
_SECOND_US = 1_000_000
_FILE = click.Path(path_type=Path, dir_okay=False)


@examples(
    "helio timeline verify",
    "helio timeline verify --json",
    "helio timeline verify laptop.bundle --node ABCDEFG-HIJKLMN-...",
    "helio timeline verify laptop.bundle --key laptop.crt --seen last-week.note",
    "helio timeline verify laptop.bundle --twins studio.bundle",
)
@click.command("verify", cls=ExampleCommand)
@click.argument("bundle", metavar="[BUNDLE]", type=_FILE, required=False)
@click.option("--node", "node_text", default="", metavar="NODE_ID", help="The node that must answer for the bundle.")
@click.option("--key", "key_file", type=_FILE, metavar="FILE", help="The same, by its certificate or public key (PEM).")
@click.option("--seen", type=_FILE, multiple=True, metavar="NOTE", help="A checkpoint that was kept elsewhere.")
@click.option("--twins", type=_FILE, metavar="BUNDLE", help="A bundle of the other node that messages crossed to.")
@click.option("--log", default="", metavar="ORIGIN", help="Another log of this node than the current one.")
@json_option
@click.pass_context
def verify_command(
    ctx: click.Context,
    *,
    bundle: Path | None,
    node_text: str,
    key_file: Path | None,
    seen: Sequence[Path],
    twins: Path | None,
    log: str,
    in_json: bool,
) -> None:
    """Check every row: its bytes against its hash, the chain, the tree, its texts, and what the node signed of it.

    Without BUNDLE it is the timeline of the node that runs here. With one, no node is needed.

    Exit status: 0 all is as it was written, 1 somebody changed it, 2 the check could not be completed.
    """
    console = Console.of_streams()
    notes = tuple(map(_read_note, seen))
    if bundle is None:
        if node_text or key_file is not None or twins is not None:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                "--node, --key and --twins go with a BUNDLE; make one of this node's timeline with: helio timeline "
                "bundle -o FILE",
            )
        last = on_node(lambda node: verify(node, console, quiet=in_json, log=log, seen=notes))
    else:
        trusted = _trusted(node_text, key_file)
        last = verify_file(bundle, console, quiet=in_json, trusted=trusted, seen=notes, twins=twins)
    if in_json:
        print_document(plain(last))
    else:
        _say_result(last, console, of_file=bundle is not None)
    ctx.exit(verify_status(last))


async def verify(
    node: LocalClient, console: Console, *, quiet: bool, log: str = "", seen: Sequence[str] = ()
) -> VerifyView:
    """The last word of a verification, with progress at a terminal unless `quiet`."""
    last = VerifyView(rows=0, total=0)
    with console.progress() as line:
        async with aclosing(node.verify_timeline(log=log, seen=seen)) as views:
            async for last in views:
                if not quiet and last.total:
                    line.show(_progress(last.rows, last.total))
    return last


def verify_file(
    path: Path,
    console: Console,
    *,
    quiet: bool,
    trusted: frozenset[str],
    seen: Sequence[str] = (),
    twins: Path | None = None,
) -> VerifyView:
    """What a bundle proves, held against that of a peer if there is one."""
    # Cryptography and all that a bundle is made of takes a while to load.
    from node.core.twins import Crossings

    mine, theirs = Crossings(), Crossings()
    header, found = _check(path, console, mine if twins is not None else None, quiet=quiet, trusted=trusted, seen=seen)
    result = view_verification(found)
    if twins is not None and result.problem is None:
        other, other_found = _check(twins, console, theirs, quiet=quiet, trusted=frozenset())
        result = _paired(result, mine, theirs, header, other, other_found)
    return VerifyView(rows=result.rows, total=header.end - header.first, result=result)


def _check(
    path: Path,
    console: Console,
    crossings: Crossings | None,
    *,
    quiet: bool,
    trusted: frozenset[str],
    seen: Sequence[str] = (),
) -> tuple[BundleHeader, Verification]:
    from node.core.bundle_check import BundleCheck
    from node.proofs import read_seen
    from node.signatures import NoteChecks

    with console.progress() as line, opened(path, "rb") as file:
        check = BundleCheck(
            checks=NoteChecks(),
            seen=tuple(map(read_seen, seen)),
            told=lambda done, total: None if quiet else line.show(_progress(done, total)),
            heard=lambda row: None if crossings is None else crossings.take(row.seq, row.data),
        )
        header, found = check.run(_lines(file), trusted=trusted)
    if crossings is not None:
        crossings.nodes.update(filter(None, (header.node, *header.log.split("/")[1:2])))
    return header, found


def _paired(
    result: VerifyResultView,
    mine: Crossings,
    theirs: Crossings,
    header: BundleHeader,
    other: BundleHeader,
    other_found: Verification,
) -> VerifyResultView:
    """The result with what the other node's log says of the messages between the two."""
    from node.core.twins import compare

    problems = [
        *(
            replace(one, words=f"{one.words} ({other.log})")
            for one in compare(mine, theirs, until_us=_until(other, theirs))
        ),
        *(
            replace(one, words=f"in {other.log}, {one.words} ({header.log})")
            for one in compare(theirs, mine, until_us=_until(header, mine))
        ),
    ]
    if other_found.problem is not None:
        problems.append(replace(other_found.problem, words=f"in {other.log}, {other_found.problem.words}"))
    noted = (f"in {other.log}, {words}" for words in other_found.warnings)
    result = replace(result, warnings=(*result.warnings, *noted))
    if not problems:
        return result
    # What shows tampering goes before what only leaves a question.
    problems.sort(key=lambda one: one.code in INCOMPLETE_CODES)
    first = problems[0]
    others = tuple(one_line(one.words) for one in problems[1:])
    view = ProblemView(seq=first.seq, code=first.code, words=first.words)
    return replace(result, ok=False, problem=view, warnings=(*result.warnings, *others[:_MOST_OTHERS]))


def _until(header: BundleHeader, crossings: Crossings) -> int:
    """Up to when a bundle has all rows of its log."""
    return header.made_us if header.end == header.size else crossings.last_us


_MOST_OTHERS = 100


def verify_status(last: VerifyView) -> int:
    """The exit status for what a verification ended with."""
    if last.result is None:
        return INCOMPLETE
    if last.result.problem is not None:
        # Rows of a later schema, for one, are no sign of tampering, and this version cannot tell.
        return INCOMPLETE if last.result.problem.code in INCOMPLETE_CODES else TAMPERED
    return 0 if last.result.ok else TAMPERED


def _trusted(node_text: str, key_file: Path | None) -> frozenset[str]:
    """The ids of the nodes that may answer for a bundle; none if nobody was named."""
    named: set[str] = set()
    if node_text:
        named.add(node_text.strip() if node_id.is_node_id(node_text.strip()) else node_id.parse(node_text))
    if key_file is not None:
        from node.signatures import node_in_pem

        with opened(key_file, "rb") as file:
            named.add(node_in_pem(file.read(_MOST_BYTES_OF_NOTE)))
    if len(named) > 1:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "--node and --key name two different nodes; give one of them.")
    return frozenset(named)


def _read_note(path: Path) -> str:
    with opened(path, "rb") as file:
        data = file.read(_MOST_BYTES_OF_NOTE + 1)
    try:
        if len(data) <= _MOST_BYTES_OF_NOTE:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{path} is no checkpoint: a checkpoint is a short text in UTF-8.")


@contextmanager
def opened(path: Path, mode: Literal["rb", "wb"]) -> Iterator[BinaryIO]:
    """The file, open; INVALID_ARGUMENT when it cannot be opened."""
    try:
        file = path.open(mode)
    except OSError as error:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{path} cannot be opened: {error.strerror}.") from error
    with file:
        yield file


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines at LF alone, each no longer than a bundle's may be and one byte more."""
    from node.core.bundle import MAX_LINE_BYTES

    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line


def _progress(done: int, total: int) -> str:
    return f"verifying: {done} of {plural(total, 'row')} ({100 * done // max(total, 1)} %)"


def _say_result(last: VerifyView, console: Console, *, of_file: bool) -> None:
    result = last.result
    if result is None:
        console.note(f"helio: the check ended after {last.rows} of {plural(last.total, 'row')}. Run it again.")
        return
    for warning in result.warnings:
        console.note(f"note: {one_line(warning)}")
    if result.problem is not None:
        incomplete = verify_status(last) == INCOMPLETE
        verdict = console.tint("NOT SURE", Tone.WARN) if incomplete else console.tint("NOT OK", Tone.BAD)
        words = f"row {result.problem.seq}: {one_line(result.problem.words)} ({result.problem.code.value})"
        console.say(f"{verdict}  {words}")
        keep = "keep the file as it is" if of_file else "keep a copy of the node's folder as it is"
        console.say(f"  log      {one_line(result.origin)}")
        console.say(f"  rows     {last.rows} of {last.total} looked at; {keep}")
    else:
        console.say(f"{console.tint('ok', Tone.GOOD)}  {plural(last.rows, 'row')}, none missing, none changed")
        console.say(f"  log      {one_line(result.origin)}")
    console.lines(_detail_lines(result, last.total, of_file=of_file))


def _detail_lines(result: VerifyResultView, total: int, *, of_file: bool) -> Iterator[str]:
    if result.node:
        shown = node_id.show(result.node) if node_id.is_node_id(result.node) else one_line(result.node)
        vouched = "" if result.vouched else "; nobody vouched for that node: give --node or --key"
        yield f"  node     {shown} answers for the log's key{vouched}"
    elif of_file:
        yield "  node     nobody answers for the log's key"
    end = result.first_seq + result.rows
    if result.covered:
        yield f"  signed   rows 0 to {result.covered - 1}, read with {plural(result.checkpoints, 'checkpoint')}"
    if end > result.covered:
        since = max(result.covered, result.first_seq)
        yield f"  unsigned rows {since} to {end - 1} are not yet checkpointed"
    if len(result.pruned) > _STEPS_SHOWN:
        earlier = len(result.pruned) - _STEPS_SHOWN
        yield f"  pruned   from row {result.pruned[0].first} on, {plural(earlier, 'time')} before these"
    for gone in result.pruned[-_STEPS_SHOWN:]:
        yield f"  pruned   rows {gone.first} to {gone.next - 1}, as row {gone.row} says ({one_line(gone.why)})"
    for key in result.keys:
        yield f"  key      {one_line(key.key)} from row {key.seq} on ({one_line(key.how)})"
    for step in result.clock_steps[:_STEPS_SHOWN]:
        yield f"  clock    moved by {step.step_us / _SECOND_US:+.1f} s before row {step.seq}"
    if result.clock_steps_total > _STEPS_SHOWN:
        yield f"  clock    moved {result.clock_steps_total} times in all"
    if total:
        yield f"  root     {one_line(result.root)}"
