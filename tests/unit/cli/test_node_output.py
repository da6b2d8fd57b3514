"""`up`, `down`, `status` and `doctor` against a twin, and against nothing."""

from __future__ import annotations

import json

import pytest

from node.cli import checks
from node.cli.checks import Level
from node.cli.console import Console
from node.cli.service_command import state_lines
from node.core.errors import ErrorCode, MeshError
from node.core.timeline_check import ProblemCode
from node.core.views_timeline import ProblemView, VerifyResultView, VerifyView
from node.service import Outcome, ServiceState, ServiceSystem
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.test_lifecycle import STATUS
from tests.unit.cli.twin_node import agent, session


def test_up_says_when_a_node_runs_already(helio, node, home):
    result = helio("up")
    assert result.exit_code == 0
    assert "already runs" in result.stdout
    assert str(home) in result.stdout
    assert json.loads(helio("up", "--json").stdout)["already_running"] is True


def test_home_is_where_the_node_is_looked_for(helio, node, home, tmp_path):
    assert helio("--home", str(tmp_path), "status").exit_code == 3
    assert helio("--home", str(home), "status").exit_code == 0


def test_status_is_a_fact_a_line(helio, node):
    node.sessions = [session()]
    shown = helio("status").stdout
    assert "sessions   1 running, 0 ended" in shown
    assert "timeline   3 rows\n" in shown
    node.timeline_writable = False
    assert "CANNOT BE WRITTEN" in helio("status").stdout


def test_status_in_json(helio, node):
    assert json.loads(helio("status", "--json").stdout)["node_id"] == "twin"


def test_down_without_a_node_is_fine(helio):
    result = helio("down")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "No node runs" in result.stdout
    assert json.loads(helio("down", "--json").stdout)["stopped"] is False


def test_doctor_looks_at_everything_and_fails_on_a_failure(helio, node, home):
    node.agents = [agent()]
    shown = {check["check"]: check for check in json.loads(helio("doctor", "--json").stdout)["checks"]}
    assert set(shown) >= {"python", "tmux", "home", "sockets", "token", "settings", "disk", "clock", "node", "service"}
    assert set(shown) >= {"git", "agents", "identity", "mesh port", "discovery", "peers"}
    assert shown["node"]["level"] == "ok"
    (home / "config.toml").write_text("[limits]\nnesting = 'x'\n", encoding="utf-8")
    node.version = "0.0.0"
    node.timeline_writable = False
    result = helio("doctor")
    assert result.exit_code == 1
    assert "fail  settings" in result.stdout
    assert "warn  version" in result.stdout
    assert "fail  timeline" in result.stdout
    assert "2 failed, 1 to look at." in result.stdout


def test_doctor_verifies_the_timeline_on_demand(helio, node):
    node.verification = [
        pb.VerifyTimelineResponse(rows=1, total=3, done=True, problem_seq=1, problem_code="edited", problem_words="bad")
    ]
    result = helio("doctor", "--verify")
    assert result.exit_code == 1
    assert "row 1: bad (edited)" in result.stdout


def test_doctor_without_a_node_says_how_to_start_it_and_is_no_failure(helio):
    result = helio("doctor")
    assert "warn  node" in result.stdout
    assert "helio up" in result.stdout


@pytest.mark.parametrize(
    ("answer", "level"),
    [
        (Outcome(status=0, output="tmux 3.3a"), Level.OK),
        (Outcome(status=0, output="tmux 3.2"), Level.OK),
        (Outcome(status=0, output="tmux next-3.7"), Level.OK),
        (Outcome(status=0, output="tmux master"), Level.OK),
        (Outcome(status=0, output="tmux 3.1c"), Level.FAIL),
        (Outcome(status=0, output="tmux 2.9"), Level.FAIL),
        (Outcome(status=127, output="tmux: No such file"), Level.FAIL),
    ],
)
def test_tmux_must_be_there_and_new_enough(answer, level):
    found = checks.tmux(answer, "linux")
    assert found.level is level
    assert bool(found.remedy) is (level is Level.FAIL)


def test_python_must_be_new_enough():
    assert checks.python_version((3, 11, 0)).level is Level.OK
    assert checks.python_version((3, 10, 9)).level is Level.FAIL


def test_the_home_must_be_private(home):
    assert checks.home_folder(home).level is Level.OK
    assert checks.home_folder(home / "not-yet").level is Level.OK
    home.chmod(0o750)
    found = checks.home_folder(home)
    assert found.level is Level.FAIL
    assert f"chmod 700 '{home}'" in found.remedy
    assert found.found.endswith("(mode 0750)")


