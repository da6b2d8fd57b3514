"""Drivers of workspaces without the places they lead to: what they run, what they refuse, and what state they tell."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from node.core import workspace as rules
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.workspace import DEFAULT, DriverKind, StateCode, Workspace
from node.workspaces import Drivers, Place, driver_for
from node.workspaces.bubblewrap import Bubblewrap
from node.workspaces.command import Command
from node.workspaces.host import Host
from node.workspaces.sandbox import View, program_inside, show_project

ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SECRET": "s3cret", "HELIOGRAPH_SESSION": "a" * 16}


def place(tmp_path: Path, **limits: int) -> Place:
    (tmp_path / "home" / "run").mkdir(parents=True, exist_ok=True)
    return Place(home=tmp_path / "home", run=tmp_path / "home" / "run", limits=Limits(**limits))


def box(**settings: str) -> Workspace:
    return rules.add("box", "command", {"exec": "run {argv...}"} | settings, ())


def view(tmp_path: Path) -> View:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return View(private=(home,), shared=(home / "worktrees",))


def test_each_driver_is_found(tmp_path: Path) -> None:
    drivers = Drivers(place(tmp_path))
    assert isinstance(driver_for(DEFAULT, drivers), Host)
    assert isinstance(driver_for(box(), drivers), Command)
    assert isinstance(driver_for(Workspace(name="b", driver=DriverKind.BUBBLEWRAP), drivers), Bubblewrap)
    assert driver_for(DEFAULT, drivers) is driver_for(DEFAULT, drivers)


# --- host -------------------------------------------------------------------------------------------------------------


def test_the_host_is_itself(tmp_path: Path) -> None:
    host = Host(place(tmp_path, message_bytes=5))
    wrapped = host.wrap(DEFAULT, ("a", "b c"), "/x", ENV, given={"MORE": "1"})
    assert (wrapped.argv, wrapped.cwd, wrapped.env) == (("a", "b c"), "/x", {**ENV, "MORE": "1"})
    assert host.path_inside(DEFAULT, Path("/x/y")) == "/x/y"
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"12345")

    async def scenario() -> None:
        await host.boot(DEFAULT)
        assert str(await host.state(DEFAULT)) == "on"
        with pytest.raises(MeshError) as raised:
            await host.off(DEFAULT)
        assert raised.value.code is ErrorCode.WRONG_STATE
        await host.copy_in(DEFAULT, source, str(target))
        await host.copy_out(DEFAULT, str(target), tmp_path / "back")
        source.write_bytes(b"123456")
        with pytest.raises(MeshError) as raised:
            await host.copy_in(DEFAULT, source, str(target))
        assert raised.value.code is ErrorCode.LIMIT

    asyncio.run(scenario())
    assert target.read_bytes() == (tmp_path / "back").read_bytes() == b"12345"
    assert not list(tmp_path.glob(".arriving*"))


@pytest.mark.parametrize("path", ["", "x", "/x/../y", "/x/", "/x\0"])
def test_places_inside_are_said_from_the_root(tmp_path: Path, path: str) -> None:
    with pytest.raises(MeshError) as raised:
        asyncio.run(Host(place(tmp_path)).copy_in(DEFAULT, tmp_path, path))
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT


def test_only_files_are_copied(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "missing", "home"):
        with pytest.raises(MeshError) as raised:
            asyncio.run(Host(place(tmp_path)).copy_in(DEFAULT, tmp_path / name, str(tmp_path / "x")))
        assert raised.value.code is ErrorCode.NOT_FOUND


# --- command ----------------------------------------------------------------------------------------------------------


def test_a_command_is_filled(tmp_path: Path) -> None:
    here = place(tmp_path)
    workspace = box(
        exec="run -w {cwd} {session} {socket} env {env...} {argv...} 'cd {cwd:sh}; {argv:sh}'",
        outside="/src", inside="/mnt/s r c", env="SECRET",
    )  # fmt: skip
    wrapped = Command(here).wrap(workspace, ("a b", "$(x)"), "/src/p'1", ENV, given={"G": "1 2"})
    environment = ("G=1 2", f"HELIOGRAPH_SESSION={'a' * 16}", "LANG=C.UTF-8", "SECRET=s3cret")
    inside = "/mnt/s r c/p'1"
    assert wrapped.argv == (
        "run", "-w", inside, "a" * 16, str(here.run / "agent.sock"), "env", *environment, "a b", "$(x)",
        "cd '/mnt/s r c/p'\\''1'; 'a b' '$(x)'",
    )  # fmt: skip
    assert wrapped.env == ENV
    assert wrapped.cwd == str(here.home)
    assert "SECRET=s3cret" not in Command(here).wrap(box(exec="x {env...} {argv...}"), ("a",), "/", ENV).argv


@pytest.mark.parametrize("path", ["/other", "/src2", "/src/../etc"])
def test_a_folder_outside_the_map_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(MeshError) as raised:
        Command(place(tmp_path)).path_inside(box(outside="/src"), Path(path))
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT


def test_paths_without_a_map_are_the_same(tmp_path: Path) -> None:
    driver = Command(place(tmp_path))
    assert driver.path_inside(box(), Path("/a/b")) == "/a/b"
    assert driver.path_inside(box(inside="/root/x"), Path("/a")) == "/root/x/a"


def test_a_command_workspace_goes_on_and_off(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    workspace = box(start=f"touch {flag}", stop=f"rm {flag}", state=f"test -e {flag}")
    driver = Command(place(tmp_path))

    async def scenario() -> None:
        assert str(await driver.state(workspace)) == "off"
        await asyncio.gather(driver.boot(workspace), driver.boot(workspace))
        assert str(await driver.state(workspace)) == "on"
        await driver.off(workspace)
        await driver.off(workspace)
        assert str(await driver.state(workspace)) == "off"

    asyncio.run(scenario())
    assert not flag.exists()


def test_without_a_state_command_the_node_remembers(tmp_path: Path) -> None:
    driver = Command(place(tmp_path))

    async def scenario() -> None:
        assert str(await driver.state(box())) == "off"
        await driver.boot(box())
        assert str(await driver.state(box())) == "on"
        with pytest.raises(MeshError) as raised:
            await driver.off(box())
        assert raised.value.code is ErrorCode.WRONG_STATE
        await driver.off(box(stop="true"))
        assert str(await driver.state(box())) == "off"

    asyncio.run(scenario())


def test_a_start_in_the_middle_is_starting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    workspace = box(start=f"cat {tmp_path / 'go'}")
    driver = Command(place(tmp_path))

    async def scenario() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(driver.boot(workspace))
            # Opening the other end returns once the start command has opened its own.
            end = await asyncio.to_thread(os.open, tmp_path / "go", os.O_WRONLY)
            assert str(await driver.state(workspace)) == "starting"
            os.close(end)
        assert str(await driver.state(workspace)) == "on"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"start": "sh -c 'echo no \x1b room >&2; exit 7'"}, "command of workspace 'box' failed: no \ufffd room (exit"),
        ({"start": "/nonexistent/x"}, "could not be started"),
        ({"start": "sh -c 'kill -9 $$'"}, "signal 9"),
        ({"start": "sleep 1000", "timeout": "1"}, "took longer than 1 s"),
        ({"start": "true", "state": "false", "timeout": "1"}, "did not come on within 1 s; its state is off"),
        ({"state": "sh -c 'echo unreachable >&2; exit 255'", "timeout": "1"}, "broken: unreachable (exit status 255)"),
    ],
)  # fmt: skip
def test_a_start_that_fails_says_why(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    driver = Command(place(tmp_path))
    with pytest.raises(MeshError) as raised:
        asyncio.run(driver.boot(box(**settings)))
    assert raised.value.code is ErrorCode.UNAVAILABLE
    assert said in raised.value.message


def test_what_a_start_leaves_running_stays(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    workspace = box(start=f"sh -c 'sleep 1000 & echo $! > {pid_file}'", timeout="10")
    asyncio.run(Command(place(tmp_path)).boot(workspace))
    os.kill(int(pid_file.read_text()), 9)


def test_copies_by_command(tmp_path: Path) -> None:
    driver = Command(place(tmp_path, message_bytes=10))
    source, inside, back = tmp_path / "source", tmp_path / "in side", tmp_path / "back"
    source.write_bytes(b"0123456789")
    fed = box(copy_in="sh -c 'cat > {remote:sh}'", copy_out="cat {remote}")
    named = box(copy_in="cp {local} {remote}", copy_out="cp {remote} {local}")

    async def scenario() -> None:
        for workspace in (fed, named):
            await driver.copy_in(workspace, source, str(inside))
            await driver.copy_out(workspace, str(inside), back)
            assert back.read_bytes() == b"0123456789"
            back.unlink()
            inside.write_bytes(b"0123456789+")
            with pytest.raises(MeshError) as raised:
                await driver.copy_out(workspace, str(inside), back)
            assert raised.value.code is ErrorCode.LIMIT
            inside.unlink()
            with pytest.raises(MeshError) as raised:
                await driver.copy_out(workspace, str(inside), back)
            assert raised.value.code is ErrorCode.UNAVAILABLE
            assert "No such file" in raised.value.message
        with pytest.raises(MeshError) as raised:
            await driver.copy_in(box(), source, "/x")
        assert raised.value.code is ErrorCode.WRONG_STATE

    asyncio.run(scenario())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "source"]


# --- bubblewrap: what is shown ----------------------------------------------------------------------------------------


def test_nothing_shows_the_nodes_own_files(tmp_path: Path) -> None:
    seen = view(tmp_path)
    (tmp_path / "home" / "identity").mkdir()
    (tmp_path / "home" / "worktrees" / "w1").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "home" / "identity")
    for path in (tmp_path, tmp_path / "home", tmp_path / "home" / "identity", tmp_path / "home" / "worktrees", link):
        with pytest.raises(MeshError) as raised:
            seen.show_chosen(path, writable=False, what="a folder")
        assert "the node's own files" in raised.value.message
    with pytest.raises(MeshError) as raised:
        seen.show_chosen(tmp_path / "missing", writable=False, what="a folder")
    assert "does not exist" in raised.value.message
    seen.show_chosen(tmp_path / "home" / "worktrees" / "w1", writable=True, what="a folder")
    assert seen.words() == ["--bind", *[str(tmp_path / "home" / "worktrees" / "w1")] * 2]


def test_deeper_mounts_come_later(tmp_path: Path) -> None:
    seen = view(tmp_path)
    seen.show(Path("/a/b/c"))
    seen.make("/a", "--tmpfs", "/a")
    seen.show(Path("/x"), at=Path("/a/b"), writable=True)
    assert [word for word in seen.words() if word.startswith("--")] == ["--tmpfs", "--bind", "--ro-bind"]
    assert seen.sees(Path("/a/b/c/d"))
    assert not seen.sees(Path("/a/b/d"))
    assert not seen.sees(Path("/a"))
    assert not seen.sees(Path("/z"))


def repository(folder: Path) -> Path:
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "config").write_text("[core]\n")
    return folder


def worktree(main: Path, folder: Path, *, back: str = "") -> Path:
    own = main / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{back or folder / '.git'}\n")
    return folder


def shown(seen: View) -> dict[str, str]:
    words = seen.words()
    return {words[at + 1]: words[at] for at in range(0, len(words), 3)}


def test_a_worktree_brings_its_repository_without_its_hooks(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    work = worktree(main, tmp_path / "work")
    for folder in (main, work):
        seen = view(tmp_path)
        show_project(seen, folder)
        assert shown(seen) == {
            str(folder): "--bind", str(main / ".git"): "--bind", str(main / ".git" / "config"): "--ro-bind",
            str(main / ".git" / "hooks"): "--ro-bind",
        }  # fmt: skip


def test_a_repository_that_does_not_know_the_work_tree_is_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    (secret / "worktrees" / "x").mkdir(parents=True)
    (secret / "config").write_text("")
    forged = tmp_path / "forged"
    forged.mkdir()
    stolen = worktree(repository(tmp_path / "main"), tmp_path / "stolen", back=str(tmp_path / "elsewhere" / ".git"))
    for said in (f"gitdir: {secret}\n", f"gitdir: {secret}/worktrees/x\n", "nonsense"):
        (forged / ".git").write_text(said)
        for folder in (forged, stolen):
            seen = view(tmp_path)
            show_project(seen, folder)
            assert shown(seen) == {str(folder): "--bind"}


@pytest.mark.parametrize("name", ["hooks", "config"])
def test_a_repository_with_a_link_for_its_hooks_is_refused(tmp_path: Path, name: str) -> None:
    main = repository(tmp_path / "main")
    (main / ".git" / name).rename(tmp_path / name)
    (main / ".git" / name).symlink_to(tmp_path / name)
    with pytest.raises(MeshError) as raised:
        show_project(view(tmp_path), main)
    assert "is a link" in raised.value.message


def test_a_program_that_is_not_seen_is_refused_with_the_way_out(tmp_path: Path) -> None:
    tool = tmp_path / "tools" / "agent"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o700)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(tool)
    env = {"PATH": str(tmp_path / "bin")}
    seen = view(tmp_path)
    with pytest.raises(MeshError) as raised:
        program_inside(seen, "agent", tmp_path, env)
    assert f"read={tmp_path / 'bin'}" in raised.value.message
    seen.show(tmp_path / "bin")
    with pytest.raises(MeshError) as raised:
        program_inside(seen, "agent", tmp_path, env)
    assert f"read={tool.parent}" in raised.value.message
    seen.show(tool.parent)
    assert program_inside(seen, "agent", tmp_path, env) == str(tmp_path / "bin" / "agent")
    assert program_inside(seen, "./agent", tool.parent, env) == str(tool)
    with pytest.raises(MeshError) as raised:
        program_inside(seen, "missing", tmp_path, env)
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_sandbox_that_cannot_be_had_says_how_to_get_one(tmp_path: Path) -> None:
    workspace = Workspace(name="lab", driver=DriverKind.BUBBLEWRAP)
    for program, said in (("no-such-bwrap", "apt install bubblewrap"), ("false", "forbids user namespaces")):
        driver = Bubblewrap(place(tmp_path), program=program)
        with pytest.raises(MeshError) as raised:
            asyncio.run(driver.boot(workspace))
        if sys.platform.startswith("linux"):
            assert raised.value.code is ErrorCode.UNAVAILABLE
            assert said in raised.value.message
        else:
            assert raised.value.code is ErrorCode.UNSUPPORTED
        assert (asyncio.run(driver.state(workspace))).code is StateCode.OFF
        with pytest.raises(MeshError) as raised:
            driver.wrap(workspace, ("true",), str(tmp_path), ENV)
        assert raised.value.code is ErrorCode.WRONG_STATE
