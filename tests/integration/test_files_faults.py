"""Files when something goes wrong: changes meanwhile, callers that leave, copies that are not as they were."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import tarfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from node.core import transfer
from node.core.errors import ErrorCode, MeshError
from node.core.transfer import Attachment, Entry
from node.platform.parcel import CHUNK_BYTES
from node.platform.walk import Reach, UnfitFileError
from tests.integration.file_bench import MESSAGE, SESSION, Bench, bench_in
from tests.waiting import turn, until


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)


# --- changes while it is read ----------------------------------------------------------------------------------------


def appended(path: Path) -> None:
    before = path.stat()
    with path.open("ab") as file:
        file.write(b"more")
    os.utime(path, ns=(1, before.st_mtime_ns))


def cut(path: Path) -> None:
    before = path.stat()
    os.truncate(path, before.st_size // 2)
    os.utime(path, ns=(1, before.st_mtime_ns))


def rewritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"other")
    os.utime(path, ns=(1, 1))


def replaced(path: Path) -> None:
    path.with_name("fresh").write_bytes(path.read_bytes())
    path.with_name("fresh").rename(path)


def linked_out(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hosts")


def linked_in(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("other")


def made_a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def vanished(path: Path) -> None:
    path.unlink()


CHANGES = [appended, cut, rewritten, replaced, linked_out, linked_in, made_a_fifo, vanished]


@pytest.mark.parametrize("folder", [False, True], ids=["file", "in folder"])
@pytest.mark.parametrize("done", [0, CHUNK_BYTES], ids=["before it is opened", "after a chunk"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_file_that_changes_meanwhile_is_refused(
    bench: Bench, change: Callable[[Path], None], done: int, *, folder: bool
) -> None:
    path = bench.write("box/big", b"x" * (2 * CHUNK_BYTES))
    bench.write("box/other", b"y" * (2 * CHUNK_BYTES))
    looks = most = 0

    def interfere(at: str, so_far: int) -> None:
        nonlocal looks, most
        most = max(most, so_far)
        if at == "box/big" and so_far == done:
            looks += 1
            # A folder's files are also announced when they are measured.
            if looks == (2 if folder and done == 0 else 1):
                change(path)

    refusal = bench.with_(progress=interfere).refused("box" if folder else "box/big")
    assert "box/big" in refusal.message
    if done:
        assert refusal.code is ErrorCode.WRONG_STATE
    else:
        assert most == 0


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_between_the_look_and_the_opening_there_is_no_gap(bench: Bench, change: Callable[[Path], None]) -> None:
    path = bench.write("x", b"x" * 100)
    reach = Reach(sealed=bench.home, base=str(bench.base), allowed=())
    with reach.walk("x") as way:
        change(path)
        with pytest.raises(UnfitFileError):
            os.close(way.open())


def test_a_file_that_is_swapped_all_the_time_never_lets_a_secret_through(bench: Bench) -> None:
    secret = bench.base.parent / "secret"
    secret.write_bytes(b"secret")
    bench.write("x", b"plain!")
    over = threading.Event()

    def swap() -> None:
        link, file = bench.base / "l", bench.base / "f"
        while not over.is_set():
            link.symlink_to(secret)
            link.rename(bench.base / "x")
            file.write_bytes(b"plain!")
            file.rename(bench.base / "x")

    swapper = threading.Thread(target=swap)
    swapper.start()
    outcomes = set()
    try:
        for _ in range(300):
            try:
                outcomes.add(bench.stage("x")[0].sha256)
            except MeshError as error:
                outcomes.add(error.code)
    finally:
        over.set()
        swapper.join()
    assert ErrorCode.REACH in outcomes
    assert {path.read_bytes() for path in (bench.home / "files").iterdir()} <= {b"plain!"}


# --- callers that leave ----------------------------------------------------------------------------------------------


class Held:
    """Holds the worker at the first step for which `at` holds, until it is let go."""

    def __init__(self, at: Callable[[str, int], bool]) -> None:
        self._at = at
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, path: str, done: int) -> None:
        if self._at(path, done) and not self.reached.is_set():
            self.reached.set()
            assert self.go_on.wait(20)


async def left_at(held: Held, work: Callable[[], object]) -> None:
    """Cancels `work` twice while it is held, then lets it go: it must end as cancelled."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        await asyncio.to_thread(held.reached.wait, 20)
        for _ in range(2):
            task.cancel()
            await turn()
        assert not task.done()
        held.go_on.set()
    assert task.cancelled()


