"""`helio hook EVENT`: tells the node what an agent's hook saw, and prints what the node wants the agent to hear.

An agent waits for its hooks, so whatever happens this ends within half a second, with status 0 and without a word of
its own. Standard library only, and little of it (see node/shim.py).
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence

from node.shim_messages import object_in
from node.shim_streams import CHUNK, Link, socket_path

TOTAL_S = 0.5
STDIN_S = 0.15
ANSWER_S = 0.3
MOST_STDIN = 1024 * 1024
MOST_TOKEN = 128
MOST_PATH = 1024
# Where CLIs put what tells events of one name apart.
_SUBTYPES = ("notification_type", "source", "reason", "type", "status")
# Codex's notify program gets the names of its own wire.
_CONVERSATIONS = ("session_id", "thread-id", "sessionID")


def main(argv: Sequence[str], *, patience: float = 1.0) -> int:
    """Serves one hook: EVENT [--client NAME] [JSON], the JSON on stdin if it is no argument; always 0.

    `patience` stretches every wait, for those who would rather wait than miss an answer.
    """
    try:
        # The backstop: below, every wait has its own end.
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, TOTAL_S * patience)
        # Ctrl-C is for the agent, whose terminal a hook may share.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        event, client, given = _arguments(argv)
        if event:
            data = os.fsencode(given) if given else _stdin(time.monotonic() + STDIN_S * patience)
            _tell(_line(event, client, _payload(data)), ANSWER_S * patience)
    except (OSError, ValueError, KeyboardInterrupt):
        return 0
    finally:
        # Python takes its handlers away before it ends, and the alarm would kill it there.
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


def _arguments(argv: Sequence[str]) -> tuple[str, str, str]:
    """The event, the client and the JSON, "" for what is not given; other words say nothing to this version."""
    event = client = given = ""
    words = iter(argv)
    for word in words:
        if word == "--client":
            client = next(words, "")
        elif word.startswith("{"):
            given = word
        elif not event and not word.startswith("-"):
            event = word
    return event, client, given


def _stdin(until: float) -> bytes:
    """The first MiB of stdin. The rest is read and dropped: an agent may not survive writing to a closed pipe."""
    kept = bytearray()
    try:
        if os.isatty(0):
            return b""
        while select.select([0], [], [], max(0.0, until - time.monotonic()))[0] and (data := os.read(0, CHUNK)):
            kept += data[: MOST_STDIN - len(kept)]
    except OSError:
        return b""
    return bytes(kept)


def _payload(data: bytes) -> Mapping[str, object]:
    """The JSON object in `data`, an empty one if there is none: that something happened is worth telling alone."""
    try:
        return object_in(json.loads(data))
    except (ValueError, RecursionError):
        return {}


def _line(event: str, client: str, payload: Mapping[str, object]) -> bytes:
    """What the node is told: never anything of what is said or done in the conversation."""
    line = {
        "t": "hook",
        "v": 1,
        "event": _bounded(event, MOST_TOKEN),
        "client": _bounded(client, MOST_TOKEN),
        "session_id": _first(payload, _CONVERSATIONS),
        "transcript_path": _bounded(payload.get("transcript_path"), MOST_PATH),
        "cwd": _bounded(payload.get("cwd"), MOST_PATH),
        "subtype": _subtype(payload),
    }
    return json.dumps(line, separators=(",", ":")).encode("ascii")


def _subtype(payload: Mapping[str, object]) -> str:
    # Some of these fields hold a sentence in some events: only a single word goes out.
    word = _first(payload, _SUBTYPES)
    if word.isascii() and all(letter.isalnum() or letter in "._-" for letter in word) and word:
        return word
    return "empty" if payload.get("prompt") == "" else ""


def _first(payload: Mapping[str, object], names: Sequence[str]) -> str:
    return next((text for name in names if (text := _bounded(payload.get(name), MOST_TOKEN))), "")


def _bounded(value: object, most: int) -> str:
    return value if isinstance(value, str) and len(value) <= most else ""


def _tell(line: bytes, seconds: float) -> None:
    """Gives the node the line, prints what it answers, and says so when something was printed."""
    link = Link(socket_path())
    until = time.monotonic() + seconds
    if not link.connect(time.monotonic()):
        return
    link.send(line)
    out = object_in(_answer(link, until))
    if out and link.sock is not None and _print(json.dumps(out).encode("ascii") + b"\n"):
        link.send(b'{"t":"printed"}')
        link.write_some(time.monotonic())
    link.close(time.monotonic())


def _answer(link: Link, until: float) -> object:
    """What the node wants printed; None when it says nothing of use in time."""
    while link.sock is not None and (left := until - time.monotonic()) > 0:
        readable, writable, _ = select.select([link.sock], [link.sock] if link.out else [], [], left)
        if writable:
            link.write_some(time.monotonic())
        for answer, whole in link.read_some(time.monotonic()) if readable else []:
            said = _payload(answer) if whole else {}
            return said.get("out") if said.get("t") == "hooked" else None
    return None


def _print(data: bytes) -> bool:
    """Whether `data` went out on stdout. One that was closed from the start is none: the socket may have its number."""
    if sys.stdout is None:
        return False
    while data:
        data = data[os.write(1, data) :]
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
