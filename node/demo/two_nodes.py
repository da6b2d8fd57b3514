"""The demo's second Mac: a node with a home of its own, paired with the first by the real protocol on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant, LinkState
from node.core.views_mesh import PairingEvent, PairingStep, PeerView
from node.demo.stage import check
from node.local_client import LocalClient
from node.ports_mesh import PairingWish

LINKED_S = 20


async def pair(studio: LocalClient, laptop: LocalClient, say: Callable[[str], None]) -> None:
    """`studio` waits with a code; `laptop` guesses wrong, then has it right, and each is linked to the other."""
    failed = await _run(studio, laptop, wrong=True)
    check(failed.step is PairingStep.FAILED and failed.reason == "wrong_code", f"a wrong code came to {failed}")
    say(f"laptop tries a wrong code: {failed.words}")
    for node in (studio, laptop):
        check(not (await node.mesh()).peers, "a wrong code made a peer")
    paired = await _run(studio, laptop, wrong=False)
    check(paired.step is PairingStep.PAIRED, f"the right code came to {paired}")
    say(f"laptop has the right one: paired with {paired.name}, id {paired.shown}")
    for node, name, other in ((studio, "studio", "laptop"), (laptop, "laptop", "studio")):
        peer = await _linked(node)
        check(peer.name == other, f"{name} calls its peer {peer.name}")
        check(peer.link.tls == "TLSv1.3", f"the link of {name} is secured by {peer.link.tls}")
        say(f"{name} is linked to {other}: {peer.link.tls}, {peer.link.group}, {(peer.link.rtt_us or 0) / 1000:.1f} ms")
    (there,), (here,) = (await studio.mesh()).peers, (await laptop.mesh()).peers
    request = frozenset({Grant.REQUEST})
    check((there.given, here.got) == (request, request), "what laptop may do at studio is not what was agreed")
    check((there.got, here.given) == (frozenset(), frozenset()), "studio was granted what nobody gave it")
    say("laptop may send requests to studio; studio may do nothing at laptop")


async def _run(studio: LocalClient, laptop: LocalClient, *, wrong: bool) -> PairingEvent:
    """One run, with the code that studio shows or another one; how it ended for laptop."""
    waits = PairingWish(headless=True, gives=frozenset({Grant.REQUEST}), name="studio")
    async with aclosing(studio.run_pairing(waits)) as shown:
        waiting = await anext(shown)
        code = waiting.code if not wrong else f"{(int(waiting.code) + 1) % 10**8:08d}"
        dials = PairingWish(
            target=f"127.0.0.1:{waiting.port}", wants=frozenset({Grant.REQUEST}), code=code, name="laptop"
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(_last(shown))
            async with aclosing(laptop.run_pairing(dials)) as events:
                last = await _last(events)
    return last or waiting


async def _last(events: AsyncGenerator[PairingEvent, None]) -> PairingEvent | None:
    """The last step of a run."""
    last = None
    async for event in events:
        last = event
    return last


async def _linked(node: LocalClient) -> PeerView:
    """The node's one peer, once the link to it is up."""
    try:
        async with asyncio.timeout(LINKED_S):
            while True:
                peers = (await node.mesh()).peers
                if len(peers) == 1 and peers[0].link.state is LinkState.UP:
                    return peers[0]
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise MeshError(ErrorCode.UNAVAILABLE, f"no link came up within {LINKED_S} s") from error
