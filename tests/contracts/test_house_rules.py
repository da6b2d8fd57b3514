"""Each house rule flags what it is for and leaves its neighbour alone; the tree itself is the gate's business."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gates import bans, house_rules
from tools.gates.findings import Finding

PLACE = Path("node/core/place.py")


def rules_of(found: list[Finding]) -> list[tuple[str, int]]:
    return [(finding.rule, finding.line) for finding in found]


@pytest.mark.parametrize(
    "line",
    ["import asyncio", "import os.path", "from time import monotonic", "import node.store",
     "from node import store", "from node.ports import Reader", "from . import model", "import uuid as ids",
     "from urllib.request import urlopen"],
)  # fmt: skip
def test_the_core_may_not_import(line: str) -> None:
    assert rules_of(bans.findings(PLACE, f"\n{line}\n", bans.core_purity)) == [("core-import", 2)]


@pytest.mark.parametrize(
    "line",
    ["import hashlib", "from collections.abc import Mapping", "from node.core.model import Exchange",
     "from node.core import ids", "from urllib.parse import unquote_to_bytes", "from __future__ import annotations"],
)  # fmt: skip
def test_the_core_may_import(line: str) -> None:
    assert bans.findings(PLACE, line, bans.core_purity) == []


@pytest.mark.parametrize("call", ["datetime.now(UTC)", "datetime.datetime.utcnow()", "date.today()"])
def test_the_core_may_not_ask_for_the_time(call: str) -> None:
    assert rules_of(bans.findings(PLACE, f"x = {call}", bans.core_purity)) == [("core-clock", 1)]


def test_the_core_may_be_told_the_time() -> None:
    assert bans.findings(PLACE, "now = clock.now()\nlater = datetime(2030, 1, 1)", bans.core_purity) == []


@pytest.mark.parametrize("owner", ["loop", "self._loop", "asyncio.get_running_loop()", "asyncio.get_event_loop()"])
def test_a_task_outside_a_group_is_found(owner: str) -> None:
    assert rules_of(bans.findings(PLACE, f"{owner}.create_task(work())", bans.loose_tasks)) == [("loose-task", 1)]


@pytest.mark.parametrize("owner", ["group", "self._tasks", "tg"])
def test_a_task_of_a_group_is_fine(owner: str) -> None:
    assert bans.findings(PLACE, f"{owner}.create_task(work())", bans.loose_tasks) == []


def test_dictionaries_of_anything_are_found() -> None:
    source = "def f(x: dict[str, Any]) -> Mapping[str, typing.Any]: ...\ndef g(x: dict[str, int]) -> object: ..."
    assert rules_of(bans.findings(PLACE, source, bans.any_currency)) == [("any-currency", 1), ("any-currency", 1)]


def test_modules_named_after_nothing_are_found() -> None:
    assert rules_of(bans.findings(Path("node/utils.py"), "", bans.vague_names)) == [("vague-name", 1)]
    assert bans.findings(Path("node/inbox.py"), "", bans.vague_names) == []


def test_sleeps_are_found_but_not_giving_way() -> None:
    source = "time.sleep(0.1)\nawait asyncio.sleep(delay)\nawait asyncio.sleep(0)\nclock.sleep(3)\n"
    assert rules_of(bans.findings(PLACE, source, bans.sleeping_tests)) == [("sleep-in-test", 1), ("sleep-in-test", 2)]


def test_a_poll_with_a_deadline_may_sleep_in_a_function_until() -> None:
    poll = "async def {}(held):\n  async with timeout(9):\n    while not held():\n      await asyncio.sleep(0.02)\n"
    assert bans.findings(PLACE, poll.format("until"), bans.sleeping_tests) == []
    assert rules_of(bans.findings(PLACE, poll.format("settle"), bans.sleeping_tests)) == [("sleep-in-test", 4)]


def test_patches_are_found_but_not_the_environment() -> None:
    source = (
        "monkeypatch.setattr(store, 'commit', fail)\nfrom unittest import mock\nmocker.patch('node.store')\n"
        "monkeypatch.setenv('HELIOGRAPH_HOME', home)\nmonkeypatch.chdir(home)\n"
    )
    assert [line for _, line in rules_of(bans.findings(PLACE, source, bans.patching_tests))] == [1, 2, 3]


@pytest.mark.parametrize(
    "clause", ["except:", "except Exception:", "except BaseException as e:", "except (OSError, Exception):"]
)
def test_a_broad_except_is_found(clause: str) -> None:
    source = f"try:\n    act()\n{clause}\n    pass\n"
    assert rules_of(bans.findings(PLACE, source, bans.broad_excepts)) == [("broad-except", 3)]


def test_a_named_except_is_fine() -> None:
    assert bans.findings(PLACE, "try:\n    act()\nexcept (OSError, ValueError):\n    pass\n", bans.broad_excepts) == []


@pytest.mark.parametrize(("lines", "flagged"), [(999, 1), (1000, 0)])
def test_one_broad_except_in_a_thousand_lines_is_borne(tmp_path: Path, lines: int, flagged: int) -> None:
    handler = "try:\n    act()\nexcept Exception:\n    pass\n"
    (tmp_path / "a.py").write_text(handler + "x = 1\n" * (lines - 4), encoding="utf-8")
    assert len(house_rules.too_many_broad_excepts([tmp_path / "a.py"])) == flagged


@pytest.mark.parametrize(("lines", "flagged"), [(400, 0), (401, 1)])
def test_files_end_at_four_hundred_lines(lines: int, flagged: int) -> None:
    assert len(list(house_rules.too_long(PLACE, "x = 1\n" * lines))) == flagged


def test_a_note_to_do_something_names_its_issue() -> None:
    word = "TO" + "DO"
    source = f"# {word}: later\n# {word}(#12): later\n# methodology, todos\n"
    assert [finding.line for finding in house_rules.loose_notes(PLACE, source)] == [1]


def test_a_file_that_does_not_parse_is_a_finding() -> None:
    assert rules_of(bans.findings(PLACE, "def (:", bans.vague_names)) == [("syntax", 1)]
