"""`tools/check`: sets the environment up, then runs every gate and sums up."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools import setup_env
from tools.gates import house_rules, tests_gate, wheel
from tools.gates.runner import Gate, command_gate, run_gates, summary
from tools.gates.tests_gate import Selection


def all_gates(selection: Selection, *, strict: bool) -> list[Gate]:
    """Every gate in order: the quick ones first, the tests last."""
    return [
        command_gate("ruff check", "ruff", "check", "."),
        command_gate("ruff format", "ruff", "format", "--check", "."),
        house_rules.gate(strict=strict),
        command_gate("arrows", "lint-imports", "tools/arrows.toml"),
        command_gate("pyright (core)", "pyright", "--warnings"),
        command_gate("mypy", "mypy"),
        command_gate("buf lint", "buf", "lint", "proto"),
        command_gate("generated code", "python", "tools/gen_proto.py", "--check"),
        command_gate("tool catalogue", "python", "-m", "tools.gen_catalogue", "--check"),
        wheel.gate(),
        tests_gate.gate(selection, strict=strict),
        *(
            [tests_gate.agent_clis(strict=strict), tests_gate.agents_gate(selection, strict=strict)]
            if selection.agents and not selection.fast
            else []
        ),
    ]


def main(argv: Sequence[str]) -> int:
    """Exit code 0 when every gate passed, 1 when one failed, 2 when the environment cannot be made."""
    parser = argparse.ArgumentParser(prog="tools/check", description="Run every gate of heliograph.")
    parser.add_argument(
        "--strict", action="store_true", help="what CI asks: also no unfair skips, loose notes, long files"
    )
    parser.add_argument("--fast", action="store_true", help="leave the end-to-end tests out")
    parser.add_argument(
        "--no-agents",
        action="store_true",
        help="do not fetch the pinned agent CLIs from npm and test with them",
    )
    parser.add_argument("-k", dest="expression", metavar="EXPR", help="only the tests that match, as for pytest -k")
    options = parser.parse_args(argv)
    try:
        setup_env.ensure("dev")
    except setup_env.SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 2
    selection = Selection(expression=options.expression, fast=options.fast, agents=not options.no_agents)
    results = run_gates(all_gates(selection, strict=options.strict))
    print(summary(results), flush=True)
    return 0 if all(result.outcome.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
