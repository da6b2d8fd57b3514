"""The node's identity and its peers as people and scripts see them, and what changes hand on."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys

import pytest

from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import NOW_US, peer

FORGERY = "x\nstudio  QQVV2X5  up\x1b[2J\u202egnp.exe\u200b"
ESCAPED = "x studio QQVV2X5 up\\x1b[2J\\u{202e}gnp.exe\\u{200b}"
WRONG_STATE = MEANINGS[ErrorCode.WRONG_STATE].exit


def _read_until(controller: int, end: bytes) -> bytes:
    """What was shown up to `end`; all that is there when that is empty."""
    shown = b""
    while (not end or end not in shown) and select.select([controller], [], [], 20 if end else 0.2)[0]:
        try:
            shown += os.read(controller, 1_000)
        except OSError:
            # Linux says so of a terminal that nobody has open any more.
            break
    return shown


def test_the_id_is_the_output_and_the_rest_a_note(helio, node):
    result = helio("id")
    assert (result.exit_code, result.stdout) == (0, "MMMMMMM-MMMMMMM\n")
    assert result.stderr == "certificate good until 2036-09-18; key kept in the macOS Keychain; no former keys\n"
    node.identity.former_keys = 1
    assert "; 1 former key is kept\n" in helio("id").stderr
    node.identity.former_keys = 2
    node.identity.in_keychain = False
    assert "; key kept in a file of this node; 2 former keys are kept\n" in helio("id").stderr
    assert json.loads(helio("id", "--json").stdout) == {
        "id": "m" * 52, "shown": "MMMMMMM-MMMMMMM", "spki": "ab" * 32, "expires_us": node.identity.expires_us,
        "former_keys": 2, "in_keychain": False,
    }  # fmt: skip


def test_a_new_key_says_that_it_counts_when_the_node_is_started_again(helio, node):
    result = helio("id", "rotate", "--yes")
    assert (result.exit_code, result.stdout) == (0, "WWWWWWW-WWWWWWW\n")
    assert "The new key counts when the node is started again" in result.stderr
    assert "helio down && helio up" in result.stderr
    scripted = helio("id", "rotate", "--yes", "--json")
    assert json.loads(scripted.stdout)["shown"] == "WWWWWWW-WWWWWWW"
    assert "helio down && helio up" in scripted.stderr


@pytest.mark.parametrize(("words", "call"), [
    (("id", "rotate"), pb.RotateIdentityRequest), (("peers", "unpair", "studio"), pb.UnpairRequest),
])  # fmt: skip
def test_what_cannot_be_undone_is_not_done_where_nobody_can_be_asked(helio, node, words, call):
    result = helio(*words, given="y\n")
    assert result.exit_code == WRONG_STATE
    assert "Nothing was changed" in result.stderr
    assert "--yes" in result.stderr
    assert not [asked for asked in node.asked if isinstance(asked, call)]


@pytest.mark.parametrize(("words", "asks"), [
    (("id", "rotate"), "The node gets a new key and a new id, which its peers learn from it. Go on? [y/N]: "),
    (("peers", "unpair", "stu\x1b[2Jdio"), "stu\\x1b[2Jdio would be a stranger at once;"),
])  # fmt: skip
@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("n", WRONG_STATE), ("", WRONG_STATE)])
def test_at_a_terminal_it_is_asked_and_only_a_yes_is_one(home, node, words, asks, answer, status):
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "node.entry", *words],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
    ) as process:
        os.close(terminal)
        shown = _read_until(controller, b"[y/N]: ")
        os.write(controller, answer.encode() + b"\n")
        shown += _read_until(controller, b"helio: " if status == WRONG_STATE else b"")
        try:
            assert process.wait(20) == status
        finally:
            process.kill()
    os.close(controller)
    assert asks in shown.decode()
    assert (b"Nothing was changed." in shown) is (status == WRONG_STATE)
    changed = [call for call in node.asked if isinstance(call, pb.RotateIdentityRequest | pb.UnpairRequest)]
    assert bool(changed) is (status == 0)


def test_without_peers_it_says_how_to_get_one(helio, node):
    assert helio("peers").stdout.splitlines() == [
        "No peers yet. On this machine: helio pair. On the other: helio pair ADDRESS",
        "",
        "This node is reached at port 4354.",
    ]
    assert json.loads(helio("peers", "--json").stdout)["peers"] == []


def test_peers_are_a_table_and_say_why_they_are_not_linked(helio, node):
    node.mesh.peers.extend([
        peer(),
        peer("attic", link="refused", link_why=FORGERY, rtt_us=0, seen_us=0, tls="", group="", given=[], got=[]),
        peer("cellar", link="down", link_address="", addresses=[], link_why="nothing listens at 192.0.2.9:4354"),
    ])  # fmt: skip
    result = helio("peers")
    heading, studio, attic, cellar, *_ = result.stdout.splitlines()
    assert heading.split() == [
        "NAME", "ID", "LINK", "RTT", "SEEN", "TLS", "MAY", "DO", "HERE", "WE", "MAY", "THERE", "ADDRESS",
    ]  # fmt: skip
    assert studio.split()[:6] == ["studio", "QQVV2X5", "up", "2.1", "ms", "now"]
    assert "TLSv1.3 X25519MLKEM768  request      mirror-panel, request  192.0.2.7:4354" in studio
    assert attic.split() == ["attic", "QQVV2X5", "refused", "never", "nothing", "nothing", "192.0.2.7:4354"]
    assert cellar.split()[:3] == ["cellar", "QQVV2X5", "down"]
    assert result.stderr.splitlines() == [
        f"attic: {ESCAPED}", "cellar: nothing listens at 192.0.2.9:4354",
    ]  # fmt: skip


def test_what_strangers_say_moves_no_cursor_and_makes_no_line(helio, node):
    found = pb.FoundNode(instance=FORGERY, version=FORGERY, addresses=[FORGERY], seen_us=NOW_US, name=FORGERY)
    hostile = peer(FORGERY, addresses=[FORGERY], link_address=FORGERY, tls=FORGERY, group=FORGERY, link_why=FORGERY)
    node.mesh.MergeFrom(pb.GetMeshResponse(peers=[hostile], found=[found], why=FORGERY))
    result = helio("peers", "list")
    shown = result.stdout + result.stderr
    assert not {"\x1b", "\u202e", "\u200b", "\r"} & set(shown)
    assert len(result.stdout.splitlines()) == 8
    assert len(result.stderr.splitlines()) == 2
    assert ESCAPED in result.stderr
    assert json.loads(helio("peers", "list", "--json").stdout)["peers"][0]["name"] == FORGERY


def test_strangers_on_the_network_stand_apart_from_peers(helio, node):
    node.mesh.found.extend([
        pb.FoundNode(
            instance="00112233aabbccdd", version="0.1.0", addresses=["192.0.2.9:4354"], seen_us=NOW_US, name="Ada's Mac"
        ),
        pb.FoundNode(instance="ffffffffffffffff", version="0.1.0", addresses=[], seen_us=NOW_US, peer="studio"),
    ])  # fmt: skip
    result = helio("peers")
    assert "Heard on the network, not paired:" in result.stdout
    assert "00112233aabbccdd  Ada's Mac" in result.stdout
    assert "ffffffffffffffff" not in result.stdout
    assert [found["peer"] for found in json.loads(helio("peers", "--json").stdout)["found"]] == ["", "studio"]


def test_a_node_that_is_not_reached_says_so_and_why(helio, node):
    node.mesh.port, node.mesh.why = 0, "Another program may have that port"
    result = helio("peers")
    assert "This node is reached by nobody: it does not listen, and only dials." in result.stdout
    assert result.stderr == "Another program may have that port\n"
    assert json.loads(helio("peers", "--json").stdout)["port"] is None


def test_a_peer_is_renamed_and_given_an_address(helio, node):
    assert helio("peers", "rename", "studio", "mac").stdout == "QQVV2X5 is called mac now.\n"
    asked = node.last(pb.RenamePeerRequest)
    assert (asked.peer, asked.name) == ("studio", "mac")
    assert json.loads(helio("peers", "rename", "studio", "mac", "--json").stdout)["name"] == "mac"
    result = helio("peers", "address", "studio", "[fe80::1%en0]:4354")
    assert result.stdout == "studio is dialled at [fe80::1%en0]:4354 and 192.0.2.7:4354.\n"
    assert node.last(pb.AddPeerAddressRequest).address == "[fe80::1%en0]:4354"
    assert json.loads(helio("peers", "address", "studio", "x", "--json").stdout)["addresses"][0] == "x"


def test_grants_are_given_and_taken(helio, node):
    result = helio("peers", "grant", "studio", "request", "mirror-panel")
    assert result.stdout == "studio may do here: mirror-panel, request.\n"
    asked = node.last(pb.SetGrantsRequest)
    assert (asked.peer, list(asked.give), list(asked.take)) == ("studio", ["mirror-panel", "request"], [])
    assert helio("peers", "revoke", "studio", "request").stdout == "studio may do here: nothing.\n"
    asked = node.last(pb.SetGrantsRequest)
    assert (list(asked.give), list(asked.take)) == ([], ["request"])
    assert json.loads(helio("peers", "grant", "studio", "request", "--json").stdout)["given"] == ["request"]


@pytest.mark.parametrize("words", [
    ("grant", "studio"), ("revoke", "studio"), ("grant", "studio", "everything"), ("rename", "studio"),
    ("address", "studio"), ("unpair",),
])  # fmt: skip
def test_what_is_not_meant_one_way_is_refused_before_the_node_hears_of_it(helio, node, words):
    assert helio("peers", *words).exit_code == 2
    assert not node.asked


def test_a_peer_is_unpaired(helio, node):
    result = helio("peers", "unpair", "studio", "--yes")
    assert (result.exit_code, node.last(pb.UnpairRequest).peer) == (0, "studio")
    assert "studio is not a peer any more." in result.stdout
    assert json.loads(helio("peers", "unpair", "studio", "-y", "--json").stdout) == {"name": "studio"}


@pytest.mark.parametrize("words", [
    ("id",), ("id", "rotate", "--yes"), ("peers",), ("peers", "list"), ("peers", "rename", "a", "b"),
    ("peers", "grant", "a", "request"), ("peers", "revoke", "a", "request"), ("peers", "address", "a", "b"),
    ("peers", "unpair", "a", "--yes"),
], ids=" ".join)  # fmt: skip
def test_refusals_are_the_nodes_words_on_one_line_with_its_status(helio, node, words):
    node.refusal = MeshError(ErrorCode.AMBIGUOUS, f"a names 2 peers: {FORGERY}", {"choices": ("a", "b")})
    result = helio(*words)
    assert (result.exit_code, result.stdout) == (MEANINGS[ErrorCode.AMBIGUOUS].exit, "")
    assert result.stderr == f"helio: a names 2 peers: {ESCAPED}\n"
    refused = json.loads(helio(*words, "--json").stderr)["error"]
    assert (refused["code"], refused["details"]) == ("ambiguous", {"choices": ["a", "b"]})


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("words", [("id",), ("peers",), ("peers", "grant", "a", "request"), ("pair", "--headless")])
def test_without_a_node_it_is_said_how_to_start_one(helio, words):
    result = helio(*words)
    assert result.exit_code == MEANINGS[ErrorCode.NODE_NOT_RUNNING].exit
    assert "helio up" in result.stderr


@pytest.mark.parametrize(("words", "offered"), [
    ("helio peers rename ", ["studio", "Attic"]),
    ("helio peers unpair at", ["Attic"]),
    ("helio peers grant S", ["studio"]),
    ("helio peers revoke studio mirror", ["mirror-panel", "mirror-timeline"]),
    ("helio peers address x", []),
    ("helio pair --want r", ["request"]),
])  # fmt: skip
def test_names_of_peers_and_grants_are_offered(helio, node, words, offered):
    node.mesh.peers.extend([peer(), peer("Attic")])
    env = {"_HELIO_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    result = helio(env=env)
    assert result.stderr == ""
    assert [line for line in result.stdout.split("\n")[1::3] if line] == offered
