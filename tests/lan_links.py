"""A program for a host of the laboratory: `serve FOLDER`, a node's port, or `keep FOLDER ADDRESS`, links to it.

The folder has the keys that `deal` put there. It says each change of each link with the time, of the clock that all
hosts of one machine share, in seconds. It ends when its stdin does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from node.core.limits import Limits
from node.core.mesh import Link, LinkState
from node.rpc_client import LinkKeeper
from tests.peer_twin import Person, ShiftedClock, TrustTwin, person, server_of
from tests.waiting import until

PORT = 4_354
KEEPERS = 5
_LOOK_S = 0.01
# Longer than any test lasts.
_WATCHED_S = 600.0


def deal(folder: Path) -> None:
    """Makes a key and certificate for the server and each keeper."""
    for name in _names():
        own = person().own
        (folder / f"{name}.key").write_bytes(own.key)
        (folder / f"{name}.crt").write_text(own.certificate, encoding="ascii")


def _names() -> list[str]:
    return ["server", *(f"keeper{n}" for n in range(KEEPERS))]


def _held(folder: Path, name: str) -> Person:
    key = serialization.load_pem_private_key((folder / f"{name}.key").read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return Person(key, (folder / f"{name}.crt").read_text(encoding="ascii"))


def say(**what: object) -> None:
    print(json.dumps({"t": time.monotonic(), **what}), flush=True)


async def told_to_end() -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    await lines.read()


async def serve(folder: Path) -> None:
    server, *keepers = (_held(folder, name) for name in _names())
    trust = TrustTwin(*(keeper.peer() for keeper in keepers))
    door = server_of(server, trust, Limits())
    async with door.serve("", PORT):
        say(ready=True)
        await told_to_end()


async def keep(folder: Path, address: str) -> None:
    server, *keepers = (_held(folder, name) for name in _names())
    async with asyncio.TaskGroup() as group:
        work = []
        for number, one in enumerate(keepers):
            trust = TrustTwin(server.peer(address))
            keeper = LinkKeeper(own=(one.own,), book=trust, clock=ShiftedClock(), entropy=os.urandom, limits=Limits())
            keeper.wanted(trust.peers())
            work += [group.create_task(keeper.run()), group.create_task(watch(number, keeper, server.id))]
        await told_to_end()
        for task in work:
            task.cancel()


async def watch(number: int, keeper: LinkKeeper, peer_id: str) -> None:
    """Says each state of a link as it comes."""
    state: LinkState | None = None

    def changed() -> Link | None:
        link = keeper.link(peer_id)
        return link if link.state is not state else None

    while True:
        link = await until(changed, "a change", seconds=_WATCHED_S, pause_s=_LOOK_S)
        state = link.state
        say(keeper=number, state=state.value, why=link.why)


if __name__ == "__main__":
    what, place, *rest = sys.argv[1:]
    asyncio.run(serve(Path(place)) if what == "serve" else keep(Path(place), *rest))
