"""Faults in what carries a mirror: nothing acknowledged is lost, doubled or torn. More: `tools/bench/faults.py`."""

from __future__ import annotations

import asyncio
import os

import pytest

from tools.bench.faults import Options, strike

FAULTS = int(os.environ.get("HELIO_TEST_FAULTS", "50"))


@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_or_doubled_when_what_carries_it_breaks() -> None:
    found, faults, _ = asyncio.run(strike(Options(faults=FAULTS, stop_s=0.4, seed=20_261_130), lambda _: None))
    assert found.problems == []
    assert faults.total() == FAULTS
    assert found.pairs >= found.messages > 0
    assert found.files > 0
