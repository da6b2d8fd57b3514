"""A node whose home is on a small file system of its own: what it does when that is full, or read-only, for real.

Started by `test_full_disk.py` in a mount namespace of its own: python -m tests.e2e.full_disk SCENE MOUNT_POINT.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS
from node.local_client import LocalClient
from node.store.guard import RESERVE_BYTES, RESERVE_NAME
from tests.e2e.lab import START_SECONDS, Lab, lab

REFUSED = MEANINGS[ErrorCode.AUDIT_UNAVAILABLE].exit
# What the write-ahead log has room for before it must grow.
MOST_TRIES = 400
TEXT = "Please describe the deployment of the service. " * 40


async def status(built: Lab) -> dict[str, object]:
    found = json.loads(await built.helio("status", "--json"))
    assert isinstance(found, dict)
    return found


async def rows(built: Lab) -> list[dict[str, object]]:
    """The timeline as the command line reads it."""
    return [json.loads(line)["row"] for line in (await built.helio("timeline", "--json")).splitlines()]


async def ask(built: Lab) -> bool:
    """Whether a request of the person was relayed; it may be refused for nothing but the timeline."""
    async with LocalClient(built.home) as client:
        try:
            await client.send_request("@api", TEXT)
        except MeshError as error:
            assert error.code is ErrorCode.AUDIT_UNAVAILABLE, error
            assert "nothing was relayed" in error.message
            return False
    return True


async def ask_until_refused(built: Lab) -> None:
    """Some are relayed, as long as the write-ahead log need not grow."""
    for _ in range(MOST_TRIES):
        if not await ask(built):
            return
    raise AssertionError(f"{MOST_TRIES} requests were relayed and none refused")


def fill(path: Path) -> None:
    """Takes all the space there is."""
    with path.open("wb", buffering=0) as ballast:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    ballast.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC, error


@asynccontextmanager
async def node() -> AsyncIterator[Lab]:
    async with lab() as built:
        await built.start()
        await built.helio("run", "--nick", "api", "--detach", "--", "sleep", "600")
        assert await ask(built)
        yield built


async def full(mounted: Path) -> None:
    async with node() as built:
        reserve = built.home / RESERVE_NAME
        assert reserve.stat().st_blocks * 512 >= RESERVE_BYTES
        fill(mounted / "ballast")
        await ask_until_refused(built)
        assert not reserve.exists()
        for _ in range(2):
            assert not await ask(built)
        await built.helio("request", "@api", TEXT, "--no-wait", code=REFUSED)
        found = await status(built)
        assert found["timeline_writable"] is False
        assert "The disk is full" in str(found["timeline_alarms"])
        # Reads go on, and the refusals themselves are there to be read: written into the space that was put by.
        told = await rows(built)
        assert [(row["decision"], row["reason"]) for row in told[-4:]] == [("refused", "audit_unavailable")] * 4
        assert "rows cannot be written" in await built.helio("doctor", code=1)
        relayed = sum(row["row"] == "message" and row["decision"] == "relayed" for row in told)
        assert len(json.loads(await built.helio("requests", "--json"))) == relayed
        (mounted / "ballast").unlink()
        assert await ask(built)
        assert reserve.stat().st_blocks * 512 >= RESERVE_BYTES
        assert (await status(built))["timeline_alarms"] == []
        (end,) = [row for row in await rows(built) if row["decision"] == "recovered"]
        assert end["reason"] == "disk_full"
        extra = end["extra"]
        assert isinstance(extra, dict)
        assert (extra["count"], extra["rows"]) == (4, 4)
        await built.helio("timeline", "verify")
        # And the same once more by itself, with nobody asking for anything.
        fill(mounted / "ballast")
        await ask_until_refused(built)
        (mounted / "ballast").unlink()
        async with asyncio.timeout(START_SECONDS):
            while (await status(built))["timeline_writable"] is not True:
                pass
        assert await built.stop() == 0
        await built.start()
        await built.helio("timeline", "verify")


async def full_at_the_end(mounted: Path) -> None:
    """It stops while the disk is full, and is killed; nothing that was relayed is lost."""
    async with node() as built:
        for end in (built.stop, built.kill):
            fill(mounted / "ballast")
            await ask_until_refused(built)
            before = json.loads(await built.helio("requests", "--json"))
            await end()
            (mounted / "ballast").unlink()
            await built.start()
            assert len(json.loads(await built.helio("requests", "--json"))) == len(before)
            assert await ask(built)
            await built.helio("timeline", "verify")


async def read_only(mounted: Path) -> None:
    """The kernel makes an ext4 file system read-only at an error, under those who write to it."""
    async with node() as built:
        device = next(line.split()[0] for line in Path("/proc/self/mounts").read_text().splitlines()
                      if line.split()[1] == str(mounted))  # fmt: skip
        Path(f"/sys/fs/ext4/{Path(device).name}/trigger_fs_error").write_text("1", encoding="ascii")
        assert not await ask(built)
        assert not await ask(built)
        found = await status(built)
        assert found["timeline_writable"] is False
        assert "read-only" in str(found["timeline_alarms"])
        told = await rows(built)
        assert sum(row["row"] == "message" for row in told) == 1
        assert len(json.loads(await built.helio("requests", "--json"))) == 1
        await built.helio("timeline", "verify", code=0)


SCENES = {"full": full, "full_at_the_end": full_at_the_end, "read_only": read_only}

if __name__ == "__main__":
    tempfile.tempdir = sys.argv[2]
    os.chdir(Path(__file__).resolve().parents[2])
    asyncio.run(SCENES[sys.argv[1]](Path(sys.argv[2])))
