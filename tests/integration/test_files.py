"""Files of messages on a real file system: what goes, what does not, and what is left when it goes wrong."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.transfer import Attachment
from node.platform.parcel import CHUNK_BYTES
from tests.integration.file_bench import LIMITS, MESSAGE, SESSION, Bench, bench_in, tree


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)


# --- what goes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES])
def test_a_file_arrives_whole(bench: Bench, size: int) -> None:
    data = os.urandom(size)
    bench.write("a b.bin", data)
    (one,) = bench.stage("a b.bin")
    digest = hashlib.sha256(data).hexdigest()
    assert one == Attachment(name="a b.bin", sha256=digest, size=size, folder=False, entries=0)
    (path,) = bench.land((one,))
    assert path == str(bench.home / "inbox" / SESSION / MESSAGE / "a b.bin")
    assert Path(path).read_bytes() == data
    assert Path(path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("chunks", [1, 2])
def test_a_folder_whose_archive_ends_with_a_chunk_arrives_whole(bench: Bench, chunks: int) -> None:
    bench.write("box/one", os.urandom(chunks * CHUNK_BYTES - 512 - 1024))
    (one,) = bench.stage("box")
    assert one.size == chunks * CHUNK_BYTES
    (path,) = bench.land((one,))
    assert tree(Path(path)) == tree(bench.base / "box")


def test_a_folder_arrives_with_all_that_is_in_it(bench: Bench) -> None:
    for name in (".git/HEAD", "empty", "deep/er/x", "ä" * 100, "n" * 200, "-rf", "sp ace/%2e%2e", "😀"):
        bench.write(f"box/{name}", b"" if name == "empty" else name.encode())
    (bench.base / "box" / "hollow").mkdir()
    (bench.base / "box" / "empty").chmod(0o755)
    (one,) = bench.stage("box")
    assert one.entries == 13
    with tarfile.open(bench.home / "files" / one.sha256) as tar:
        assert sorted(tar.getnames()) == sorted(tree(bench.base / "box"))
    (path,) = bench.land((one,))
    assert tree(Path(path)) == tree(bench.base / "box")
    modes = {(p.is_dir(), p.stat().st_mode & 0o777) for p in Path(path).glob("**/*")}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_the_same_folder_is_the_same_archive_whenever_it_was_written(bench: Bench) -> None:
    for top in ("one", "two"):
        for name in ("b", "a", "c/d") if top == "one" else ("c/d", "a", "b"):
            os.utime(bench.write(f"{top}/{name}"), (len(name), 7))
    first, second = bench.stage("one", "two")
    assert first.sha256 == second.sha256
    assert bench.kept() == {first.sha256}


def test_names_that_would_meet_land_apart(bench: Bench) -> None:
    for name in ("x/a.txt", "y/A.txt", "z/-rf", "w/$(id)"):
        bench.write(name, name.encode())
    paths = bench.land(bench.stage("x/a.txt", str(bench.base / "y/A.txt"), "z/-rf", "./w/$(id)", "x/."))
    assert [Path(path).name for path in paths] == ["a.txt", "A (2).txt", "rf", "_(id)", "x"]
    assert Path(paths[1]).read_bytes() == b"y/A.txt"


def test_links_that_stay_inside_are_what_they_lead_to(bench: Bench) -> None:
    bench.write("real/x", b"x")
    (bench.base / "abs").symlink_to(bench.base / "real")
    (bench.base / "rel").symlink_to("abs/../real/x")
    bench.write("box/own", b"o")
    (bench.base / "box" / "file").symlink_to("../rel")
    (bench.base / "box" / "folder").symlink_to("../abs")
    paths = bench.land(bench.stage("rel", "abs", "box"))
    assert Path(paths[0]).read_bytes() == b"x"
    assert tree(Path(paths[1])) == {"x": b"x"}
    assert tree(Path(paths[2])) == {"own": b"o", "file": b"x", "folder": None, "folder/x": b"x"}


# --- what does not go ------------------------------------------------------------------------------------------------


def test_each_bad_file_of_a_call_is_named_and_none_goes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.base)
    bench.write("good")
    Path("link-to-hosts").symlink_to("/etc/hosts")
    os.mkfifo("fifo")
    Path("dir-with-symlink-out").mkdir()
    Path("dir-with-symlink-out/out").symlink_to("/etc/hosts")
    os.mkfifo("dir-with-symlink-out/pipe")
    Path("loop").symlink_to("loop")
    bench.write("round/x")
    Path("round/again").symlink_to("../round")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        names = ["good", "link-to-hosts", "fifo", "../../x", "dir-with-symlink-out", "sock", "loop", "round", "gone",
                 "~/x", "good/x", "", "nul\0", "./" * 600 + "good", "\ud800", "good\nforged"]  # fmt: skip
        refusal = bench.refused(*names)
    assert refusal.code is ErrorCode.INVALID_ARGUMENT
    said = refusal.details["refused"]
    assert isinstance(said, tuple)
    assert [line.split(" ")[0][:40] for line in said] == [
        "link-to-hosts", "fifo", "../../x", "dir-with-symlink-out/out", "dir-with-symlink-out/pipe", "sock", "loop",
        "round/again", "gone", "~/x", "good/x", "(an", "nul\\x00", "./" * 20, "\\u{d800}", "good\\x0aforged",
    ]  # fmt: skip
    assert all(line in refusal.message for line in said)
    assert not any(path.exists() for path in (bench.home / "inbox", bench.base.parent / "x"))


def test_a_device_is_refused_unopened_even_when_allowed(bench: Bench) -> None:
    assert "is a device" in bench.refused("/dev/zero", allowed=("/dev/zero",)).message


def test_a_file_is_no_folder_on_the_way_to_another(bench: Bench) -> None:
    bench.write("a")
    bench.write("b")
    for path in ("a/b", "a/../b", "a/./b"):
        assert "Not a directory" in bench.refused(path).message
    assert len(bench.stage("a/")) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: files of /proc say that they are empty")
def test_a_file_with_more_in_it_than_it_says_is_refused(bench: Bench) -> None:
    assert bench.refused("/proc/self/status", allowed=("/proc",)).code is ErrorCode.WRONG_STATE


def test_a_file_outside_goes_when_a_person_allows_exactly_that(bench: Bench) -> None:
    outside = bench.base.parent / "outside"
    outside.mkdir()
    (outside / "a").write_bytes(b"a")
    (outside / "b").write_bytes(b"b")
    (bench.base / "link").symlink_to(outside / "a")
    refusal = bench.refused("link", "../outside/b", str(outside / "a"))
    assert refusal.code is ErrorCode.REACH
    assert refusal.details["outside"] == (str(outside / "a"), str(outside / "b"))
    assert bench.refused("link", "../outside/b", allowed=(str(outside / "a"),)).details["outside"] == (
        str(outside / "b"),
    )
    assert len(bench.stage("link", "../outside/b", allowed=(str(outside / "a"), str(outside / "b")))) == 2
    assert len(bench.stage("../outside", allowed=(str(outside),))) == 1


def test_nothing_is_told_of_what_is_outside_until_it_is_allowed(bench: Bench) -> None:
    gone = str(bench.base.parent / "gone")
    assert bench.refused(gone).details["outside"] == (gone,)
    assert bench.refused("/dev/zero").code is ErrorCode.REACH
    assert bench.refused(gone, allowed=(gone,)).code is ErrorCode.NOT_FOUND


def test_a_link_in_the_place_of_what_was_allowed_opens_nothing(bench: Bench) -> None:
    secret, agreed = bench.base.parent / "secret", bench.base.parent / "agreed"
    secret.write_bytes(b"secret")
    agreed.symlink_to(secret)
    assert bench.refused(str(agreed), allowed=(str(agreed),)).details["outside"] == (str(secret),)


def test_the_node_hands_on_nothing_of_its_own(bench: Bench) -> None:
    (bench.home / "identity").mkdir()
    (bench.home / "identity" / "key").write_bytes(b"key")
    above = replace(bench, base=bench.base.parent)
    for path in ("home/identity/key", "home", "."):
        refusal = above.refused(path)
        assert refusal.code is ErrorCode.INVALID_ARGUMENT
        assert "outside" not in refusal.details
    tree_in_home = replace(bench, base=bench.home / "worktree")
    tree_in_home.write("x")
    assert len(tree_in_home.stage("x")) == 1
    assert "node itself" in tree_in_home.refused("../identity/key").message


UNREADABLE = """
import asyncio, concurrent.futures.thread, os, sys
from pathlib import Path
from node.core.errors import MeshError
from node.core.limits import Limits
from node.files import Files
top = Path(sys.argv[1])
if os.geteuid() == 0:
    os.chown(top, 65534, 65534)
    os.setegid(65534)
    os.seteuid(65534)
