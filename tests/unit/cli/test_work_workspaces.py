"""Workspaces and agents as people and scripts see them, and what changes hand on."""

from __future__ import annotations

import json

import pytest

from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import agent, workspace

FORGERY = "x\ndefault  host  on\x1b[2J"
WRONG = MEANINGS[ErrorCode.INVALID_ARGUMENT].exit


def test_workspaces_are_a_table_and_say_why_they_are_broken(helio, node):
    node.workspaces += [
        workspace(reach=pb.Reach(), sessions=2, screen="hold"),
        workspace("box", driver="command", reach=pb.Reach(names=["default"]), state="broken", why=FORGERY),
    ]
    result = helio("workspace", "list")
    heading, default, sandbox, box = result.stdout.splitlines()
    assert heading.split()[:5] == ["NAME", "DRIVER", "STATE", "SESSIONS", "SCREEN"]
    assert default.split() == ["default", "host", "on", "0", "block", "everyone"]
    assert sandbox.split() == ["sandbox", "bubblewrap", "on", "2", "hold", "only", "its", "own", "network=off"]
    assert "its own, default" in box
    assert "box is broken: x default host on\\x1b[2J" in result.stderr


def test_workspaces_in_json_tell_no_reach_from_every_reach(helio, node):
    node.workspaces = [workspace(reach=pb.Reach()), workspace()]
    none, every = json.loads(helio("workspace", "list", "--json").stdout)
    assert (none["reach"], every["reach"], none["settings"]) == ([], None, [["network", "off"]])


def test_a_workspace_is_added_with_settings_that_may_hold_anything(helio, node):
    result = helio("workspace", "add", "box", "--driver", "command", "exec=ssh box A=1 {argv:sh}", "env=")
    asked = node.last(pb.AddWorkspaceRequest)
    assert (asked.name, asked.driver) == ("box", "command")
    assert dict(asked.settings) == {"exec": "ssh box A=1 {argv:sh}", "env": ""}
    assert "Workspace box is added (bubblewrap, on)." in result.stdout
    assert "helio run --workspace box -- CMD..." in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("add", "box"),
        ("add", "box", "--driver", "docker"),
        ("add", "box", "--driver", "host", "novalue"),
        ("add", "box", "--driver", "host", "=x"),
        ("set", "box", "a=1", "a=2"),
        ("set", "box"),
        ("set", "box", "--screen", "off"),
        ("reach", "box"),
        ("reach", "box", "--all", "--none"),
        ("reach", "box", "default", "--all"),
    ],
)
def test_what_is_not_meant_one_way_is_refused_before_the_node_hears_of_it(helio, node, words):
    assert helio("workspace", *words).exit_code in {WRONG, 2}
    assert not node.asked


def test_settings_are_changed_and_taken_away(helio, node):
    helio("workspace", "set", "sandbox", "network=on", "read=")
    asked = node.last(pb.SetWorkspaceRequest)
    assert (dict(asked.settings), asked.screen) == ({"network": "on", "read": ""}, "")


def test_the_mode_of_the_screen_is_set_alone_or_with_settings(helio, node):
    result = helio("workspace", "set", "sandbox", "--screen", "hold")
    asked = node.last(pb.SetWorkspaceRequest)
    assert (dict(asked.settings), asked.screen) == ({}, "hold")
    assert "What the screen flags on its way to them is held for your approval." in result.stdout
    helio("workspace", "set", "sandbox", "network=on", "--screen", "log")
    asked = node.last(pb.SetWorkspaceRequest)
    assert (dict(asked.settings), asked.screen) == ({"network": "on"}, "log")


@pytest.mark.parametrize(
    ("words", "every", "names", "said"),
    [
        (("--all",), True, [], "everyone"),
        (("--none",), False, [], "only sessions in sandbox."),
        (("default", "box"), False, ["default", "box"], "only sessions in sandbox, default and box."),
    ],
)
def test_reach_is_set(helio, node, words, every, names, said):
    result = helio("workspace", "reach", "sandbox", *words)
    asked = node.last(pb.SetReachRequest)
    assert (asked.name, asked.reach.every, list(asked.reach.names)) == ("sandbox", every, names)
    assert said in result.stdout


def test_a_workspace_is_removed_or_the_node_says_why_not(helio, node):
    assert "is removed" in helio("workspace", "rm", "sandbox").stdout
    assert json.loads(helio("workspace", "rm", "sandbox", "--json").stdout) == {"name": "sandbox"}
    node.refusal = MeshError(ErrorCode.WRONG_STATE, "2 sessions run in it.")
    result = helio("workspace", "rm", "sandbox")
    assert (result.exit_code, result.stderr) == (
        MEANINGS[ErrorCode.WRONG_STATE].exit, "helio: 2 sessions run in it.\n",
    )  # fmt: skip


@pytest.fixture
def agents(node):
    node.agents = [
        agent(),
        agent("codex", path="", version="", works=False, why="not installed"),
        agent("qwen", version="0.24.4", works=False, why=f"newer than known {FORGERY}"),
    ]


@pytest.mark.usefixtures("agents")
def test_agents_say_what_is_installed_and_whether_it_works(helio):
    shown = helio("agents").stdout.splitlines()
    assert shown[0].split() == ["AGENT", "VERSION", "WORKS", "PROGRAM"]
    assert shown[1].split() == ["claude", "2.1.332", "yes", "/usr/bin/claude"]
    assert shown[2].split()[:3] == ["codex", "-", "-"]
    assert "codex is not on the node's PATH" in shown[2]
    assert "not known to" in shown[3]
    assert "Ready: claude." in shown
    assert "qwen: newer than known x default host on\\x1b[2J" in shown


@pytest.mark.usefixtures("agents")
def test_agents_can_be_named_and_are_whole_in_json(helio):
    (shown,) = json.loads(helio("agents", "codex", "--json").stdout)
    assert shown == {
        "name": "codex", "program": "codex", "path": None, "version": None, "works": False, "why": "not installed",
    }  # fmt: skip
    result = helio("agents", "cursor")
    assert result.exit_code == MEANINGS[ErrorCode.NOT_FOUND].exit
    assert "It knows: claude, codex, qwen" in result.stderr
