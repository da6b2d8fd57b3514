"""The timeline as people and scripts see it, and the exit status of its verification."""

from __future__ import annotations

import hashlib
import json
import time
import unicodedata

import pytest

from node.core.timeline import Party, RowKind, Scan
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import MESSAGE_ID, NOW_US, REQUEST_ID, peer, session

FORGERY = "x\n2026-09-21 14:13:20.000+00:00  #99  message  agent.request  relayed\x1b[8m"


@pytest.fixture(autouse=True)
def _utc(home):
    time.tzset()


def _withheld(node):
    node.timeline.add(
        "withheld", reason="prompt_injection", conv=REQUEST_ID, msg=MESSAGE_ID, kind="request",
        src=Party(session="sssssssssssssss2"), dst=Party(role="person"), side={"title": "Port", "sender": "@payments"},
        scan=Scan(engine="rules", version="1", status="flagged", score=900, rules=("override",)),
    )  # fmt: skip


def test_a_message_is_a_line_with_time_words_ends_and_ids(helio, node):
    _withheld(node)
    assert helio("timeline").stdout == (
        "2026-09-21 14:13:20.000+00:00  request  withheld (prompt injection)  @payments -> the person  #0  "
        'exchange rqqqqqqq  screen flagged: override  "Port"\n'
    )


def test_a_row_by_itself_is_a_line_with_all_that_it_holds(helio, node):
    _withheld(node)
    assert helio("timeline", "--rows").stdout == (
        "2026-09-21 14:13:20.000+00:00  #0  message  request  withheld (prompt injection)  @payments -> the person  "
        'request  exchange rqqqqqqq message mmmmmmmm  screen flagged: override  title="Port"\n'
    )


@pytest.mark.parametrize("how", [{"words": ("--lang", "pt")}, {"env": {"LANG": "pt_BR.UTF-8", "LC_ALL": ""}}])
def test_the_words_are_the_readers(helio, node, how):
    _withheld(node)
    words = how.get("words", ())
    env = {"LC_MESSAGES": "", "LC_ALL": "C", **how.get("env", {})}
    assert helio("timeline", *words, env=env).stdout == (
        "2026-09-21 14:13:20.000+00:00  pedido  retida (injeção de prompt)  @payments -> a pessoa  #0  "
        'troca rqqqqqqq  triagem sinalizou: override  "Port"\n'
    )
    assert '"reason":"prompt_injection"' in helio("timeline", "--json", *words, env=env).stdout


def test_a_message_and_what_became_of_it_are_one_line(helio, node):
    node.timeline.add("relayed", msg=MESSAGE_ID, kind="request", side={"sender": "@a", "recipient": "@b"})
    node.timeline.add("relayed", msg="n" * 16, kind="ask", side={"sender": "@b", "recipient": "@a"})
    for decision in ("held", "held", "read"):
        node.timeline.add(
            decision, row=RowKind.OUTCOME, msg=MESSAGE_ID, kind="request", reason="busy" if decision == "held" else None
        )
    first, second = helio("timeline").stdout.splitlines()
    assert first.endswith("request  relayed  @a -> @b  held (the agent is working) 2 times, read at once  #0")
    assert second.endswith("ask  relayed  @b -> @a  #1")
    assert len(helio("timeline", "--rows").stdout.splitlines()) == 5
    documents = [json.loads(line) for line in helio("timeline", "--json", "--grouped").stdout.splitlines()]
    assert [(one["seq"], one["last_seq"], one["late"]) for one in documents] == [(0, 4, False), (1, 1, False)]
    assert [(one["decision"], one["reason"], one["times"]) for one in documents[0]["outcomes"]] == [
        ("held", "busy", 2), ("read", None, 1),
    ]  # fmt: skip
    assert documents[0]["row"]["msg"] == MESSAGE_ID
    assert len(helio("timeline", "--json").stdout.splitlines()) == 5


def test_what_becomes_of_a_message_that_is_not_there_is_told(helio, node):
    node.timeline.add("read", row=RowKind.OUTCOME, msg=MESSAGE_ID, kind="request", dst=Party(session="s" * 16))
    assert helio("timeline").stdout.endswith("request  … read  -> ssssssss  message mmmmmmmm\n")