def test_a_home_that_is_a_file_or_a_link_is_refused(home):
    home.chmod(0o700)
    (home / "file").touch()
    (home / "link").symlink_to(home)
    for name in ("file", "link"):
        found = checks.home_folder(home / name)
        assert found.level is Level.FAIL
        assert "Move it away" in found.remedy


def test_socket_paths_must_fit(home):
    assert checks.sockets(home, home / "run", "local.sock").level is Level.OK
    assert "too long" in checks.sockets(home, home.parent / "elsewhere", "local.sock").found
    assert checks.sockets(home, home / ("x" * 100), "local.sock").level is Level.FAIL
    refusal = MeshError(ErrorCode.UNAVAILABLE, "open to others")
    assert checks.sockets(home, refusal, "local.sock").level is Level.FAIL


def test_the_token_must_be_private(home):
    token = home / "token"
    assert checks.token_file(token) is None
    token.write_text("x", encoding="ascii")
    for mode, level in ((0o600, Level.OK), (0o640, Level.FAIL)):
        token.chmod(mode)
        found = checks.token_file(token)
        assert found is not None
        assert found.level is level


def test_disk_and_clock():
    levels = [checks.disk_space(size).level for size in (0, 2**29, 2**31)]
    assert levels == [Level.FAIL, Level.WARN, Level.OK]
    now = checks.WRITTEN_US + 10**12
    assert checks.clock(now, None).level is Level.OK
    assert checks.clock(now, now + 60_000_000).level is Level.OK
    assert checks.clock(now, now + 3_600_000_000).level is Level.WARN
    assert checks.clock(1, None).level is Level.FAIL


def test_a_node_that_hangs_is_told_from_one_that_is_not_there(home):
    silent = MeshError(ErrorCode.NODE_NOT_RUNNING, "nobody answers")
    assert [f.level for f in checks.node_answer(silent, "1", None)] == [Level.WARN]
    (hanging,) = checks.node_answer(silent, "1", 42)
    assert hanging.level is Level.FAIL
    assert "kill 42" in hanging.remedy
    assert [f.check for f in checks.node_answer(STATUS, "1", 42)] == ["node", "version"]
    lock = home / "node.lock"
    assert checks.stale_lock(lock, answers=False, owner=None) is None
    lock.touch()
    assert checks.stale_lock(lock, answers=True, owner=1) is None
    left = checks.stale_lock(lock, answers=False, owner=None)
    assert left is not None
    assert left.level is Level.OK


def test_timeline_service_and_network_findings(home):
    result = VerifyResultView(origin="o", root="r", ok=True, problem=None, warnings=())
    assert checks.timeline(VerifyView(rows=3, total=3, result=result)).level is Level.OK
    assert checks.timeline(VerifyView(rows=3, total=9)).level is Level.FAIL
    problem = ProblemView(seq=1, code=ProblemCode.EDITED, words="w")
    bad = VerifyResultView(origin="o", root="r", ok=False, problem=problem, warnings=())
    assert checks.timeline(VerifyView(rows=1, total=3, result=bad)).level is Level.FAIL
    for installed, current, level in ((False, False, Level.OK), (True, False, Level.WARN), (True, True, Level.OK)):
        state = ServiceState(
            system=ServiceSystem.SYSTEMD, name="heliograph.service", file=home, installed=installed, current=current,
            loaded=True, running=True,
        )  # fmt: skip
        assert checks.service(state).level is level
        hint = "helio service install" in "\n".join(state_lines(state, Console.of_streams()))
        assert hint is not installed
    assert checks.local_network("linux", None) is None
    note = checks.local_network("darwin", None)
    assert note is not None
    assert "Local Network" in note.found


def test_what_is_only_good_to_have_never_fails(helio, node):
    missing = Outcome(status=127, output="not found")
    assert (checks.git(missing).level, checks.bubblewrap(missing).level) == (Level.WARN, Level.OK)
    assert checks.git(Outcome(status=0, output="git version 2.47.3")).found == "2.47.3"
    assert checks.bubblewrap(Outcome(status=0, output="bubblewrap 0.11.0")).found == "0.11.0"
    node.agents = [agent(path=""), agent("codex", path="")]
    node.agents[0].ClearField("path")
    node.agents[1].ClearField("path")
    assert "Install one of: claude, codex" in helio("doctor").stdout
    node.agents = [agent()]
    assert "agents         claude 2.1.332" in helio("doctor").stdout


def test_uninstall_is_another_word_for_remove(helio):
    shown = helio("service", "uninstall", "--help")
    assert (shown.exit_code, "Stop the service" in shown.stdout) == (0, True)
    assert "uninstall" not in helio("service", "--help").stdout


def test_the_demos_options_are_in_its_help(helio):
    shown = helio("demo", "--help").stdout
    assert "  --json " in shown
    assert "  --keep " in shown
