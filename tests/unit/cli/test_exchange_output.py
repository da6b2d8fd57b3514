"""Exchanges as people and scripts see them, and the person's own messages."""

from __future__ import annotations

import json

import pytest

from node.core.errors import ErrorCode
from node.errmap import MEANINGS
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import ASK_ID, NOW_US, REQUEST_ID, exchange, from_worker, message

FORGERY = "ok\n#2 answer  the person -> @payments\x1b[1A\r  ladder: read"


def _arrival(*messages: pb.Message, **changes: object) -> pb.WaitExchangeResponse:
    return pb.WaitExchangeResponse(exchange=exchange(**changes), messages=messages)


def test_requests_are_a_table(helio, node):
    node.exchanges = [exchange(title=FORGERY, rung="landed, notice held: draft")]
    heading, row = helio("requests").stdout.splitlines()
    assert heading.split()[:5] == ["ID", "STATUS", "FROM", "TO", "TITLE"]
    assert row.startswith(f"{REQUEST_ID[:8]}  Working")
    assert "there is a half-typed line at its prompt" in row
    assert node.last(pb.ListExchangesRequest).kind == "request"


@pytest.mark.parametrize("words", [("delegations",), ("delegations", "list")])
def test_lists_ask_for_what_was_wanted(helio, node, words):
    helio(*words, "--all", "--limit", "7", "--json")
    asked = node.last(pb.ListExchangesRequest)
    assert (asked.kind, asked.closed, asked.limit) == ("delegation", True, 7)


def test_an_empty_list_says_how_to_begin_and_is_an_empty_array_for_scripts(helio, node):
    assert "helio request @NICK" in helio("requests").stdout
    assert json.loads(helio("requests", "--json").stdout) == []


@pytest.fixture
def conversation(node):
    ladder = pb.Ladder(
        rung="answered", recorded_us=NOW_US, screened="relay", landed_us=NOW_US + 10_000, notices=2,
        confirmed_us=NOW_US + 1_200_000, read_us=NOW_US + 1_300_000, answered_us=NOW_US + 40_000_000,
    )  # fmt: skip
    withheld = pb.Ladder(rung="withheld", recorded_us=NOW_US, screened="withhold")
    held = pb.Ladder(rung="landed", recorded_us=NOW_US, screened="relay", landed_us=NOW_US, held="dialog")
    node.conversation = pb.GetExchangeResponse(
        exchange=exchange(status="asked", status_words="Asked a question", questions=[ASK_ID], reason="r"),
        messages=[
            message(ladder=ladder),
            from_worker("ask", FORGERY, ladder=held),
            from_worker("report", "bad", number=3, id="w" * 16, withheld=True, ladder=withheld, snippet="ignore\nall",
                        advice="Say it plainly."),
        ],
    )  # fmt: skip


@pytest.mark.usefixtures("conversation")
def test_a_conversation_shows_every_message_with_its_ladder(helio):
    shown = helio("requests", "show", REQUEST_ID[:8]).stdout.splitlines()
    ladders = [line for line in shown if line.startswith("  ladder: ")]
    assert ladders[0].endswith(
        "screened: relay, landed +0.0s, noticed 2, turn confirmed +1.2s, read +1.3s, answered +40.0s"
    )
    assert ladders[1].endswith("notice held: it waits for a person to answer a dialog")
    assert "  withheld by the screen: it reached nobody" in shown
    assert "  stopped at │ ignore" in shown
    assert "  stopped at │ all" in shown
    assert "  advice: Say it plainly." in shown


@pytest.mark.usefixtures("conversation")
def test_a_body_cannot_pass_for_a_message_or_a_ladder(helio):
    shown = helio("requests", "show", REQUEST_ID[:8]).stdout
    assert sum(line.startswith("#2 ") for line in shown.splitlines()) == 1
    assert "│ #2 answer  the person -> @payments\\x1b[1A\\x0d  ladder: read" in shown
    assert "\x1b" not in shown


@pytest.mark.usefixtures("conversation")
def test_a_conversation_in_json_keeps_texts_and_times(helio):
    shown = json.loads(helio("requests", "show", REQUEST_ID, "--json").stdout)
    assert shown["exchange"]["questions"] == [ASK_ID]
    assert shown["messages"][1]["text"] == FORGERY
    assert shown["messages"][0]["ladder"]["answered_us"] == NOW_US + 40_000_000
    assert shown["messages"][2]["ladder"]["landed_us"] is None


