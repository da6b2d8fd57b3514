"""The model card tells of the weights that are shipped, and no others."""

from __future__ import annotations

from pathlib import Path

from node import shipped

ROOT = Path(__file__).resolve().parents[2]


def test_the_card_is_of_the_shipped_weights() -> None:
    scorer = shipped.scorer()
    card = (ROOT / "docs" / "screen-model.md").read_text(encoding="utf-8")
    lines = f"version {scorer.version}, withhold at {scorer.withhold_at}, hold at {scorer.hold_at} per mille"
    assert lines in card, "measure the shipped weights with tools/screen/measure.py and write the figures down"
