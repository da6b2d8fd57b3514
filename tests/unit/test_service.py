"""The node as a service: the files launchd and systemd read, and what is done with them."""

from __future__ import annotations

import configparser
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from node.core.errors import ErrorCode, MeshError
from node.service import (
    Launchd,
    Outcome,
    ServiceSystem,
    Systemd,
    launchd_text,
    own_command,
    run_program,
    service_spec,
    service_system,
    systemd_file,
    systemd_text,
    systemd_unit,
)

ODD = 'odd %h $HOME "quoted" back\\slash'


@pytest.fixture
def spec(tmp_path):
    return service_spec(tmp_path / ".heliograph", {"PATH": f"/opt/{ODD}:/bin", "LANG": "de_DE.UTF-8"}, tmp_path)


class Systemctl:
    """A systemctl --user which keeps what it is told; `broken` is the word it fails at."""

    def __init__(self, broken: str = "") -> None:
        self.calls: list[str] = []
        self.enabled = False
        self.broken = broken

    def __call__(self, argv: Sequence[str], /) -> Outcome:
        assert list(argv[:3]) == ["systemctl", "--user", "--no-pager"]
        word = argv[3]
        self.calls.append(word)
        if word == self.broken:
            return Outcome(status=1, output="Failed to connect to bus\nNo medium found")
        if word in {"enable", "disable"}:
            assert argv[4] == "--now"
            self.enabled = word == "enable"
        return Outcome(status=0 if word not in {"is-enabled", "is-active"} or self.enabled else 1, output="")