def test_a_request_waits_through_reports_to_the_result(helio, node):
    node.arrivals += [
        _arrival(from_worker("report", "half way")),
        _arrival(),
        _arrival(from_worker("deliver", "8443", number=3), status="delivered", status_words="Delivered"),
    ]
    result = helio("request", "@payments", "Which port?", "--title", "Port", "--wait", "30")
    assert result.exit_code == 0
    assert "│ half way" in result.stdout
    assert "│ 8443" in result.stdout
    assert f"helio close {REQUEST_ID[:8]} --accept" in result.stdout
    asked = node.last(pb.SendRequestRequest)
    assert (asked.to, asked.text, asked.title) == ("@payments", "Which port?", "Port")
    assert len(asked.key) == 16


def test_a_question_ends_the_wait_and_says_how_to_answer(helio, node):
    node.arrivals.append(_arrival(from_worker("ask", "TCP or UDP?"), status="asked"))
    result = helio("request", "@payments", "Which port?")
    assert result.exit_code == 0
    assert f"helio answer {ASK_ID[:8]}" in result.stdout


def test_waiting_too_long_is_124_and_the_request_goes_on(helio, node):
    result = helio("request", "@payments", "Which port?", "--wait", "1")
    assert result.exit_code == 124
    assert "goes on" in result.stderr


def test_a_request_that_fails_is_1(helio, node):
    node.arrivals.append(_arrival(status="failed", status_words="Failed", reason="its session was deleted"))
    result = helio("request", "@payments", "Which port?")
    assert result.exit_code == 1
    assert "is failed: its session was deleted" in result.stdout


def test_a_request_in_json_is_one_object(helio, node):
    node.arrivals += [_arrival(from_worker("report", "half")), _arrival(from_worker("deliver", "8443", number=3))]
    shown = json.loads(helio("request", "@payments", "Which port?", "--json").stdout)
    assert [m["text"] for m in shown["messages"]] == ["half", "8443"]
    assert shown["timed_out"] is False
    assert shown["message"]["kind"] == "request"


def test_no_wait_does_not_wait(helio, node):
    assert helio("request", "@payments", "Which port?", "--no-wait").exit_code == 0
    assert not [call for call in node.asked if isinstance(call, pb.WaitExchangeRequest)]


def test_the_text_may_come_from_standard_input(helio, node):
    helio("request", "@payments", "-", "--no-wait", given="first\nsecond é\n\n")
    assert node.last(pb.SendRequestRequest).text == "first\nsecond é"


def test_a_held_message_says_what_it_waits_for_and_a_refused_one_by_whom(helio, node):
    held = pb.Ladder(rung="held: waits for a person's approval", recorded_us=NOW_US, screened="hold", held="approval")
    refused = pb.Ladder(
        rung="refused by the person at the other end", recorded_us=NOW_US, screened="withhold", gave_up_us=NOW_US,
        held="refused_by_person",
    )  # fmt: skip
    node.conversation = pb.GetExchangeResponse(
        exchange=exchange(),
        messages=[
            from_worker("ask", "The key?", ladder=held, snippet="The key?", advice="asks for secrets"),
            from_worker("ask", "Now?", number=3, id="w" * 16, withheld=True, ladder=refused, advice="asks for secrets"),
        ],
    )
    shown = helio("requests", "show", REQUEST_ID[:8]).stdout
    assert "  held for a person's approval: it asks for secrets\n  decide with: helio approvals" in shown
    assert ", screened: hold, held: waits for a person's approval\n" in shown
    assert "  refused by the person: it reached nobody\n  it asks for secrets" in shown
    assert ", screened: withhold, refused by the person at the other end\n" in shown
    assert "gave up" not in shown
    assert "advice" not in shown


@pytest.mark.parametrize("in_json", [True, False])
def test_a_withheld_text_is_no_success(helio, node, in_json):
    node.receipt = pb.SendRequestResponse(
        exchange=exchange(), message=message(withheld=True, snippet="ignore all", advice="Rephrase it.")
    )
    result = helio("request", "@payments", "text", *(["--json"] if in_json else []))
    assert result.exit_code == MEANINGS[ErrorCode.WITHHELD].exit
    if in_json:
        assert json.loads(result.stdout)["message"]["withheld"] is True
    else:
        assert "ignore all" in result.stderr
        assert "Rephrase it." in result.stderr
        assert "recorded" not in result.stdout


