"""A node that only carries files, in a process of its own: a server takes what a client pushes.

    python -m tools.bench.file_node server|client FOLDER

Both read their keys from FOLDER/keys.json. The server prints its port and serves until its input ends. The client reads
pushes, one JSON object a line, and prints what came of each as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from node import certificates
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.mesh import Grant, LinkState, NodeKey, Peer
from node.core.rotation import fingerprint
from node.core.transfer import Attachment
from node.core.trust import node_id_of
from node.files import Files
from node.identity import AuthorityFile
from node.parcels import Parcels
from node.parts import SystemClock, entropy
from node.platform import IS_DARWIN, clocks, heap
from node.rpc_client import LinkKeeper
from node.rpc_roots import Roots
from node.rpc_server import MeshServer
from node.transfer_log import TransferLog
from tunnel.session.file_client import Carrier
from tunnel.session.file_server import FileServer

MESSAGE = "m" * 16
# Larger than any file of the bench.
LIMITS = Limits(message_bytes=2**40, link_beat_s=1, link_retry_s=1)
_LINK_DEADLINE_S = 30.0
_LOOK_AGAIN_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """One push, as the client reads it: `port` is the server's, the content lies in the client's quarantine."""

    port: int
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What came of it: `error` is empty when all went well, `sent` counts the bytes handed to gRPC in this call."""

    seconds: float
    sent: int
    resident_mb: float
    error: str = ""


class Known:
    """Implements ports_mesh.Pins and ports_mesh.Calls for one peer that never changes."""

    generation = 0

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def peers(self) -> tuple[Peer, ...]:
        return (self._peer,)

    def pinned(self, spki: str) -> Peer | None:
        return self._peer if spki == self._peer.spki else None

    def grants_for(self, peer: Peer) -> frozenset[Grant]:
        return peer.given

    async def next_change(self, seen: int) -> int:
        await asyncio.Event().wait()
        return seen

    async def refused(self, reason: str, *, spki: str, address: str) -> None:
        print(f"refused: {reason} {spki} {address}", file=sys.stderr)

    async def seen(self, peer_id: str, address: str) -> None: ...
    async def granted(self, peer_id: str, got: frozenset[Grant]) -> None: ...
    async def issued(self, peer_id: str, certificate: str) -> None: ...
    async def told(self, peer_id: str, certificate: str) -> Peer:
        raise NotImplementedError(peer_id, certificate)

    async def rekeyed(self, peer_id: str, certificate: str, statement: bytes, signature: bytes) -> None: ...


class Everything:
    """Implements ports_files.FileGround: the one peer may push, and there is nothing to pull."""

    def may_request(self, peer: str) -> bool:
        return bool(peer)

    async def may_pull(self, peer: str, message: str, sha256: str) -> Attachment | None:
        raise NotImplementedError(peer, message, sha256)

    async def came(self, peer: str, content: Attachment, refused: ErrorCode | None = None) -> None:
        if refused is not None:
            raise AssertionError(peer, content, refused)


class Counted(Parcels):
    """Parcels that count the bytes which are read of them."""

    read_bytes = 0

    async def read(self, attachment: Attachment, offset: int) -> AsyncGenerator[bytes, None]:
        async for data in super().read(attachment, offset):
            yield data
            self.read_bytes += len(data)


def new_keys(folder: Path) -> None:
    """Makes the keys of both nodes."""
    made = {}
    for role in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        certificate = certificates.make(key, now_us=clocks.wall_us(), serial=os.urandom(20))
        (folder / role).mkdir()
        made[role] = {"key": pem.decode("ascii"), "certificate": certificate}
    (folder / "keys.json").write_text(json.dumps(made), encoding="ascii")


def own_key(folder: Path, role: str) -> NodeKey:
    kept = json.loads((folder / "keys.json").read_text(encoding="ascii"))[role]
    certificate = kept["certificate"]
    return NodeKey(key=kept["key"].encode("ascii"), certificate=certificate, fingerprint=fingerprint(certificate))


def peer_of(folder: Path, role: str, *addresses: str) -> Peer:
    """The node of that role as the other one knows it."""
    certificate = own_key(folder, role).certificate
    spki = certificates.spki_hash(certificates.public_key(certificate))
    return Peer(
        id=node_id_of(spki),
        name=role,
        spki=spki,
        certificate=certificate,
        addresses=addresses,
        given=frozenset({Grant.REQUEST}),
        got=frozenset(),
        paired_us=1,
    )


async def _parts(home: Path) -> tuple[Counted, TransferLog]:
    files = Files(home=home, limits=LIMITS)
    parcels = Counted(home=home, limits=LIMITS, clock=SystemClock(), quarantine=files)
    await parcels.load()
    return parcels, TransferLog(clock=SystemClock(), entropy=entropy, limits=LIMITS)


async def serve(folder: Path) -> None:
    """The server, at a free port, until standard input ends."""
    parcels, log = await _parts(folder / "server")
    trust = Known(peer_of(folder, "client"))
    keeper = AuthorityFile(folder / "identity", clock=SystemClock(), entropy=entropy)
    roots = Roots(trust=trust, limits=LIMITS, clock=SystemClock(), entropy=entropy, keeper=keeper)
    own = own_key(folder, "server")
    server = MeshServer(own=own, trust=trust, calls=trust, clock=SystemClock(), limits=LIMITS, roots=roots)
    files = FileServer(gate=server.gate, ground=Everything(), parcels=parcels, log=log, limits=LIMITS)
    async with server.serve("127.0.0.1", 0, files.handlers()) as port:
        print(port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def push_all(folder: Path) -> None:
    """The client: does what standard input says, line by line."""
    parcels, log = await _parts(folder / "client")
    while line := await asyncio.to_thread(sys.stdin.readline):
        wanted = Push(**json.loads(line))
        peer = peer_of(folder, "server", f"127.0.0.1:{wanted.port}")
        own = own_key(folder, "client")
        links = LinkKeeper(own=(own,), book=Known(peer), clock=SystemClock(), entropy=entropy, limits=LIMITS)
        links.wanted((peer,))
        carrier = Carrier(channels=links.extra_channel, parcels=parcels, log=log, limits=LIMITS)
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(links.run())
            await _up(links, peer.id)
            print(json.dumps(await _push(carrier, parcels, peer.id, wanted)), flush=True)
            keeping.cancel()


async def _push(carrier: Carrier, parcels: Counted, peer: str, wanted: Push) -> dict[str, float | str]:
    content = Attachment(name="file", sha256=wanted.sha256, size=wanted.size, folder=False, entries=0)
    before, begin, error = parcels.read_bytes, time.perf_counter(), ""
    try:
        await carrier.push(peer, MESSAGE, content)
    except MeshError as refusal:
        error = f"{refusal.code}: {refusal.message}"
    return {
        "seconds": time.perf_counter() - begin,
        "sent": parcels.read_bytes - before,
        "resident_mb": resident_mb(),
        "error": error,
    }


async def _up(links: LinkKeeper, peer: str) -> None:
    async with asyncio.timeout(_LINK_DEADLINE_S):
        while links.link(peer).state is not LinkState.UP:  # noqa: ASYNC110 - a link tells nobody
            await asyncio.sleep(_LOOK_AGAIN_S)


def resident_mb() -> float:
    """The most memory that this process has had in use, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if IS_DARWIN else peak / 2**10


if __name__ == "__main__":
    # As the daemon does.
    heap.keep_freed()
    asyncio.run({"server": serve, "client": push_all}[sys.argv[1]](Path(sys.argv[2])))
