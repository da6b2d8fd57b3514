"""Arguments and options which several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from node.cli.text import one_line, shorten
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant

Decorated = TypeVar("Decorated", bound=Callable[..., object])

# Ten times what a message may hold: enough to say how long a text is, not enough to fill the memory.
_STDIN_BYTES = 1_000_000
_COMPLETION_COLUMNS = 60

json_option = click.option("--json", "in_json", is_flag=True, help="Print JSON for scripts instead of text.")


def _complete_session(_ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from node.cli.connection import labels_for_completion

    labels = labels_for_completion(archived=param.name == "put_away")
    wanted = incomplete.casefold().removeprefix("@")
    return [CompletionItem(label) for label in labels if label.removeprefix("@").casefold().startswith(wanted)]


def _complete_exchange(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from node.cli.connection import exchange_ids_for_completion

    found = exchange_ids_for_completion()
    return [
        CompletionItem(exchange, help=shorten(one_line(title), _COMPLETION_COLUMNS))
        for exchange, title in found
        if exchange.startswith(incomplete.lower())
    ]


def _complete_question(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from node.cli.connection import question_ids_for_completion

    found = question_ids_for_completion()
    return [
        CompletionItem(question, help=shorten(one_line(title), _COMPLETION_COLUMNS))
        for question, title in found
        if question.startswith(incomplete.lower())
    ]


def _complete_approval(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from node.cli.connection import approval_ids_for_completion

    found = approval_ids_for_completion()
    return [
        CompletionItem(approval, help=shorten(one_line(subject), _COMPLETION_COLUMNS))
        for approval, subject in found
        if approval.startswith(incomplete.lower())
    ]


def complete_peer(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from node.cli.connection import peers_for_completion

    wanted = incomplete.casefold()
    return [CompletionItem(name) for name in peers_for_completion() if name.casefold().startswith(wanted)]


def complete_workspace(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Workspaces whose name begins so, whatever its case."""
    from node.cli.connection import workspaces_for_completion

    wanted = incomplete.casefold()
    return [CompletionItem(name) for name in workspaces_for_completion() if name.casefold().startswith(wanted)]


def complete_agent(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Agent CLIs whose name begins so."""
    from node.cli.connection import agents_for_completion

    return [CompletionItem(name) for name in agents_for_completion() if name.startswith(incomplete)]


session_argument = click.argument("session", metavar="SESSION", shell_complete=_complete_session)
put_away_argument = click.argument("put_away", metavar="SESSION", shell_complete=_complete_session)
exchange_argument = click.argument("exchange", metavar="ID", shell_complete=_complete_exchange)
approval_argument = click.argument("approval", metavar="ID", shell_complete=_complete_approval)
workspace_argument = click.argument("workspace", metavar="NAME", shell_complete=complete_workspace)
workspaces_argument = click.argument(
    "workspaces", nargs=-1, metavar="[WORKSPACE...]", shell_complete=complete_workspace
)
agents_argument = click.argument("agents", nargs=-1, metavar="[AGENT...]", shell_complete=complete_agent)
peer_argument = click.argument("peer", metavar="PEER", shell_complete=complete_peer)
grants_argument = click.argument(
    "grants", nargs=-1, required=True, metavar="GRANT...", type=click.Choice([grant.value for grant in Grant])
)
question_argument = click.argument("question", metavar="ASK-ID", shell_complete=_complete_question)


def body(text: str) -> str:
    """`text`, or for `-` what standard input holds; INVALID_ARGUMENT when that is empty, too much or no UTF-8."""
    if text == "-":
        text = _read_stdin()
    if not text.strip():
        raise MeshError(ErrorCode.INVALID_ARGUMENT, "The text is empty, so nothing was handed in. Say what you want.")
    return text


def _read_stdin() -> str:
    raw = sys.stdin.buffer.read(_STDIN_BYTES + 1)
    if len(raw) > _STDIN_BYTES:
        raise MeshError(
            ErrorCode.LIMIT,
            f"Standard input holds more than {_STDIN_BYTES} bytes, which is more than a message may hold. Put the text "
            "into a file and name its path.",
            {"limit": _STDIN_BYTES},
        )
    try:
        return raw.decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"Standard input is not UTF-8 text (byte {error.start}). Convert it, or give a path.",
        ) from error
