"""What the screen's bench makes of its stretches, and that its texts are ordinary ones."""

from __future__ import annotations

import asyncio

import pytest

from node.core.screen import screen
from node.core.verdict import Decision, Field
from tools.bench import screen as bench
from tools.bench.screen_texts import text


def found(took: dict[str, list[list[float]]], missing: dict[str, str]) -> dict[str, float | None]:
    result = bench.result(took, [9.0, 3.0, 4.0], missing, {})
    return {**result.ratios, **result.figures}


def test_a_ratio_is_formed_within_each_repeat_and_null_without_its_peer() -> None:
    took = {size: [[1.0, 2.0, 30.0], [2.0, 4.0, 5.0], [4.0, 8.0, 9.0]] for size in bench.SIZES}
    took["classifinder"] = [[20.0], [20.0], [16.0]]
    values = found(took, {"ai_injection_guard": "not here"})
    assert (values["vs_classifinder_16k"], values["vs_ai_injection_guard_16k"]) == (5.0, None)
    assert (values["p50_1k_ms"], values["p95_1k_ms"], values["loop_stall_1m_ms"]) == (4.0, 9.0, 4.0)


@pytest.mark.parametrize("size", ["1k", "16k"])
def test_the_texts_are_of_their_size_different_and_give_no_cause_to_stop(size: str) -> None:
    texts = [text(bench.SIZES[size], number) for number in range(bench.TEXTS)]
    assert {len(one) for one in texts} == {bench.SIZES[size]}
    assert len(set(texts)) == bench.TEXTS
    assert {screen([Field(name="text", text=one)]).decision for one in texts} == {Decision.RELAY}


def test_a_stretch_takes_its_number_of_texts_and_a_stall_is_seen() -> None:
    read: list[str] = []
    took = bench.stretch(bench.Case(name="x", read=read.append, texts=["a", "b"]), 0)
    assert (len(took), read) == (bench.AT_LEAST, ["b", "a", "b", "a"])
    assert asyncio.run(bench.stall(text(4_000))) >= 0
