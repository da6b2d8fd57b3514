"""PostgreSQL as a peer: a cluster of its own, a unix socket only, every setting of a commit as shipped."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tools.bench.harness import BenchError, ProgramCase, Sample, ThreadedCase, percentile
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
# For the relay: a plain row, as in the log that its tunnel ends in.
_RELAYED = """\
CREATE TABLE relayed (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, exchange text NOT NULL,
    kind text NOT NULL, body text NOT NULL
);
"""
# An id by chance, about as long as a node's.
_PGBENCH = """\
INSERT INTO relayed (id, exchange, kind, body)
VALUES (left(replace(gen_random_uuid()::text, '-', ''), 20), 'aaaaaaaaaaaaaaaa', 'steer', '%s');
"""
_TPS = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_COMMIT_SETTINGS = ("fsync", "synchronous_commit", "wal_sync_method", "full_page_writes")


def _folders() -> list[Path]:
    """Where distributions put the server outside PATH, newest version first."""
    found = [folder for pattern in _PLACES for folder in Path("/").glob(pattern.lstrip("/"))]
    return sorted(found, key=_version_in, reverse=True)


def _version_in(folder: Path) -> int:
    number = re.search(r"(\d+)/bin\Z", str(folder))
    return int(number[1]) if number else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """A cluster at work, with the tables of the benches; `first` is a connection to it."""

    sockets: Path
    first: psycopg.Connection
    version: str
    durability: str
    account: Account | None


@asynccontextmanager
async def _serving(folder: Path) -> AsyncIterator[_Server]:
    """A server in `folder` (made here)."""
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
        first.execute(_TABLE + _RELAYED)
        durability = ", ".join(f"{name}={_shown(first, name)}" for name in _COMMIT_SETTINGS)
        version = _shown(first, "server_version").split()[0]
        yield _Server(sockets=sockets, first=first, version=version, durability=durability, account=account)


@asynccontextmanager
async def postgres(folder: Path, *, callers: int, new_id: Callable[[], str], body: str) -> AsyncIterator[Peer]:
    """A server in `folder` (made here) with one connection a caller; a command is one row and its commit."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(_serving(folder))
        others = [stack.enter_context(_connect(server.sockets)) for _ in range(callers - 1)]
        cursors = [connection.cursor() for connection in (server.first, *others)]

        def command(caller: int) -> None:
            try:
                cursors[caller].execute(_INSERT, (new_id(), body), prepare=True)
            except psycopg.Error as error:
                raise BenchError(f"PostgreSQL refused a row: {error}") from error

        # Threads, for psycopg commits about twice as many rows that way as with as many tasks in one event loop.
        case = ThreadedCase(name="postgres", callers=callers, command=command)
        yield Peer(case=case, version=server.version, durability=server.durability)


@asynccontextmanager
async def pgbench(folder: Path, *, callers: int, body: str) -> AsyncIterator[Peer]:
    """A plain row by PostgreSQL's own client in C: a connection a caller, prepared, one commit a row."""
    client = program("pgbench", _folders())
    if client is None:
        raise PeerUnavailableError(f"pgbench is not installed: {INSTALL}")
    async with _serving(folder) as server:
        script = folder / "row.sql"
        script.write_text(_PGBENCH % body.replace("'", "''"), encoding="utf-8")
        script.chmod(0o644)

        async def run(seconds: float) -> Sample:
            with tempfile.TemporaryDirectory(prefix="helio-pgbench-") as made:
                command = [
                    str(client), "-h", str(server.sockets), "-U", _USER, "-n", "-M", "prepared", "-f", str(script),
                    "-c", str(callers), "-j", "2", "-T", str(max(1, round(seconds))), "-l",
                    "postgres",
                ]  # fmt: skip
                process = await asyncio.create_subprocess_exec(
                    *command, cwd=made, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
                )
                said, complaint = await process.communicate()
                found = _TPS.search(said.decode("utf-8", "replace"))
                if process.returncode or found is None:
                    raise BenchError(f"pgbench ended with {process.returncode}: {complaint.decode()[-500:]}")
                took = _latencies_ms(Path(made))
            return Sample(per_s=float(found[1]), p50_ms=percentile(took, 0.50), p99_ms=percentile(took, 0.99))

        case = ProgramCase(name="pgbench", callers=callers, run=run)
        yield Peer(case=case, version=server.version, durability=server.durability)


def _latencies_ms(logs: Path) -> list[float]:
    """From pgbench's logs, whose lines are: client, transaction, microseconds, script, and when."""
    lines = (line for log in logs.glob("*.*") for line in log.read_text(encoding="ascii").splitlines())
    return [int(line.split()[2]) / 1_000 for line in lines]


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
