"""`helio agents`: which agent CLIs there are, and whether this node knows how to work with them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, plain, print_document
from node.cli.options import agents_argument, json_option
from node.cli.text import Column, fold, listed, one_line, table
from node.core.errors import ErrorCode, MeshError
from node.core.views_work import AgentView


@examples("helio agents", "helio agents claude --json")
@click.command("agents", cls=ExampleCommand)
@agents_argument
@json_option
def agents_command(*, agents: tuple[str, ...], in_json: bool) -> None:
    """List agent CLIs: installed or not, where, which version, whether it is known to work, and why not."""
    views = chosen(on_node(lambda node: node.agents()), agents)
    if in_json:
        print_document(plain(views))
        return
    console = Console.of_streams()
    console.lines(agent_table(views, console))
    doubtful = [view for view in views if view.path is not None and view.why]
    for view in doubtful:
        console.say()
        console.lines(fold(f"{one_line(view.name)}: {one_line(view.why)}", console.columns))


def chosen(views: Sequence[AgentView], names: Sequence[str]) -> tuple[AgentView, ...]:
    """The agents of these names, all of them for none; NOT_FOUND for one that the node does not know."""
    known = {view.name: view for view in views}
    for name in names:
        if name not in known:
            message = f"This node knows no agent called {name[:40]!r}. It knows: {', '.join(known)}."
            raise MeshError(ErrorCode.NOT_FOUND, message, {"choices": tuple(known)})
    return tuple(known[name] for name in dict.fromkeys(names)) or tuple(views)


def agent_table(views: Sequence[AgentView], console: Console) -> list[str]:
    """One line for each agent CLI."""
    columns = (
        Column(heading="AGENT"),
        Column(heading="VERSION"),
        Column(heading="WORKS"),
        Column(heading="PROGRAM", flexible=True, least=16),
    )
    rows = [
        (
            one_line(view.name),
            one_line(view.version or "-"),
            _works(view),
            one_line(view.path) if view.path is not None else f"{one_line(view.program)} is not on the node's PATH",
        )
        for view in views
    ]
    lines = table(columns, rows, console.columns)
    installed = [one_line(view.name) for view in views if view.works]
    return [*lines, "", f"Ready: {listed(installed)}." if installed else "None of them is ready."]


def _works(view: AgentView) -> str:
    if view.path is None:
        return "-"
    return "yes" if view.works else "not known to"
