"""`helio service`: the node as a service of your login."""

from __future__ import annotations

import getpass
import os
from copy import copy
from pathlib import Path

import click

from node.cli.command import ExampleCommand, ExampleGroup, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.lifecycle import await_end
from node.cli.options import json_option
from node.cli.text import one_line
from node.core.errors import ErrorCode, MeshError
from node.platform import paths
from node.service import (
    Launchd,
    Service,
    ServiceState,
    ServiceSystem,
    Systemd,
    run_program,
    service_spec,
    service_system,
)


def own_service(home: Path) -> Service:
    """The service of the node at `home` with this machine's system."""
    spec = service_spec(home, os.environ, Path.home())
    if service_system() is ServiceSystem.LAUNCHD:
        return Launchd(spec, run_program, os.getuid())
    return Systemd(spec, run_program, user=getpass.getuser(), config_home=os.environ.get("XDG_CONFIG_HOME", ""))


@examples("helio service install", "helio service status", "helio service remove")
@click.group("service", cls=ExampleGroup)
def service_command() -> None:
    """Have launchd (macOS) or systemd (Linux) start the node when you log in, and again after a crash."""


@examples("helio service install", "helio service install --show")
@click.command("install", cls=ExampleCommand)
@click.option("--show", is_flag=True, help="Only print the file that would be written.")
@json_option
def install_command(*, show: bool, in_json: bool) -> None:
    """Write the service's file and start the node as a service. Doing it again changes nothing.

    A node that runs already is stopped first, so that the service takes over; sessions keep running.
    """
    console = Console.of_streams()
    service = own_service(paths.home())
    if show:
        click.echo(service.text(), nl=False)
        return
    if not service.status().running:
        _stop_other_node(console)
    state = service.install()
    if in_json:
        print_document(plain(state))
        return
    console.say(f"Wrote {one_line(str(state.file))}:")
    console.lines(f"  {one_line(line) if line.strip() else ''}" for line in service.text().splitlines())
    console.lines(state_lines(state, console))


def _stop_other_node(console: Console) -> None:
    try:
        pid = on_node(lambda node: node.stop())
    except MeshError as error:
        if error.code is not ErrorCode.NODE_NOT_RUNNING:
            raise
        return
    with console.progress() as line:
        await_end(pid, waiting=lambda waited: line.show(f"stopping the node that runs: {waited:.0f} s"))
    console.note(f"The node that ran (process {pid}) has stopped, for the service to take over.")


@examples("helio service remove")
@click.command("remove", cls=ExampleCommand)
@json_option
def remove_command(*, in_json: bool) -> None:
    """Stop the service and delete its file. Sessions keep running; fine when there is no service."""
    console = Console.of_streams()
    service = own_service(paths.home())
    before = service.status()
    state = service.remove()
    if in_json:
        print_document(plain(state))
        return
    done = f"Deleted {one_line(str(state.file))}." if before.installed else "There was no service to remove."
    console.say(done)


@examples("helio service status", "helio service status --json")
@click.command("status", cls=ExampleCommand)
@json_option
def status_command(*, in_json: bool) -> None:
    """Show whether the service is installed, current and running."""
    console = Console.of_streams()
    state = own_service(paths.home()).status()
    if in_json:
        print_document(plain(state))
        return
    console.lines(state_lines(state, console))


for _command in (install_command, remove_command, status_command):
    service_command.add_command(_command)
# What one tries after `install`; the help needs only one of the two.
_uninstall = copy(remove_command)
_uninstall.hidden = True
service_command.add_command(_uninstall, "uninstall")


def state_lines(state: ServiceState, console: Console) -> list[str]:
    """How the service stands, a line for each fact, then the hints."""

    def mark(words: str, *, good: bool) -> str:
        return console.tint(words, Tone.GOOD if good else Tone.WARN)

    written = mark("written" if state.installed else "not there", good=state.installed)
    lines = [
        f"service    {one_line(state.name)} ({state.system.value})",
        f"file       {one_line(str(state.file))}: {written}",
        f"at login   {mark('starts' if state.loaded else 'does not start', good=state.loaded)}",
        f"now        {mark('running' if state.running else 'not running', good=state.running)}",
    ]
    if not state.installed:
        lines.append("hint: To start the node at login, run: helio service install")
    return [*lines, *(f"hint: {one_line(hint)}" for hint in state.hints)]