HOSTILE = "\u202eevil\u2028#9\x85x\x1b[2J\r\n\u200b\u061c\U000e0041\\ 'quote' \" ünï 語"


@pytest.mark.parametrize("text", [FORGERY, HOSTILE])
@pytest.mark.parametrize("words", [(), ("--rows",), ("--lang", "pt"), ("overview",), ("overview", "--lang", "pt")])
def test_no_text_beside_a_row_makes_a_row(helio, node, words, text):
    names = ("title", "sender", "recipient", "snippet", "preview", "nickname", "name", "address", "words")
    node.timeline.add("withheld", side=dict.fromkeys(names, text), kind="request")
    node.overview.blocks.extend(node.timeline.stored)
    shown = helio("timeline", *words).stdout
    plain = helio("timeline", *words).stdout.replace("\n", "").replace("…", "")
    assert all(unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp", "Co"} for character in plain)
    if "overview" not in words:
        assert len(shown.splitlines()) == 1


def test_rows_in_json_hold_the_bytes_that_were_hashed(helio, node):
    node.timeline.add("relayed", conv=REQUEST_ID, side={"title": FORGERY})
    node.timeline.add("relayed")
    lines = helio("timeline", "--json").stdout.splitlines()
    for line, stored in zip(lines, node.timeline.stored, strict=True):
        shown = json.loads(line)
        again = json.dumps(shown["row"], sort_keys=True, separators=(",", ":")).encode()
        assert again == stored.data
        assert hashlib.sha256(b"\0" + again).hexdigest() == shown["leaf"] == stored.leaf.hex()
    assert json.loads(lines[0])["side"] == {"title": FORGERY}
    assert lines[0].isascii()


def test_a_damaged_row_is_shown_as_such(helio, node):
    node.timeline.stored.append(pb.ReadTimelineResponse(seq=7, data=b'{"a": 1}\n\x1b', leaf=b"\1" * 32))
    assert helio("timeline").stdout.startswith("#7  DAMAGED: ")
    assert json.loads(helio("timeline", "--json").stdout)["damaged"] == b'{"a": 1}\n\x1b'.hex()


def test_filters_reach_the_node(helio, node):
    node.sessions = [session()]
    node.mesh.peers.append(peer())
    helio(
        "timeline", "--engine", "agent.request", "--decision", "withheld", "--session", "@Payments", "--exchange",
        "RQQQQQQQ", "--message", "mmmmmm", "--since", "2026-09-21T14:13:20Z", "--until", "2026-09-21T14:13:21Z",
        "--limit", "5", "--row", "message", "--outcome", "read", "--reason", "files", "--workspace", "lab",
        "--peer", "Studio", "--text", "port 8080", "--log", "local/x/1", "--before", "9",
    )  # fmt: skip
    asked = node.last(pb.ReadTimelineRequest)
    assert asked == pb.ReadTimelineRequest(
        limit=5, tail=True, engine="agent.request", decision="withheld", session="sssssssssssssss2",
        exchange="rqqqqqqq", message="mmmmmm", since_us=NOW_US, until_us=NOW_US + 1_000_000, row="message",
        outcome="read", reason="files", workspace="lab", peer=peer().id, text="port 8080", log="local/x/1",
        before_seq=9, whole=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("--rows",), {}),
        (("--json",), {}),
        (("--json", "--grouped"), {"whole": True}),
        (("-n", "5"), {"whole": True, "limit": 5, "tail": True}),
        (("-n", "5", "--from-seq", "3"), {"whole": True, "limit": 5, "from_seq": 3}),
        (("-n", "5", "--from-seq", "0", "--rows"), {"limit": 5}),
        (("--decision", "retida", "--lang", "pt", "--rows"), {"decision": "withheld"}),
        (("--decision", "Given back", "--rows"), {"decision": "given_back"}),
        (("--engine", "delegation", "--rows"), {"engine": "agent.delegation"}),
        (("--reason", "prompt injection", "--rows"), {"reason": "prompt_injection"}),
        (("--peer", "QQVV2X5", "--rows"), {"peer": "qqvv2x5"}),
        (("--peer", "qqvv2x5" + "a" * 45, "--rows"), {"peer": "qqvv2x5" + "a" * 45}),
    ],
)
def test_what_is_asked_of_the_node(helio, node, words, asked):
    assert helio("timeline", *words).exit_code == 0
    assert node.last(pb.ReadTimelineRequest) == pb.ReadTimelineRequest(**asked)


