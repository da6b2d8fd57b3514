"""What is true at the end of the fault bench: counted in both databases, in both inboxes, and at both timelines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from node.local_client import LocalClient
from node.store.reader import SqliteReader
from tests.e2e.lab import Lab
from tools.bench.fault_agents import Record
from tools.bench.fault_stage import Stage, reading

_EVERYTHING = 10_000_000


@dataclass(slots=True, kw_only=True)
class Findings:
    """What went wrong, in words; empty lists when nothing did. `pairs` is how many messages both timelines tell of."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    unpaired: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    pairs: int = 0
    files: int = 0
    messages: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """All of it."""
        return [*self.lost, *self.doubled, *self.torn, *self.unpaired, *self.unverified]


async def audit(stage: Stage) -> Findings:
    """Looks at everything; both nodes run and nothing is under way any more."""
    found = Findings()
    for sent, at, given in (
        (stage.asked, stage.server, stage.answered),
        (stage.answered, stage.client, stage.asked),
    ):
        _messages(sent, at, given, found)
        _files(sent, at, found)
    _pairs(stage, found)
    for name, at in (("client", stage.client), ("server", stage.server)):
        async with LocalClient(at.home) as client:
            result = [step.result async for step in client.verify_timeline()][-1]
        if result is None or not result.ok:
            found.unverified.append(f"the timeline of the {name} does not verify: {result and result.problem}")
    return found


def missing(sent: Record, given: Record) -> int:
    """How many acknowledged messages the other end's agents have not been given."""
    return len(sent.sent.keys() - given.given.keys())


def _messages(sent: Record, at: Lab, given: Record, found: Findings) -> None:
    """Every acknowledged message is at the other end once, with its text, and was given to its agent once."""
    with reading(at) as db:
        bodies = dict(db.execute("SELECT id, body FROM messages"))
        ladders = dict(
            db.execute("SELECT id, printf('landed %s, read %s, held %s', landed_us, read_us, held) FROM messages")
        )
        texts = Counter(body for (body,) in db.execute("SELECT body FROM messages WHERE author = 'session'"))
    for one in sent.sent.values():
        found.messages += 1
        if bodies.get(one.message) != one.text:
            found.lost.append(f"{one.text!r} ({one.message}) is not at the other end")
        elif given.given[one.message] == 0:
            found.lost.append(f"{one.text!r} ({one.message}) was not given to its agent: {ladders[one.message]}")
        if texts[one.text] > 1:
            found.doubled.append(f"{one.text!r} is at the other end {texts[one.text]} times")
        if given.given[one.message] > 1:
            found.doubled.append(f"{one.text!r} ({one.message}) was given {given.given[one.message]} times")


def _files(sent: Record, at: Lab, found: Findings) -> None:
    """In the inboxes are the files of the acknowledged messages, each whole, and nothing else."""
    wanted = {one.message: dict(one.files) for one in sent.sent.values() if one.files}
    landed: set[str] = set()
    for session in _folders(at.home / "inbox"):
        for message in session.iterdir():
            if not message.is_dir() or message.name not in wanted:
                # A message that was not acknowledged any more may have come all the same; half a one may not.
                found.torn += [f"{path} is half a file" for path in _odd(message)]
                continue
            landed.add(message.name)
            there = {path.name: _hash(path) for path in message.iterdir()}
            found.files += len(there)
            if there != wanted[message.name]:
                found.torn.append(f"{message} holds other files than were sent")
    found.lost += [f"the files of {one} did not land" for one in wanted.keys() - landed]


def _folders(top: Path) -> list[Path]:
    return [one for one in top.iterdir() if one.is_dir()] if top.is_dir() else []


def _odd(message: Path) -> list[Path]:
    """What in an inbox is no landed folder of a message."""
    return [message] if not message.is_dir() or message.name.startswith(".") else []


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _decisions(at: Lab) -> dict[str, tuple[str, Mapping[str, object]]]:
    """Leg and size of every message that crossed, by id, as the timeline tells."""
    told: dict[str, tuple[str, Mapping[str, object]]] = {}
    with reading(at) as db:
        rows = SqliteReader(db).rows(0, _EVERYTHING)
    for stored in rows:
        row = json.loads(stored.data)
        if row["row"] == "message" and row.get("leg") in {"egress", "ingress"}:
            told[row["msg"]] = (row["leg"], _size(row["content"]))
    return told


def _size(content: Mapping[str, object]) -> Mapping[str, object]:
    """What both ends can tell of a content. Each commits to text and files with a salt of its own."""
    files = content.get("files")
    sizes = [size for _, size in files] if isinstance(files, list) else []
    return {"bytes": content["bytes"], "chars": content["chars"], "files": sizes}


def _pairs(stage: Stage, found: Findings) -> None:
    """What left one end came in at the other, of the same size, by both timelines."""
    here, there = _decisions(stage.client), _decisions(stage.server)
    for one in here.keys() | there.keys():
        if one not in here or one not in there:
            side = "client" if one in here else "server"
            found.unpaired.append(f"only the timeline of the {side} tells of {one}")
        elif here[one][0] == there[one][0] or here[one][1] != there[one][1]:
            found.unpaired.append(f"the timelines tell of {one} differently: {here[one]} and {there[one]}")
        else:
            found.pairs += 1
