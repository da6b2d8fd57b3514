"""What people and scripts see of files on their way."""

from __future__ import annotations

import json

import pytest

from node.cli.transfer_command import bar, progress_words, size_words
from node.codec_local_mesh import transfer_from_wire
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import NOW_US

FORGERY = "x\nother.bin  to studio\x1b[2J\u202egnp.exe\u200b"
ESCAPED = "x other.bin to studio\\x1b[2J\\u{202e}gnp.exe\\u{200b}"


def transfer(**changes: object) -> pb.Transfer:
    given = {
        "id": "t" * 16, "message": "m" * 16, "peer": "p" * 52, "peer_name": "studio", "name": "model.bin",
        "sha256": "ab" * 32, "direction": "out", "size": 4_000_000_000, "done": 1_000_000_000, "rate": 250_000_000,
        "state": "moving", "since_us": NOW_US, "changed_us": NOW_US,
    }  # fmt: skip
    return pb.Transfer(**(given | changes))


def test_files_on_their_way_are_a_table(helio, node):
    node.transfers = [
        transfer(),
        transfer(id="u" * 16, name="", message="", peer_name="", direction="in", size=0, done=0, rate=0, state="done"),
        transfer(
            id="v" * 16, name="late.txt", direction="in", size=10, done=5, rate=0, state="broken", why="cable out"
        ),
    ]
    result = helio("transfers")
    assert result.exit_code == 0
    head, first, second, third = result.stdout.splitlines()
    assert head.split() == ["FILE", "WAY", "SIZE", "DONE", "RATE", "STATE", "SINCE"]
    assert "model.bin" in first
    assert "to studio" in first
    assert "4.0 GB  [====>               ]  25%  250.0 MB/s  moving" in first
    assert second.split()[:5] == ["abababababab", "from", "pppppppppppp", "0", "bytes"]
    assert "[====================] 100%" in second
    assert "from studio" in third
    assert "broken" in third
    assert result.stderr == "late.txt: cable out\n"


def test_nothing_is_said_to_be_nothing(helio, node):
    assert helio("transfers").stdout == "No files moved between this node and others since it was started.\n"
    assert helio("transfers", "--json").stdout == "[]\n"


def test_a_hostile_name_cannot_pass_for_a_line_of_ours(helio, node):
    node.transfers = [transfer(name=FORGERY, peer_name=FORGERY, state="broken", why=FORGERY)]
    result = helio("transfers")
    assert len(result.stdout.splitlines()) == 2
    assert ESCAPED in result.stdout
    assert f"{ESCAPED}: {ESCAPED}\n" == result.stderr


def test_scripts_get_every_field(helio, node):
    node.transfers = [transfer(why="cable out")]
    (document,) = json.loads(helio("transfers", "--json").stdout)
    assert document == {
        "id": "t" * 16, "message": "m" * 16, "peer": "p" * 52, "peer_name": "studio", "name": "model.bin",
        "sha256": "ab" * 32, "direction": "out", "size": 4_000_000_000, "done": 1_000_000_000, "rate": 250_000_000,
        "state": "moving", "since_us": NOW_US, "changed_us": NOW_US, "why": "cable out",
    }  # fmt: skip


def test_watching_ends_when_nothing_moves(helio, node):
    node.later_transfers = [[transfer()], [transfer(done=3_000_000_000)], [transfer(state="done", done=4_000_000_000)]]
    result = helio("transfers", "--watch")
    assert "100%" in result.stdout
    assert "done" in result.stdout
    assert len([asked for asked in node.asked if isinstance(asked, pb.ListTransfersRequest)]) == 3
    node.later_transfers = [[transfer()], [transfer(state="done")]]
    documents = [json.loads(line) for line in helio("transfers", "--watch", "--json").stdout.splitlines()]
    assert [document[0]["state"] for document in documents] == ["moving", "done"]


def test_progress_is_one_line_for_all_that_moves():
    one = transfer_from_wire(transfer())
    assert progress_words([one], NOW_US) == "[====>               ]  25% model.bin to studio, 250.0 MB/s, 12s left"
    assert progress_words([one, one], NOW_US) == "[====>               ]  25% 2 files, 500.0 MB/s, 12s left"
    slow = transfer_from_wire(transfer(rate=0))
    assert progress_words([slow], NOW_US) == "[====>               ]  25% model.bin to studio, 0 bytes/s"


@pytest.mark.parametrize(
    ("done", "size", "shown"),
    [(0, 10, "[                    ]   0%"), (5, 10, "[=========>          ]  50%"), (10, 10, f"[{'=' * 20}] 100%"),
     (0, 0, f"[{'=' * 20}] 100%"), (11, 10, f"[{'=' * 20}] 100%"), (1, 1_000, "[                    ]   0%")],
)  # fmt: skip
def test_a_bar_is_as_full_as_it_is(done, size, shown):
    assert bar(done, size) == shown


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 KB"), (999_949, "999.9 KB"), (999_950, "1.0 MB"),
     (1_500_000, "1.5 MB"), (2 * 10**12, "2.0 TB"), (10**16, "10000.0 TB")],
)  # fmt: skip
def test_a_size_is_short(size, shown):
    assert size_words(size) == shown
