"""`helio pair` at both ends, with a person who types, with a script, and with nobody."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS
from node.wire.v1 import local_pb2 as pb
from tests.unit.cli.twin_node import ANSWERED, RUN_ID, pairing

FORGERY = "mac\nPaired with mac\x1b[2J\u202e"
ESCAPED = "mac Paired with mac\\x1b[2J\\u{202e}"
SHOWN = "QQVV2X5-AAAAAAA"
UNAVAILABLE = MEANINGS[ErrorCode.UNAVAILABLE].exit
EVERY = ["mirror-panel", "mirror-timeline", "request"]
# A shell that runs the suite in the background has Ctrl-C ignored, and its children inherit that.
HELIO = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from node.entry import main
sys.exit(main())
"""

WAITING = pairing("waiting", port=4_355)
MET = pairing("met", name="attic", shown=SHOWN, asks=["request"], offers=EVERY)
CODE = pairing("code", code="416364")
ASK_CODE = pairing("ask_code", name="attic", shown=SHOWN)
ASK_AGAIN = pairing("ask_code", words="A pairing code has 6 to 8 digits.")
ASK_CONFIRM = pairing("ask_confirm", name="attic", shown=SHOWN, asks=["request"])
AGREED = pairing("agreed")
PAIRED = pairing("paired", name="attic", shown=SHOWN, asks=["request"], offers=[])
DECLINED = pairing("failed", reason="declined", words="It was declined.")


class Person:
    """A person at `helio pair`: reads up to what they know, and types."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.read: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def sees(self, words: str) -> None:
        """Waits for a line with these words; queue.Empty when none comes."""
        while words not in (line := self.lines.get(timeout=20)):
            self.read.append(line)
        self.read.append(line)

    def types(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def leaves(self) -> None:
        """Closes the terminal."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ended(self) -> tuple[int, str, str]:
        """Exit status, all of the output, and what was said on standard error."""
        status = self.process.wait(20)
        self._reader.join(20)
        while not self.lines.empty():
            self.read.append(self.lines.get())
        assert self.process.stderr is not None
        return status, "".join(self.read), self.process.stderr.read()


Pair = Callable[..., Person]


