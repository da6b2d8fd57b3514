"""What the relay bench makes of its samples, and a bench that breaks off deep inside other work."""

from __future__ import annotations

import asyncio

import pytest

from tools.bench import harness, relay, reporting
from tools.bench.harness import BenchError, ProgramCase, Sample


def sample(per_s: float, p50_ms: float) -> Sample:
    return Sample(per_s=per_s, p50_ms=p50_ms, p99_ms=2 * p50_ms)


def test_each_ratio_is_there_for_each_level_and_null_without_its_peer() -> None:
    samples = {
        "unary": [sample(1_000, 32)] * 3,
        "sink": [sample(8_000, 4), sample(6_000, 2), sample(9_000, 3)],
        "full": [sample(500, 64)] * 3,
        "sink_batched": [sample(30_000, 9)] * 3,
        "pgbench": [sample(4_000, 8)] * 3,
    }
    found = relay.ratios(samples)
    assert (found["vs_unary"], found["p50_vs_unary"], found["batched_vs_unary"]) == (8, 3 / 32, 30)
    assert (found["vs_pgbench"], found["vs_unary_full"], found["p50_vs_unary_full"]) == (2, 0.5, 2)
    assert found["vs_nats_always"] is None
    assert found["vs_unary_screened"] is None
    assert relay.AIMS.keys() <= found.keys()


def test_what_is_to_be_small_is_judged_so() -> None:
    def judged(name: str, value: float | None) -> str:
        return reporting.judged(name, value, relay.AIMS, at_most=relay.AT_MOST)

    assert judged("p50_vs_unary", 0.1) == judged("vs_unary", 7) == "reached"
    assert judged("p50_vs_unary", 0.2) == judged("vs_unary", 5) == "missed"
    assert judged("vs_unary_full", 5) == judged("vs_unary", None) == ""


def test_a_program_measures_itself() -> None:
    async def run(seconds: float) -> Sample:
        return sample(seconds, 1)

    case = ProgramCase(name="pgbench", callers=64, run=run)
    assert asyncio.run(harness.measure(case, 2.5)) == sample(2.5, 1)


def test_a_bench_that_breaks_off_beside_other_work_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    async def breaks(error: Exception) -> int:
        raise ExceptionGroup("beside", [ExceptionGroup("deeper", [error])])

    assert harness.run(breaks(BenchError("The server has gone."))) == 1
    assert "The server has gone." in capsys.readouterr().err
    with pytest.raises(ExceptionGroup):
        harness.run(breaks(ValueError("a defect")))
