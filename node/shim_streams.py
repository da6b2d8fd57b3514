"""The shim's streams: lines with a limit, a connection to the node that is made again when lost, answers to stdout.

Standard library only, and little of it (see node/shim.py).
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
from collections import deque
from collections.abc import Mapping

CHUNK = 65_536
NODE_LINE_BYTES = 64 * 1024 * 1024
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 2.0
# What a pipe that select() calls writable takes without blocking: PIPE_BUF, which is smallest on macOS.
STDOUT_CHUNK = 4096 if sys.platform == "linux" else 512
SOCKET_NAME = "agent.sock"


def socket_path() -> str:
    """Where the node listens for shims: what node.platform.paths.run_dir says, without its imports, making nothing."""
    chosen = os.environ.get("HELIOGRAPH_HOME")
    home = os.path.expanduser(chosen or "~/.heliograph")  # noqa: PTH111 - pathlib alone would double the start
    # As pathlib writes it: no empty or "." parts, but ".." kept, for a link may stand before it.
    parts = f"{os.getcwd()}/{home}" if not home.startswith("/") else home  # noqa: PTH109
    home = "/" + "/".join(part for part in parts.split("/") if part not in {"", "."})
    run = home + "/run"
    if len(os.fsencode(run)) + 1 + 24 < 104:
        return f"{run}/{SOCKET_NAME}"
    from hashlib import sha256  # noqa: PLC0415 - only a home with a long path pays for it

    return f"/tmp/heliograph-{os.getuid()}-{sha256(os.fsencode(home)).hexdigest()[:16]}/{SOCKET_NAME}"  # noqa: S108


class Lines:
    """Cuts a stream of bytes into lines. Of a line over `limit` bytes both ends are kept, a LF between."""

    KEPT = 512

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = bytearray()
        self._head = b""

    def feed(self, data: bytes) -> list[tuple[bytes, bool]]:
        """The lines that `data` completes, without their LF, each with whether it is whole."""
        done: list[tuple[bytes, bool]] = []
        *complete, rest = data.split(b"\n")
        for piece in complete:
            self._add(piece)
            done.append(self._take())
        self._add(rest)
        return done

    def rest(self) -> list[tuple[bytes, bool]]:
        """The line that the end of the stream left without a LF, if any."""
        return [self._take()] if self._buffer or self._head else []

    def _add(self, piece: bytes) -> None:
        self._buffer += piece
        if not self._head and len(self._buffer) > self.limit:
            self._head = bytes(self._buffer[: self.KEPT])
            del self._buffer[: self.KEPT]
        if self._head:
            del self._buffer[: -self.KEPT]

    def _take(self) -> tuple[bytes, bool]:
        whole = not self._head
        line = bytes(self._buffer) if whole else self._head + b"\n" + bytes(self._buffer)
        self._buffer.clear()
        self._head = b""
        return line, whole


class Link:
    """The connection to the node: made when needed, lost and made again with growing pauses."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.sock: socket.socket | None = None
        self.out = bytearray()
        self.welcomed = False
        self.unsafe = False
        self.down_since = 0.0
        self.retry_at = 0.0
        self._pause = RETRY_FIRST_S
        self._lines = Lines(NODE_LINE_BYTES)

    def connect(self, now: float) -> bool:
        """Whether there is a new connection; if not, `retry_at` says when to try again."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # In a shared /tmp somebody else could have put a folder of this name there, to be taken for the node.
            folder = os.lstat(os.path.dirname(self.path))  # noqa: PTH120
            self.unsafe = folder.st_uid != os.getuid() or bool(stat.S_IMODE(folder.st_mode) & 0o077)
            if self.unsafe:
                raise PermissionError(self.path)
            sock.setblocking(False)
            sock.connect(self.path)
        except OSError:
            sock.close()
            self._put_off(now)
            return False
        self.sock, self._lines = sock, Lines(NODE_LINE_BYTES)
        return True

    def _put_off(self, now: float) -> None:
        # Spread by chance, so that a node that comes back is not met by all shims of a machine at once.
        self.retry_at = now + self._pause * (0.5 + os.urandom(1)[0] / 256)
        self._pause = min(self._pause * 2, RETRY_MOST_S)

    def close(self, now: float) -> None:
        """Lets go of the connection and what waits to be written: after the next connect all is sent anew."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        if self.welcomed:
            self.down_since = now
        self.welcomed = False
        self.out.clear()
        self._put_off(now)

    def welcome(self) -> None:
        """The node took the hello: pauses start small again."""
        self.welcomed = True
        self._pause = RETRY_FIRST_S

    def send(self, line: bytes) -> None:
        """Queues one line, if there is a connection."""
        if self.sock is not None:
            self.out += line + b"\n"

    def write_some(self, now: float) -> None:
        """Writes what the socket takes."""
        if self.sock is None:
            return
        try:
            del self.out[: self.sock.send(self.out[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:
            self.close(now)

    def read_some(self, now: float) -> list[tuple[bytes, bool]]:
        """The lines that came in; the connection is closed when it has ended."""
        if self.sock is None:
            return []
        try:
            data = self.sock.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.close(now)
            return []
        return self._lines.feed(data)


class Outlet:
    """What waits to be written to stdout: whole lines, each with the call that it answers, if it answers one."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self._lines: deque[tuple[bytes, str | None]] = deque()
        self._written = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def put(self, message: Mapping[str, object], call_id: str | None = None) -> None:
        """Queues one message."""
        line = json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        self._lines.append((line, call_id))
        self.size += len(line)

    def answers(self) -> int:
        """How many answers to calls wait."""
        return sum(owner is not None for _, owner in self._lines)

    def withdraw(self, call_id: str) -> bool:
        """Takes back the answer to a call, if it waits here; whether it did.

        A line that is partly out has to go out whole, but answers nothing then.
        """
        for place, (line, owner) in enumerate(self._lines):
            if owner == call_id:
                if place == 0 and self._written:
                    self._lines[0] = (line, None)
                else:
                    del self._lines[place]
                    self.size -= len(line)
                return True
        return False

    def withdraw_all(self) -> None:
        """Takes back the answers to all calls."""
        for owner in [owner for _, owner in self._lines if owner is not None]:
            self.withdraw(owner)

    def write_some(self) -> str | None:
        """Writes what stdout takes without blocking, once select() called it writable; OSError when nobody reads it.

        The call whose answer went out whole with this, if one did.
        """
        line, call_id = self._lines[0]
        count = os.write(self.fd, line[self._written : self._written + STDOUT_CHUNK])
        self._written += count
        self.size -= count
        if self._written < len(line):
            return None
        self._lines.popleft()
        self._written = 0
        return call_id
