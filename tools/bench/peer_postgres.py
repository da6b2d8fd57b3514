"""PostgreSQL as a peer: a cluster of its own, a unix socket only, every setting of a commit as shipped."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psycopg

from tools.bench.harness import BenchError, ThreadedCase
from tools.bench.peers import (
    Account,
    Peer,
    PeerUnavailableError,
    kill,
    last_words,
    program,
    serving,
    start,
    unprivileged,
)

START_DEADLINE_S = 60.0
INSTALL = "install it with `apt-get install postgresql` (Debian) or `brew install postgresql@17` (macOS)"
_LOOK_AGAIN_S = 0.05
_USER = "bench"
_ACCOUNTS = ("postgres", "nobody")
_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)
# The same row with the same keys and indexes as the node's own: node/store/migrations.
_TABLE = """\
CREATE TABLE exchanges (id text PRIMARY KEY);
INSERT INTO exchanges VALUES ('bench');
CREATE SEQUENCE numbers CACHE 1000;
CREATE TABLE messages (
    id text PRIMARY KEY, exchange text NOT NULL REFERENCES exchanges (id) ON DELETE CASCADE, number bigint NOT NULL,
    kind text NOT NULL, sender text NOT NULL, author text NOT NULL, to_node text NOT NULL, to_session text NOT NULL,
    title text NOT NULL, body text NOT NULL, reply_to text, snippet text NOT NULL, advice text NOT NULL,
    files text NOT NULL, recorded_us bigint NOT NULL, screened text NOT NULL, landed_us bigint,
    notices integer NOT NULL, held text, confirmed_us bigint, read_us bigint, answered_us bigint, gave_up_us bigint,
    lease text, taken_by text, UNIQUE (exchange, number)
);
CREATE INDEX messages_unread ON messages (to_session, landed_us) WHERE landed_us IS NOT NULL AND read_us IS NULL;
CREATE INDEX messages_by_taker ON messages (taken_by) WHERE taken_by IS NOT NULL;
"""
_INSERT = """\
INSERT INTO messages (id, exchange, number, kind, sender, author, to_node, to_session, title, body, snippet, advice,
    files, recorded_us, screened, landed_us, notices)
VALUES (%s, 'bench', nextval('numbers'), 'report', 'worker', 'session', 'node', 'session', '', %s, '', '', '[]',
    1, 'relay', 1, 0)
"""
_COMMIT_SETTINGS = ("fsync", "synchronous_commit", "wal_sync_method", "full_page_writes")


def _folders() -> list[Path]:
    """Where distributions put the server outside PATH, newest version first."""
    found = [folder for pattern in _PLACES for folder in Path("/").glob(pattern.lstrip("/"))]
    return sorted(found, key=_version_in, reverse=True)


def _version_in(folder: Path) -> int:
    number = re.search(r"(\d+)/bin\Z", str(folder))
    return int(number[1]) if number else 0


@asynccontextmanager
async def postgres(folder: Path, *, callers: int, new_id: Callable[[], str], body: str) -> AsyncIterator[Peer]:
    """A server in `folder` (made here) with one connection a caller; a command is one row and its commit."""
    server, initdb = program("postgres", _folders()), program("initdb", _folders())
    if server is None or initdb is None:
        raise PeerUnavailableError(f"PostgreSQL is not installed: {INSTALL}")
    account = unprivileged(_ACCOUNTS)
    async with AsyncExitStack() as stack:
        # A socket's path is short by law of the operating system, and where it lies makes no odds to a commit.
        sockets = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="helio-pg-")))
        _hand_over(folder, sockets, account)
        data, log = folder / "data", folder / "postgres.log"
        await _make_cluster(initdb, data, log, account)
        # A fast shutdown: it does not wait for clients to leave.
        command_line: list[str | Path] = [server, "-D", data, "-k", sockets, "-c", "listen_addresses="]
        process = await stack.enter_async_context(serving(command_line, log, account, signal.SIGINT))
        first = stack.enter_context(await _connected(sockets, process, log))
        first.execute(_TABLE)
        durability = ", ".join(f"{name}={_shown(first, name)}" for name in _COMMIT_SETTINGS)
        others = [stack.enter_context(_connect(sockets)) for _ in range(callers - 1)]
        cursors = [connection.cursor() for connection in (first, *others)]

        def command(caller: int) -> None:
            try:
                cursors[caller].execute(_INSERT, (new_id(), body), prepare=True)
            except psycopg.Error as error:
                raise BenchError(f"PostgreSQL refused a row: {error}") from error

        # Threads, for psycopg commits about twice as many rows that way as with as many tasks in one event loop.
        case = ThreadedCase(name="postgres", callers=callers, command=command)
        version = _shown(first, "server_version").split()[0]
        yield Peer(case=case, version=version, durability=durability)


def _hand_over(folder: Path, sockets: Path, account: Account | None) -> None:
    folder.mkdir(mode=0o700)
    if account is not None:
        for given in (folder, sockets):
            os.chown(given, account.uid, account.gid)


async def _make_cluster(initdb: Path, data: Path, log: Path, account: Account | None) -> None:
    command: list[str | Path] = [initdb, "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C"]
    making = await start(command, log, account)
    try:
        code = await making.wait()
    except asyncio.CancelledError:
        await kill(making)
        raise
    if code != 0:
        raise PeerUnavailableError(f"initdb ended with {code}: {last_words(log)}")


def _connect(sockets: Path) -> psycopg.Connection:
    return psycopg.connect(host=str(sockets), user=_USER, dbname="postgres", autocommit=True)


async def _connected(sockets: Path, process: asyncio.subprocess.Process, log: Path) -> psycopg.Connection:
    """The first connection, once the server takes any."""
    try:
        async with asyncio.timeout(START_DEADLINE_S):
            while process.returncode is None:
                try:
                    return await asyncio.to_thread(_connect, sockets)
                except psycopg.OperationalError:
                    await asyncio.sleep(_LOOK_AGAIN_S)
    except TimeoutError:
        raise PeerUnavailableError(
            f"postgres took no connection in {START_DEADLINE_S:g} s: {last_words(log)}"
        ) from None
    raise PeerUnavailableError(f"postgres ended with {process.returncode} at its start: {last_words(log)}")


def _shown(connection: psycopg.Connection, name: str) -> str:
    row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
    return str(row[0]) if row else "unknown"
