"""The one way to gRPC: its environment is set before its library starts, and its unix sockets are made safely.

gRPC reads the variables once, when it is first imported: it must not install fork handlers (a node starts its children
by spawning), and it must not write to a standard error that belongs to a person. What is set already stays.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
from pathlib import Path
from urllib.parse import quote

from node.core.errors import ErrorCode, MeshError

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# Its own resolver knows nothing of macOS and VPNs (grpc/grpc#40574). Nodes dial literal addresses anyway.
os.environ.setdefault("GRPC_DNS_RESOLVER", "native")

import grpc
from grpc import aio

__all__ = ["aio", "bind_private", "clear_stale", "grpc", "listening_target", "unix_target"]


def unix_target(path: Path) -> str:
    """The gRPC address of a unix socket; a path's odd characters are escaped, as the address is a URI."""
    return f"unix:{quote(str(path))}"


def listening_target(host: str, port: int) -> str:
    """gRPC's word for the address; "" is all of them, over IPv4 and IPv6."""
    if not host:
        return f"[::]:{port}"
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"host under [mesh] in config.toml is an IP address or empty, not {host[:64]!r}. Correct it there.",
        ) from error
    return f"[{host}]:{port}" if address.version == 6 else f"{host}:{port}"


def clear_stale(path: Path) -> None:
    """Makes way at `path`: a socket that nobody listens on is removed; NODE_RUNNING when somebody does.

    To be called before `bind_private`: gRPC takes a path over in silence, even from a server that is at work there.
    UNAVAILABLE for anything of which that is not known, which stays as it is.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise _no_socket(path, "something which is not a socket is in its place; move that away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        outcome = probe.connect_ex(str(path))
    if outcome == errno.ECONNREFUSED:
        path.unlink(missing_ok=True)
    elif outcome in {0, errno.EAGAIN, errno.EINPROGRESS}:
        raise MeshError(
            ErrorCode.NODE_RUNNING,
            f"A node already runs here: it listens at {path}. Use it, or stop it with `helio down`.",
            {"path": str(path)},
        )
    elif outcome != errno.ENOENT:
        raise _no_socket(path, f"it is not known whether anybody uses what is there ({os.strerror(outcome)})")


def bind_private(server: aio.Server, path: Path) -> None:
    """Makes `path` an address of `server` which only its owner can connect to; UNAVAILABLE when the system refuses."""
    try:
        server.add_insecure_port(unix_target(path))
    except RuntimeError as error:
        # gRPC says no more than that.
        raise _no_socket(path, f"the system refused it (its path has {len(os.fsencode(path))} bytes)") from error
    path.chmod(0o600)


def _no_socket(path: Path, why: str) -> MeshError:
    return MeshError(
        ErrorCode.UNAVAILABLE,
        f"The node cannot make its socket {path}: {why}. Then start the node again.",
        {"path": str(path)},
    )
