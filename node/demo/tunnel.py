"""The demo's tunnel: a session on one Mac asks one on the other, with a file, and looks at what goes on there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path

from node.core.canonical import JsonValue
from node.core.errors import MeshError
from node.core.mesh import Grant
from node.core.panel import SESSION, PanelDelta, PanelRow, PanelSnapshot
from node.demo.puppet import Puppet
from node.demo.stage import Stage, check
from node.local_client import LocalClient
from node.ports_timeline import RowFilter

_WAIT = 20
_LOOKS_S = 20
Say = Callable[[str], None]


async def ask(studio: Stage, ben: Puppet, laptop: Stage, say: Say) -> Puppet:
    """laptop mirrors studio; @fay there asks @ben here, with a file each way. Gives @fay's strings."""
    await studio.node.set_grants("laptop", give=frozenset({Grant.MIRROR_PANEL, Grant.MIRROR_TIMELINE}))
    mirror = await laptop.node.add_mirror("studio")
    say(f"laptop mirrors {mirror.name}, which it may ask and watch; studio has no call into laptop")
    folder = await laptop.folder("specs")
    await asyncio.to_thread((folder / "total.txt").write_text, "The total comes last.\n", encoding="utf-8")
    fay = await laptop.agent("fay", folder)
    await _sees(fay, "@ben@studio")
    given: dict[str, JsonValue] = {
        "to": "@ben@studio",
        "title": "Where the total goes",
        "text": "Does the export follow this?",
        "files": ["total.txt"],
        "wait_seconds": 0,
    }
    opened = await fay.call("request", given)
    check(not opened.refused, opened.line)
    notice = await ben.entered()
    check(notice.startswith("[heliograph]"), f"@ben's prompt got {notice!r}")
    inbox = await ben.call("read_inbox")
    (asked,) = inbox.messages("request") or ({},)
    check(asked.get("from") == "@fay@laptop", f"@ben was asked by {asked.get('from')}")
    say(f"@ben on studio reads: {inbox.line}")
    landed = await _landed(asked)
    check(landed == "The total comes last.\n", f"the file on studio says {landed!r}")
    say("its file crossed by content and lies in @ben's inbox")
    answer = studio.home / "ben" / "answer.txt"
    await asyncio.to_thread(answer.write_text, "It does, since Monday.\n", encoding="utf-8")
    done = await ben.call("deliver", {"exchange": asked["exchange"], "text": "It does.", "files": ["answer.txt"]})
    check(not done.refused, done.line)
    came = await fay.call("wait", {"exchange": opened.text("exchange"), "wait_seconds": _WAIT})
    (reply,) = came.messages("deliver") or ({},)
    check(reply.get("from") == "@ben@studio" and reply.get("text") == "It does.", f"@fay was told: {came.line}")
    check(await _landed(reply) == "It does, since Monday.\n", "the file of the reply did not land on laptop")
    say(f"@fay on laptop receives the reply of {reply.get('from')} with its file, which laptop pulled")
    await _paired_rows(studio.node, laptop.node, opened.text("exchange"), say)
    return fay


async def watch(studio: Stage, ana: Puppet, ben: Puppet, fay: Puppet, laptop: Stage, say: Say) -> None:
    """studio's panel is shown on laptop, to look at: what laptop tries to answer there is refused."""
    opened = await ana.call("request", {"to": "@ben", "text": "Which port does the mock use?", "wait_seconds": 0})
    await ben.entered()
    await ben.call("read_inbox")
    asked = await ben.call("ask", {"exchange": opened.text("exchange"), "text": "Old or new?", "wait_seconds": 0})
    check(not asked.refused, asked.line)
    exchange = opened.text("exchange")
    rows = await _panel(laptop.node, exchange, "asked")
    for row in rows:
        if row.kind == SESSION or row.id == exchange:
            say(f"laptop is shown: {row.kind:<8} {row.opener} {row.worker and '-> ' + row.worker} {row.state}")
    try:
        await laptop.node.answer(asked.text("message"), "New.")
    except MeshError as refused:
        say(f"laptop's person answers that question: {refused.message}")
    else:
        check(ok=False, what="laptop could answer a question of studio's")
    before = await studio.node.exchange(exchange)
    check(before.exchange.status.value == "asked", "laptop changed an exchange of studio's")
    await studio.node.set_grants("laptop", take=frozenset({Grant.REQUEST}))
    late = await fay.call("request", {"to": "@ben@studio", "text": "One more thing.", "wait_seconds": 0})
    check(not late.refused, late.line)
    rung = await _rung(laptop.node, late.text("exchange"), "queued")
    say(f"studio takes the grant back; @fay's next request is {rung}")
    inbox = await ben.call("read_inbox")
    check(not inbox.messages("request"), "studio took a request without the grant")
    await ana.call("cancel", {"exchange": exchange})


async def _sees(agent: Puppet, name: str) -> None:
    """Until list_peers shows that session."""
    async with asyncio.timeout(_LOOKS_S):
        while True:
            listed = (await agent.call("list_peers")).data.get("peers")
            if isinstance(listed, list) and any(isinstance(one, dict) and one.get("name") == name for one in listed):
                return
            await asyncio.sleep(0.05)


async def _landed(message: Mapping[str, object]) -> str:
    """What is in the one file that came with a message."""
    files = message.get("files")
    check(isinstance(files, list) and len(files) == 1, f"the message came with {files}")
    line = str(files[0]) if isinstance(files, list) else ""
    path = line.rpartition(" at ")[2]
    return await asyncio.to_thread(Path(path).read_text, encoding="utf-8")


async def _paired_rows(studio: LocalClient, laptop: LocalClient, exchange: str, say: Say) -> None:
    """Every message that crossed is a row of both timelines, under one id: out at one end and in at the other."""
    legs: list[dict[str, str]] = []
    for node in (studio, laptop):
        found: dict[str, str] = {}
        async for row in node.timeline(RowFilter(exchange=exchange)):
            said = json.loads(row.data)
            if said["row"] == "message":
                found[said["msg"]] = said["leg"]
        legs.append(found)
    here, there = legs
    check(len(here) >= 2 and here.keys() == there.keys(), f"the timelines have {sorted(here)} and {sorted(there)}")
    check(all({here[one], there[one]} == {"egress", "ingress"} for one in here), f"the legs are {here} and {there}")
    say(f"{len(here)} messages crossed, each a row of both timelines under one id: out at one end, in at the other")


async def _panel(node: LocalClient, exchange: str, state: str) -> tuple[PanelRow, ...]:
    """studio's panel as laptop shows it, once that exchange is in that state."""
    rows: dict[str, PanelRow] = {}
    async with asyncio.timeout(_LOOKS_S), aclosing(node.watch_mirror("studio", panel=True)) as events:
        async for event in events:
            if isinstance(event, PanelSnapshot):
                rows = {row.id: row for row in event.rows}
            elif isinstance(event, PanelDelta):
                rows |= {row.id: row for row in event.changed}
            if exchange in rows and rows[exchange].state == state:
                return tuple(rows.values())
    return ()


async def _rung(node: LocalClient, exchange: str, word: str) -> str:
    """How far the newest message of an exchange got, once that says `word`."""
    async with asyncio.timeout(_LOOKS_S):
        while True:
            rung = (await node.exchange(exchange)).messages[-1].ladder.rung
            if word in rung:
                return rung
            await asyncio.sleep(0.05)
