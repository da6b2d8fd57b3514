"""Which rows of the timeline: the options of every command that picks some, and the filter that they come to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from node.cli.options import complete_peer, complete_workspace
from node.cli.times import point_in_time
from node.core.catalogue.languages import CATALOGUES
from node.core.catalogue.words import Catalogue
from node.core.errors import ErrorCode, MeshError
from node.core.node_id import is_node_id, parse
from node.core.policy import nickname_key
from node.core.timeline_filter import RowFilter

if TYPE_CHECKING:
    from node.local_client import LocalClient

Given = Mapping[str, str | None]
"""The options as they were typed, by name."""


def _complete(table: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Completes codes of one of the catalogue's tables."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        words: Mapping[str, str] = getattr(CATALOGUES["en"], table)
        return [CompletionItem(code, help=words[code]) for code in words if code.startswith(incomplete)]

    return complete


# Each of these may be typed as a code or in the reader's words, by the name of its option.
_CODES: Final = (
    ("row", "rows", "Only rows of this kind, such as message, outcome or policy."),
    ("engine", "engines", "Only rows of this engine, such as agent.request."),
    ("decision", "decisions", "Only rows with this decision, such as withheld."),
    ("outcome", "decisions", "Only messages of which this became, such as landed, read or gave_up."),
    ("reason", "reasons", "Only rows with this reason, such as prompt_injection."),
)
_FILTERS: Final = (
    *(
        click.option(f"--{name}", metavar="CODE", help=words, shell_complete=_complete(table))
        for name, table, words in _CODES
    ),
    click.option("--session", metavar="SESSION", help="Only rows from or to this session (@nickname or id)."),
    click.option(
        "--workspace", metavar="NAME", shell_complete=complete_workspace, help="Only rows from or to this workspace."
    ),
    click.option(
        "--peer", metavar="PEER", shell_complete=complete_peer, help="Only rows from or to this node (name or id)."
    ),
    click.option("--exchange", metavar="ID", help="Only rows of this exchange."),
    click.option("--message", metavar="ID", help="Only rows of this message."),
    click.option(
        "--text", metavar="WORDS", help="Only rows with all these words in the texts beside them, whatever their case."
    ),
    click.option("--since", metavar="TIME", help="Only rows from then on: 2027-01-31T09:30, 2h, 3d."),
    click.option("--until", metavar="TIME", help="Only rows before then."),
    click.option("--log", metavar="ORIGIN", help="Read this log instead of the current one: helio timeline logs."),
)

lang_option = click.option(
    "--lang",
    type=click.Choice(sorted(CATALOGUES)),
    default=None,
    help="The language of the words  [default: as the environment says]",
)


def filter_options(*, least_before: int, limit: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Gives a command the options by which rows are picked; `limit` says how many there are without that option."""
    pages = (
        click.option("--from-seq", type=click.IntRange(0), metavar="N", help="Only rows numbered N and above."),
        click.option("--before", type=click.IntRange(least_before), metavar="N", help="Only rows numbered below N."),
        click.option(
            "-n", "--limit", type=click.IntRange(1), metavar="N",
            help=f"Only the last N of them; the first N with --from-seq{limit}",
        ),
    )  # fmt: skip

    def decorate(command: click.decorators.FC) -> click.decorators.FC:
        for option in reversed((*_FILTERS, *pages)):
            command = option(command)
        return command

    return decorate


def filter_of(
    given: Given, words: Catalogue, *, from_seq: int | None, before: int | None, limit: int | None
) -> RowFilter:
    """The filter that the options come to, but for names; those only the node knows: see `with_ids`."""
    now_us = time.time_ns() // 1000
    codes = {name: _code(words, name, table, given[name] or "") for name, table, _ in _CODES if given[name]}
    said = {name: (value or "").strip() for name, value in given.items()}
    since, until = given["since"], given["until"]
    return RowFilter(
        row=codes.get("row", ""),
        engine=codes.get("engine", ""),
        decision=codes.get("decision", ""),
        outcome=codes.get("outcome", ""),
        reason=codes.get("reason", ""),
        session=said["session"],
        workspace=said["workspace"],
        peer=said["peer"],
        exchange=said["exchange"].lower(),
        message=said["message"].lower(),
        text=given["text"] or "",
        log=said["log"],
        since_us=point_in_time(since, now_us) if since else 0,
        until_us=point_in_time(until, now_us) if until else 0,
        from_seq=from_seq or 0,
        before_seq=before or 0,
        limit=limit or 0,
        tail=bool(limit) and from_seq is None,
    )


async def with_ids(node: LocalClient, wanted: RowFilter) -> RowFilter:
    """The filter with ids in the places of names."""
    return replace(wanted, session=await session_id(node, wanted.session), peer=await _peer_id(node, wanted.peer))


def _code(words: Catalogue, name: str, table: str, said: str) -> str:
    codes = words.codes_of(getattr(words, table), said)
    if len(codes) > 1:
        raise MeshError(
            ErrorCode.AMBIGUOUS,
            f"--{name} {said[:40]!r} may be any of these codes; give the one that you mean: {', '.join(codes)}.",
            {"choices": codes},
        )
    return codes[0]


# An id as it is shown has characters to check it by in it, but for its first ones.
_LEAST_OF_AN_ID, _MOST_OF_AN_ID = 6, 13


async def session_id(node: LocalClient, wanted: str) -> str:
    """The id behind an @nickname, since rows hold no names; what is no nickname is taken for an id."""
    if not wanted.startswith("@"):
        return wanted.lower()
    key = nickname_key(wanted[1:])
    for session in await node.sessions(archived=True):
        if session.nickname is not None and nickname_key(session.nickname) == key:
            return session.id
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"No session is called {wanted} now. Rows hold ids, not names: give the session's id (helio sessions --all).",
    )


async def _peer_id(node: LocalClient, wanted: str) -> str:
    """The id behind a peer's name; what is no name of one is taken for an id or its beginning."""
    for peer in (await node.mesh()).peers if wanted else ():
        if peer.name.casefold() == wanted.casefold():
            return peer.id
    bare = "".join(wanted.replace("-", " ").split()).lower()
    if not bare or is_node_id(bare):
        return bare
    if len(bare) > _MOST_OF_AN_ID:
        return parse(wanted)
    if bare.isascii() and bare.isalnum() and len(bare) >= _LEAST_OF_AN_ID:
        return bare
    raise MeshError(
        ErrorCode.NOT_FOUND,
        f"No peer is called {wanted} now. Rows hold ids, not names: give the node's id, or at least its first "
        f"{_LEAST_OF_AN_ID} characters (helio peers).",
    )
