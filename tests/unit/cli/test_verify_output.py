"""What people and scripts are told of a bundle, where no node runs; and how one is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from node.core.node_id import show
from node.core.timeline import Content, Party, Row, RowKind
from tests.log_lab import DAY_S, SW, Log, began, bundle_of, node_of, signer

STUDIO, LAPTOP = "studio", "laptop"


@pytest.fixture
def log() -> Log:
    made = began(rows=300)
    made.sign()
    return made


@pytest.fixture
def file(tmp_path: Path, log: Log) -> str:
    path = tmp_path / "laptop.bundle"
    path.write_bytes(bundle_of(log))
    return str(path)


def test_without_a_name_it_says_whose_key_it_took(helio, file, log):
    result = helio("timeline", "verify", file)
    assert result.exit_code == 0
    assert "ok  302 rows, none missing, none changed" in result.stdout
    assert f"{show(node_of(log.key))} answers for the log's key; nobody vouched" in result.stdout
    assert "signed   rows 0 to 301" in result.stdout
    assert "(log_key_began)" in result.stdout
    assert "unsigned" not in result.stdout


@pytest.mark.parametrize("shown", [True, False])
def test_the_node_that_was_named_must_answer(helio, file, log, shown):
    mine, other = node_of(log.key), node_of(signer())
    result = helio("timeline", "verify", file, "--node", show(mine) if shown else mine)
    assert result.exit_code == 0
    assert "nobody vouched" not in result.stdout
    result = helio("timeline", "verify", file, "--node", show(other) if shown else other)
    assert result.exit_code == 1
    assert "NOT OK" in result.stdout
    assert "not_vouched" in result.stdout


def test_the_node_may_be_named_by_its_public_key(helio, file, log, tmp_path):
    pem = tmp_path / "key.pem"
    pem.write_bytes(
        log.key.node_key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    result = helio("timeline", "verify", file, "--key", str(pem), "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)["result"]
    assert (found["vouched"], found["node"], found["covered"]) == (True, node_of(log.key), 302)
    result = helio("timeline", "verify", file, "--key", str(pem), "--node", node_of(signer()))
    assert result.exit_code == 2
    assert "two different nodes" in result.stderr
    pem.write_text("nothing")
    assert "--node" in helio("timeline", "verify", file, "--key", str(pem)).stderr


def test_a_bundle_that_was_changed(helio, log, tmp_path):
    path = tmp_path / "bad.bundle"
    path.write_bytes(bundle_of(log).replace(b'"decision":"started"', b'"decision":"stopped"', 1))
    result = helio("timeline", "verify", str(path))
    assert result.exit_code == 1
    assert "NOT OK  row 0: row 0: its bytes do not have the hash" in result.stdout
    assert "(edited)" in result.stdout
    path.write_bytes(bundle_of(log)[:-40])
    result = helio("timeline", "verify", str(path))
    assert result.exit_code == 2
    assert "NOT SURE" in result.stdout


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"{}\n", b"hello\n"])
def test_a_file_that_is_no_bundle(helio, tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    result = helio("timeline", "verify", str(path))
    assert result.exit_code == 2
    assert "helio timeline bundle" in result.stderr


def test_a_file_that_is_not_there(helio, tmp_path):
    result = helio("timeline", "verify", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "No such file" in result.stderr


def test_what_goes_with_a_bundle_alone(helio, node, tmp_path):
    result = helio("timeline", "verify", "--node", node_of(signer()))
    assert result.exit_code == 2
    assert "helio timeline bundle" in result.stderr


def test_what_was_kept_is_compared(helio, file, log, tmp_path):
    kept = tmp_path / "kept.note"
    kept.write_text(log.checkpoints[-1].note)
    assert helio("timeline", "verify", file, "--seen", str(kept)).exit_code == 0
    log.fill(100)
    kept.write_text(log.sign().note)
    result = helio("timeline", "verify", file, "--seen", str(kept))
    assert result.exit_code == 1
    assert "402 rows are known of, the log ends after 302 (tail_missing)" in result.stdout
    kept.write_bytes(b"\xff" * 90)
    assert helio("timeline", "verify", file, "--seen", str(kept)).exit_code == 2


# Two nodes and the messages between them


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Log, Log]:
    """The logs of a laptop and a studio."""
    return began(rows=5), began(rows=9)


def crosses(sender: Log, receiver: Log, message: str, *, lost: str = "", outcome: str = "landed") -> int:
    """A message from one to the other, with a row in both logs but in the one that has lost it."""
    one, two = Party(node=node_of(sender.key)), Party(node=node_of(receiver.key))
    row = Row(
        row=RowKind.MESSAGE, engine="agent.request", decision="relayed", sw=SW, msg=message, kind="request",
        leg="egress", src=one, dst=two, content=Content(bytes=1, chars=1),
    )  # fmt: skip
    seq = 0
    if lost != "sender":
        seq = sender.add(row)
        if outcome:
            sender.add(
                Row(row=RowKind.OUTCOME, engine="agent.request", decision=outcome, sw=SW, msg=message, leg="egress")
            )
    if lost != "receiver":
        arrived = receiver.add(replace(row, leg="ingress"))
        seq = arrived if lost == "sender" else seq
    return seq


def judged(helio, tmp_path: Path, one: Log, two: Log):
    paths = []
    for name, log in (("one", one), ("two", two)):
        log.wait(3_600)
        log.sign()
        (tmp_path / name).write_bytes(bundle_of(log))
        paths.append(str(tmp_path / name))
    return helio("timeline", "verify", paths[0], "--twins", paths[1])


def test_paired_messages_are_no_finding(helio, tmp_path, pair):
    one, two = pair
    for log in pair:
        log.wait(3_600)
    crosses(one, two, "mmmm1")
    crosses(two, one, "mmmm2")
    crosses(one, two, "mmmm3", lost="receiver", outcome="expired")
    result = judged(helio, tmp_path, one, two)
    assert result.exit_code == 0, result.output


def test_what_comes_after_the_piece_of_the_other_log_is_not_missed(helio, tmp_path, pair):
    one, two = pair
    for log in pair:
        log.wait(3_600)
    crosses(one, two, "mmmm1")
    two.sign()
    piece = len(two.rows)
    for log in pair:
        log.wait(3_600)
    cut = replace(two, rows=list(two.rows))
    crosses(one, two, "mmmm2")
    for log in pair:
        log.wait(3_600)
    one.sign()
    (tmp_path / "one").write_bytes(bundle_of(one))
    paths = str(tmp_path / "one"), "--twins", str(tmp_path / "two")
    for size, status in ((piece + 1, 0), (piece, 1)):
        (tmp_path / "two").write_bytes(bundle_of(cut, until_us=two.now.ts_us, size=size))
        result = helio("timeline", "verify", *paths)
        assert result.exit_code == status, result.output
        told = f"in {two.origin}, rows {piece} to {piece} of the log are not in this bundle"
        assert (told in result.stderr) == (status == 0)


def test_a_log_that_names_no_node_can_be_paired(helio, tmp_path, pair):
    solo = Log(key=signer(), origin="solo")
    solo.take_key()
    result = judged(helio, tmp_path, solo, pair[0])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("by", "lost", "words"),
    [
        pytest.param("one", "receiver", "arrived at a node whose log has no row of it", id="21 relayed, never logged"),
        pytest.param("one", "sender", "came from a node whose log has no row of it", id="22 made up by the receiver"),
        pytest.param("two", "receiver", "arrived at a node whose log has no row of it", id="8 cut by the receiver"),
        pytest.param("two", "sender", "came from a node whose log has no row of it", id="5 deleted by the sender"),
    ],
)
def test_a_missing_twin_names_the_message(helio, tmp_path, pair, by, lost, words):
    one, two = pair
    for log in pair:
        log.wait(3_600)
    crosses(one, two, "mmmm1")
    seq = crosses(*(pair if by == "one" else pair[::-1]), "mmmm9", lost=lost)
    result = judged(helio, tmp_path, one, two)
    assert result.exit_code == 1
    assert f"row {seq}: message mmmm9 {words}" in result.stdout
    assert "(twin_missing)" in result.stdout
    missing = {("one", "receiver"): two, ("one", "sender"): one, ("two", "receiver"): one, ("two", "sender"): two}
    assert missing[by, lost].origin in result.stdout


def test_a_silent_node_leaves_a_question(helio, tmp_path, pair):
    one, two = pair
    for log in pair:
        log.wait(3_600)
    crosses(one, two, "mmmm1", lost="receiver", outcome="")
    result = judged(helio, tmp_path, one, two)
    assert result.exit_code == 2
    assert "message mmmm1 left, and nothing says that it arrived" in result.stdout


def test_what_is_younger_than_ten_minutes_may_still_come(helio, tmp_path, pair):
    one, two = pair
    for log in pair:
        log.wait(3_600 + 590)
    crosses(one, two, "mmmm1", lost="receiver")
    for log in pair:
        log.wait(-3_599)
    result = judged(helio, tmp_path, one, two)
    assert result.exit_code == 0, result.output


def test_a_log_of_another_time_says_nothing(helio, tmp_path, pair):
    one, two = pair
    crosses(one, two, "mmmm1", lost="receiver")
    two = began()
    two.wait(9 * DAY_S)
    two.fill(3)
    assert judged(helio, tmp_path, one, two).exit_code == 0


# Writing one


def test_a_bundle_appears_when_it_is_whole(helio, node, tmp_path):
    node.timeline.add("relayed")
    node.timeline.add("withheld")
    target = tmp_path / "it.bundle"
    result = helio("timeline", "bundle", "-o", str(target), "--from-seq", "3", "--to-seq", "9")
    assert result.exit_code == 0
    assert "2 rows" in result.stdout
    assert [json.loads(line).get("seq") for line in target.read_bytes().splitlines()] == [None, 0, 1]
    assert (node.asked[-1].from_seq, node.asked[-1].to_seq) == (3, 9)
    assert json.loads(helio("timeline", "bundle", "-o", str(target), "--json").stdout) == {
        "file": str(target), "rows": 2,
    }  # fmt: skip
    assert "No such file" in helio("timeline", "bundle", "-o", str(tmp_path / "no" / "where")).stderr
    node.stops = True
    before = target.read_bytes()
    result = helio("timeline", "bundle", "-o", str(target))
    assert result.exit_code != 0
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target], "nothing half-done stays behind"


def test_a_bundle_on_standard_output(helio, node):
    node.timeline.add("relayed")
    assert len(helio("timeline", "bundle").stdout.splitlines()) == 2
    assert helio("timeline", "bundle", "--from-seq", "9", "--to-seq", "3").exit_code == 2


def test_a_proof_is_printed_as_it_is(helio, node):
    assert helio("timeline", "proof", "7").stdout == "c2sp.org/tlog-proof@v1\nindex 7\n"
    assert json.loads(helio("timeline", "proof", "7", "--json").stdout) == {
        "seq": 7, "proof": "c2sp.org/tlog-proof@v1\nindex 7\n",
    }  # fmt: skip
