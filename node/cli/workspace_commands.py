"""`helio workspace`: the places in which sessions run, and whom each may ask."""

from __future__ import annotations

from collections.abc import Sequence

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.options import json_option, workspace_argument, workspaces_argument
from node.cli.text import Column, listed, one_line, plural, table
from node.core.errors import ErrorCode, MeshError
from node.core.model import DEFAULT_WORKSPACE
from node.core.views_work import WorkspaceView
from node.core.workspace import DriverKind, ScreenMode, StateCode

_TONES = {StateCode.ON: Tone.GOOD, StateCode.BROKEN: Tone.BAD, StateCode.STARTING: Tone.WARN}

_FLAGGED = {
    ScreenMode.BLOCK: "withheld, or held for your approval",
    ScreenMode.HOLD: "held for your approval",
    ScreenMode.LOG: "only logged",
}
_settings_argument = click.argument("settings", nargs=-1, metavar="[KEY=VALUE...]")


@examples(
    "helio workspace add sandbox --driver bubblewrap network=off",
    "helio workspace add box --driver command 'exec=ssh box.example {argv:sh}'",
    "helio workspace list",
    "helio workspace reach sandbox --none",
)
@click.group("workspace", cls=ExampleGroup)
def workspace_command() -> None:
    """Set up places in which sessions run: this machine, a sandbox on it, or whatever a command reaches."""


@examples("helio workspace list", "helio workspace list --json")
@click.command("list", cls=ExampleCommand)
@json_option
def list_command(*, in_json: bool) -> None:
    """List workspaces: driver, state, running sessions, the screen's mode, whom they may ask, settings."""
    workspaces = on_node(lambda node: node.workspaces())
    if in_json:
        print_document(plain(workspaces))
        return
    console = Console.of_streams()
    console.lines(workspace_table(workspaces, console))
    for workspace in workspaces:
        if workspace.why:
            note = f"{one_line(workspace.name)} is broken: {one_line(workspace.why)}"
            console.note(console.tint(note, Tone.WARN))


def workspace_table(workspaces: Sequence[WorkspaceView], console: Console) -> list[str]:
    """One line for each workspace."""
    columns = (
        Column(heading="NAME"),
        Column(heading="DRIVER"),
        Column(heading="STATE"),
        Column(heading="SESSIONS", right=True),
        Column(heading="SCREEN"),
        Column(heading="MAY ASK", flexible=True, least=12),
        Column(heading="SETTINGS", flexible=True, least=12),
    )
    rows = [
        (
            one_line(workspace.name),
            workspace.driver.value,
            workspace.state.value,
            str(workspace.sessions),
            workspace.mode.value,
            reach_words(workspace),
            one_line(" ".join(f"{key}={value}" for key, value in workspace.settings)),
        )
        for workspace in workspaces
    ]
    return table(columns, rows, console.columns)


def reach_words(workspace: WorkspaceView) -> str:
    """Whom its sessions may ask: `everyone`, `only its own`, `its own, web, api`."""
    if workspace.reach is None:
        return "everyone"
    if not workspace.reach:
        return "only its own"
    return ", ".join(("its own", *(one_line(name) for name in workspace.reach)))


@examples(
    "helio workspace add sandbox --driver bubblewrap network=off read=/opt/tools",
    "helio workspace add box --driver command 'exec=ssh box.example {argv:sh}' timeout=120",
)
@click.command("add", cls=ExampleCommand)
@click.argument("name")
@click.option(
    "--driver", required=True, type=click.Choice([kind.value for kind in DriverKind]),
    help="host: the machine itself; bubblewrap: a sandbox (Linux); command: what your commands reach.",
)  # fmt: skip
@_settings_argument
@json_option
def add_command(*, name: str, driver: str, settings: tuple[str, ...], in_json: bool) -> None:
    """Add a workspace. Its sessions may ask everyone until `helio workspace reach` says otherwise."""
    pairs = key_values(settings)
    _show(on_node(lambda node: node.add_workspace(name, driver, pairs)), "is added", in_json=in_json)


