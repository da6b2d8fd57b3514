"""A look at mirrored servers: what it waits for, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from node.cli.console import Console
from node.core.errors import ErrorCode
from node.core.mesh import Link, LinkState
from node.core.panel import PanelSnapshot
from node.core.views_mirror import MirrorEvent, MirrorStanding, MirrorView, StreamState
from tests.integration.mesh import refused, scenario
from tests.panels import panel_row
from tunnel.watching import Wish, watch

CONSOLE = Console(columns=None, colour=False, live=False)
CONNECTING = MirrorStanding(state=StreamState.CONNECTING, why="the link is down", grants=frozenset(), since_us=1)


class Silent:
    """A node whose mirrored servers never show anything, but for one."""

    async def watch_mirror(
        self, peer: str, *, panel: bool = False, timeline: bool = False, tail: int = 0
    ) -> AsyncGenerator[MirrorEvent, None]:
        assert (panel, timeline, tail) == (True, False, 0)
        yield CONNECTING
        if peer != "good":
            await asyncio.Event().wait()
        yield PanelSnapshot(run="r" * 16, revision=1, rows=(panel_row(1),), left_out=0)


def wish(*names: str) -> Wish:
    mirrors = tuple(
        MirrorView(
            id=name, shown="A" * 7, name=name, paused=False, added_us=1, got=frozenset(),
            link=Link(state=LinkState.DOWN, since_us=1),
        )
        for name in names
    )  # fmt: skip
    return Wish(mirrors=mirrors, client="MMMMMMM", timeline=False, once=True, in_json=False, tail=0)


@scenario
async def test_a_look_does_not_wait_for_ever_and_names_who_is_late(capsys: pytest.CaptureFixture[str]) -> None:
    with refused(ErrorCode.UNAVAILABLE, "late shows nothing now (connecting: the link is down)", "helio peers"):
        await watch(Silent(), wish("good", "late"), CONSOLE, once_s=0.05)
    assert capsys.readouterr().out == ""


@scenario
async def test_a_look_ends_when_all_have_shown_it(capsys: pytest.CaptureFixture[str]) -> None:
    await watch(Silent(), wish("good"), CONSOLE)
    assert capsys.readouterr().out.startswith("good  connecting: the link is down  1 row\n")
