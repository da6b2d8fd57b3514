"""The demo as an installed user runs it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from tests.e2e.lab import HELIO


def test_every_step_of_the_demo_comes_out_right() -> None:
    before = set(Path(tempfile.gettempdir()).glob("helio-demo-*"))
    done = subprocess.run([*HELIO, "demo", "--json"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)
    assert {"request_question_answer_reply", "injection_withheld", "cycle_refused", "timeline_verified"} <= set(steps)
    assert all(value is True for value in steps.values()), steps
    assert set(Path(tempfile.gettempdir()).glob("helio-demo-*")) == before, "the demo left its home behind"
