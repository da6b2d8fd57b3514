"""The root of the command line: global options and which module holds which command."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path

import click

from node.cli.command import Entry, RootGroup, Section, examples
from node.platform.paths import HOME_VARIABLE
from node.version import VERSION

SECTIONS = (
    Section(
        heading="The node",
        entries=(
            Entry(name="up", module="node.cli.node_commands", summary="Start the node of this machine"),
            Entry(name="down", module="node.cli.node_commands", summary="Stop it; sessions keep running"),
            Entry(name="status", module="node.cli.node_commands", summary="Show the node at a glance"),
            Entry(name="doctor", module="node.cli.doctor_command", summary="Check what the node needs"),
            Entry(name="service", module="node.cli.service_command", summary="Start the node at login, by the system"),
        ),
    ),
    Section(
        heading="Sessions",
        entries=(
            Entry(name="run", module="node.cli.session_commands", summary="Start an agent or program as a session"),
            Entry(name="sessions", module="node.cli.session_commands", summary="List sessions"),
            Entry(name="attach", module="node.cli.session_commands", summary="Show a session's terminal here"),
            Entry(
                name="nick", module="node.cli.session_commands", summary="Give a session a nickname, or take it away"
            ),
            Entry(name="rename", module="node.cli.session_commands", summary="Give a session another title"),
            Entry(name="archive", module="node.cli.session_commands", summary="Put a session away, keep its record"),
            Entry(name="unarchive", module="node.cli.session_commands", summary="Take a session out again"),
            Entry(name="rm", module="node.cli.session_commands", summary="Delete a session for good"),
            Entry(name="palette", module="node.cli.palette_command", summary="Choose a session and type its @nickname"),
        ),
    ),
    Section(
        heading="Exchanges",
        entries=(
            Entry(name="request", module="node.cli.exchange_commands", summary="Ask an agent, and wait for its reply"),
            Entry(name="wait", module="node.cli.exchange_commands", summary="Wait on for what comes in a request"),
            Entry(name="requests", module="node.cli.exchange_lists", summary="List requests, show one whole"),
            Entry(name="delegations", module="node.cli.exchange_lists", summary="List delegations, show one whole"),
            Entry(name="answer", module="node.cli.exchange_commands", summary="Answer an agent's question"),
            Entry(name="steer", module="node.cli.exchange_commands", summary="Change or add to what you want"),
            Entry(name="close", module="node.cli.exchange_commands", summary="Accept or reject what was delivered"),
            Entry(name="cancel", module="node.cli.exchange_commands", summary="Call work off"),
            Entry(name="approvals", module="node.cli.approval_commands", summary="Decide what agents may do, or not"),
        ),
    ),
    Section(
        heading="Agents and workspaces",
        entries=(
            Entry(name="agents", module="node.cli.agent_command", summary="List agent CLIs and whether they work"),
            Entry(name="install", module="node.cli.install_commands", summary="Make an agent CLI know heliograph"),
            Entry(name="uninstall", module="node.cli.install_commands", summary="Undo what install did"),
            Entry(name="workspace", module="node.cli.workspace_commands", summary="Set up places where sessions run"),
        ),
    ),
    Section(
        heading="Other machines",
        entries=(
            Entry(name="id", module="node.cli.mesh_commands", summary="Show this node's id, or give it a new key"),
            Entry(name="pair", module="node.cli.pairing_command", summary="Make two nodes trust each other, once"),
            Entry(name="peers", module="node.cli.mesh_commands", summary="List peers, say what each may do here"),
            Entry(name="mirror", module="tunnel.cli", summary="Mirror servers, watch their delegations from here"),
            Entry(
                name="transfers", module="node.cli.transfer_command", summary="Show files on their way to other nodes"
            ),
        ),
    ),
    Section(
        heading="Security timeline",
        entries=(
            Entry(name="timeline", module="node.cli.timeline_command", summary="Show or verify every decision made"),
            Entry(name="screen", module="node.cli.screen_command", summary="Say what the screen would do with a text"),
        ),
    ),
    Section(
        heading="More",
        entries=(
            Entry(name="demo", module="node.cli.shell_commands", summary="Watch two agents talk, every step checked"),
            Entry(
                name="completion", module="node.cli.shell_commands", summary="Print a script for your shell's TAB key"
            ),
            # What agents start: it is not for people.
            Entry(name="mcp", module="node.cli.shell_commands", summary=""),
        ),
    ),
)


@examples(
    "helio up                                       start the node of this machine",
    "helio run --nick payments -- claude            start a session and show it",
    'helio request @payments "Which port is it?"    ask the agent in it, and wait for its reply',
    "helio timeline --follow                        watch every decision as it is made",
)
@click.group(cls=RootGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, message="helio %(version)s")
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help=f"The node's folder for this call  [default: ${HOME_VARIABLE}, else ~/.heliograph]",
)
def root(home: Path | None) -> None:
    """Agents in terminal sessions hand work to each other through the node of this machine: brokered, screened, logged.

    Every command speaks to the node at ~/.heliograph, or at the folder which HELIOGRAPH_HOME or --home names.
    """
    if home is not None:
        os.environ[HOME_VARIABLE] = str(home.expanduser().absolute())


root.sections = SECTIONS


def main(arguments: list[str]) -> int:
    """The exit status of `helio` with these words."""
    # A standard stream that was closed: output then fails as it does on a full disk, notes go nowhere. Its number is
    # taken, so that no file or socket of ours gets it.
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        # A terminal whose encoding lacks a character shows its escape; it is no reason to fail.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return root.run_to_status(arguments)
