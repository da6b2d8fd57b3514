"""A small agent-like terminal program for tests, and the handle by which a test starts it and reads what it received.

It has a prompt (a line, or a box as agent CLIs draw it), asks for bracketed paste, takes lines, and writes each thing
that reached it to a log, one JSON object a line. Its options are the nasty habits that real agent CLIs were seen with.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import signal
import sys
import termios
import time
import tty
from dataclasses import dataclass
from pathlib import Path

LINE_PROMPT = "helio-agent> "
BOX_PROMPT = "\u276f "
RULE = "\u2500" * 40
PASTE_ON, PASTE_OPENS, PASTE_CLOSES = "\x1b[?2004h", b"\x1b[200~", b"\x1b[201~"
PICKER = ("Allow this agent to run the command?", "\u276f 1. Yes", "  2. No", "Esc to cancel")
DIALOG = ("Remove the whole folder? [y/n] ",)
ENTER, ESCAPE, BACKSPACE, SUSPEND = b"\r", b"\x1b", b"\x7f", b"\x1a"


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeTui:
    """How a test runs the program: `argv` for the terminal, `events` for what it received so far."""

    log: Path
    options: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", __file__, "--log", str(self.log), *self.options)

    def events(self, kind: str) -> list[str]:
        """The values of the events of that kind, in order."""
        if not self.log.exists():
            return []
        records = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [record["value"] for record in records if record["event"] == kind]


class Program:
    """The program itself: bytes in, screen out, every event logged."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.log = options.log.open("a", encoding="utf-8")
        self.said: list[str] = []
        self.draft = ""
        self.overlay: tuple[str, ...] = DIALOG if options.dialog else ()
        self.pending = b""
        self.pasting = False
        self.text_at = 0.0
        self.overlay_at: float | None = None
        self.idle_at: float | None = None

    def run(self) -> None:
        sys.stdout.write(PASTE_ON)
        self.draw()
        self.note("ready", "")
        while True:
            timers = [at for at in (self.overlay_at, self.idle_at) if at is not None]
            timeout = max(0.0, min(timers) - time.monotonic()) if timers else None
            if select.select([0], [], [], timeout)[0]:
                received = os.read(0, 4096)
                if not received:
                    return
                self.pending += received
                if self.consume():
                    return
            self.tick()
            self.draw()

    def tick(self) -> None:
        now = time.monotonic()
        if self.overlay_at is not None and now >= self.overlay_at:
            self.overlay, self.overlay_at = PICKER, None
            self.note("picker", "shown")
        if self.idle_at is not None and now >= self.idle_at:
            self.idle_at = None

    def consume(self) -> bool:
        """Take what has arrived; True when the program was told to leave."""
        while self.pending:
            if self.pasting or self.pending.startswith(PASTE_OPENS):
                if not self.paste():
                    return False
                continue
            key, self.pending = self.pending[:1], self.pending[1:]
            if key == ESCAPE and self.pending.startswith(b"["):
                sequence = re.match(rb"\[[0-9;?]*[@-~]", self.pending)
                self.pending = self.pending[sequence.end() :] if sequence else b""
            elif self.overlay:
                self.answer(key)
            elif key == ENTER:
                if self.enter():
                    return True
            elif key == SUSPEND:
                self.suspend()
            elif key == BACKSPACE:
                self.draft = self.draft[:-1]
            else:
                self.note("key", key.decode("latin-1"))
                self.insert(key.decode("latin-1"))
        return False

    def paste(self) -> bool:
        """Take a bracketed paste; False while its end has not come."""
        if not self.pasting:
            self.pasting = True
            self.pending = self.pending.removeprefix(PASTE_OPENS)
            if self.options.picker_ms is not None:
                self.overlay_at = time.monotonic() + self.options.picker_ms / 1000
                self.options.picker_ms = None
                self.tick()
        body, closed, rest = self.pending.partition(PASTE_CLOSES)
        if not closed:
            return False
        self.pasting, self.pending = False, rest
        self.note("paste", body.decode())
        # As all agent CLIs do it: a dialog takes no paste.
        if not self.overlay:
            self.insert(body.decode())
        return True

    def insert(self, text: str) -> None:
        self.draft += text
        self.text_at = time.monotonic()

    def enter(self) -> bool:
        if time.monotonic() - self.text_at < self.options.early_enter_ms / 1000:
            self.note("newline", self.draft)
            self.draft += "\n"
            return False
        self.note("submit", self.draft)
        if self.draft == "/exit":
            return True
        self.said.append(f"{LINE_PROMPT}{self.draft}" if self.options.style == "line" else f"> {self.draft}")
        self.draft = ""
        if self.options.busy_ms:
            self.idle_at = time.monotonic() + self.options.busy_ms / 1000
        return False

    def answer(self, key: bytes) -> None:
        if key in (ESCAPE, b"n"):
            self.note("dismissed", key.decode("latin-1"))
            self.overlay = ()
        elif key == ENTER or key.isdigit() or key == b"y":
            self.note("approved", key.decode("latin-1"))
            self.overlay = ()

    def suspend(self) -> None:
        self.note("suspend", "")
        cooked(self.options.saved)
        os.kill(os.getpid(), signal.SIGTSTP)
        tty.setraw(0)
        sys.stdout.write(PASTE_ON)

    def draw(self) -> None:
        lines = self.said[-10:]
        after: list[str] = []
        busy = self.idle_at is not None
        if self.overlay:
            lines = [*lines, *self.overlay]
        elif self.options.style == "box":
            lines = [*lines, RULE, *f"{BOX_PROMPT}{self.draft}".split("\n")]
            after = [RULE, "  esc to interrupt" if busy else "  ? for shortcuts"]
        elif busy:
            lines = [*lines, "helio-agent is working", ""]
        else:
            lines = [*lines, *f"{LINE_PROMPT}{self.draft}".split("\n")]
        column = len(lines[-1])
        back = f"\x1b[{len(after)}A\r" + (f"\x1b[{column}C" if column else "") if after else ""
        sys.stdout.write("\x1b[2J\x1b[H" + "\r\n".join([*lines, *after]) + back)
        sys.stdout.flush()

    def note(self, event: str, value: str) -> None:
        self.log.write(json.dumps({"event": event, "value": value}) + "\n")
        self.log.flush()


def cooked(saved: list[object]) -> None:
    sys.stdout.write("\x1b[?2004l\r\n")
    sys.stdout.flush()
    termios.tcsetattr(0, termios.TCSADRAIN, saved)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--style", choices=("line", "box"), default="line")
    parser.add_argument("--dialog", action="store_true", help="start with a question that any digit or Enter approves")
    parser.add_argument("--picker-ms", type=int, help="draw a permission picker so long after the first paste begins")
    parser.add_argument("--early-enter-ms", type=int, default=0, help="Enter so soon after text is a new line")
    parser.add_argument("--busy-ms", type=int, default=0, help="work so long on what was submitted")
    options = parser.parse_args()
    options.saved = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        Program(options).run()
    finally:
        cooked(options.saved)


if __name__ == "__main__":
    main()