@pytest.mark.parametrize("name", ["nobody!", "ab", "QQVV2X5-AAAAAAA-AAAAAAA"])
def test_a_peer_that_nobody_is_called_is_refused(helio, node, name):
    result = helio("timeline", "--peer", name)
    assert result.exit_code != 0
    assert "Traceback" not in result.stderr


def test_words_that_mean_several_codes_are_refused(helio, node):
    result = helio("timeline", "--decision", "iniciada", "--lang", "pt")
    assert result.exit_code != 0
    assert "began, started" in result.stderr


@pytest.mark.parametrize("option", [("--until", "1h"), ("--before", "5")])
def test_following_has_no_end(helio, node, option):
    result = helio("timeline", "--follow", *option)
    assert result.exit_code == 2
    assert option[0] in result.stderr


def test_nothing_is_before_the_first_row(helio, node):
    node.timeline.add("relayed")
    result = helio("timeline", "--before", "0")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No rows match" in result.stderr


def test_searching_texts_says_what_cannot_be_found(helio, node):
    result = helio("timeline", "--text", "gone")
    assert "erased cannot be found" in result.stderr


def test_everything_is_shown_where_there_is_no_terminal(helio, node):
    helio("timeline")
    assert node.last(pb.ReadTimelineRequest) == pb.ReadTimelineRequest(whole=True)


def test_a_nickname_that_nobody_has_is_refused(helio, node):
    result = helio("timeline", "--session", "@nobody")
    assert result.exit_code == 4
    assert "ids, not names" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"), [(("timeline",), "no rows yet"), (("timeline", "--engine", "x"), "No rows match")]
)
def test_nothing_to_show_is_said_beside_the_output(helio, node, words, said):
    result = helio(*words)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert said in result.stderr


GOOD = pb.VerifyTimelineResponse(rows=5, total=5, done=True, ok=True, root="ab" * 32, origin="local/x/1")
BAD = pb.VerifyTimelineResponse(
    rows=2, total=5, done=True, root="ab" * 32, origin="local/x/1", problem_seq=2, problem_code="edited",
    problem_words="its bytes do not have the hash",
)  # fmt: skip
NEWER = pb.VerifyTimelineResponse(rows=2, total=5, done=True, problem_seq=2, problem_code="unknown_version")
HALF = pb.VerifyTimelineResponse(rows=2, total=5)


@pytest.mark.parametrize(
    ("last", "status", "said"),
    [(GOOD, 0, "ok  5 rows"), (BAD, 1, "NOT OK  row 2: its bytes"), (NEWER, 2, "unknown_version"), (HALF, 2, "")],
    ids=["good", "tampered", "newer schema", "cut short"],
)
def test_verify_tells_by_its_exit_status(helio, node, last, status, said):
    node.verification = [HALF, last]
    result = helio("timeline", "verify")
    assert result.exit_code == status
    assert said in result.stdout
    assert bool(result.stderr) is (last is HALF)


@pytest.mark.parametrize(("last", "status"), [(GOOD, 0), (BAD, 1), (HALF, 2)])
def test_verify_in_json_is_one_object(helio, node, last, status):
    node.verification = [last]
    result = helio("timeline", "verify", "--json")
    assert result.exit_code == status
    assert json.loads(result.stdout)["rows"] == last.rows
    assert (json.loads(result.stdout)["result"] or {}).get("ok") is {0: True, 1: False, 2: None}[status]


def test_of_many_prunes_the_newest_are_listed(helio, node):
    last = pb.VerifyTimelineResponse()
    last.CopyFrom(GOOD)
    last.pruned.extend(pb.PrunedRows(first=256 * at, next=256 * (at + 1), row=9_000 + at, why="age") for at in range(9))
    node.verification = [last]
    lines = [line for line in helio("timeline", "verify").stdout.splitlines() if line.startswith("  pruned")]
    assert lines[0] == "  pruned   from row 0 on, 4 times before these"
    assert lines[1] == "  pruned   rows 1024 to 1279, as row 9004 says (age)"
    assert len(lines) == 6