@pytest.fixture
def pair(home: Path) -> Iterator[Pair]:
    """Starts `helio pair` with words, and a person at it."""
    begun: list[subprocess.Popen[str]] = []

    def run(*words: str) -> Person:
        environment = {**os.environ, "HELIOGRAPH_HOME": str(home)}
        begun.append(
            subprocess.Popen(
                [sys.executable, "-u", "-c", HELIO, "pair", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                text=True,
            )
        )
        return Person(begun[-1])

    yield run
    for process in begun:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _plays(node, *steps: pb.RunPairingResponse | str, stops: bool = True) -> None:
    node.script, node.stops = list(steps), stops


def _answers(node) -> list[tuple[str, str, bool]]:
    calls = [call for call in node.asked if isinstance(call, pb.AnswerPairingRequest)]
    return [(call.run, call.code, call.confirmed) for call in calls]


def test_who_waits_shows_the_code_and_is_asked_last(pair, node):
    _plays(node, WAITING, MET, CODE, ASK_CONFIRM, ANSWERED, AGREED, PAIRED)
    person = pair("--want", "request")
    person.sees("Type yes or no")
    person.types(" YES \n")
    status, shown, said = person.ended()
    assert (status, said, _answers(node)) == (0, "", [(RUN_ID, "", True)])
    assert "Waiting at port 4355. On the other machine: helio pair ADDRESS:4355\n" in shown
    assert "attic (QQVV2X5) answers." in shown
    assert "\n    416 364\n" in shown
    assert "Ask whoever is at the other machine" in shown
    assert shown.endswith("Paired with attic (QQVV2X5).\nIt may do here: request. This node may do there: nothing.\n")
    wish = node.last(pb.RunPairingRequest)
    # What is agreed on is never more than the other asks for, and the person sees that first.
    assert (wish.target, list(wish.wants), list(wish.gives), wish.code) == ("", ["request"], EVERY, "")


def test_who_dials_types_the_code_and_is_told_why_once_more(pair, node):
    _plays(node, MET, ASK_CODE, ANSWERED, ASK_AGAIN, ANSWERED, AGREED, PAIRED)
    person = pair("192.0.2.7:4355", "--give", "request", "--name", "studio")
    person.sees("Type the code")
    person.types("12\n")
    person.sees("A pairing code has 6 to 8 digits.")
    person.sees("Type the code")
    person.types(" 416 364\n")
    status, shown, said = person.ended()
    assert (status, said) == (0, "")
    assert _answers(node) == [(RUN_ID, "12", True), (RUN_ID, "416364", True)]
    assert "Its id: QQVV2X5-AAAAAAA" in shown
    wish = node.last(pb.RunPairingRequest)
    assert (wish.target, list(wish.wants), list(wish.gives)) == ("192.0.2.7:4355", [], ["request"])
    assert (wish.name, wish.code, wish.headless) == ("studio", "", False)


def test_an_empty_line_is_no_answer_and_the_end_of_input_is_a_no(pair, node):
    _plays(node, MET, ASK_CODE, ANSWERED, ASK_AGAIN, ANSWERED, DECLINED)
    person = pair("192.0.2.7:4355")
    person.sees("Type the code")
    person.types("\n")
    person.sees("6 to 8 digits")
    person.leaves()
    status, _, said = person.ended()
    assert (status, said) == (UNAVAILABLE, "helio: It was declined.\n")
    assert _answers(node) == [(RUN_ID, "", True), (RUN_ID, "", False)]


@pytest.mark.parametrize(("typed", "confirmed"), [("no\n", False), ("N\n", False), ("", False), ("y\n", True)])
def test_only_a_yes_confirms(pair, node, typed, confirmed):
    _plays(node, WAITING, MET, CODE, ASK_CONFIRM, ANSWERED, DECLINED)
    person = pair()
    person.sees("Type yes or no")
    person.types(typed)
    person.leaves()
    assert person.ended()[0] == UNAVAILABLE
    assert _answers(node) == [(RUN_ID, "", confirmed)]


def test_what_is_neither_yes_nor_no_is_asked_again(pair, node):
    _plays(node, WAITING, ASK_CONFIRM, ANSWERED, AGREED, PAIRED)
    person = pair()
    person.sees("Type yes or no")
    person.types("416364\nyes\n")
    status, _, said = person.ended()
    assert (status, said, _answers(node)) == (0, "Type yes or no:\n", [(RUN_ID, "", True)])


def test_a_line_without_an_end_is_a_no(pair, node):
    _plays(node, WAITING, ASK_CONFIRM, ANSWERED, DECLINED)
    person = pair()
    person.sees("Type yes or no")
    person.types("yes" * 5_000)
    person.leaves()
    status, _, said = person.ended()
    assert (status, said, _answers(node)) == (UNAVAILABLE, "helio: It was declined.\n", [(RUN_ID, "", False)])


def test_what_the_other_calls_itself_makes_no_line_of_ours(pair, node):
    met = pairing("met", name=FORGERY, shown=SHOWN, address=FORGERY)
    _plays(node, pairing("waiting", address=FORGERY, port=1), met, pairing("failed", reason="lost", words=FORGERY))
    status, shown, said = pair().ended()
    assert (status, said) == (UNAVAILABLE, f"helio: {ESCAPED}\n")
    assert not {"\x1b", "\u202e"} & set(shown)
    assert f"\n{ESCAPED} (QQVV2X5) answers." in shown
    assert len(shown.splitlines()) == 4


def test_the_address_is_shown_where_it_is_known(pair, node):
    _plays(node, pairing("waiting", port=4_355, address="192.0.2.8:4355"), DECLINED)
    shown = pair().ended()[1]
    assert shown == "Waiting at 192.0.2.8:4355. On the other machine: helio pair 192.0.2.8:4355\n"


@pytest.mark.parametrize(("steps", "left"), [
    ((WAITING,), "nothing was changed"),
    ((WAITING, ASK_CONFIRM), "nothing was changed"),
    ((WAITING, AGREED), "`helio peers` on both machines shows what came of it"),
])  # fmt: skip
def test_ctrl_c_leaves_with_130_and_says_what_is_left(pair, node, steps, left):
    _plays(node, *steps, stops=False)
    person = pair()
    person.sees({"waiting": "Waiting at", "ask_confirm": "Type yes or no", "agreed": "to agree"}[steps[-1].step])
    person.process.send_signal(signal.SIGINT)
    status, _, said = person.ended()
    assert (status, said.count("\n")) == (130, 1)
    assert said.startswith("helio: Pairing was left")
    assert left in said
    assert _answers(node) == []


@pytest.mark.parametrize(("reason", "status"), [
    ("wrong_code", UNAVAILABLE), ("not_found", MEANINGS[ErrorCode.NOT_FOUND].exit), ("limit", 8), ("unheard_of", 16),
])  # fmt: skip
def test_a_run_that_failed_has_the_status_of_its_reason(helio, node, reason, status):
    _plays(node, pairing("failed", reason=reason, words="Begin anew."))
    result = helio("pair", "--headless")
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", "helio: Begin anew.\n")


def test_a_run_that_just_ends_is_no_pair(helio, node):
    _plays(node, WAITING)
    result = helio("pair", "--headless")
    assert result.exit_code == UNAVAILABLE
    assert "did not come about" in result.stderr


def test_a_run_that_the_node_refuses_is_refused_in_its_words(helio, node):
    node.refusal = MeshError(ErrorCode.WRONG_STATE, "This node is pairing already.")
    result = helio("pair", "--headless", "--json")
    assert (result.exit_code, result.stdout) == (MEANINGS[ErrorCode.WRONG_STATE].exit, "")
    assert json.loads(result.stderr)["error"]["message"] == "This node is pairing already."


def test_an_answer_that_came_too_late_leaves_the_word_to_the_run(pair, node):
    _plays(node, ASK_CODE, ANSWERED, pairing("failed", reason="expired", words="The time for pairing is over."))

    node.too_late = True
    person = pair("192.0.2.7:1")
    person.sees("Type the code")
    person.types("123456\n")
    status, _, said = person.ended()
    assert (status, said) == (UNAVAILABLE, "helio: The time for pairing is over.\n")


def test_headless_says_how_the_other_machine_gets_the_code(helio, node):
    _plays(node, pairing("waiting", port=4_355, code="12345678"), AGREED, PAIRED)
    result = helio("pair", "--headless", "--give", "request", "--port", "4355")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "Waiting at port 4355. On the other machine: helio pair ADDRESS:4355 --code-stdin\n"
        "The code for its standard input, good for one try: 1234 5678\n"
    )
    wish = node.last(pb.RunPairingRequest)
    assert (wish.headless, wish.code, list(wish.gives), wish.port) == (True, "", ["request"], 4_355)
    _plays(node, pairing("waiting", port=4_355), DECLINED)
    assert "--code-stdin" in helio("pair", "--code-stdin", given="12345678\n").stdout
    # Nobody is asked, so nothing is given that was not named.
    assert list(node.last(pb.RunPairingRequest).gives) == []


