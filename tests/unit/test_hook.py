"""The hook against a node that follows a script, or none: what it says, what it prints, and that it always leaves."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory

import pytest

from tests.mcp_twin import DEADLINE_S, ROOT

# The hook's own bound, and what a busy machine may need to start Python and to end it.
IN_TIME_S = 0.5 + 5.0
PATIENT = "import sys; from node.hook import main; sys.exit(main(sys.argv[2:], patience=float(sys.argv[1])))"
PAYLOAD = {
    "session_id": "abc-1", "transcript_path": "/t/abc.jsonl", "cwd": "/work", "hook_event_name": "Notification",
    "notification_type": "permission_prompt", "message": "secret words", "prompt": "more secret words",
}  # fmt: skip
OUT = {"decision": "block", "reason": "[heliograph] A message waits for you."}


@pytest.fixture
def home() -> Iterator[Path]:
    # Not tmp_path: its names grow beyond what a socket's path may have.
    with TemporaryDirectory(prefix="helio-") as made:
        (Path(made) / "run").mkdir(mode=0o700)
        yield Path(made)


def command(*words: str, patience: float = 60.0) -> list[str]:
    """How a CLI runs the hook, but with more patience: a busy machine may take long to start and to answer it."""
    return [sys.executable, "-c", PATIENT, str(patience), *words]


def hasty(*words: str) -> list[str]:
    """How a CLI runs the hook."""
    return [sys.executable, "-c", "import sys; from node.entry import main; sys.exit(main())", "hook", *words]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "HELIOGRAPH_HOME": str(home), "PYTHONPATH": str(ROOT)}


def run(argv: list[str], home: Path, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[bytes]:
    env = environment(home)
    return subprocess.run(argv, check=False, stdin=stdin, capture_output=True, env=env, timeout=DEADLINE_S)


def leaves(home: Path, argv: list[str], stdin: bytes = b"") -> bytes:
    """Runs one whole hook, which must end with 0 and without complaint; what it printed."""
    env = environment(home)
    done = subprocess.run(argv, check=False, input=stdin, capture_output=True, env=env, timeout=DEADLINE_S)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def hook(home: Path, *words: str, stdin: bytes = b"") -> bytes:
    return leaves(home, command(*words), stdin)


def leaves_soon(home: Path, *words: str, stdin: bytes = b"") -> bytes:
    """The same of a hook as CLIs run it, which must be gone long before the node or the agent would have moved."""
    before = time.monotonic()
    printed = leaves(home, hasty(*words), stdin)
    assert time.monotonic() - before < IN_TIME_S
    return printed


class ScriptedNode:
    """Takes one hook's connection on a thread, says `lines`, and keeps what it heard."""

    def __init__(self, home: Path, *lines: bytes, delay: threading.Event | None = None) -> None:
        self.heard = b""
        self.asked = threading.Event()
        self._lines, self._delay = lines, delay
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.settimeout(DEADLINE_S)
        self._listener.bind(str(home / "run" / "agent.sock"))
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        sock, _ = self._listener.accept()
        with sock:
            sock.settimeout(DEADLINE_S)
            while not self.heard.endswith(b"\n"):
                self.heard += sock.recv(65_536)
            self.asked.set()
            if self._delay is not None:
                self._delay.wait(DEADLINE_S)
            try:
                for line in self._lines:
                    sock.sendall(line + b"\n")
                while data := sock.recv(65_536):
                    self.heard += data
            except ConnectionError:
                return

    def __enter__(self) -> ScriptedNode:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(DEADLINE_S)
        self._listener.close()

    def lines(self) -> list[dict[str, object]]:
        self._thread.join(DEADLINE_S)
        return [json.loads(line) for line in self.heard.splitlines()]


def said(out: object) -> bytes:
    return json.dumps({"t": "hooked", "out": out}).encode()


def told(home: Path, *words: str, stdin: bytes = b"") -> dict[str, object]:
    """The one line that the hook tells a node which wants nothing printed."""
    with ScriptedNode(home, said(None)) as node:
        assert hook(home, *words, stdin=stdin) == b""
    (line,) = node.lines()
    return line


def test_it_tells_the_event_and_nothing_of_what_was_said(home: Path) -> None:
    assert told(home, "Notification", "--client", "claude", stdin=json.dumps(PAYLOAD).encode()) == {
        "t": "hook", "v": 1, "event": "Notification", "client": "claude", "session_id": "abc-1",
        "transcript_path": "/t/abc.jsonl", "cwd": "/work", "subtype": "permission_prompt",
    }  # fmt: skip


