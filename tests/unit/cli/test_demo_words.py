"""What the demo says at its end: lines that a shell takes as they are, and which steps went wrong."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from node.demo.play import outcome
from node.demo.stage import farewell, own_helio
from node.platform import paths


def test_the_farewell_ends_node_terminals_and_home(home):
    down, kill, remove = (shlex.split(line) for line in farewell(home)[-3:])
    assert down[-3:] == ["--home", str(home), "down"]
    assert kill == ["tmux", "-S", str(paths.run_dir(home) / paths.TMUX_SOCKET), "kill-server"]
    assert remove == ["rm", "-r", str(home)]


def test_the_helio_it_names_is_there(tmp_path):
    python = tmp_path / "bin dir" / "python"
    python.parent.mkdir()
    assert shlex.split(own_helio(python))[-4:] == [sys.executable, "-P", "-m", "node.entry"]
    script = python.with_name("helio")
    script.touch()
    (found,) = shlex.split(own_helio(python))
    assert Path(found) == script


def test_the_last_line_names_the_steps_that_went_wrong():
    assert outcome({"a": True, "b": True}) == "All 2 steps came out right."
    assert outcome({"a": True, "b": False, "c": False}) == "2 of 3 steps did NOT come out right: b, c."
