"""The command `helio`: the MCP shim and hooks start at once on the standard library, the rest is the command line."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> int:
    """Exit status for the console script; Ctrl-C is 130 wherever it strikes, imports included."""
    arguments = sys.argv[1:]
    try:
        # An agent's start waits for its MCP servers: nothing but the shim may be loaded on these paths.
        if arguments == ["mcp"]:
            from node.shim import main as shim

            return shim()
        # And its every step waits for its hooks.
        if arguments[:1] == ["hook"]:
            from node.hook import main as hook

            return hook(arguments[1:])
        from node.cli.app import main as command_line

        return command_line(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
