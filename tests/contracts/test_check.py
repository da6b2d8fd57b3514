"""What `tools/check` makes of its gates' answers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import gen_proto
from tools.gates import tests_gate
from tools.gates.project import ROOT
from tools.gates.runner import Gate, Outcome, run_gates, summary
from tools.gates.tests_gate import AGENTS, CLOSING, Selection, arguments, unfair_skips


def test_a_failing_gate_does_not_stop_the_next_and_is_named_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    gates = [
        Gate(name="first", run=lambda: Outcome(passed=False, output="a line is too long")),
        Gate(name="second", run=lambda: Outcome(passed=True, output="not shown", closing_line="3 passed in 0.1s")),
    ]
    results = run_gates(gates)
    shown = capsys.readouterr().out
    assert "a line is too long" in shown
    assert "not shown" not in shown
    lines = summary(results).splitlines()
    assert "FAILED: first" in lines
    assert lines[-1] == "3 passed in 0.1s"


def test_when_all_pass_the_summary_says_so() -> None:
    assert "all 1 gates passed" in summary(run_gates([Gate(name="only", run=lambda: Outcome(passed=True))]))


@pytest.mark.parametrize(
    "line",
    [
        "==== 12 passed in 3.41s ====",
        "== 1 failed, 11 passed, 2 skipped in 75.20s (0:01:15) ==",
        "no tests ran in 0.01s",
    ],
)
def test_the_closing_line_is_recognised(line: str) -> None:
    assert CLOSING.search(line)


def test_other_lines_are_not_the_closing_line() -> None:
    assert not CLOSING.search("tests/unit/test_a.py::test_3 passed in review")


def test_selection_becomes_arguments() -> None:
    report = Path("r.xml")
    chosen = arguments(Selection(expression="store and not slow", fast=True), report)
    assert chosen[-3:] == ["--ignore=tests/e2e", "-k", "store and not slow"]
    everything = arguments(Selection(expression=None, fast=False), report)
    assert "-k" not in everything
    assert [chosen for chosen in everything if chosen.startswith("--ignore")] == ["--ignore=tests/e2e/agents"]
    agents = arguments(Selection(expression=None, fast=False), report, folder="tests/e2e/agents")
    assert agents[-1] == "tests/e2e/agents"
    assert not [chosen for chosen in agents if chosen.startswith("--ignore")]
    again = arguments(Selection(expression=None, fast=False), report, folder="tests/e2e/agents", again=True)
    assert {"--last-failed", "--numprocesses=0"} <= set(again)


@pytest.mark.parametrize(
    ("returncode", "expression", "folder", "again", "good"),
    [
        (0, None, "", False, True), (0, None, AGENTS, True, True), (1, "x", AGENTS, False, False),
        (5, "x", AGENTS, False, True), (5, None, AGENTS, False, False), (5, "x", "", False, False),
        # What failed the first time must be there to run again.
        (5, "x", AGENTS, True, False), (5, None, AGENTS, True, False),
    ],
)  # fmt: skip
def test_a_run_of_nothing_counts_only_where_nothing_was_asked_for(
    returncode: int, expression: str | None, folder: str, *, again: bool, good: bool
) -> None:
    selection = Selection(expression=expression, fast=False)
    assert tests_gate.good(returncode, selection, folder=folder, again=again) is good


def test_what_is_not_tested_stands_in_the_summary() -> None:
    refused = Gate(name="agent CLIs", run=lambda: Outcome(passed=False, output="no network"))
    assert not tests_gate.agent_clis(strict=True, fetch=refused).run().passed
    lenient = run_gates([tests_gate.agent_clis(strict=False, fetch=refused)])
    assert "NOT TESTED: the real agent CLIs" in summary(lenient)


def test_both_runs_of_the_agents_stand_in_the_summary() -> None:
    runs = [Outcome(passed=False, closing_line="2 failed in 9s"), Outcome(passed=True, closing_line="2 passed in 3s")]
    selection = Selection(expression=None, fast=False)
    shown = summary(run_gates([tests_gate.agents_gate(selection, strict=True, tests=lambda _again: runs.pop(0))]))
    assert shown.splitlines()[-2:] == ["2 failed in 9s", "2 passed in 3s (once more, alone)"]


def test_agents_that_could_not_even_be_collected_are_not_run_again() -> None:
    runs = [Outcome(passed=False, closing_line="1 error in 2s"), Outcome(passed=True, closing_line="1 passed in 3s")]
    selection = Selection(expression=None, fast=False)
    gate = tests_gate.agents_gate(selection, strict=True, tests=lambda _again: runs.pop(0))
    assert not gate.run().passed
    assert len(runs) == 1


REPORT = """<testsuites><testsuite>
<testcase classname="a" name="runs"/>
<testcase classname="a" name="lazy"><skipped type="pytest.skip" message="no tmux here"/></testcase>
<testcase classname="a" name="mac"><skipped type="pytest.skip" message="only on macOS: launchd"/></testcase>
<testcase classname="a" name="linux"><skipped type="pytest.skip" message="only on Linux: SO_PEERPIDFD"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("platform", "unfair"),
    [
        ("linux", ["a::lazy", "a::linux"]),
        ("darwin", ["a::lazy", "a::mac"]),
        ("plan9", ["a::lazy", "a::mac", "a::linux"]),
    ],
)
def test_a_skip_is_fair_only_for_the_other_platform(platform: str, unfair: list[str]) -> None:
    assert [line.split(": ")[0] for line in unfair_skips(REPORT, platform)] == unfair


def test_generated_code_is_compared_both_ways(tmp_path: Path) -> None:
    fresh, tree = tmp_path / "fresh", tmp_path / "tree"
    for root, name, text in (
        (fresh, "node/wire/v1/a_pb2.py", "new\n"),
        (tree, "node/wire/v1/a_pb2.py", "old\n"),
        (tree, "tunnel/wire/v1/gone_pb2.pyi", "stale\n"),
        (tree, "node/wire/v1/__init__.py", ""),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    changed = gen_proto.differences(fresh, tree)
    assert {"-old\n", "+new\n", "-stale\n"} <= set(changed)
    assert gen_proto.differences(tree, tree) == []


def test_a_python_that_is_too_old_is_refused_with_what_to_do(tmp_path: Path) -> None:
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    done = subprocess.run(
        [ROOT / "tools" / "check", "--help"],
        env={"PATH": "/usr/bin:/bin", "HELIOGRAPH_PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "not a Python of at least 3.11" in done.stderr
