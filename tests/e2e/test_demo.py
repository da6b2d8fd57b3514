"""The demo as an installed user runs it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.lab import HELIO


def test_every_step_of_the_demo_comes_out_right() -> None:
    # A folder for temporary files of its own: other demos may be playing on this machine.
    with TemporaryDirectory(prefix="helio-") as scratch:
        env = os.environ | {"TMPDIR": scratch}
        done = subprocess.run(
            [*HELIO, "demo", "--json"], env=env, capture_output=True, text=True, timeout=110, check=False
        )
        assert done.returncode == 0, done.stderr
        steps = json.loads(done.stdout)
        wanted = {
            "request_question_answer_reply", "injection_withheld", "cycle_refused", "timeline_verified",
            "delegation_with_worktree", "two_nodes_paired", "tunnel_request_with_file", "panel_read_only",
        }  # fmt: skip
        assert wanted <= set(steps)
        assert all(value is True for value in steps.values()), steps
        assert not list(Path(scratch).glob("helio-demo-*")), "the demo left its home behind"
