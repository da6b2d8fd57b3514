"""Links between hosts of their own, with the limits as they are: what a dead node and a dead cable do to them."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from statistics import median

import pytest

from tests import lan_links
from tests.lan import ROOT, Host, Program, lan, linux
from tests.lan_links import KEEPERS, PORT

pytestmark = linux

PROGRAM = ROOT / "tests" / "lan_links.py"
SEEN_DEAD_S = 15.0
CUT_S = 25.0
BACK_S = 1.0


def place(number: int) -> str:
    return f"10.77.0.{number}"


def served(host: Host, folder: Path) -> Program:
    program = host.start(PROGRAM, "serve", str(folder))
    program.hear(lambda line: "ready" in line, "the port is open")
    return program


def times(keepers: Program, state: str, *, seconds: float = 20.0) -> list[float]:
    """When each of the links came into that state."""
    found: dict[object, float] = {}
    while len(found) < KEEPERS:
        line = keepers.hear(lambda line: line["state"] == state, f"all links are {state}", seconds=seconds)
        moment = line["t"]
        assert isinstance(moment, float)
        found[line["keeper"]] = moment
    return list(found.values())


def test_a_killed_node_and_a_cut_cable_are_seen_and_links_come_back_at_once(tmp_path: Path) -> None:
    lan_links.deal(tmp_path)
    with lan(2, addresses=lambda number: [f"{place(number)}/24"]) as (here, there):
        server = served(there, tmp_path)
        keepers = here.start(PROGRAM, "keep", str(tmp_path), f"{place(2)}:{PORT}")
        times(keepers, "up")

        killed = time.monotonic()
        server.process.send_signal(signal.SIGKILL)
        assert max(times(keepers, "down")) - killed <= SEEN_DEAD_S
        served(there, tmp_path)
        times(keepers, "up")

        cut = time.monotonic()
        there.cut()
        seen = [moment - cut for moment in times(keepers, "down", seconds=CUT_S)]
        assert max(seen) <= SEEN_DEAD_S
        with pytest.raises(TimeoutError):
            keepers.hear(
                lambda line: line["state"] == "up", "a link without a cable", seconds=cut + CUT_S - time.monotonic()
            )
        mended = time.monotonic()
        there.mend()
        back = [moment - mended for moment in times(keepers, "up")]
        print(f"{seen=} {back=}")
        assert median(back) <= BACK_S, back


def test_a_link_over_link_local_ipv6_needs_the_scope_and_nothing_else(tmp_path: Path) -> None:
    lan_links.deal(tmp_path)
    with lan(2, addresses=lambda number: [f"fe80::{number}/64"]) as (here, there):
        served(there, tmp_path)
        keepers = here.start(PROGRAM, "keep", str(tmp_path), f"[fe80::2%eth0]:{PORT}")
        times(keepers, "up")