for name in ("home", "base", "base/box", "base/box/shut"):
    (top / name).mkdir()
for name in ("base/shut", "base/open"):
    (top / name).write_text("x")
(top / "base/shut").chmod(0)
(top / "base/box/shut").chmod(0)
try:
    files = Files(home=top / "home", limits=Limits(spare_bytes=1))
    asyncio.run(files.stage(["open", "shut"], base=str(top / "base"), allowed=()))
except MeshError as error:
    print(error.details.get("refused", error.message))
try:
    asyncio.run(files.stage(["box"], base=str(top / "base"), allowed=()))
except MeshError as error:
    print(error.details.get("refused", error.message))
print(os.listdir(top / "home/files"))
"""


def test_what_cannot_be_read_is_named(bench: Bench) -> None:
    # Not below the test's own folder: the user that root turns into could not reach it there.
    with tempfile.TemporaryDirectory(dir=os.path.realpath(tempfile.gettempdir())) as top:
        done = subprocess.run([sys.executable, "-c", UNREADABLE, top], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "('shut cannot be read (Permission denied)',)", "('box/shut cannot be read (Permission denied)',)", "[]",
    ], done.stderr  # fmt: skip


# --- limits ----------------------------------------------------------------------------------------------------------


class Copying:
    """Counts what was begun to be copied."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def __call__(self, path: str, _done: int) -> None:
        self.paths.append(path)


