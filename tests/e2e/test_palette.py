"""The palette in a popup of the node's tmux, with a person attached: keys in, a name at the prompt, and no Enter."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from fcntl import ioctl
from termios import TIOCSWINSZ

from node.local_client import LocalClient
from node.ports import NewSession
from tests.e2e.lab import HELIO, Lab, lab
from tests.fake_tui import FakeTui
from tests.waiting import until

PALETTE = b"\x02@"
ESCAPE, TAB, DOWN, RUB_OUT = b"\x1b", b"\t", b"\x1b[B", b"\x7f"
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[()][0-9A-B]|[=>78M])")


class Person:
    """Somebody at a terminal that shows a session: what they see, in the order of its drawing, and their keys."""

    def __init__(self, terminal: int, process: asyncio.subprocess.Process) -> None:
        self._terminal = terminal
        self._seen = b""
        self.process = process

    def read(self) -> None:
        try:
            self._seen += os.read(self._terminal, 65536)
        except OSError:
            # The program at the other end has gone.
            asyncio.get_running_loop().remove_reader(self._terminal)

    def press(self, keys: bytes) -> None:
        """Type; what was seen before is forgotten."""
        self._seen = b""
        os.write(self._terminal, keys)

    def back_at_the_prompt(self) -> bool:
        """Whether the popup is closed: the program below it wants pastes marked and the palette does not."""
        return self._seen.rfind(b"\x1b[?2004h") > self._seen.rfind(b"\x1b[?2004l")

    def sees(self, text: str) -> bool:
        return text in _SEQUENCE.sub(b"", self._seen).decode("utf-8", "replace")


@asynccontextmanager
async def person(argv: Sequence[str], built: Lab) -> AsyncIterator[Person]:
    """A person whose terminal runs `argv`."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env=built.env | {"TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(theirs)
    somebody = Person(ours, process)
    loop = asyncio.get_running_loop()
    loop.add_reader(ours, somebody.read)
    try:
        yield somebody
    finally:
        loop.remove_reader(ours)
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(ours)


async def start(built: Lab, name: str, *, nickname: str = "", title: str = "") -> tuple[str, FakeTui]:
    """A session with a program which logs what it gets."""
    program = FakeTui(log=built.home / f"{name}.events")
    async with LocalClient(built.home) as node:
        started = await node.run_session(
            NewSession(
                argv=program.argv, cwd=str(built.home), env=tuple(built.env.items()), nickname=nickname, title=title
            )
        )
    await until(lambda: program.events("ready"))
    return started.session.id, program


async def attached(built: Lab, session: str) -> Sequence[str]:
    async with LocalClient(built.home) as node:
        return await node.attach_argv(session)


def test_a_session_is_chosen_in_the_popup_and_only_its_name_reaches_the_prompt() -> None:
    async def play() -> None:
        async with lab() as built:
            await built.start()
            me, program = await start(built, "me", nickname="me", title="My own work")
            _, other = await start(built, "api", nickname="payments", title="The payment service")
            unnamed, _ = await start(built, "login", title="Fix the login page")
            async with person(await attached(built, me), built) as somebody:
                await until(lambda: somebody.sees("helio-agent>"))

                somebody.press(PALETTE)
                await until(lambda: somebody.sees("@payments") and somebody.sees("Esc leave"))
                assert somebody.sees("@fix-the-login-page")
                assert somebody.sees("new name")
                assert not somebody.sees("@me")
                somebody.press(ESCAPE)
                await until(somebody.back_at_the_prompt)

                # Keys that come all at once are a paste to tmux, in which its own key means nothing.
                somebody.press(b"see ")
                await until(lambda: program.events("key") == list("see "))
                somebody.press(PALETTE)
                await until(lambda: somebody.sees("Esc leave"))
                somebody.press(b"PAY" + TAB)
                await until(lambda: program.events("paste") and somebody.back_at_the_prompt())
                assert program.events("paste") == ["@payments "]

                somebody.press(PALETTE)
                await until(lambda: somebody.sees("Esc leave"))
                somebody.press(DOWN + TAB)
                await until(lambda: len(program.events("paste")) == 2)
                assert program.events("paste")[1] == "@fix-the-login-page "
            sessions = {view["id"]: view["nickname"] for view in json.loads(await built.helio("sessions", "--json"))}
            assert sessions[unnamed] == "fix-the-login-page"
            assert program.events("key") == list("see ")
            assert program.events("submit") == []
            assert program.events("newline") == []
            assert other.events("paste") == []

    asyncio.run(play())


def test_leaving_leaves_no_trace_and_a_name_taken_meanwhile_is_offered_otherwise() -> None:
    async def play() -> None:
        async with lab() as built:
            await built.start()
            me, program = await start(built, "me", nickname="me")
            await start(built, "one", title="Fix the login")
            await start(built, "two", title="Something else")
            async with LocalClient(built.home) as node:
                panes = {view.id: view.pane for view in await node.sessions()}
            argv = (*HELIO, "palette", "--pane", panes[me] or "")
            async with person(argv, built) as somebody:
                await until(lambda: somebody.sees("@fix-the-login"))
                await built.helio("nick", "@me", "fix-the-login")
                somebody.press(b"login" + TAB)
                await until(lambda: somebody.sees("is taken") and somebody.sees("@fix-the-login-2"))
                somebody.press(RUB_OUT * 5 + ESCAPE)
                async with asyncio.timeout(20):
                    assert await somebody.process.wait() == 0
            nicknames = [view["nickname"] for view in json.loads(await built.helio("sessions", "--json"))]
            assert sorted(nicknames, key=str) == sorted([None, None, "fix-the-login"], key=str)
            assert program.events("paste") == program.events("key") == []

    asyncio.run(play())
