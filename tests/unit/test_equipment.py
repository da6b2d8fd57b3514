"""Equipment: the private configuration of one session, and what is put into a person's own command line."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from node.agents import adapter_named
from node.core.errors import ErrorCode, MeshError
from node.equipment import Equipment, Seat

SESSION, OTHER = "a" * 16, "b" * 16


def equipment(path: Path) -> Equipment:
    return Equipment(folder=path / "agents", helio=("/opt/helio",))


def seat(session: str = SESSION, **env: str) -> Seat:
    return Seat(session=session, cwd="/work/project", env={"PATH": "/bin", "HELIOGRAPH_HOME": "/h", **env})


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "qwen", "scripted"])
def test_every_agent_is_told_who_it_is_and_nobody_else_can_read_it(tmp_path: Path, name: str) -> None:
    made = equipment(tmp_path)
    launched = asyncio.run(made.fresh(adapter_named(name), seat(SECRET_TOKEN="hunter2hunter2")))
    env = dict(launched.env)
    assert (env["HELIOGRAPH_SESSION"], env["PATH"], env["SECRET_TOKEN"]) == (SESSION, "/bin", "hunter2hunter2")
    folder = tmp_path / "agents" / SESSION
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            # The environment of the delegator's terminal goes to the agent, not to the disk.
            assert "hunter2" not in path.read_text()
    assert not any("hunter2" in word for word in launched.argv)
    assert made.seen_by(SESSION) == (folder,)
    assert made.seen_by(OTHER) == ()


def test_two_sessions_in_one_folder_have_nothing_in_common(tmp_path: Path) -> None:
    made, claude = equipment(tmp_path), adapter_named("claude")
    one, two = (asyncio.run(made.fresh(claude, seat(session))) for session in (SESSION, OTHER))
    assert one.conversation
    assert one.conversation != two.conversation
    assert not {w for w in one.argv if str(tmp_path) in w} & {w for w in two.argv if str(tmp_path) in w}
    resumed = asyncio.run(made.resumed(claude, seat(), one.conversation))
    assert resumed.argv[-2:] == ("--resume", one.conversation)
    assert resumed.conversation == one.conversation


def test_what_the_agent_has_beyond_the_session_goes_into_any_workspace(tmp_path: Path) -> None:
    made, place = equipment(tmp_path), seat()
    launched = asyncio.run(made.fresh(adapter_named("opencode"), place))
    own = made.own_variables(place, launched)
    assert own["HELIOGRAPH_SESSION"] == SESSION
    assert "PATH" not in own


def test_a_persons_own_words_stay_last_and_other_programs_are_left_alone(tmp_path: Path) -> None:
    made = equipment(tmp_path)
    claude = adapter_named("claude")
    launched = asyncio.run(made.by_person(claude, seat(), ("/opt/bin/claude", "--model", "opus")))
    assert launched.argv[0] == "/opt/bin/claude"
    assert launched.argv[-2:] == ("--model", "opus")
    assert len(launched.argv) > 3
    # `npx claude` is started by another program, whose words these are.
    wrapped = asyncio.run(made.by_person(claude, seat(OTHER), ("npx", "claude")))
    assert wrapped.argv == ("npx", "claude")
    assert not (tmp_path / "agents" / OTHER).exists()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("in the way")
    with pytest.raises(MeshError) as caught:
        asyncio.run(equipment(tmp_path).fresh(adapter_named("claude"), seat()))
    assert caught.value.code is ErrorCode.UNAVAILABLE