def test_the_twenty_first_file_is_refused(bench: Bench) -> None:
    names = [bench.write(f"f{number}").name for number in range(20)]
    copying = Copying()
    refusal = bench.with_(progress=copying).refused(*names, "not even there")
    assert refusal.code is ErrorCode.LIMIT
    assert "files_per_message" in refusal.message
    assert copying.paths == []
    assert len(bench.stage(*names)) == 20


def test_one_byte_more_than_64_mb_in_20_files_is_refused_before_any_is_copied(bench: Bench) -> None:
    sizes = [Limits().message_bytes // 20] * 19
    sizes.append(Limits().message_bytes + 1 - sum(sizes))
    for number, size in enumerate(sizes):
        with (bench.base / f"f{number}").open("wb") as file:
            file.truncate(size)
    copying = Copying()
    refusal = bench.with_(progress=copying).refused(*(f"f{number}" for number in range(20)))
    assert refusal.code is ErrorCode.LIMIT
    assert refusal.details == {"limit": 67_108_864, "given": 67_108_865, "name": "message_bytes"}
    assert copying.paths == []


def test_folders_count_with_the_bytes_of_their_archives(bench: Bench) -> None:
    bench.write("box/x", b"x" * 512)
    bench.write("y", b"y")
    assert sum(one.size for one in bench.with_(limits=replace(LIMITS, message_bytes=2_049)).stage("box", "y")) == 2_049
    assert bench.with_(limits=replace(LIMITS, message_bytes=2_048)).refused("box", "y").code is ErrorCode.LIMIT


def test_the_entries_of_all_folders_count_together(bench: Bench) -> None:
    for name in ("a/1", "a/2", "b/c/1"):
        bench.write(name)
    assert len(bench.with_(limits=replace(LIMITS, folder_entries=4)).stage("a", "b")) == 2
    refusal = bench.with_(limits=replace(LIMITS, folder_entries=3)).refused("a", "b")
    assert "folder_entries" in refusal.message


def test_a_folder_is_read_no_further_than_the_limit(bench: Bench) -> None:
    for number in range(50):
        bench.write(f"box/{number}")
    looks = Copying()
    refusal = bench.with_(limits=replace(LIMITS, folder_entries=3), progress=looks).refused("box")
    assert refusal.code is ErrorCode.LIMIT
    assert looks.paths == ["box/"]


def test_names_that_are_one_elsewhere_are_refused_in_a_folder(bench: Bench) -> None:
    bench.write("box/ok")
    bench.write("box/forged\nname")
    bench.write("box/right\u202eleft")
    said = bench.refused("box").details["refused"]
    assert isinstance(said, tuple)
    assert len(said) == 2
    assert "box/forged\\x0aname has hidden characters" in said[0]


def test_a_disk_with_too_little_room_is_left_alone(bench: Bench) -> None:
    bench.write("x")
    (one,) = bench.stage("x")
    full = bench.with_(limits=Limits(spare_bytes=2**60))
    assert full.refused("x").code is ErrorCode.UNAVAILABLE
    with pytest.raises(MeshError, match="bytes free"):
        full.land((one,))
    assert bench.landed() == {}
