"""Who is at the other end of a unix socket, as the kernel tells it."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
from dataclasses import dataclass
from typing import Final, Protocol

from node.platform import IS_DARWIN

# <asm-generic/socket.h>; Python 3.11 has no name for the second (Linux 6.5).
SO_PEERCRED: Final = 17
SO_PEERPIDFD: Final = 77
# <sys/un.h> of macOS.
SOL_LOCAL: Final = 0
LOCAL_PEERCRED: Final = 1
LOCAL_PEERTOKEN: Final = 6

_UCRED: Final = struct.Struct("=3i")
# struct xucred: version, uid, count of groups (padded), sixteen groups.
_XUCRED: Final = struct.Struct("=IIh2x16I")
# audit_token_t: audit id, euid, egid, ruid, rgid, pid, audit session, pid version.
_TOKEN: Final = struct.Struct("=8I")


class PeerSocket(Protocol):
    """What is needed of a connected socket; asyncio's TransportSocket has it as well."""

    @property
    def family(self) -> int: ...
    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The process at the other end. On Linux that which connected, on macOS that which used the socket last.

    `pidfd` (Linux) is open and the holder's to `close`; `pidversion` (macOS) differs between two lives of a pid.
    """

    pid: int
    uid: int
    pidfd: int | None = None
    pidversion: int | None = None

    def gone(self) -> bool:
        """Whether the process is known to have ended, so that its pid may be another's; False also for "unknown"."""
        if self.pidfd is None:
            return False
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        return bool(poller.poll(0))

    def close(self) -> None:
        """Let go of the pidfd. Once."""
        if self.pidfd is not None:
            os.close(self.pidfd)


def peer_of(sock: PeerSocket) -> Peer:
    """The peer of a connected AF_UNIX socket; ValueError for another family, OSError when the kernel has no answer.

    On macOS ask after the request was read, and again before acting: the answer follows whoever used that end last.
    """
    # SOL_LOCAL is 0, as is IPPROTO_IP: on a TCP socket the macOS calls would succeed and answer nonsense.
    if sock.family != socket.AF_UNIX:
        raise ValueError("peer credentials exist only on unix sockets")
    return _peer_of_darwin(sock) if IS_DARWIN else _peer_of_linux(sock)


def _peer_of_linux(sock: PeerSocket) -> Peer:
    pid, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, SO_PEERCRED, _UCRED.size))
    pidfd = None
    # An older kernel knows no SO_PEERPIDFD; the start times of the processes then have to do.
    with contextlib.suppress(OSError):
        (pidfd,) = struct.unpack("=i", sock.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))
    return Peer(pid=pid, uid=uid, pidfd=pidfd)


def _peer_of_darwin(sock: PeerSocket) -> Peer:
    credentials = sock.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, _XUCRED.size)
    token = sock.getsockopt(SOL_LOCAL, LOCAL_PEERTOKEN, _TOKEN.size)
    return decode_darwin(credentials, token)


def decode_darwin(credentials: bytes, token: bytes) -> Peer:
    """The peer from a struct xucred and an audit_token_t; OSError when they tell of two users."""
    version, uid, *_ = _XUCRED.unpack(credentials)
    _, euid, _, _, _, pid, _, pidversion = _TOKEN.unpack(token)
    if version != 0:
        raise OSError(errno.EPROTO, f"struct xucred of unknown version {version}")
    # The first names who connected, the second who used the socket last.
    if euid != uid:
        raise OSError(errno.EPERM, f"user {uid} connected and user {euid} used the connection")
    return Peer(pid=pid, uid=uid, pidversion=pidversion)