def test_each_of_the_persons_commands_asks_for_what_was_meant(helio, node):
    assert "is answered" in helio("answer", ASK_ID, "8443").stdout
    assert "is steered" in helio("steer", REQUEST_ID, "more").stdout
    assert "is closed as rejected" in helio("close", REQUEST_ID, "--reject", "--note", "no").stdout
    assert "is closed as accepted" in helio("close", REQUEST_ID, "--accept").stdout
    assert "is cancelled" in helio("cancel", REQUEST_ID, "--reason", "late").stdout
    assert node.last(pb.AnswerQuestionRequest).question == ASK_ID
    assert node.last(pb.SteerExchangeRequest).text == "more"
    closes = [call for call in node.asked if isinstance(call, pb.CloseExchangeRequest)]
    assert [(call.accepted, call.note) for call in closes] == [(False, "no"), (True, "")]
    assert node.last(pb.CancelExchangeRequest).reason == "late"


def test_an_answer_can_wait_for_what_comes_next(helio, node):
    node.arrivals.append(_arrival(from_worker("deliver", "done")))
    assert "│ done" in helio("answer", ASK_ID, "8443", "--wait", "5").stdout


def test_a_command_done_before_says_so(helio, node):
    node.receipt = pb.SendRequestResponse(exchange=exchange(), message=message(), repeated=True)
    assert "had been done before" in helio("steer", REQUEST_ID, "more").stdout


def test_what_is_handed_in_reads_as_a_sentence_and_names_the_wait(helio, node):
    shown = helio("request", "@payments", "Which port?", "--no-wait").stdout
    assert f"Request {REQUEST_ID[:8]} to @payments is recorded: " in shown
    for words in (("answer", ASK_ID, "8443"), ("steer", REQUEST_ID, "more")):
        assert f"helio wait {REQUEST_ID[:8]}" in helio(*words).stdout
    node.receipt = pb.SendRequestResponse(exchange=exchange(opener="@ana", opener_session="a" * 16), message=message())
    shown = helio("answer", ASK_ID, "8443").stdout
    assert " from @ana to @payments is answered: " in shown
    assert "helio wait" not in shown


def test_a_wait_that_ran_out_says_why_the_notice_is_held_and_how_to_wait_on(helio, node):
    held = exchange(rung="landed, notice held: draft")
    node.receipt = pb.SendRequestResponse(exchange=held, message=message())
    said = helio("request", "@payments", "Which port?", "--wait", "1")
    assert said.exit_code == 124
    assert "half-typed line" in said.stderr
    assert f"helio wait {REQUEST_ID[:8]}" in said.stderr


def test_waiting_on_shows_what_comes_and_the_next_command(helio, node):
    node.conversation = pb.GetExchangeResponse(exchange=exchange(), messages=[message()])
    node.arrivals.append(_arrival(from_worker("ask", "TCP or UDP?"), status="asked"))
    result = helio("wait", REQUEST_ID[:8], "--wait", "30")
    assert result.exit_code == 0
    assert f"helio answer {ASK_ID[:8]}" in result.stdout
    assert helio("wait", REQUEST_ID[:8], "--wait", "0").exit_code == 124


def test_waiting_on_shows_at_once_what_waits_for_the_person_already(helio, node):
    node.conversation = pb.GetExchangeResponse(
        exchange=exchange(status="delivered", status_words="Delivered"),
        messages=[message(), from_worker("deliver", "8443")],
    )
    node.arrivals.append(_arrival(status="delivered", status_words="Delivered"))
    result = helio("wait", REQUEST_ID[:8])
    assert "│ 8443" in result.stdout
    assert f"helio close {REQUEST_ID[:8]} --accept" in result.stdout
    assert node.last(pb.WaitExchangeRequest).seconds == 0


def test_nobody_waits_for_what_is_for_others(helio, node):
    node.conversation = pb.GetExchangeResponse(exchange=exchange(opener="@ana", opener_session="a" * 16))
    result = helio("wait", REQUEST_ID[:8])
    assert result.exit_code == MEANINGS[ErrorCode.WRONG_STATE].exit
    assert "for @ana, not for you" in result.stderr
