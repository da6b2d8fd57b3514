"""The gate that runs the tests: streams pytest, keeps its closing line, and with --strict looks at what was skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from tools.agent_clis import fetch
from tools.gates.project import ROOT, program, tool_environment
from tools.gates.runner import Gate, Outcome, command_gate

CLOSING = re.compile(r"\b\d+ (?:passed|failed|errors?|skipped|deselected)\b.* in [\d.]+s|no tests ran in [\d.]+s")
RAN = re.compile(r"\b\d+ (?:passed|failed)\b")
# A skip is fair when the test is another platform's; its reason then starts so.
FAIR_SKIP = {"linux": "only on macOS", "darwin": "only on Linux"}
AGENTS = "tests/e2e/agents"
NO_TESTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which tests: `expression` as for pytest -k, `fast` leaves the end-to-end ones out.

    `agents` is for those with real agent CLIs, which take a download.
    """

    expression: str | None
    fast: bool
    agents: bool = True


def gate(selection: Selection, *, strict: bool) -> Gate:
    """The gate of the tests, but for those with real agent CLIs."""
    return Gate(name="tests", run=lambda: _run(selection, strict=strict))


def agents_gate(selection: Selection, *, strict: bool, tests: Callable[[bool], Outcome] | None = None) -> Gate:
    """The gate of the tests with real agent CLIs. `tests` runs them, all or (True) those that failed.

    Those are other people's programs, on a machine that is busy with five of them: what fails is run once more, alone,
    and by name; what fails twice fails. A run that ended before any test ran has named nothing that could be run again.
    """
    look = tests or (lambda again: _run(selection, strict=strict, folder=AGENTS, again=again))

    def run() -> Outcome:
        first = look(False)
        if first.passed or first.output or not RAN.search(first.closing_line):
            return first
        print("== what failed is run once more, alone", flush=True)
        second = look(True)
        return replace(second, closing_line=f"{first.closing_line}\n{second.closing_line} (once more, alone)")

    return Gate(name="tests with agents", run=run)


def arguments(selection: Selection, report: Path, *, folder: str = "", again: bool = False) -> list[str]:
    """pytest's arguments for a selection; every warning is an error by pyproject.toml.

    `folder` is for the tests of one folder alone, `again` for those of them that failed in the run before.
    """
    chosen = ["--durations=10", "--durations-min=1.0", f"--junitxml={report}"]
    processes = 0 if again else workers(os.cpu_count() or 1)
    chosen += [f"--numprocesses={processes}", "--dist=worksteal"]
    if again:
        chosen += ["--last-failed", "--last-failed-no-failures=none"]
    if folder:
        chosen.append(folder)
    else:
        chosen.append("--ignore=tests/e2e" if selection.fast else f"--ignore={AGENTS}")
    if selection.expression is not None:
        chosen += ["-k", selection.expression]
    return chosen


def workers(cores: int) -> int:
    """How many processes run tests: one more than there are cores, for most tests wait most of the time."""
    return cores + 1


def good(returncode: int, selection: Selection, *, folder: str = "", again: bool = False) -> bool:
    """Whether pytest's exit code is that of a run in which nothing failed."""
    # No test was chosen, as when -k names none of that folder. A run of what failed before has something to choose.
    none = bool(folder) and selection.expression is not None and not again
    return returncode == 0 or (none and returncode == NO_TESTS)


def unfair_skips(report: str, platform: str) -> list[str]:
    """Lines `test: reason` for tests of a JUnit report which this platform should have run."""
    found = []
    fair = FAIR_SKIP.get(platform)
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314 - written by our own pytest just now
        for skipped in case.iter("skipped"):
            reason = skipped.get("message") or "no reason"
            if skipped.get("type") != "pytest.xfail" and not (fair and reason.startswith(fair)):
                found.append(f"{case.get('classname')}::{case.get('name')}: {reason}")
    return found


def agent_clis(*, strict: bool, fetch: Gate | None = None) -> Gate:
    """The gate that fetches the agent CLIs. Without them their tests are skipped, which `strict` forbids."""
    fetch = fetch or command_gate("agent CLIs", "python", "tools/agent_clis/fetch.py")

    def run() -> Outcome:
        fetched = fetch.run()
        if fetched.passed or strict:
            return fetched
        print(fetched.output.rstrip(), flush=True)
        return Outcome(passed=True, closing_line="NOT TESTED: the real agent CLIs, since they could not be fetched")

    return Gate(name="agent CLIs", run=run)


def _run(selection: Selection, *, strict: bool, folder: str = "", again: bool = False) -> Outcome:
    # Its path is short, for there are sockets in it, whose paths may not be long.
    with tempfile.TemporaryDirectory(prefix="h-", ignore_cleanup_errors=True) as scratch:
        report = Path(scratch) / "report.xml"
        chosen = arguments(selection, report, folder=folder, again=again)
        returncode, closing = _stream([program("python"), "-m", "pytest", f"--basetemp={scratch}/t", *chosen])
        skipped = unfair_skips(report.read_text(encoding="utf-8"), sys.platform) if strict and report.exists() else []
    output = "\n".join(["skipped, though this platform should run them:", *skipped]) if skipped else ""
    passed = good(returncode, selection, folder=folder, again=again) and not skipped
    return Outcome(passed=passed, output=output, closing_line=closing)


def _stream(command: Sequence[str]) -> tuple[int, str]:
    """Run with the output shown as it comes; answers the exit code and the runner's closing line."""
    closing = ""
    # Their fixture fails the tests otherwise: whoever runs them by hand is to know.
    skipping: dict[str, str] = {} if fetch.is_present(fetch.cache_folder()) else {"HELIO_SKIP_AGENT_CLIS": "1"}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**tool_environment(), **skipping},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        if process.stdout is None:
            raise RuntimeError("pytest was started without a pipe")
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            if CLOSING.search(line):
                closing = line.strip().strip("= ")
        return process.wait(), closing
