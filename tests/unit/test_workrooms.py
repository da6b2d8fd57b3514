"""Workspaces as the node keeps them: known, changed, removed, made ready, and opened again after a restart."""

from __future__ import annotations

from pathlib import Path

from node.core.errors import ErrorCode, MeshError
from node.core.model import SessionStatus
from node.core.workspace import DriverKind, ScreenMode, StateCode, Workspace, WorkspaceState
from tests.integration.mesh import refused, scenario
from tests.integration.workshop import Workshop, workshop

ON = WorkspaceState(code=StateCode.ON)
BROKEN = WorkspaceState(code=StateCode.BROKEN, why="its door leads to a node that has ended")


async def boxes(at: Workshop, *names: str) -> None:
    for name in names:
        await at.workrooms.add(Workspace(name=name, driver=DriverKind.BUBBLEWRAP))


@scenario
async def test_they_are_kept_changed_and_logged(tmp_path: Path) -> None:
    at = await Workshop.open(tmp_path)
    await boxes(at, "box", "far")
    with refused(ErrorCode.ALREADY_EXISTS):
        await boxes(at, "BOX")
    await at.workrooms.set("Box", {"network": "off"})
    await at.workrooms.set("box", {}, ScreenMode.HOLD)
    await at.workrooms.set("box", {"network": "off"}, ScreenMode.LOG)
    await at.workrooms.reach("box", ("far",))
    await at.workrooms.reach("default", ("box",))
    at = await at.reopened()
    default, box, far = (status.workspace for status in await at.workrooms.listed())
    assert (default.reach, box.reach, box.setting("network"), far.reach) == (("box",), ("far",), "off", None)
    await at.workrooms.remove("far")
    default, box = (status.workspace for status in await at.workrooms.listed())
    # A later workspace of that name is not reached by accident.
    assert box.reach == ()
    rows = [row["decision"] for row in await at.mesh.rows(engine="workspace")]
    modes = [(row["decision"], row["reason"]) for row in await at.mesh.rows(engine="screening")]
    assert modes == [("mode_changed", "hold"), ("mode_changed", "log")]
    assert box.mode is ScreenMode.LOG
    assert rows == [
        "added", "added", "changed", "changed", "reach_changed", "reach_changed", "removed",
    ]  # fmt: skip
    assert (await at.mesh.verification()).ok
    await at.mesh.store.close()


@scenario
async def test_the_default_one_and_one_in_use_stay(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        await boxes(at, "box")
        with refused(ErrorCode.WRONG_STATE, "stays"):
            await at.workrooms.remove("default")
        boss = await at.seat("boss", tmp_path)
        _, delegate = await at.delegated(boss, workspace="box")
        with refused(ErrorCode.WRONG_STATE, "1 sessions run in workspace 'box'"):
            await at.workrooms.remove("Box")
        await at.sessions.archive(delegate.session.id)
        await at.workrooms.remove("box")
        assert at.drivers.states == {}
        with refused(ErrorCode.NOT_FOUND):
            await at.workrooms.remove("box")


@scenario
async def test_what_still_runs_after_a_restart_gets_the_new_socket(tmp_path: Path) -> None:
    """The socket of the node before is gone, so the driver finds the workspace broken, not on."""
    async with workshop(tmp_path) as at:
        await boxes(at, "used", "idle", "off", "sick")
        for name in ("used", "off", "sick"):
            await at.seat(name, tmp_path, workspace=name)
        await at.seat("past", tmp_path, workspace="idle", status=SessionStatus.ENDED)
        at.drivers.states = {"used": BROKEN, "idle": BROKEN, "sick": BROKEN}
        at.drivers.refuse["sick"] = MeshError(ErrorCode.UNAVAILABLE, "no")
        await at.workrooms.reopen()
        assert set(at.drivers.booted) == {"used", "sick"}
        assert at.drivers.states["used"] == ON


@scenario
async def test_a_session_is_told_its_node_and_who_it_is(tmp_path: Path) -> None:
    async with workshop(tmp_path) as at:
        await boxes(at, "box")
        placed = await at.workrooms.settle(
            "BOX", ("agent",), str(tmp_path), {"HELIOGRAPH_HOME": "/h", "HELIOGRAPH_SESSION": "s", "PATH": "/bin"},
            given={"MORE": "1"}, read=(),
        )  # fmt: skip
        assert placed.argv == ("in", "box", "agent")
        assert placed.env == {
            "HELIOGRAPH_HOME": "/h", "HELIOGRAPH_SESSION": "s", "PATH": "/bin", "MORE": "1",
        }  # fmt: skip
        assert at.drivers.booted == ["box"]
