"""The command line in this process, against no node or a twin of one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from node.cli.app import root
from node.platform.paths import HOME_VARIABLE
from tests.unit.cli.twin_node import TwinNode

Helio = Callable[..., Result]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A node's folder, private, with a path short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="helio-", dir="/tmp") as made:
        monkeypatch.setenv(HOME_VARIABLE, made)
        monkeypatch.setenv("TZ", "UTC")
        yield Path(made)


@pytest.fixture
def helio(home: Path) -> Helio:
    """Runs `helio` with words, to its exit status and both outputs; `given` is what standard input holds."""

    def run(*words: str, given: str | bytes = "", env: dict[str, str] | None = None) -> Result:
        @click.command()
        @click.pass_context
        def whole(ctx: click.Context) -> None:
            ctx.exit(root.run_to_status(list(words)))

        return CliRunner().invoke(whole, [], input=given, env=env, catch_exceptions=False)

    return run


@pytest.fixture
def node(home: Path) -> Iterator[TwinNode]:
    """A twin of the node, serving at the home."""
    yield from TwinNode(home).serve()