def test_a_code_that_both_know_comes_on_standard_input_and_is_never_shown(helio, node):
    _plays(node, AGREED, PAIRED)
    for words in ((), ("--json",)):
        result = helio("pair", "192.0.2.7:4355", "--code-stdin", *words, given="1234 5678\nmore\n")
        assert result.exit_code == 0
        assert "5678" not in result.stdout + result.stderr
        wish = node.last(pb.RunPairingRequest)
        assert (wish.code, wish.target) == ("12345678", "192.0.2.7:4355")
    assert "CODE" not in helio("pair", "--help").stdout.replace("--code-stdin", "").replace("< code", "")


@pytest.mark.parametrize(("words", "given"), [
    (("--headless", "192.0.2.7:1"), ""),
    (("192.0.2.7:1", "--code-stdin"), ""),
    (("192.0.2.7:1", "--code-stdin"), " \n"),
    (("--want", "everything"), ""),
    (("--port", "70000"), ""),
    ((), ""),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused_before_the_node_hears_of_it(helio, node, words, given):
    result = helio("pair", *words, given=given)
    assert result.exit_code == 2
    assert result.stderr.startswith("helio: ")
    assert not node.asked


def test_bytes_that_are_no_text_are_a_wrong_code_and_no_fault(helio, node):
    _plays(node, pairing("failed", reason="invalid_argument", words="A code is digits."))
    result = helio("pair", "192.0.2.7:1", "--code-stdin", given=b"\xff\xfe\n")
    assert (result.exit_code, result.stderr) == (2, "helio: A code is digits.\n")


@pytest.mark.parametrize("stdin", ["/dev/null", __file__, "closed"])
def test_where_nobody_can_type_it_says_what_to_do_instead(home, node, stdin):
    command = [sys.executable, "-m", "node.entry", "pair"]
    words: Sequence[str] = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command] if stdin == "closed" else command
    with Path(os.devnull if stdin == "closed" else stdin).open("rb") as given:
        done = subprocess.run(words, stdin=given, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("helio: Pairing asks a person")
    assert done.stderr.count("\n") == 1
    assert not node.asked


def test_a_script_reads_one_object_a_line_and_types_as_a_person_does(pair, node):
    _plays(node, MET, ASK_CODE, ANSWERED, AGREED, PAIRED)
    person = pair("192.0.2.7:4355", "--json")
    person.sees('"step": "ask_code"')
    person.types("416364\n")
    status, shown, said = person.ended()
    assert (status, said, _answers(node)) == (0, "", [(RUN_ID, "416364", True)])
    steps = [json.loads(line) for line in shown.splitlines()]
    assert [step["step"] for step in steps] == ["met", "ask_code", "agreed", "paired"]
    assert steps[0] == {
        "step": "met", "run": RUN_ID, "name": "attic", "shown": SHOWN, "asks": ["request"], "offers": EVERY,
        "code": "", "port": 0, "address": "", "reason": "", "words": "",
    }  # fmt: skip
    assert "416364" not in shown


def test_a_failure_in_json_is_a_step_and_a_refusal(pair, node):
    _plays(node, DECLINED)
    status, shown, said = pair("--json").ended()
    assert (status, json.loads(shown)["reason"]) == (UNAVAILABLE, "declined")
    assert json.loads(said)["error"] == {"code": "unavailable", "message": "It was declined.", "details": {}}
