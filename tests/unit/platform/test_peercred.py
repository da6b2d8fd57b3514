"""Peer credentials: real ones here, those of macOS from bytes as its headers lay them out."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from node.platform import peercred
from node.platform.peercred import decode_darwin, peer_of


def test_the_peer_of_a_connection_is_the_process_that_connected(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "s")], stdin=subprocess.PIPE) as client:
            connection, _ = listener.accept()
            with connection:
                peer = peer_of(connection)
                assert (peer.pid, peer.uid) == (client.pid, os.getuid())
                assert not peer.gone()
                client.kill()
                client.wait()
                if peer.pidfd is not None:
                    assert peer.gone()
                peer.close()


def test_a_network_socket_is_no_evidence() -> None:
    with socket.socket(socket.AF_INET) as sock, pytest.raises(ValueError, match="unix"):
        peer_of(sock)


class _OldKernel:
    """A connection on a kernel that has no SO_PEERPIDFD."""

    family = socket.AF_UNIX

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes:
        if (level, optname) == (socket.SOL_SOCKET, peercred.SO_PEERCRED):
            return struct.pack("=3i", 4711, 1000, 1000)
        raise OSError(92, "Protocol not available")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the Linux branch")
def test_without_a_pidfd_the_peer_is_not_claimed_to_be_gone() -> None:
    peer = peer_of(_OldKernel())
    assert (peer.pid, peer.uid, peer.pidfd, peer.gone()) == (4711, 1000, None, False)
    peer.close()


def _xucred(*, version: int = 0, uid: int = 501) -> bytes:
    raw = struct.pack("=II", version, uid) + struct.pack("=h", 2) + b"\0\0" + struct.pack("=16I", *range(20, 36))
    assert len(raw) == 76
    return raw


def _token(*, euid: int = 501) -> bytes:
    return struct.pack("=8I", 501, euid, 20, 501, 20, 4711, 100005, 99)


def test_macos_credentials() -> None:
    peer = decode_darwin(_xucred(), _token())
    assert (peer.pid, peer.uid, peer.pidversion, peer.pidfd) == (4711, 501, 99, None)


@pytest.mark.parametrize(
    ("credentials", "token"), [(_xucred(uid=0), _token()), (_xucred(), _token(euid=0)), (_xucred(version=1), _token())]
)
def test_macos_credentials_that_disagree_are_refused(credentials: bytes, token: bytes) -> None:
    with pytest.raises(OSError, match=r"user|version"):
        decode_darwin(credentials, token)
