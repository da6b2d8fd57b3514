"""What TAB offers of work: approvals, workspaces and agents; and what a conversation shows of files and branches."""

from __future__ import annotations

import json

import pytest

from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import agent, approval, exchange, message, workspace

FORGERY = "a\nfile: b\x1b[1A"


def _complete(helio, words: str) -> list[str]:
    count = len(words.split(" ")) - 1
    env = {"_HELIO_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    result = helio(env=env)
    assert result.stderr == ""
    return [line for line in result.stdout.split("\n")[1::3] if line]


@pytest.fixture
def filled(node):
    node.approvals = [approval(), approval(id="bbbbbbbbbbbbbbb2"), approval(id="ccccccccccccccc2", decision="used")]
    node.workspaces += [workspace("Sandbox")]
    node.agents = [agent("claude"), agent("codex")]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("helio approvals allow ", ["aaaaaaaaaaaaaaa2", "bbbbbbbbbbbbbbb2"]),
        ("helio approvals deny b", ["bbbbbbbbbbbbbbb2"]),
        ("helio workspace rm sand", ["Sandbox"]),
        ("helio workspace reach Sandbox d", ["default"]),
        ("helio run --workspace S", ["Sandbox"]),
        ("helio agents c", ["claude", "codex"]),
        ("helio run -- cl", ["claude"]),
        ("helio run -- claude co", []),
        ("helio install c", ["claude", "codex"]),
    ],
)
def test_names_and_ids_of_work_are_offered(helio, words, offered):
    assert _complete(helio, words) == offered


def test_a_conversation_shows_its_branch_and_the_files_of_each_message(helio, node):
    files = [
        pb.File(name="report.pdf", size=12_345, sha256="ab" * 32, path="/inbox/m/report.pdf"),
        pb.File(name=FORGERY, size=1, sha256="cd" * 32),
        pb.File(name="src", size=10_240, sha256="ef" * 32, folder=True, entries=1, path="/inbox/m/src"),
    ]
    node.conversation = pb.GetExchangeResponse(
        exchange=exchange(kind="delegation", branch="helio/fix\n"), messages=[message(kind="brief", files=files)]
    )
    shown = helio("delegations", "show", "rqqqqqqq").stdout.splitlines()
    assert "  branch    helio/fix" in shown
    listed = [line for line in shown if line.startswith("  file: ")]
    assert listed == [
        "  file: report.pdf  12,345 bytes  sha256 abababababab  at /inbox/m/report.pdf",
        "  file: a file: b\\x1b[1A  1 byte  sha256 cdcdcdcdcdcd  not landed",
        "  file: src  folder with 1 entry, 10,240 bytes  sha256 efefefefefef  at /inbox/m/src",
    ]
    document = json.loads(helio("delegations", "show", "rqqqqqqq", "--json").stdout)
    assert document["exchange"]["branch"] == "helio/fix\n"
    assert document["messages"][0]["files"][1] == {
        "name": FORGERY, "size": 1, "sha256": "cd" * 32, "folder": False, "entries": 0, "path": None,
    }  # fmt: skip


def test_a_conversation_without_files_has_no_line_of_them(helio, node):
    node.conversation = pb.GetExchangeResponse(exchange=exchange(), messages=[message()])
    shown = helio("requests", "show", "rqqqqqqq").stdout
    assert "file:" not in shown
    assert "branch" not in shown
