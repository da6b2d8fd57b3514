"""A secret planted in each field that an agent, a peer or a program controls: on no page of a real node afterwards.

What it is caught by differs: a message is withheld or cleaned by the screen before it is kept, a name is refused, what
is only looked at (a command line, a line of the log, a text beside a row) is kept without it, and an id that others
choose is hashed or refused.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.core.canonical import JsonValue
from node.core.errors import MeshError
from node.core.mesh import Grant
from node.core.views_mesh import PairingEvent, PairingStep
from node.demo.puppet import Answer, Puppet
from node.local_client import LocalClient
from node.ports import NewSession
from node.ports_mesh import PairingWish
from tests.e2e.lab import HELIO, MESH, Lab, lab
from tests.planted import Planter, leaks, stored
from tests.waiting import until

pytestmark = pytest.mark.timeout(300)

SECONDS = 60.0
WORK = "work"
# The work of agents is theirs, and so is what a message brought them; content of files lies in the node's quarantine.
NOT_THE_NODES = (WORK, "inbox", "files")
ALL = frozenset(Grant)


@dataclass(slots=True, kw_only=True)
class Node:
    """A real node with a folder of work, and what its doors said."""

    at: Lab
    said: dict[str, bytes]

    @property
    def work(self) -> Path:
        return self.at.home / WORK

    async def helio(self, *arguments: str) -> int:
        """Runs the command line, whatever it comes to. What it says to the person who typed the secret is theirs."""
        process = await asyncio.create_subprocess_exec(
            *HELIO, *arguments, env=self.at.env, cwd=self.at.home, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        async with asyncio.timeout(SECONDS):
            return await process.wait()

    async def agent(self, stack: AsyncExitStack, nickname: str) -> Puppet:
        control = self.at.home / "run" / f"{nickname}.ctl"
        argv = (sys.executable, "-m", "node.demo.agent", "--name", nickname, "--control", str(control))
        new = NewSession(argv=argv, cwd=str(self.work), env=tuple(self.at.env.items()), nickname=nickname)
        async with LocalClient(self.at.home) as client:
            await client.run_session(new)
        return await stack.enter_async_context(Puppet(control, patience_s=SECONDS))

    async def look(self) -> None:
        """Takes down what the panels and lists of this node show."""
        for words in (
            ("delegations", "--all"), ("delegations", "--all", "--json"), ("requests", "--all", "--json"),
            ("timeline",), ("timeline", "--json"),
            *(("timeline", "export", "--output", "-", "--format", form) for form in ("jsonl", "csv", "ocsf")),
            ("approvals", "--json"), ("sessions", "--json"), ("peers", "--json"),
        ):  # fmt: skip
            self.said[" ".join(words)] = (await self.at.helio(*words)).encode()
        self.said["node.log"] = "".join(self.at.said).encode()


async def work_in(folder: Path, *words: str) -> None:
    process = await asyncio.create_subprocess_exec(*words, cwd=folder, stdout=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0


@pytest.mark.parametrize("way", ["withhold", "redact", "log"])
def test_no_planted_secret_is_kept_or_shown(way: str) -> None:
    """By each way in which a node may treat credentials; `log` is a workspace whose screen stops nothing."""

    async def play() -> None:
        settings = f'{MESH}[screen]\ncredentials = "{"redact" if way == "redact" else "withhold"}"\n'
        # What is cleaned and relayed opens an exchange each time.
        settings += "[limits]\nopen_exchanges = 100\n"
        async with lab(mesh=settings) as one, lab(mesh=settings) as two, AsyncExitStack() as stack:
            studio, laptop = Node(at=one, said={}), Node(at=two, said={})
            secrets = Planter()
            for node in (studio, laptop):
                node.work.mkdir()
                await node.at.start()
                if way == "log":
                    assert await node.helio("workspace", "set", "default", "--screen", "log") == 0
            ana, ben = await studio.agent(stack, "ana"), await studio.agent(stack, "ben")
            fay = await laptop.agent(stack, "fay")
            await messages(secrets, ana, ben)
            await delegations(secrets, studio, ana)
            await files(secrets, studio, ana, ben)
            await lines(secrets, studio)
            await programs(secrets, studio)
            await person(secrets, studio)
            await meet(secrets, studio, laptop)
            await across(secrets, fay, ben)
            mirrored = await watched(laptop)
            for node in (studio, laptop):
                await node.look()
                await node.at.helio("timeline", "verify")
                assert await node.at.stop() == 0
            assert b'"unidentified"' in studio.said["timeline --json"]
            for node in (studio, laptop):
                places = stored(node.at.home, but=NOT_THE_NODES) | node.said
                assert len(places["node.db"]) > 100_000
                assert b"[redacted:" in b"".join(places.values())
                found = leaks(secrets, places)
                assert not found, found
            assert b"ana" in mirrored
            assert leaks(secrets, {"the mirrored panel and timeline": mirrored}) == {}
            assert len(secrets.planted) >= 45

    asyncio.run(play())


async def call(agent: Puppet, tool: str, /, **arguments: JsonValue) -> Answer:
    """The tool called, whatever comes of it. Nothing is waited for."""
    if tool in {"request", "ask"}:
        arguments |= {"wait_seconds": 0}
    return await agent.call(tool, arguments)


async def opened(asker: Puppet, worker: Puppet, to: str, number: int) -> str:
    """An exchange in which nothing is wrong yet, read by its worker."""
    answer = await call(asker, "request", to=to, title=f"Number {number}", text=f"Please look at number {number}.")
    assert not answer.refused, answer.line
    exchange = answer.text("exchange")
    await until(lambda: _reads(worker, exchange), "the request", seconds=SECONDS)
    return exchange


async def _reads(worker: Puppet, exchange: str) -> bool:
    return bool((await worker.call("read_inbox", {"exchange": exchange})).messages("request"))


async def messages(secrets: Planter, ana: Puppet, ben: Puppet) -> None:
    """Every text of every message between two sessions."""
    plant = secrets.token
    await call(ana, "request", to="@ben", text=f"Use {plant('request')} for it.", idempotency_key=plant("tool key"))
    await call(ana, "request", to="@ben", title=f"With {plant('request title')}", text="See the title.")
    cut = "Please read on. " * 11 + plant("request, where its preview is cut")
    await call(ana, "request", to="@ben", text=cut)
    hidden = " x".join(chr(0xE0041) * 3 for _ in range(30)) + plant("request, where its excerpt is cut")
    await call(ana, "request", to="@ben", text=hidden)
    exchange = await opened(ana, ben, "@ben", 1)
    await call(ben, "ask", exchange=exchange, text=f"Is it {plant('question')}?")
    asked = await call(ben, "ask", exchange=exchange, text="Which of the two is it?")
    await call(ana, "answer", question=asked.text("message"), text=f"It is {plant('answer')}.")
    await call(ben, "report", exchange=exchange, text=f"Found {plant('report')} so far.")
    await call(ana, "steer", exchange=exchange, text=f"Rather take {plant('steer')}.")
    await call(ben, "deliver", exchange=exchange, title=f"By {plant('delivery title')}", text="See the title.")
    await call(ben, "deliver", exchange=exchange, text=f"It works with {plant('delivery')}.")
    await call(ana, "close_delegation", exchange=exchange, outcome="rejected", note=f"Not with {plant('note')}.")
    await call(ana, "close_delegation", exchange=exchange, outcome="accepted", note="Thank you.")
    exchange = await opened(ana, ben, "@ben", 2)
    await call(ana, "cancel", exchange=exchange, reason=f"Because of {plant('cancel reason')}.")
    for tool, name in (("wait", "exchange"), ("read_inbox", "exchange"), ("deliver", "exchange")):
        await call(ana, tool, **{name: plant(f"{name} of {tool}"), "text": "x"})
    await call(ana, "request", to=f"@{plant('whom to ask')}", text="Are you there?")


async def delegations(secrets: Planter, studio: Node, ana: Puppet) -> None:
    """Every text of a brief, and the names of branches."""
    plant = secrets.token
    await work_in(studio.work, "git", "init", "--quiet", "--initial-branch=main")
    await work_in(
        studio.work, "git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet",
        "--allow-empty", "-m", "Begin",
    )  # fmt: skip
    brief: dict[str, JsonValue] = {"tool": "scripted", "brief": "Make the export faster.", "title": "Export"}
    for name in ("brief", "title", "contract", "scope"):
        await call(ana, "delegate", **(brief | {name: f"Go on with {plant(name)}"}))
    await call(ana, "delegate", **(brief | {"title": "", "brief": f"{plant('brief without a title')} is the key"}))
    await call(ana, "delegate", **(brief | {"nickname": secrets.key("nickname of a delegate")}))
    await call(ana, "delegate", **(brief | {"workspace": plant("workspace of a delegate")}))
    await call(ana, "delegate", **(brief | {"tool": plant("tool of a delegate")}))
    await call(ana, "worktree_create", name=plant("worktree"))
    await work_in(studio.work, "git", "checkout", "--quiet", "-b", plant("branch"))
    await call(ana, "worktree_create", name="fine")
    await call(ana, "delegate", **(brief | {"worktree": True}))
    await call(ana, "worktree_merge")
    await work_in(studio.work, "git", "checkout", "--quiet", "main")


async def files(secrets: Planter, studio: Node, ana: Puppet, ben: Puppet) -> None:
    """Names of files, wherever they lie, and what stands in a text."""
    plant = secrets.token
    outside = studio.work.parent.with_name(f"{studio.work.parent.name}-outside")
    outside.mkdir()
    try:
        named = studio.work / f"{plant('file name')}.txt"
        linked = studio.work / "link"
        for path in (
            named, outside / f"{plant('file name outside')}.txt", outside / f"{plant('file name behind a link')}.txt",
        ):  # fmt: skip
            path.write_text("Harmless.\n", encoding="utf-8")
        linked.symlink_to(outside / f"{secrets.planted['file name behind a link']}.txt")
        text = studio.work / "notes.txt"
        text.write_text(f"The key is {plant('text of a file')}.\n", encoding="utf-8")
        folder = studio.work / "folder"
        folder.mkdir()
        (folder / f"{plant('file name in a folder')}.txt").write_text(
            f"The key is {plant('text in a folder')}.\n", encoding="utf-8"
        )
        fine = studio.work / "fine.txt"
        fine.write_text("Fine.\n", encoding="utf-8")
        for path in (
            named, outside / f"{secrets.planted['file name outside']}.txt", linked, text, folder,
            studio.work / f"{plant('file that is not there')}.txt", fine,
        ):  # fmt: skip
            await call(ana, "request", to="@ben", text=f"See the file {path.suffix}.", files=[str(path)])

        async def landed() -> bool:
            return any("fine.txt" in str(one) for one in (await ben.call("read_inbox")).messages("request"))

        await until(landed, "the file in which nothing is wrong", seconds=SECONDS)
    finally:
        for path in outside.iterdir():
            path.unlink()
        outside.rmdir()


async def lines(secrets: Planter, studio: Node) -> None:
    """What a program may write to the socket of agents before it is proven to be one."""
    plant = secrets.token
    hello = {"t": "hello", "v": 1, "shim": "x", "sw": plant("software of a client")}
    client = {"client": {"name": plant("name of an MCP client"), "version": plant("version of an MCP client")}}
    request = {"jsonrpc": "2.0", "id": plant("request id"), "method": plant("method"), "params": {}}
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_peers", "arguments": {}}}
    for line in (
        {"t": "call", "call": plant("call id"), "msg": request},
        {"t": "call", "call": "c1", "msg": request},
        {"t": "ack", "call": plant("call that was never made")},
        {"t": plant("kind of a line"), "call": "c2"},
        {"t": "call", "call": "c3", "msg": called},
    ):
        reader, writer = await asyncio.open_unix_connection(studio.at.home / "run" / "agent.sock")
        for one in (hello | client, line):
            writer.write(json.dumps(one).encode() + b"\n")
        async with asyncio.timeout(SECONDS):
            if line["call"] == "c3":
                # Whoever leaves at once is not answered any more.
                async for answer in reader:
                    if b'"unidentified"' in answer:
                        break
            writer.write_eof()
            await reader.read()
        writer.close()


async def programs(secrets: Planter, studio: Node) -> None:
    """The command line of a session, its folder, and the hooks of what runs in it."""
    plant = secrets.token
    hook = {
        "session_id": plant("conversation of a hook"), "transcript_path": f"/srv/{plant('transcript of a hook')}",
        "cwd": f"/srv/{plant('folder of a hook')}", "source": plant("source of a hook"),
    }  # fmt: skip
    told = studio.work / "told"
    script = studio.work / "hooks.sh"
    events = ("SessionStart", "UserPromptSubmit", plant("event of a hook"))
    helio = " ".join(HELIO)
    # Of an agent CLI that is known the node keeps the conversation, to resume it.
    calls = [(event, client) for client in ("claude", plant("client of a hook")) for event in events]
    script.write_text(
        "".join(f"{helio} hook {event} --client {client} < payload\n" for event, client in calls)
        + f"touch {told}\nexec sleep 600\n",
        encoding="utf-8",
    )
    (studio.work / "payload").write_text(json.dumps(hook), encoding="utf-8")
    odd = studio.work / plant("folder of a session")
    odd.mkdir()
    async with LocalClient(studio.at.home) as client:

        async def starts(*argv: str, cwd: Path = studio.work, **names: str) -> None:
            new = NewSession(argv=argv, cwd=str(cwd), env=tuple(studio.at.env.items()), **names)
            await client.run_session(new)

        await starts(
            "sh", str(script), plant("word of a command"), "--password", "correct-horse", f"--key={plant('flag')}"
        )
        await until(told.exists, "the hooks", seconds=SECONDS)
        for name, value in (
            ("nickname", secrets.key("nickname")), ("title", plant("title of a session")),
            ("workspace", plant("workspace of a session")),
        ):  # fmt: skip
            with pytest.raises(MeshError):
                await starts("sleep", "1", **{name: value})
        with pytest.raises(MeshError, match="reads like a credential"):
            await starts("sleep", "1", cwd=odd)
    sessions = json.loads(await studio.at.helio("sessions", "--json"))
    assert "correct-horse" not in json.dumps(sessions)


async def person(secrets: Planter, studio: Node) -> None:
    """What is typed at the command line, by a person or by a program that passes for one."""
    plant = secrets.token
    for words in (
        ("nick", "@ana", secrets.key("nickname by the command line")),
        ("rename", "@ana", plant("title by the command line")),
        ("workspace", "add", secrets.key("workspace"), "--driver", "host"),
        ("workspace", "reach", "default", plant("reach")),
        ("request", "@ben", plant("request of a person"), "--no-wait"),
        ("peers", "add-address", plant("peer"), "127.0.0.1:1"),
        ("mirror", "add", plant("mirror")),
        ("timeline", "--session", plant("filter")),
        ("timeline", "export", "--format", "csv", "-o", str(studio.work / plant("export")), "--text", plant("words")),
        ("approvals", "allow", plant("approval")),
    ):
        await studio.helio(*words)


async def meet(secrets: Planter, studio: Node, laptop: Node) -> None:
    """The two are paired, each under a name that is a secret; then laptop mirrors studio."""
    async with LocalClient(studio.at.home) as there, LocalClient(laptop.at.home) as here:
        waits = PairingWish(headless=True, gives=ALL, name=secrets.key("name of the one that waits"))
        async with aclosing(there.run_pairing(waits)) as shown:
            waiting = await anext(shown)
            dials = PairingWish(
                target=f"127.0.0.1:{waiting.port}", wants=ALL, code=waiting.code,
                name=secrets.key("name of the one that dials"),
            )  # fmt: skip
            async with asyncio.TaskGroup() as group:
                group.create_task(_last(shown))
                async with aclosing(here.run_pairing(dials)) as events:
                    last = await _last(events)
        assert last is not None
        assert last.step is PairingStep.PAIRED, last
        (peer,) = (await here.mesh()).peers
        await laptop.helio("peers", "rename", peer.id, secrets.key("name of a peer"))
        await here.rename_peer(peer.id, "studio")
        await here.add_mirror("studio")


async def _last(events: object) -> PairingEvent | None:
    last = None
    async for event in events:  # type: ignore[attr-defined]
        last = event
    return last


async def across(secrets: Planter, fay: Puppet, ben: Puppet) -> None:
    """Texts that cross a mirror, both ways."""
    plant = secrets.token

    async def seen() -> bool:
        listed = (await fay.call("list_peers")).data.get("peers")
        names = [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        return "@ben@studio" in names

    await until(seen, "@ben@studio", seconds=SECONDS)
    await call(fay, "request", to="@ben@studio", text=f"Take {plant('request that crosses')}.")
    exchange = await opened(fay, ben, "@ben@studio", 3)
    await call(ben, "report", exchange=exchange, text=f"With {plant('report that crosses')}.")
    await call(fay, "steer", exchange=exchange, text=f"Without {plant('steer that crosses')}.")
    await call(ben, "deliver", exchange=exchange, text="Done, and nothing is wrong.")

    async def delivered() -> bool:
        return bool((await fay.call("read_inbox", {"exchange": exchange})).messages("deliver"))

    await until(delivered, "the delivery", seconds=SECONDS)


async def watched(laptop: Node) -> bytes:
    """All that laptop is shown of studio: its panel, and its whole timeline."""
    shown: list[str] = []
    async with LocalClient(laptop.at.home) as client:
        async with (
            asyncio.timeout(SECONDS),
            aclosing(client.watch_mirror("studio", panel=True, timeline=True, tail=100_000)) as events,
        ):
            async for event in events:
                shown.append(repr(event))
                if "watch_began" in shown[-1]:
                    break
    return "\n".join(shown).encode()