def test_following_says_when_the_node_stopped(helio, node):
    node.timeline.add("relayed")
    node.stops = True
    result = helio("timeline", "--follow")
    assert result.exit_code == 3
    assert "relayed" in result.stdout
    assert "The node stopped" in result.stderr


# --- the overview and the logs ----------------------------------------------------------------------------------------


def _lived(node):
    node.mesh.peers.append(peer())
    _withheld(node)
    node.overview = pb.GetTimelineOverviewResponse(
        since_us=NOW_US, rows=1_234, relayed=1_204, withheld=1, held=2, files=3, file_bytes=1_500_000,
        peers=[peer().id, "z" * 52], peers_total=12, approvals_asked=2, approvals_allowed=1, clock_steps=1,
        turned_away=4, blocks=node.timeline.stored,
    )  # fmt: skip


def test_the_overview_is_numbers_and_the_latest_blocks(helio, node):
    _lived(node)
    shown = helio("timeline", "overview", "--since", "2026-09-21T14:13:20Z").stdout.splitlines()
    assert shown[0].startswith("Since 2026-09-21 14:13:20 (")
    assert shown[2:] == [
        "  Messages    1,204 relayed   1 withheld   2 held   0 refused",
        "  Files       3 files   1.5 MB",
        "  Peers       studio, ZZZZZZZ and 10 more   4 calls turned away",
        "  Approvals   2 asked   1 allowed",
        "  Timeline    1,234 rows   1 step",
        "",
        "Latest blocks",
        "  2026-09-21 14:13:20  request  withheld (prompt injection)  @payments -> the person  #0",
        '                       "Port"',
    ]
    assert node.last(pb.GetTimelineOverviewRequest).since_us == NOW_US


def test_the_overview_in_portuguese(helio, node):
    _lived(node)
    shown = helio("timeline", "overview", "--lang", "pt").stdout
    assert "Mensagens    1.204 encaminhadas   1 retida   2 em espera   0 recusada\n" in shown
    assert "Arquivos     3 arquivos   1,5 MB\n" in shown
    assert "retida (injeção de prompt)" in shown


def test_the_overview_of_a_quiet_day(helio, node):
    shown = helio("timeline", "overview").stdout
    assert "0 relayed   0 withheld   0 refused" in shown
    assert "no other node" in shown
    assert "Nothing was withheld or refused." in shown


def test_the_overview_in_json_is_numbers_and_rows(helio, node):
    _lived(node)
    shown = json.loads(helio("timeline", "overview", "--json", "--lang", "pt").stdout)
    assert (shown["relayed"], shown["peers_total"], shown["peers"][1]) == (1_204, 12, "z" * 52)
    assert shown["blocks"][0]["row"]["reason"] == "prompt_injection"
    assert shown["blocks"][0]["leaf"] == node.timeline.stored[0].leaf.hex()


def test_a_damaged_block_does_not_end_the_overview(helio, node):
    node.overview.blocks.append(pb.ReadTimelineResponse(seq=7, data=b"{", leaf=b"x"))
    result = helio("timeline", "overview")
    assert result.exit_code == 0
    assert "#7  DAMAGED" in result.stdout


def test_an_overview_of_the_future_is_refused(helio, node):
    assert helio("timeline", "overview", "--since", "2999-01-01").exit_code == 2


def test_the_logs(helio, node):
    node.logs = [
        pb.TimelineLog(origin="local/n/1", size=70_000, first=256), pb.TimelineLog(origin="local/n/2", current=True),
    ]  # fmt: skip
    assert helio("timeline", "logs").stdout.splitlines() == [
        "LOG          ROWS  FROM  STATE",
        "local/n/1  70,000  #256  closed",
        "local/n/2       0    #0  current",
    ]
    assert [one["first"] for one in json.loads(helio("timeline", "logs", "--json").stdout)] == [256, 0]
    assert "atual" in helio("timeline", "logs", "--lang", "pt").stdout
