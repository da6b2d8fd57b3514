"""The node's log: bounded whatever is logged, and nobody else's file is touched."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from node.bounded_log import BoundedLog


def said(handler: logging.Handler, count: int) -> None:
    for number in range(count):
        handler.handle(logging.LogRecord("node", logging.INFO, __file__, 1, "line %04d", (number,), None))


def test_a_log_keeps_its_latest_lines_in_two_bounded_files(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    with path.open("a", encoding="utf-8") as stream:
        said(BoundedLog(stream, path, 2_000), 1_000)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["node.log", "node.log.1"]
    kept = [(tmp_path / name).read_text(encoding="utf-8") for name in ("node.log.1", "node.log")]
    assert all(len(text) < 2_100 for text in kept)
    numbers = [int(line.rpartition(" ")[2]) for line in "".join(kept).splitlines()]
    assert numbers == list(range(numbers[0], 1_000))
    assert len(numbers) > 30


@pytest.mark.parametrize("elsewhere", [True, False])
def test_what_is_not_the_nodes_log_is_left_alone(tmp_path: Path, *, elsewhere: bool) -> None:
    """As when a person runs the node in the foreground and sends its lines somewhere."""
    path, other = tmp_path / "node.log", tmp_path / "other"
    if elsewhere:
        path.write_text("of another run\n", encoding="utf-8")
    with other.open("a", encoding="utf-8") as stream:
        said(BoundedLog(stream, path, 100), 50)
    assert len(other.read_text(encoding="utf-8").splitlines()) == 50
    assert path.exists() == elsewhere
    assert not (tmp_path / "node.log.1").exists()
