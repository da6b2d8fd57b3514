"""A file over a plain TLS socket with both certificates pinned, as short as Python can say it.

    python -m tools.bench.raw_mtls server|client FOLDER

Keys and conversation are as for file_node. Nothing is hashed, resumed or limited; the receiver writes to a file, and
flushes it at the end when it is asked to.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
import sys
import time
from pathlib import Path

from node.platform.durability import flush
from tools.bench.file_node import own_key

BLOCK_BYTES = 1_048_576
# Size, and whether to flush.
_HEAD = struct.Struct(">Q?")


def context(folder: Path, role: str) -> ssl.SSLContext:
    """TLS 1.3 for that role, which trusts the other one's certificate alone."""
    purpose, other = (ssl.PROTOCOL_TLS_SERVER, "client") if role == "server" else (ssl.PROTOCOL_TLS_CLIENT, "server")
    made = ssl.SSLContext(purpose)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    # The peer's own certificate is the root, though it may sign nothing.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    own = own_key(folder, role)
    pem = folder / f"raw-{role}.pem"
    pem.write_bytes(own.key + own.certificate.encode("ascii"))
    made.load_cert_chain(pem)
    made.load_verify_locations(cadata=own_key(folder, other).certificate)
    return made


def serve(folder: Path) -> None:
    """Takes one file after the other, at a free port, until it is killed."""
    tls = context(folder, "server")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        block = memoryview(bytearray(BLOCK_BYTES))
        while True:
            plain, _ = listener.accept()
            with tls.wrap_socket(plain, server_side=True) as peer:
                left, lasting = _HEAD.unpack(peer.recv(_HEAD.size))
                with (folder / "raw-received").open("wb", buffering=0) as out:
                    while left:
                        got = peer.recv_into(block, min(left, BLOCK_BYTES))
                        if not got:
                            break
                        out.write(block[:got])
                        left -= got
                    if lasting:
                        flush(out.fileno())
                peer.sendall(b"k")


def send_all(folder: Path) -> None:
    """Sends what standard input says, line by line."""
    tls = context(folder, "client")
    block = memoryview(bytearray(BLOCK_BYTES))
    for line in sys.stdin:
        wanted = json.loads(line)
        begin = time.perf_counter()
        with (
            socket.create_connection(("127.0.0.1", wanted["port"])) as plain,
            tls.wrap_socket(plain) as peer,
            Path(wanted["path"]).open("rb", buffering=0) as source,
        ):
            peer.sendall(_HEAD.pack(os.fstat(source.fileno()).st_size, wanted["flush"]))
            while got := source.readinto(block):
                peer.sendall(block[:got])
            peer.recv(1)
        print(json.dumps({"seconds": time.perf_counter() - begin, "error": ""}), flush=True)


if __name__ == "__main__":
    {"server": serve, "client": send_all}[sys.argv[1]](Path(sys.argv[2]))