class Launchctl:
    """A launchctl whose bootout takes two looks to be over, as the real one's takes a while."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.loaded = False
        self.leaving = 0

    def __call__(self, argv: Sequence[str], /) -> Outcome:
        assert argv[0] == "launchctl"
        word = argv[1]
        self.calls.append(word)
        if word == "print":
            if self.leaving:
                self.leaving -= 1
                self.loaded = bool(self.leaving)
            return Outcome(status=0 if self.loaded else 113, output="\tstate = running\n" if self.loaded else "")
        if word == "bootout":
            self.leaving = 2
        if word == "bootstrap":
            if self.loaded:
                return Outcome(status=5, output="Bootstrap failed: 5: Input/output error")
            self.loaded = True
        return Outcome(status=0, output="")


def _linger(tmp_path: Path, user: str = "") -> Path:
    folder = tmp_path / "linger"
    folder.mkdir(exist_ok=True)
    if user:
        (folder / user).touch()
    return folder


def test_the_unit_leaves_sessions_alone_and_comes_back_after_a_crash(spec):
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(systemd_text(spec))
    service = unit["Service"]
    assert service["KillMode"] == "process"
    assert service["OOMPolicy"] == "continue"
    assert service["Restart"] == "on-failure"
    assert service["ExecStart"].endswith('"up" "--foreground"')
    assert unit["Install"]["WantedBy"] == "default.target"


def test_odd_paths_are_quoted_for_systemd(spec):
    assert r'Environment="PATH=/opt/odd %%h $HOME \"quoted\" back\\slash:/bin"' in systemd_text(spec).splitlines()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_itself_finds_nothing_wrong(spec, tmp_path):
    unit = tmp_path / systemd_unit(spec)
    unit.write_text(systemd_text(spec), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(unit)], capture_output=True, text=True, check=False,
        env={"XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert unit.name not in done.stderr


def test_the_agent_leaves_sessions_alone_and_comes_back_after_a_crash(spec):
    agent = plistlib.loads(launchd_text(spec).encode())
    assert agent["AbandonProcessGroup"] is True
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["RunAtLoad"] is True
    assert agent["ProgramArguments"][-2:] == ["up", "--foreground"]
    assert agent["EnvironmentVariables"]["HELIOGRAPH_HOME"] == str(spec.home)
    assert agent["EnvironmentVariables"]["PATH"] == f"/opt/{ODD}:/bin"
    assert agent["StandardErrorPath"] == str(spec.home / "log" / "node.log")


def test_every_home_has_a_service_of_its_own(tmp_path):
    usual = service_spec(tmp_path / ".heliograph", {}, tmp_path)
    others = [service_spec(tmp_path / name, {}, tmp_path) for name in ("one", "two")]
    assert usual.name == "heliograph"
    assert len({spec.name for spec in (usual, *others)}) == 3
    assert others[0].name == service_spec(tmp_path / "one", {}, tmp_path).name


def test_only_the_way_to_programs_is_kept_of_the_environment(tmp_path):
    spec = service_spec(tmp_path, {"PATH": "/bin", "API_KEY": "secret"}, tmp_path)
    assert "secret" not in systemd_text(spec) + launchd_text(spec)


def test_a_line_end_in_a_path_is_refused(tmp_path):
    with pytest.raises(MeshError) as refused:
        service_spec(tmp_path / "a\nExecStartPre=evil", {}, tmp_path)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


def test_systemd_install_is_idempotent_and_remove_undoes_it(spec, tmp_path):
    ctl = Systemctl()
    service = Systemd(spec, ctl, user="ada", linger=_linger(tmp_path))
    assert not service.status().installed
    state = service.install()
    assert (state.installed, state.current, state.loaded, state.running) == (True, True, True, True)
    assert service.file.read_text(encoding="utf-8") == service.text()
    assert spec.log.parent.is_dir()
    ctl.calls.clear()
    assert service.install() == state
    assert "daemon-reload" not in ctl.calls
    assert not service.remove().installed
    assert not service.file.exists()
    assert not service.remove().installed


def test_a_file_that_was_changed_is_pointed_out_and_written_again(spec, tmp_path):
    ctl = Systemctl()
    service = Systemd(spec, ctl, user="ada", linger=_linger(tmp_path, "ada"))
    service.install()
    service.file.write_text("[Service]\n", encoding="utf-8")
    state = service.status()
    assert not state.current
    assert "helio service install" in state.hints[0]
    assert service.install().current
    assert ctl.calls.count("daemon-reload") == 2


def test_without_linger_the_hint_says_what_it_means(spec, tmp_path):
    with_it = Systemd(spec, Systemctl(), user="ada", linger=_linger(tmp_path, "ada")).install()
    assert with_it.hints == ()
    without = Systemd(spec, Systemctl(), user="bob", linger=_linger(tmp_path)).status()
    assert "sudo loginctl enable-linger bob" in without.hints[0]


def test_a_system_that_refuses_is_quoted(spec, tmp_path):
    service = Systemd(spec, Systemctl(broken="daemon-reload"), user="ada", linger=_linger(tmp_path))
    with pytest.raises(MeshError, match="No medium found") as refused:
        service.install()
    assert refused.value.code is ErrorCode.UNAVAILABLE


def test_the_unit_goes_where_xdg_says(spec, tmp_path):
    assert systemd_file(spec) == tmp_path / ".config/systemd/user/heliograph.service"
    assert systemd_file(spec, "/etc/xdg") == Path("/etc/xdg/systemd/user/heliograph.service")
    assert systemd_file(spec, "relative") == systemd_file(spec)


def test_launchd_waits_for_the_old_job_to_leave_before_it_loads_the_new(spec):
    ctl = Launchctl()
    service = Launchd(spec, ctl, 501, pause=lambda _: None)
    state = service.install()
    assert (state.installed, state.current, state.loaded, state.running) == (True, True, True, True)
    service.file.write_text("old", encoding="utf-8")
    assert service.install().current
    assert ctl.calls.count("bootstrap") == 2


def test_launchd_install_again_only_starts_it_if_it_was_stopped(spec):
    ctl = Launchctl()
    service = Launchd(spec, ctl, 501, pause=lambda _: None)
    first = service.install()
    ctl.calls.clear()
    assert service.install() == first
    assert "bootstrap" not in ctl.calls
    assert "kickstart" in ctl.calls


def test_launchd_remove(spec):
    ctl = Launchctl()
    service = Launchd(spec, ctl, 501, pause=lambda _: None)
    service.install()
    state = service.remove()
    assert (state.installed, state.loaded) == (False, False)
    assert not service.file.exists()
    assert not service.remove().installed


def test_a_job_that_does_not_leave_is_reported(spec):
    def stubborn(argv: Sequence[str], /) -> Outcome:
        return Outcome(status=0, output="state = running")

    with pytest.raises(MeshError, match="still there"):
        Launchd(spec, stubborn, 501, pause=lambda _: None).remove()


def test_a_program_of_the_system_that_is_not_there_is_an_outcome():
    assert run_program(["no-such-program-of-any-system"]).status == 127
    assert run_program([sys.executable, "-c", "print('hello'); raise SystemExit(3)"]) == Outcome(
        status=3, output="hello"
    )


def test_the_system_is_known_by_the_platform():
    assert service_system("darwin") is ServiceSystem.LAUNCHD
    assert service_system("linux") is ServiceSystem.SYSTEMD


def test_the_own_command_works_from_any_folder(tmp_path):
    argv, variables = own_command()
    done = subprocess.run(
        [*argv, "--version"], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("helio ")
