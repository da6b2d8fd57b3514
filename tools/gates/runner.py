"""Runs gates one after the other, says a line for each, and sums up."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.gates.project import ROOT, program, tool_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`passed` decides; `output` is shown when it did not, or when the gate did not stream it already."""

    passed: bool
    output: str = ""
    closing_line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One question with a yes or no; `run` asks it."""

    name: str
    run: Callable[[], Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A gate that ran, and how long it took in seconds."""

    gate: Gate
    outcome: Outcome
    seconds: float


def command_gate(name: str, *command: str) -> Gate:
    """A gate that passes when a program of the environment exits 0."""

    def run() -> Outcome:
        argv = [program(command[0]), *command[1:]]
        done = subprocess.run(
            argv,
            cwd=ROOT,
            env=tool_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Outcome(passed=done.returncode == 0, output=f"$ {' '.join(command)}\n{done.stdout}")

    return Gate(name=name, run=run)


def run_gates(gates: Sequence[Gate]) -> list[Result]:
    """Run every gate, whatever the ones before it said."""
    results = []
    for gate in gates:
        print(f"== {gate.name}", flush=True)
        started = time.monotonic()
        outcome = gate.run()
        result = Result(gate=gate, outcome=outcome, seconds=time.monotonic() - started)
        if not outcome.passed and outcome.output:
            print(outcome.output.rstrip(), flush=True)
        print(_line(result), flush=True)
        results.append(result)
    return results


def summary(results: Sequence[Result]) -> str:
    """A line per gate, the verdict, and last the test runner's own closing line if it had one."""
    failed = [result.gate.name for result in results if not result.outcome.passed]
    verdict = f"FAILED: {', '.join(failed)}" if failed else f"all {len(results)} gates passed"
    closing = [result.outcome.closing_line for result in results if result.outcome.closing_line]
    return "\n".join(["", "summary", *(_line(result) for result in results), verdict, *closing])


def _line(result: Result) -> str:
    verdict = "ok" if result.outcome.passed else "FAILED"
    return f"   {result.gate.name:<24} {verdict:<6} {result.seconds:6.1f} s"