def test_codex_gives_its_json_as_the_last_argument(home: Path) -> None:
    given = {"type": "agent-turn-complete", "thread-id": "t-1", "cwd": "/w", "last-assistant-message": "secret"}
    line = told(home, "notify", "--client", "codex", json.dumps(given))
    assert (line["event"], line["subtype"], line["session_id"]) == ("notify", "agent-turn-complete", "t-1")
    assert "secret" not in json.dumps(line)


@pytest.mark.parametrize(
    ("payload", "subtype"),
    [
        ({"source": "resume"}, "resume"),
        ({"reason": "clear"}, "clear"),
        ({"reason": "the user said no to rm -rf"}, ""),
        ({"prompt": ""}, "empty"),
        ({"prompt": "hello"}, ""),
        ({"notification_type": 3}, ""),
    ],
)
def test_a_subtype_is_one_word(home: Path, payload: dict[str, object], subtype: str) -> None:
    assert told(home, "Any", stdin=json.dumps(payload).encode())["subtype"] == subtype


@pytest.mark.parametrize(
    "stdin",
    [b"", b"not json", b"\xff\xfe", b"[1]", b"null", b"[" * 200_000, b'{"session_id": ["x"], "cwd": 7}',
     json.dumps({"session_id": "x" * 129, "transcript_path": "y" * 1025}).encode()],
    ids=["nothing", "words", "bytes", "list", "null", "deep", "wrong types", "too long"],
)  # fmt: skip
def test_garbage_still_tells_that_something_happened(home: Path, stdin: bytes) -> None:
    line = told(home, "Stop", stdin=stdin)
    assert line.pop("event") == "Stop"
    assert {line[name] for name in ("session_id", "transcript_path", "cwd", "subtype", "client")} == {""}


def test_of_a_huge_payload_only_the_event_is_told_and_all_of_it_is_read(home: Path) -> None:
    huge = json.dumps({"session_id": "a", "tool_response": "x" * 8_000_000}).encode()
    with ScriptedNode(home, said(None)) as node:
        with subprocess.Popen(command("PostToolUse"), stdin=PIPE, env=environment(home)) as process:
            assert process.stdin is not None
            process.stdin.write(huge)  # a closed pipe would raise here, as it would in an agent
            process.stdin.close()
            assert process.wait(DEADLINE_S) == 0
    assert [(line["event"], line["session_id"]) for line in node.lines()] == [("PostToolUse", "")]


def test_a_payload_of_a_mebibyte_is_read(home: Path) -> None:
    empty = len(json.dumps({"tool_response": "", "session_id": "a"}))
    full = json.dumps({"tool_response": "x" * (1024 * 1024 - empty), "session_id": "a"}).encode()
    assert told(home, "PostToolUse", stdin=full)["session_id"] == "a"


def test_what_the_node_wants_said_is_printed_and_then_confirmed(home: Path) -> None:
    with ScriptedNode(home, said(OUT)) as node:
        printed = hook(home, "Stop")
    assert json.loads(printed) == OUT
    assert printed.endswith(b"\n")
    assert [line["t"] for line in node.lines()] == ["hook", "printed"]