@pytest.mark.parametrize("done", [0, CHUNK_BYTES, 2 * CHUNK_BYTES])
def test_a_stage_whose_caller_leaves_leaves_nothing(bench: Bench, done: int) -> None:
    bench.write("small")
    bench.write("big", b"x" * (2 * CHUNK_BYTES))
    held = Held(lambda path, so_far: path == "big" and so_far == done)
    files = bench.with_(progress=held).files
    asyncio.run(left_at(held, lambda: files.stage(["small", "big"], base=str(bench.base), allowed=())))
    assert held.reached.is_set()
    assert bench.kept() == set()


def test_a_stage_whose_caller_leaves_in_its_last_moment_leaves_nothing(bench: Bench) -> None:
    bench.write("x", b"x" * 10)
    other = bench.write("other")
    (kept,) = bench.stage(other.name)

    async def scenario() -> None:
        files = bench.files
        task = asyncio.current_task()
        assert task is not None

        def both_are_kept() -> bool:
            return len(bench.kept()) == 2 and not any(name.endswith(".part") for name in bench.kept())

        def leave() -> None:
            # The loop stands still here while the worker finishes; its result and the cancellation arrive together.
            with ThreadPoolExecutor(1) as aside:
                aside.submit(asyncio.run, until(both_are_kept)).result()
            task.cancel()

        asyncio.get_running_loop().call_soon(leave)
        await files.stage(["x", "x", "other"], base=str(bench.base), allowed=())

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(scenario())
    assert bench.kept() == {kept.sha256}


def test_a_landing_whose_caller_leaves_leaves_nothing(bench: Bench) -> None:
    bench.write("box/big", b"x" * (2 * CHUNK_BYTES))
    staged = bench.stage("box")
    final = str(bench.home / "inbox" / SESSION / MESSAGE)
    for at in (lambda _, done: done > CHUNK_BYTES, lambda path, _: path == final):
        held = Held(at)
        files = bench.with_(progress=held).files
        asyncio.run(left_at(held, lambda files=files: files.land(SESSION, MESSAGE, staged)))
        assert bench.landed() == {}
    bench.land(staged)


# --- two at once, and sweeping ---------------------------------------------------------------------------------------


def test_two_stages_of_the_same_content_share_it_and_each_holds_it(bench: Bench) -> None:
    bench.write("x", b"x" * (2 * CHUNK_BYTES))
    meet = threading.Barrier(2, timeout=20)
    files = bench.with_(progress=lambda _, done: meet.wait() and None if done == CHUNK_BYTES else None).files

    async def both() -> tuple[tuple[Attachment, ...], tuple[Attachment, ...]]:
        async with asyncio.TaskGroup() as group:
            one, two = (group.create_task(files.stage(["x"], base=str(bench.base), allowed=())) for _ in range(2))
        return one.result(), two.result()

    first, second = asyncio.run(both())
    assert first == second
    files.release(first)
    assert asyncio.run(files.sweep(())) == 0
    files.release(second)
    assert asyncio.run(files.sweep(())) == 1
    assert bench.kept() == set()


def test_a_stage_that_fails_leaves_what_another_has_staged(bench: Bench) -> None:
    bench.write("x")
    (one,) = bench.stage("x")
    os.mkfifo(bench.base / "fifo")
    bench.refused("x", "fifo")
    assert bench.kept() == {one.sha256}


def test_a_sweep_removes_what_nobody_has_and_what_a_crash_left(bench: Bench) -> None:
    for name in "abc":
        bench.write(name, name.encode())
    a, b, c = bench.stage("a", "b", "c")
    (bench.home / "files" / "left.part").write_bytes(b"half")
    (bench.home / "inbox" / SESSION / f"{MESSAGE}.new" / "half").mkdir(parents=True)
    assert bench.sweep() == 2
    assert bench.kept() == {a.sha256, b.sha256, c.sha256}
    bench.files.release((a, b))
    assert bench.sweep(a.sha256) == 1
    assert bench.with_().sweep(a.sha256) == 1
    assert bench.kept() == {a.sha256}


def test_a_sweep_leaves_a_stage_at_work_alone(bench: Bench) -> None:
    bench.write("x")
    held = Held(lambda _path, done: done > 0)
    files = bench.with_(progress=held).files

    async def scenario() -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(files.stage(["x"], base=str(bench.base), allowed=()))
            await asyncio.to_thread(held.reached.wait, 20)
            assert await files.sweep(()) == 0
            held.go_on.set()
        assert bench.kept() == {task.result()[0].sha256}

    asyncio.run(scenario())


# --- landing twice, and landing what is not as it was ----------------------------------------------------------------


