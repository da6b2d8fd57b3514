"""`helio approvals`: what agents ask of the person, and the person's decisions."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.options import approval_argument, json_option
from node.cli.text import barred, fold, one_line
from node.cli.times import age
from node.core.approval import ApprovalKind, Decision
from node.core.errors import ErrorCode, MeshError
from node.core.ids import short
from node.core.views_work import ApprovalView

_SET_IN = "  "
_KINDS = {
    ApprovalKind.OUTSIDE_FILE: "hand on a file from outside of its folder",
    ApprovalKind.WORKTREE_MERGE: "merge the work of a delegate",
    ApprovalKind.MESSAGE: "have a message read",
    ApprovalKind.MESSAGE_FILE: "have a message and its files read",
}
_LASTING = "With --session or --always exactly this text passes from now on, whoever writes it."
_DECISIONS = {
    Decision.ONCE: ("allowed once", Tone.GOOD),
    Decision.SESSION: ("allowed for this session", Tone.GOOD),
    Decision.ALWAYS: ("allowed always", Tone.WARN),
    Decision.DENIED: ("denied", Tone.BAD),
    Decision.USED: ("allowed once, used", Tone.QUIET),
    Decision.EXPIRED: ("withdrawn, nobody needs it any more", Tone.QUIET),
}

_all_option = click.option("-a", "--all", "decided", is_flag=True, help="Also those that are decided.")


@examples(
    "helio approvals",
    "helio approvals allow k2x7q4ab",
    "helio approvals allow k2x7q4ab --session",
    "helio approvals deny k2x7q4ab",
)
@click.group("approvals", cls=ExampleGroup, invoke_without_command=True)
@_all_option
@json_option
@click.pass_context
def approvals_command(ctx: click.Context, *, decided: bool, in_json: bool) -> None:
    """List what agents ask of you, newest first: who, what, since when. Without an answer nothing happens."""
    if ctx.invoked_subcommand is None:
        _show_list(decided=decided, in_json=in_json)


@examples("helio approvals list", "helio approvals list --all --json")
@click.command("list", cls=ExampleCommand)
@_all_option
@json_option
def list_command(*, decided: bool, in_json: bool) -> None:
    """List what agents ask of you, newest first."""
    _show_list(decided=decided, in_json=in_json)


def _show_list(*, decided: bool, in_json: bool) -> None:
    approvals = on_node(lambda node: node.approvals(pending=not decided))
    if in_json:
        print_document(plain(approvals))
        return
    console = Console.of_streams()
    if not approvals:
        console.say("Nothing was ever asked of you." if decided else "Nothing waits for your approval.")
        return
    console.lines(approval_lines(approvals, time.time_ns() // 1000, console))


def approval_lines(approvals: Sequence[ApprovalView], now_us: int, console: Console) -> list[str]:
    """A block for each: id, who asks since when, and whole, behind a bar, what exactly it is about."""
    lines: list[str] = []
    for approval in approvals:
        asked = f"{one_line(approval.asker)} wants to {_KINDS[approval.kind]}, asked {_ago(approval.asked_us, now_us)}"
        if approval.decided_us is not None and approval.decision in _DECISIONS:
            words, tone = _DECISIONS[approval.decision]
            asked += f": {console.tint(words, tone)} {_ago(approval.decided_us, now_us)}"
        room = console.columns and console.columns - len(_SET_IN)
        lines += [
            *([""] if lines else []),
            f"{console.strong(short(approval.id))}  {asked}",
            *(_SET_IN + row for row in barred(approval.subject, room)),
            *(_SET_IN + row for row in fold(one_line(approval.words).rstrip(",;: "), room)),
        ]
        if approval.decision is Decision.PENDING:
            wanted = short(approval.id)
            lines.append(f"{_SET_IN}helio approvals allow {wanted}   or   helio approvals deny {wanted}")
            if approval.kind.holds_message:
                lines += (_SET_IN + row for row in fold(_LASTING, room))
    return lines


def _ago(us: int, now_us: int) -> str:
    since = age(us, now_us)
    return "just now" if since == "now" else f"{since} ago"


@examples(
    "helio approvals allow k2x7q4ab",
    "helio approvals allow k2x7q4ab --session",
    "helio approvals allow k2x7q4ab --always",
)
@click.command("allow", cls=ExampleCommand)
@approval_argument
@click.option("--once", is_flag=True, help="This one time (the default); it lapses when it is not used.")
@click.option(
    "--session", "for_session", is_flag=True,
    help="This very thing, as long as that session exists: of a message, each time it gets this very text.",
)  # fmt: skip
@click.option("--always", is_flag=True, help="This very thing, for every session and from now on.")
@json_option
def allow_command(*, approval: str, once: bool, for_session: bool, always: bool, in_json: bool) -> None:
    """Allow what an agent asked for: exactly that, and nothing that is like it. A held message lands at once."""
    if once + for_session + always > 1:
        message = "--once, --session and --always contradict each other; give one of them. Nothing was decided."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
    decision = Decision.ALWAYS if always else Decision.SESSION if for_session else Decision.ONCE
    _decide(approval, decision, in_json=in_json)


@examples("helio approvals deny k2x7q4ab")
@click.command("deny", cls=ExampleCommand)
@approval_argument
@json_option
def deny_command(*, approval: str, in_json: bool) -> None:
    """Deny what an agent asked for; it is told so. A held message is then never read, and that is final."""
    _decide(approval, Decision.DENIED, in_json=in_json)


def _decide(wanted: str, decision: Decision, *, in_json: bool) -> None:
    decided = on_node(lambda node: node.decide_approval(wanted, decision))
    if in_json:
        print_document(plain(decided))
        return
    console = Console.of_streams()
    words, tone = _DECISIONS[decided.decision]
    asked = f"{one_line(decided.asker)} wanted to {_KINDS[decided.kind]}"
    console.say(f"{console.tint(words.capitalize(), tone)}: {asked}")
    console.lines(_SET_IN + row for row in barred(decided.subject, console.columns and console.columns - len(_SET_IN)))


for _command in (list_command, allow_command, deny_command):
    approvals_command.add_command(_command)