def test_what_could_not_be_printed_is_not_confirmed(home: Path) -> None:
    with ScriptedNode(home, said(OUT)) as node:
        shell = ["/bin/sh", "-c", '"$@" >&-', "sh", *command("Stop")]
        done = run(shell, home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [line["t"] for line in node.lines()] == ["hook"]


@pytest.mark.parametrize(
    "answer",
    [b"not json", b"[]", b'{"t":"hooked"}', b'{"t":"hooked","out":"text"}', b'{"t":"hooked","out":[1]}',
     b'{"t":"refused","code":"limit","message":"full"}', b'{"t":"welcome","out":{"a":1}}'],
)  # fmt: skip
def test_any_other_answer_prints_nothing(home: Path, answer: bytes) -> None:
    with ScriptedNode(home, answer):
        assert hook(home, "Stop") == b""


def test_a_node_that_hangs_up_is_left_alone(home: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listener:
        listener.bind(str(home / "run" / "agent.sock"))
        listener.listen(1)

        def hang_up() -> None:
            listener.accept()[0].close()

        hanging_up = threading.Thread(target=hang_up)
        hanging_up.start()
        assert leaves_soon(home, "Stop") == b""
        hanging_up.join(DEADLINE_S)


def test_a_node_that_is_slow_is_not_waited_for(home: Path) -> None:
    release = threading.Event()
    with ScriptedNode(home, said(OUT), delay=release) as node:
        assert leaves_soon(home, "Stop") == b""
        release.set()
    assert [line["t"] for line in node.lines()] == ["hook"]


def nothing(_: Path) -> None:
    """The node never ran here."""


def dead_socket(home: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(home / "run" / "agent.sock"))


def no_home(home: Path) -> None:
    (home / "run").rmdir()


def open_folder(home: Path) -> None:
    (home / "run").chmod(0o755)


def a_plain_file(home: Path) -> None:
    (home / "run" / "agent.sock").write_text("")


@pytest.mark.parametrize("break_it", [nothing, dead_socket, no_home, open_folder, a_plain_file])
def test_without_a_node_it_leaves_in_silence(home: Path, break_it: Callable[[Path], None]) -> None:
    break_it(home)
    assert leaves_soon(home, "Stop", "--client", "claude", stdin=json.dumps(PAYLOAD).encode()) == b""


def test_a_folder_that_others_can_write_to_is_not_trusted(home: Path) -> None:
    with ScriptedNode(home, said(OUT)) as node:
        (home / "run").chmod(0o777)
        assert hook(home, "Stop") == b""
        (home / "run").chmod(0o700)
        assert json.loads(hook(home, "Stop")) == OUT
    assert len(node.lines()) == 2


@pytest.mark.parametrize("words", [[], ["--client"], ["--help"], ["--client", "claude"], ["{}"]])
def test_without_an_event_it_says_nothing_to_anybody(home: Path, words: list[str]) -> None:
    with ScriptedNode(home, said(None)) as node:
        assert hook(home, *words) == b""
        hook(home, "Stop")
    assert [line["event"] for line in node.lines()] == ["Stop"]


def test_an_agent_that_keeps_stdin_open_is_not_waited_for(home: Path) -> None:
    with ScriptedNode(home, said(OUT)) as node:
        argv = command("Stop", patience=4)
        with subprocess.Popen(argv, stdin=PIPE, stdout=PIPE, env=environment(home)) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b'{"session_id": "a"}')
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == OUT
            assert process.wait(DEADLINE_S) == 0
    assert node.lines()[0]["session_id"] == "a"


def test_what_a_person_types_is_left_to_the_terminal(home: Path) -> None:
    ours, its = os.openpty()
    try:
        os.write(ours, b"half a line\n")
        with ScriptedNode(home, said(None)):
            assert run(command("Stop"), home, its).returncode == 0
        assert select.select([its], [], [], DEADLINE_S)[0]
        assert os.read(its, 100) == b"half a line\n"
    finally:
        os.close(ours)
        os.close(its)


def test_an_interrupt_meant_for_the_agent_does_not_change_its_status(home: Path) -> None:
    release = threading.Event()
    with ScriptedNode(home, said(OUT), delay=release) as node:
        with subprocess.Popen(command("Stop"), stdin=subprocess.DEVNULL, stderr=PIPE, env=environment(home)) as process:
            assert node.asked.wait(DEADLINE_S)
            process.send_signal(signal.SIGINT)
            release.set()
            assert process.wait(DEADLINE_S) == 0
            assert process.stderr is not None
            assert process.stderr.read() == b""
    assert [line["t"] for line in node.lines()] == ["hook", "printed"]


def test_without_stdin_it_works_as_well(home: Path) -> None:
    with ScriptedNode(home, said(OUT)):
        shell = ["/bin/sh", "-c", '"$@" <&-', "sh", *command("Stop")]
        done = run(shell, home)
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, OUT, b"")


def test_it_loads_nothing_but_what_it_needs() -> None:
    """Its start is part of every step of an agent."""
    program = "import sys; before = set(sys.modules); import node.hook; print(*sorted(set(sys.modules) - before))"
    plain = [sys.executable, "-S", "-c", program]
    done = subprocess.run(plain, capture_output=True, text=True, cwd=ROOT, env={}, timeout=DEADLINE_S, check=True)
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.split(".")[0] in {"node", "tunnel"}}
    assert ours == {"node", "node.hook", "node.shim_messages", "node.shim_streams", "node.version"} & loaded
    slow = {"asyncio", "argparse", "dataclasses", "logging", "pathlib", "subprocess", "tempfile", "typing", "threading"}
    assert loaded & slow == set()