def test_landing_again_is_the_same_answer_and_never_overwrites(bench: Bench) -> None:
    bench.write("box/x", b"x")
    bench.write("y", b"y")
    staged = bench.stage("box", "y")
    paths = bench.land(staged)
    before = {path: Path(path).stat().st_ino for path in paths}
    assert bench.with_().land(staged) == paths
    assert {path: Path(path).stat().st_ino for path in paths} == before
    with pytest.raises(MeshError) as caught:
        bench.land(staged[:1])
    assert caught.value.code is ErrorCode.ALREADY_EXISTS
    for change in (lambda: Path(paths[1]).write_bytes(b"z"), (Path(paths[0]) / "new").touch):
        change()
        found = bench.landed()
        with pytest.raises(MeshError) as caught:
            bench.land(staged)
        assert caught.value.code is ErrorCode.ALREADY_EXISTS
        assert bench.landed() == found


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"hellO"), appended, linked_out, vanished])
def test_a_copy_that_is_not_as_it_was_does_not_land(bench: Bench, damage: Callable[[Path], None]) -> None:
    bench.write("x")
    bench.write("box/x")
    for one in bench.stage("x", "box"):
        damage(bench.home / "files" / one.sha256)
        with pytest.raises(MeshError) as caught:
            bench.land((one,))
        assert caught.value.code in {ErrorCode.TAMPERED, ErrorCode.NOT_FOUND, ErrorCode.UNAVAILABLE}
        assert bench.landed() == {}


def test_a_landing_makes_no_path_of_a_foreign_name(bench: Bench) -> None:
    bench.write("x")
    (one,) = bench.stage("x")
    for session, message in (("..", MESSAGE), (SESSION, "../" + "m" * 13), (SESSION, ""), ("/" * 16, MESSAGE)):
        with pytest.raises(MeshError):
            asyncio.run(bench.files.land(session, message, (one,)))
    for name in ("../x", "/x", "..", "", "a/b", "x\n", "-rf"):
        with pytest.raises(MeshError) as caught:
            bench.land((replace(one, name=name),))
        assert caught.value.code is ErrorCode.TAMPERED
    assert not (bench.home / "inbox").exists()


def entry(path: str, data: bytes = b"", *, folder: bool = False) -> bytes:
    head = transfer.header(Entry(path=path, size=len(data), folder=folder))
    return head + data + transfer.padding(len(data))


def by_tarfile(kind: bytes, name: str = "x") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.mode = kind, "/etc/passwd", 0o600
        tar.addfile(info)
    return out.getvalue()


END = transfer.ARCHIVE_END
# What an archive holds, how many entries its attachment says, and why it does not land.
HOSTILE = {
    "up": (entry("../x", b"x") + END, 1, "not a name"),
    "absolute": (entry("/abs/x", b"x") + END, 1, "not a name"),
    "up from below": (entry("d", folder=True) + entry("d/../../x", b"x") + END, 2, "not a name"),
    "hidden name": (entry("a\u202eb", b"x") + END, 1, "hidden"),
    "into what is no folder": (entry("d", b"x") + entry("d/x", b"x") + END, 2, "order"),
    "twice": (entry("x", b"x") + entry("x", b"y") + END, 2, "order"),
    "twice to a mac": (entry("A", b"x") + entry("a", b"y") + END, 2, "only by case"),
    "link": (by_tarfile(tarfile.SYMTYPE), 1, "one form"),
    "hard link": (by_tarfile(tarfile.LNKTYPE), 1, "one form"),
    "device": (by_tarfile(tarfile.CHRTYPE), 1, "one form"),
    "fifo": (by_tarfile(tarfile.FIFOTYPE), 1, "one form"),
    "cut": (entry("x", b"x" * 9_000)[:5_000], 1, "too early"),
    "no end": (entry("x", b"x"), 1, "too early"),
    "one entry more": (entry("x", b"x") + entry("y", b"y") + END, 1, "no archive"),
    "one entry less": (entry("x", b"x") + END, 2, "one form|invalid literal"),
    "bytes after the end": (entry("x", b"x") + END + b"x", 1, "another hash"),
    "padded with something": (entry("x", b"x" * 511)[:-1] + b"!" + END, 1, "no archive"),
    "noise": (bytes(range(256)) * 8, 1, "one form|invalid literal|decode"),
    "empty": (b"", 0, "too early"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_that_no_node_made_does_not_land(bench: Bench, name: str) -> None:
    data, entries, why = HOSTILE[name]
    sha256 = hashlib.sha256(data).hexdigest()
    bench.stage(bench.write("x").name)
    (bench.home / "files" / sha256).write_bytes(data)
    one = Attachment(name="box", sha256=sha256, size=len(data), folder=True, entries=entries)
    before = everything_but_the_inbox(bench)
    with pytest.raises(MeshError, match=why) as caught:
        bench.land((one,))
    assert caught.value.code is ErrorCode.TAMPERED
    assert bench.landed() == {}
    assert everything_but_the_inbox(bench) == before


def everything_but_the_inbox(bench: Bench) -> set[Path]:
    return {path for path in bench.base.parent.glob("**/*") if "inbox" not in path.parts}