@examples(
    "helio workspace set sandbox network=on read=",
    "helio workspace set box timeout=300",
    "helio workspace set default --screen hold",
)
@click.command("set", cls=ExampleCommand)
@workspace_argument
@_settings_argument
@click.option(
    "--screen", "mode", type=click.Choice([mode.value for mode in ScreenMode]), default=None,
    help="Messages to its sessions that the screen flags: block stops attacks and holds what asks for secrets and the "
    "like for your approval; hold holds all of them; log lets them pass, and only notes them.",
)  # fmt: skip
@json_option
def set_command(*, workspace: str, settings: tuple[str, ...], mode: str | None, in_json: bool) -> None:
    """Change settings of a workspace; KEY= with nothing behind it takes one away. Running sessions keep theirs."""
    if not settings and mode is None:
        message = "Say what to change, as KEY=VALUE or with --screen. See: helio workspace list"
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
    pairs = key_values(settings)
    _show(on_node(lambda node: node.set_workspace(workspace, pairs, mode or "")), "is changed", in_json=in_json)


@examples(
    "helio workspace reach sandbox --none",
    "helio workspace reach sandbox default box",
    "helio workspace reach sandbox --all",
)
@click.command("reach", cls=ExampleCommand)
@workspace_argument
@workspaces_argument
@click.option("--all", "every", is_flag=True, help="Every workspace, and sessions on mirrored nodes.")
@click.option("--none", "nobody", is_flag=True, help="Only sessions in the same workspace.")
@json_option
def reach_command(*, workspace: str, workspaces: tuple[str, ...], every: bool, nobody: bool, in_json: bool) -> None:
    """Say which workspaces' sessions the sessions of one may ask. Only those they see.

    One way: who may not ask can still be asked, and answers always travel back.
    """
    if bool(workspaces) + every + nobody != 1:
        message = "Give either the workspaces that it reaches, or --all, or --none. Nothing was changed."
        raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
    _show(on_node(lambda node: node.set_reach(workspace, None if every else workspaces)), "is changed", in_json=in_json)


@examples("helio workspace rm sandbox")
@click.command("rm", cls=ExampleCommand)
@workspace_argument
@json_option
def rm_command(*, workspace: str, in_json: bool) -> None:
    """Remove a workspace in which no session runs. Files in it are left alone."""
    removed = on_node(lambda node: node.remove_workspace(workspace))
    if in_json:
        print_document({"name": removed})
        return
    Console.of_streams().say(f"Workspace {one_line(removed)} is removed.")


for _command in (list_command, add_command, set_command, reach_command, rm_command):
    workspace_command.add_command(_command)


def key_values(words: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` words as settings; INVALID_ARGUMENT for a word that is none, and for a key given twice."""
    pairs: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                f"{word[:60]!r} is no setting. Write KEY=VALUE, in quotes when it has blanks. Nothing was changed.",
            )
        if key in pairs:
            message = f"The setting {key[:40]!r} is given twice. Give it once. Nothing was changed."
            raise MeshError(ErrorCode.INVALID_ARGUMENT, message)
        pairs[key] = value
    return pairs


def _show(workspace: WorkspaceView, done: str, *, in_json: bool) -> None:
    if in_json:
        print_document(plain(workspace))
        return
    console = Console.of_streams()
    name = one_line(workspace.name)
    state = console.tint(workspace.state.value, _TONES.get(workspace.state, Tone.QUIET))
    why = f": {one_line(workspace.why)}" if workspace.why else ""
    console.say(f"Workspace {console.strong(name)} {done} ({workspace.driver.value}, {state}{why}).")
    if workspace.reach is None:
        asked = "everyone"
    else:
        asked = f"only sessions in {listed([name, *(one_line(other) for other in workspace.reach)])}"
    console.say(f"Its sessions may ask {asked}.")
    console.say(f"What the screen flags on its way to them is {_FLAGGED[workspace.mode]}.")
    if workspace.sessions:
        console.say(f"{plural(workspace.sessions, 'session')} in it keep running as they were started.")
    if workspace.name != DEFAULT_WORKSPACE:
        console.say(f"Start a session in it with: helio run --workspace {name} -- CMD...")
