"""The benches' arithmetic and turns, what they say of a missing peer, and the publisher's half of the NATS protocol."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tools.bench import harness, peers, store
from tools.bench.harness import BenchError, Case, Result, Sample
from tools.bench.peer_nats import Endpoint, Publisher, check_ack, connected
from tools.bench.peers import Peer, PeerUnavailableError

DEADLINE_S = 20.0


def within_deadline(test: Callable[[], Coroutine[None, None, None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await test()

    asyncio.run(run())


class HandClock:
    """A clock that only the commands move; they take the given seconds in turn."""

    def __init__(self, *durations: float) -> None:
        self.now = 100.0
        self._durations = durations
        self._given = 0

    def __call__(self) -> float:
        return self.now

    async def command(self, _caller: int) -> None:
        self.now += self._durations[self._given % len(self._durations)]
        self._given += 1


def sample(per_s: float) -> Sample:
    return Sample(per_s=per_s, p50_ms=1000 / per_s, p99_ms=2000 / per_s)


# ---------------------------------------------------------------------------------------------------------------------
# Measuring.


def test_a_stretch_counts_what_ended_within_it() -> None:
    clock = HandClock(0.5)
    case = Case(name="half a second", callers=1, command=clock.command)
    found = asyncio.run(harness.measure(case, 20.0, clock))
    assert found == Sample(per_s=2.0, p50_ms=500.0, p99_ms=500.0)


def test_the_warm_up_is_off_the_clock() -> None:
    # 20 s have a warm-up of 3 s: the one command of 2.5 s ends in it, those of 0.25 s that count come after.
    clock = HandClock(2.5, *[0.25] * 1000)
    found = asyncio.run(harness.measure(Case(name="cold", callers=1, command=clock.command), 20.0, clock))
    assert found == Sample(per_s=4.0, p50_ms=250.0, p99_ms=250.0)


def test_preparing_is_off_the_clock() -> None:
    clock = HandClock(1.0)

    async def prepare() -> None:
        clock.now += 1000.0

    case = Case(name="prepared", callers=1, command=clock.command, prepare=prepare)
    assert asyncio.run(harness.measure(case, 20.0, clock)).per_s == 1.0


def test_all_callers_wait_at_the_same_time() -> None:
    together = asyncio.Barrier(3)
    clock = HandClock(1.0)

    async def command(caller: int) -> None:
        await together.wait()
        if caller == 0:
            await clock.command(caller)
        # Nobody goes on before the clock was moved, so that all take part in every turn.
        await together.wait()

    case = Case(name="together", callers=3, command=command)
    assert asyncio.run(asyncio.wait_for(harness.measure(case, 20.0, clock), DEADLINE_S)).per_s == 3.0


def test_threads_are_callers_too() -> None:
    together = threading.Barrier(3)
    clock = HandClock(1.0)

    def command(caller: int) -> None:
        together.wait(DEADLINE_S)
        if caller == 0:
            clock.now += 1.0
        together.wait(DEADLINE_S)

    case = harness.ThreadedCase(name="threads", callers=3, command=command)
    assert asyncio.run(harness.measure(case, 20.0, clock)).per_s == 3.0


def test_a_thread_that_fails_ends_the_others() -> None:
    other_runs = threading.Event()

    def command(caller: int) -> None:
        if caller == 0:
            other_runs.wait(DEADLINE_S)
            raise BenchError("the server has gone")
        other_runs.set()

    case = harness.ThreadedCase(name="postgres", callers=2, command=command)
    with pytest.raises(BenchError, match="postgres broke off: the server has gone"):
        # By this clock the stretch never ends by itself.
        asyncio.run(harness.measure(case, 2.0, lambda: 100.0))


def test_a_stretch_without_any_command_is_no_figure() -> None:
    clock = HandClock(1000.0)
    with pytest.raises(BenchError, match="--seconds"):
        asyncio.run(harness.measure(Case(name="stuck", callers=1, command=clock.command), 2.0, clock))


def test_a_peer_that_dies_on_the_way_ends_the_bench_by_name() -> None:
    async def command(_caller: int) -> None:
        raise BenchError("the server has gone")

    with pytest.raises(BenchError, match="postgres broke off: the server has gone"):
        asyncio.run(harness.measure(Case(name="postgres", callers=2, command=command), 2.0))


def test_a_defect_is_not_taken_for_a_peer_that_died() -> None:
    async def command(_caller: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(harness.measure(Case(name="broken", callers=1, command=command), 2.0))
    assert caught.group_contains(ZeroDivisionError)


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50.0), (0.99, 99.0), (0.991, 100.0), (1.0, 100.0), (0.001, 1.0)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: float) -> None:
    hundred = [float(n) for n in range(100, 0, -1)]
    assert harness.percentile(hundred, share) == expected


def test_every_repeat_runs_every_case_and_begins_with_another() -> None:
    cases = [Case(name=name, callers=1, command=HandClock(1.0).command) for name in "abcd"]
    orders = [[case.name for case in order] for order in harness.turns(cases, 8)]
    assert [sorted(order) for order in orders] == [list("abcd")] * 8
    assert {order[0] for order in orders} == set("abcd")
    pairs = {(before, after) for order in orders for before, after in pairwise(order)}
    assert {("a", "b"), ("b", "a")} <= pairs


def test_cases_take_turns() -> None:
    clock = HandClock(1.0)
    said: list[str] = []
    cases = [Case(name=name, callers=1, command=clock.command) for name in ("one", "two")]
    found = asyncio.run(harness.interleave(cases, repeats=3, seconds=20.0, say=said.append, clock=clock))
    assert {name: len(samples) for name, samples in found.items()} == {"one": 3, "two": 3}
    assert [line.split(": ")[1] for line in said] == ["one", "two", "two", "one", "one", "two"]


def test_a_ratio_is_formed_within_each_repeat() -> None:
    # The machine halves its speed on the way; both see it, and the ratio does not.
    over = [sample(per_s) for per_s in (600, 600, 300, 400, 300)]
    under = [sample(per_s) for per_s in (100, 100, 50, 50, 60)]
    assert harness.ratio(over, under) == 6.0
    assert harness.ratio(over, None) is None
    assert harness.ratio(None, under) is None


# ---------------------------------------------------------------------------------------------------------------------
# What is printed.


def test_the_json_has_one_shape() -> None:
    given = Result(ratios={"a": 1 / 3, "b": None}, figures={"c": 12345.678}, context={"cores": 2})
    assert json.loads(given.as_json()) == {
        "ratios": {"a": 0.3333, "b": None},
        "figures": {"c": 12350.0},
        "context": {"cores": 2},
    }


def samples_of(*names: str) -> dict[str, Sequence[Sample]]:
    rates = {"single": 100.0, "group": 1300.0, "postgres": 260.0, "relay_single": 50.0, "relay": 200.0}
    return {name: tuple(sample(rates.get(name, 400.0)) for _ in range(5)) for name in names}


def test_a_missing_peer_is_null_and_says_why() -> None:
    ran = samples_of("disk_flush", "single", "group", "nats_always", "relay_single", "relay")
    run: dict[str, harness.Json] = {"load_before": [0.1], "load_after": [0.2], "file_system": "ext4", "repeats": 5}
    found = store.result(ran, {}, {"postgres": "PostgreSQL is not installed"}, run)
    told = json.loads(found.as_json())
    assert told["ratios"] == {
        "group_vs_single": 13.0,
        "vs_postgres": None,
        "vs_nats_always": 3.25,
        "relay_group_vs_single": 4.0,
    }
    assert told["figures"]["postgres_commands_s"] is None
    assert told["figures"]["relay_commands_s"] == 200.0
    assert told["context"]["missing"] == {"postgres": "PostgreSQL is not installed"}
    assert told["context"]["versions"]["postgres"] is None
    assert told["context"]["repeats"] == 5
    assert "postgres: PostgreSQL is not installed" in store.as_table(found)


def test_the_table_says_which_aim_was_missed() -> None:
    ran = samples_of(*store.CASES)
    slow = {**ran, "postgres": tuple(sample(650.0) for _ in range(5))}
    run: dict[str, harness.Json] = {"load_before": [0.1], "load_after": [0.2], "file_system": "ext4"}
    lines = store.as_table(store.result(slow, {}, {}, run)).splitlines()
    judged = {line.split()[0]: line.split()[-1] for line in lines if line.split()[-1:] in (["reached"], ["missed"])}
    assert judged == {"group_vs_single": "reached", "vs_postgres": "missed", "vs_nats_always": "reached"}


@pytest.mark.parametrize(
    "arguments", [["--repeats", "4"], ["--repeats", "few"], ["--seconds", "0"], ["--dir", "/none"]]
)
def test_options_that_make_no_sense_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        store.parse(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("/home/x", "ext4"), ("/run/bench", "tmpfs"), ("/runner", "ext4"), ("/mnt/two words/x", "xfs")],
)
def test_the_file_system_of_a_folder_on_linux(folder: str, expected: str) -> None:
    mounts = (
        "rootfs / rootfs rw 0 0\n/dev/vda / ext4 rw,relatime 0 0\ntmpfs /run tmpfs rw 0 0\n"
        "/dev/vdb /mnt/two\\040words xfs rw 0 0\n"
    )
    assert harness.file_system_in(mounts, Path(folder)) == expected


@pytest.mark.parametrize(
    ("folder", "expected"), [("/Users/x", "apfs"), ("/dev/fd", "devfs"), ("/Volumes/My Share/x", "smbfs")]
)
def test_the_file_system_of_a_folder_on_macos(folder: str, expected: str) -> None:
    mounts = (
        "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\ndevfs on /dev (devfs, local, nobrowse)\n"
        "//user@host/My%20Share on /Volumes/My Share (smbfs, nodev, nosuid)\n"
    )
    assert harness.file_system_in(mounts, Path(folder)) == expected


# ---------------------------------------------------------------------------------------------------------------------
# Peers.


@asynccontextmanager
async def _absent(_folder: Path) -> AsyncIterator[Peer]:
    raise PeerUnavailableError("it is not installed")
    yield


@asynccontextmanager
async def _present(_folder: Path) -> AsyncIterator[Peer]:
    case = Case(name="present", callers=1, command=HandClock(1.0).command)
    yield Peer(case=case, version="9", durability="fsync")


def test_a_peer_that_cannot_start_leaves_the_others_alone(tmp_path: Path) -> None:
    async def opened() -> None:
        async with AsyncExitStack() as stack:
            openers = {"absent": _absent, "present": _present}
            found, missing = await store.open_peers(stack, tmp_path, openers, lambda _line: None)
            assert list(found) == ["present"]
            assert missing == {"absent": "it is not installed"}

    within_deadline(opened)


def test_a_server_is_stopped_with_its_block(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    server = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]

    async def served() -> None:
        async with peers.serving(server, log, None, signal.SIGTERM) as process:
            assert process.returncode is None
        assert process.returncode == -signal.SIGTERM
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)

    within_deadline(served)


@pytest.mark.parametrize(
    "ack",
    [
        b'{"error":{"code":503,"description":"no space"},"stream":"bench","seq":0}',
        b'{"stream":"bench","seq":7,"duplicate":true}',
        b'{"stream":"bench"}',
    ],
)
def test_an_ack_that_stored_nothing_new_does_not_count(ack: bytes) -> None:
    with pytest.raises(BenchError):
        check_ack(ack)


def test_an_ack_counts() -> None:
    check_ack(b'{"stream":"bench","seq":7}')


Serve = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def published(serve: Serve, ask: Callable[[Publisher], Awaitable[None]]) -> None:
    """Runs `ask` on a publisher whose server is a twin that gives each HPUB line to `serve`."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"headers":true}\r\n')
        while line := await reader.readline():
            if line.startswith(b"HPUB"):
                await serve(line, reader, writer)
        writer.close()
        await writer.wait_closed()
        ended.set()

    ended = asyncio.Event()
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        try:
            async with connected(Endpoint(host="127.0.0.1", port=port)) as publisher:
                await ask(publisher)
        finally:
            await ended.wait()


