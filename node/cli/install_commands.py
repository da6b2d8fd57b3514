"""`helio install` and `helio uninstall`: an agent CLI of the person's gets to know heliograph, or forgets it again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from node.cli.command import ExampleCommand, examples
from node.cli.console import Console, Tone, confirm, plain, print_document
from node.cli.options import json_option
from node.cli.text import TAB, one_line
from node.core.escape import escape
from node.install import RECIPES, Plan, backup_of, carry_out, plan_install, plan_uninstall
from node.service import own_command

_cli_argument = click.argument("cli", metavar="CLI", type=click.Choice(sorted(RECIPES)))
_yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")
_show_option = click.option("--show", is_flag=True, help="Only show what would change.")
_TONES = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.NAME}


@examples("helio install claude", "helio install codex --show", "helio install gemini --yes")
@click.command("install", cls=ExampleCommand)
@_cli_argument
@_yes_option
@_show_option
@json_option
def install_command(*, cli: str, yes: bool, show: bool, in_json: bool) -> None:
    """Make an agent CLI of yours (claude, codex, gemini, opencode, qwen) know heliograph, in its own configuration.

    Adds the MCP server and the hooks that tell when it is idle, shows the change first and asks. Everything else in the
    files stays as it is, and its permissions are not touched: it asks you before it uses the tools. Sessions that the
    node itself starts need none of this.
    """
    plan = plan_install(cli, helio=helio_words(sys.argv[0], sys.executable), env=os.environ)
    _go_through(plan, f"{cli} knows heliograph already; there is nothing to do.", yes=yes, show=show, in_json=in_json)


@examples("helio uninstall claude", "helio uninstall codex --yes")
@click.command("uninstall", cls=ExampleCommand)
@_cli_argument
@_yes_option
@_show_option
@json_option
def uninstall_command(*, cli: str, yes: bool, show: bool, in_json: bool) -> None:
    """Take out of an agent CLI's configuration what `helio install` put in, and nothing else."""
    plan = plan_uninstall(cli, helio=helio_words(sys.argv[0], sys.executable), env=os.environ)
    _go_through(plan, f"{cli} does not know heliograph; there is nothing to do.", yes=yes, show=show, in_json=in_json)


def helio_words(argv0: str, python: str) -> tuple[str, ...]:
    """The words that start this `helio` from anywhere: its script by absolute path where there is one, else Python."""
    for script in (Path(argv0).absolute(), Path(python).with_name("helio")):
        if script.name == "helio" and script.is_file() and os.access(script, os.X_OK):
            return (str(script),)
    argv, variables = own_command()
    given = tuple(f"{name}={value}" for name, value in variables.items())
    return ("/usr/bin/env", *given, *argv) if given else argv


def _go_through(plan: Plan, nothing: str, *, yes: bool, show: bool, in_json: bool) -> None:
    """Show the plan, ask unless `yes`, and carry it out unless `show`."""
    console = Console.of_streams()
    if not in_json:
        console.lines(plan_lines(plan, console))
    if plan.changes and not show:
        if not yes:
            unasked = "Nothing was changed: there is no terminal to ask at. To change the files above, add --yes."
            confirm("Change these files?", unasked=unasked)
        carry_out(plan)
    if in_json:
        files = [{"path": str(change.path), "diff": list(change.diff())} for change in plan.changes]
        applied = bool(plan.changes) and not show
        print_document({"cli": plan.cli, "applied": applied, "files": plain(files), "notes": plain(plan.notes)})
        return
    if not plan.changes:
        console.say(nothing)
        return
    if show:
        console.say("Nothing was changed.")
        return
    for change in plan.changes:
        done = "Deleted" if change.after is None else "Wrote"
        kept = f" (as it was: {one_line(str(backup_of(change.path)))})" if change.keep else ""
        console.say(f"{done} {one_line(str(change.path))}{kept}")
    console.lines(plan.notes)


def plan_lines(plan: Plan, console: Console) -> list[str]:
    """The changes as a unified diff, in colours where there are colours."""
    lines: list[str] = []
    for change in plan.changes:
        lines += [_diff_line(line, console) for line in change.diff()]
        lines.append("")
    return lines


def _diff_line(line: str, console: Console) -> str:
    # A configuration is full of backslashes of its own; doubled, it would not be what stands in the file.
    shown = escape(line.expandtabs(TAB)).replace("\\\\", "\\")
    tone = _TONES.get(line[:1])
    return console.strong(shown) if line.startswith(("+++", "---")) else console.tint(shown, tone) if tone else shown
