"""`helio completion`, `helio mcp` and `helio demo`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from node.cli.command import ExampleCommand, examples
from node.core.errors import ErrorCode, MeshError

COMPLETE_VARIABLE = "_HELIO_COMPLETE"


@examples(
    "bash:  echo 'eval \"$(helio completion bash)\"' >> ~/.bashrc      (bash 4.4 or newer)",
    "zsh:   echo 'eval \"$(helio completion zsh)\"' >> ~/.zshrc        (after compinit)",
    "fish:  helio completion fish > ~/.config/fish/completions/helio.fish",
)
@click.command("completion", cls=ExampleCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options, nicknames and ids in your shell."""
    made = get_completion_class(shell)
    if made is None:
        raise MeshError(ErrorCode.UNSUPPORTED, f"There is no completion for {shell}.")
    # Not `source()`: for bash it first starts the bash on PATH, which need not be the one that reads the script.
    completion = made(ctx.find_root().command, {}, "helio", COMPLETE_VARIABLE)
    click.echo(completion.source_template % completion.source_vars())


@examples("claude mcp add heliograph -- helio mcp")
@click.command("mcp", cls=ExampleCommand, hidden=True)
@click.pass_context
def mcp_command(ctx: click.Context) -> None:
    """Speak MCP on standard input and output; an agent starts this itself, inside a session."""
    from node.shim import main

    ctx.exit(main())


@examples("helio demo", "helio demo --json", "helio demo --keep")
@click.command("demo", cls=ExampleCommand)
@click.option("--json", "in_json", is_flag=True, help="Print one JSON object with a boolean for each step.")
@click.option("--keep", is_flag=True, help="Leave the node and its sessions running to play with.")
@click.pass_context
def demo_command(ctx: click.Context, *, in_json: bool, keep: bool) -> None:
    """Play the main job on a node of its own: two agents talk through it, and every step is checked."""
    from node.demo.play import main

    ctx.exit(main([*(["--json"] if in_json else []), *(["--keep"] if keep else [])]))