def test_what_breaks_off_a_connection_comes_out_as_it_is() -> None:
    async def nothing(_line: bytes, _reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        raise AssertionError("nobody publishes here")

    async def ask(_publisher: Publisher) -> None:
        raise BenchError("the bench breaks off")

    with pytest.raises(BenchError, match="the bench breaks off"):
        within_deadline(partial(published, nothing, ask))


def test_each_publisher_gets_the_reply_to_its_own_message() -> None:
    held: list[tuple[bytes, bytes]] = []

    async def in_reverse(line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, subject, reply, head, total = line.split()
        block = await reader.readexactly(int(total) + 2)
        assert block[: int(head)] == b"NATS/1.0\r\nNats-Msg-Id: " + subject + b"\r\n\r\n"
        held.append((reply, block[int(head) : -2]))
        if len(held) == 2:
            for inbox, body in reversed(held):
                writer.write(b"PING\r\nMSG %s 1 %d\r\n%s\r\n" % (inbox, len(body), body))

    async def ask(publisher: Publisher) -> None:
        one, two = await asyncio.gather(
            publisher.request("a", b"first\r\nline", b"Nats-Msg-Id: a"), publisher.request("b", b"", b"Nats-Msg-Id: b")
        )
        assert (one, two) == (b"first\r\nline", b"")

    within_deadline(partial(published, in_reverse, ask))


def test_a_subject_that_nobody_serves_is_refused() -> None:
    async def refuse(line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(int(line.split()[-1]) + 2)
        status = b"NATS/1.0 503\r\n\r\n"
        writer.write(b"HMSG %s 1 %d %d\r\n%s\r\n" % (line.split()[2], len(status), len(status), status))

    async def ask(publisher: Publisher) -> None:
        with pytest.raises(BenchError, match="503"):
            await publisher.request("nowhere", b"x", b"Nats-Msg-Id: x")

    within_deadline(partial(published, refuse, ask))


def test_a_lost_server_fails_who_waits_and_who_comes_later() -> None:
    async def hang_up(_line: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def ask(publisher: Publisher) -> None:
        for _ in range(2):
            with pytest.raises(BenchError, match=r"closed|broke"):
                await publisher.request("a", b"x", b"Nats-Msg-Id: x")

    within_deadline(partial(published, hang_up, ask))
