"""Every command explains itself, shows an example that parses, and starts fast."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import click
import pytest

from node.cli.app import root
from node.cli.command import ExampleCommand, ExampleGroup
from node.version import VERSION


def _walk(command: click.Command, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        with click.Context(command) as ctx:
            for name in command.list_commands(ctx):
                child = command.get_command(ctx, name)
                assert child is not None
                found += _walk(child, (*path, name))
    return found


COMMANDS = _walk(root, ())


@pytest.mark.parametrize("path", [path for path, _ in COMMANDS], ids=" ".join)
def test_help_says_what_it_does_and_gives_an_example(helio, path):
    result = helio(*path, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: {' '.join(('helio', *path))} ")
    example = result.stdout[result.stdout.index("Examples:") :]
    assert "helio" in example
    assert all(len(line) <= 100 for line in result.stdout.splitlines())


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])
def test_every_option_is_explained(path, command):
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
    assert isinstance(command, ExampleCommand | ExampleGroup)
    assert command.get_short_help_str(400)


def _examples() -> list[str]:
    lines = [line for _, command in COMMANDS for line in command.examples]
    return [line.split("   ")[0] for line in lines if line.startswith("helio ")]


@pytest.mark.parametrize("line", _examples())
def test_every_example_parses(line):
    words = shlex.split(re.split(r" [<>|] ", line)[0])[1:]
    command: click.Command = root
    context = click.Context(root, info_name="helio")
    while isinstance(command, click.Group):
        context = command.make_context("helio", words, resilient_parsing=False, parent=context)
        words = [*context._protected_args, *context.args]  # noqa: SLF001  (click has no other way to the rest)
        if not words:
            return
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
    command.make_context("helio", words, parent=context)


def test_the_overview_names_every_command_whole_but_what_only_agents_start(helio):
    shown = helio("--help").stdout
    for section in root.sections:
        assert f"{section.heading}:" in shown
        for entry in section.entries:
            assert bool(re.search(rf"^  {entry.name} ", shown, re.MULTILINE)) is bool(entry.summary)
    summaries = [line for line in shown.splitlines() if line.startswith("  ")]
    assert not [line for line in summaries if line.endswith("...")]


def test_the_version(helio):
    assert helio("--version").stdout == f"helio {VERSION}\n"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["completion", "zsh"], ["request", "--help"]])
def test_help_loads_neither_grpc_nor_the_node(words):
    code = (
        "import json, sys\n"
        "from node.cli.app import main\n"
        "main(sys.argv[1:])\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & {"grpc", "google.protobuf", "sqlite3", "psutil", "cryptography", "node.ports", "node.daemon"}


@pytest.mark.parametrize("words", [["status"], ["sessions"], ["approvals"], ["timeline"], ["mirror", "list"]])
def test_a_command_that_screens_nothing_loads_none_of_the_screens_tables(words, tmp_path):
    code = (
        "import importlib, json, sys\n"
        "from node.cli.app import SECTIONS, main\n"
        "for section in SECTIONS:\n"
        "    for entry in section.entries:\n"
        "        importlib.import_module(entry.module)\n"
        "main(['--home', sys.argv[1], *sys.argv[2:]])\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "home"), *words]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "node.core.verdict" in loaded
    tables = {name for name in loaded if name.startswith("node.core.screen")}
    assert tables <= {"node.core.screen_credentials", "node.core.screen_shape"}
    assert not loaded & {"numpy", "node.shipped", "node.classifier"}


def test_the_shim_is_reached_without_the_command_line():
    code = (
        "import json, sys\n"
        "sys.argv = ['helio', 'mcp']\n"
        "sys.stdin.close()\n"
        "from node.entry import main\n"
        "before = set(sys.modules)\n"
        "assert not before & {'click', 'grpc', 'asyncio', 'node.cli'}, before\n"
        "main()\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL, timeout=30
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & {"click", "grpc", "asyncio", "node.cli"}
    assert "node.shim" in loaded


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_helio(helio, shell):
    result = helio("completion", shell)
    assert result.exit_code == 0
    assert "_HELIO_COMPLETE" in result.stdout
    assert result.stderr == ""


def _complete(helio, words: str) -> list[str]:
    env = {"_HELIO_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    result = helio(env=env)
    assert result.stderr == ""
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


def test_completion_without_a_node_is_silent(helio):
    assert _complete(helio, "helio attach @") == []
    assert "attach" in _complete(helio, "helio at")
