"""The node as a service of the person's login: launchd on macOS, systemd --user on Linux. Sessions outlive its stop."""

from __future__ import annotations

import hashlib
import os
import plistlib
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from node.core.errors import ErrorCode, MeshError
from node.platform.paths import HOME_VARIABLE

_COMMAND_SECONDS: Final = 30
_BOOT_OUT_LOOKS: Final = 150
_BOOT_OUT_PAUSE: Final = 0.2
_LINGER: Final = Path("/var/lib/systemd/linger")
# What launchd and systemd give a service is shorter than what finds tmux and the agents.
_USUAL_PATH: Final = "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class ServiceSystem(StrEnum):
    """Who keeps services on this machine."""

    LAUNCHD = "launchd"
    SYSTEMD = "systemd"


def service_system(platform: str = sys.platform) -> ServiceSystem:
    """launchd on macOS, systemd elsewhere."""
    return ServiceSystem.LAUNCHD if platform == "darwin" else ServiceSystem.SYSTEMD


def own_command() -> tuple[tuple[str, ...], dict[str, str]]:
    """The words that start `helio` with this Python from any folder, and the variables it needs for that."""
    root = Path(__file__).resolve().parent.parent
    # A run from a source tree is not on any Python's own path; -P keeps the folder it starts in off it as well.
    installed = root == Path(sysconfig.get_path("purelib")).resolve()
    return (sys.executable, "-P", "-m", "node.entry"), {} if installed else {"PYTHONPATH": str(root)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """What the service runs: `argv` with `env`, for the node at `home`; `user_home` holds the service's file."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    home: Path
    user_home: Path

    @property
    def is_default(self) -> bool:
        """Whether this is the node of the usual home."""
        return self.home == self.user_home / ".heliograph"

    @property
    def name(self) -> str:
        """`heliograph`, with a mark of the home for any but the usual one, so that several nodes can be services."""
        if self.is_default:
            return "heliograph"
        return f"heliograph-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:8]}"

    @property
    def log(self) -> Path:
        """Where the node's output goes."""
        return self.home / "log" / "node.log"


def service_spec(home: Path, environment: Mapping[str, str], user_home: Path) -> ServiceSpec:
    """The service of the node at `home`; of `environment` only the way to programs is kept."""
    argv, own = own_command()
    env = {HOME_VARIABLE: str(home), "PATH": environment.get("PATH") or _USUAL_PATH, **own}
    if lang := environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG"):
        env["LANG"] = lang
    for text in (*argv, *env.values()):
        if "\n" in text or "\0" in text:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                "A path with a line end in it cannot stand in a service file. Move the node's home, or tidy PATH.",
            )
    return ServiceSpec(argv=(*argv, "up", "--foreground"), env=tuple(env.items()), home=home, user_home=user_home)


# --- launchd ----------------------------------------------------------------------------------------------------------


def launchd_label(spec: ServiceSpec) -> str:
    """The job's name."""
    return f"org.{spec.name}.node"


def launchd_file(spec: ServiceSpec) -> Path:
    """The LaunchAgent's place."""
    return spec.user_home / "Library" / "LaunchAgents" / f"{launchd_label(spec)}.plist"


def launchd_text(spec: ServiceSpec) -> str:
    """The LaunchAgent as launchd.plist(5) has it."""
    agent = {
        "Label": launchd_label(spec),
        "ProgramArguments": list(spec.argv),
        "EnvironmentVariables": dict(spec.env),
        "WorkingDirectory": str(spec.user_home),
        "RunAtLoad": True,
        # Starts again after a crash, stays down after `helio down`.
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": 30,
        # Without it launchd ends every process of the job's group with the node, and the sessions with them.
        "AbandonProcessGroup": True,
        # The default class lets the system slow a job down while the person looks elsewhere; agents run in this one.
        "ProcessType": "Interactive",
        "Umask": 0o077,
        "StandardOutPath": str(spec.log),
        "StandardErrorPath": str(spec.log),
    }
    return plistlib.dumps(agent, sort_keys=False).decode()


# --- systemd ----------------------------------------------------------------------------------------------------------


def systemd_unit(spec: ServiceSpec) -> str:
    """The unit's name."""
    return f"{spec.name}.service"


def systemd_file(spec: ServiceSpec, config_home: str = "") -> Path:
    """The user unit's place, below $XDG_CONFIG_HOME where that is set."""
    base = Path(config_home) if config_home.startswith("/") else spec.user_home / ".config"
    return base / "systemd" / "user" / systemd_unit(spec)


def systemd_text(spec: ServiceSpec) -> str:
    """The user unit as systemd.service(5) has it."""
    environment = "\n".join(f"Environment={_quoted(f'{name}={value}')}" for name, value in spec.env)
    return f"""\
[Unit]
Description=heliograph node at {_percent(str(spec.home))}
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart={" ".join(_quoted(word, dollar=True) for word in spec.argv)}
{environment}
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
UMask=0077
# Stops the node alone: tmux and the sessions in it live in the same control group and go on.
KillMode=process
# One session that runs out of memory does not take the node down.
OOMPolicy=continue
StandardOutput=append:{_percent(str(spec.log))}
StandardError=inherit

[Install]
WantedBy=default.target
"""


def _percent(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(text: str, *, dollar: bool = False) -> str:
    escaped = _percent(text).replace("\\", "\\\\").replace('"', '\\"')
    # Only command lines expand $NAME.
    return f'"{escaped.replace("$", "$$") if dollar else escaped}"'


# --- What is done with them -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a program ended."""

    status: int
    output: str


class Run(Protocol):
    """Runs a program of the system to its end."""

    def __call__(self, argv: Sequence[str], /) -> Outcome: ...


def run_program(argv: Sequence[str], /) -> Outcome:
    """The outcome of `argv`; status 127 when it cannot be started, 124 when it took too long."""
    try:
        done = subprocess.run(
            argv, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=_COMMAND_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome(status=124, output=f"{argv[0]} did not end within {_COMMAND_SECONDS} seconds")
    except OSError as error:
        return Outcome(status=127, output=f"{argv[0]}: {error.strerror}")
    return Outcome(status=done.returncode, output=done.stdout.decode("utf-8", "replace").strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """How the service stands: its file, whether that is what this version writes, whether the system runs it."""

    system: ServiceSystem
    name: str
    file: Path
    installed: bool
    current: bool
    loaded: bool
    running: bool
    hints: tuple[str, ...] = ()


class Service(Protocol):
    """The node's service with one of the systems."""

    @property
    def file(self) -> Path:
        """The service's file."""
        ...

    def text(self) -> str:
        """What belongs into the file."""
        ...

    def install(self) -> ServiceState:
        """Write the file and have the system start the node now and at login; doing it twice changes nothing."""
        ...

    def remove(self) -> ServiceState:
        """Stop the service and delete its file; fine when there is none. Sessions keep running."""
        ...

    def status(self) -> ServiceState:
        """How it stands."""
        ...


class Launchd:
    """The node as a LaunchAgent."""

    def __init__(self, spec: ServiceSpec, run: Run, uid: int, pause: Callable[[float], None] = time.sleep) -> None:
        self._spec = spec
        self._run = run
        self._pause = pause
        self._domain = f"gui/{uid}"
        self._target = f"{self._domain}/{launchd_label(spec)}"
        self.file = launchd_file(spec)

    def text(self) -> str:
        return launchd_text(self._spec)

    def install(self) -> ServiceState:
        changed = _write(self.file, self.text(), self._spec)
        loaded = self._print().status == 0
        if loaded and changed:
            self._boot_out()
        if changed or not loaded:
            self._run(["launchctl", "enable", self._target])
            _must(self._run(["launchctl", "bootstrap", self._domain, str(self.file)]), "launchctl bootstrap")
        else:
            # Loaded and unchanged, but perhaps stopped by `helio down`.
            self._run(["launchctl", "kickstart", self._target])
        return self.status()

    def remove(self) -> ServiceState:
        if self._print().status == 0:
            self._boot_out()
        self.file.unlink(missing_ok=True)
        return self.status()

    def status(self) -> ServiceState:
        printed = self._print()
        running = printed.status == 0 and any(
            line.strip() == "state = running" for line in printed.output.splitlines()
        )  # fmt: skip
        installed, current = _compare(self.file, self.text())
        return ServiceState(
            system=ServiceSystem.LAUNCHD, name=launchd_label(self._spec), file=self.file, installed=installed,
            current=current, loaded=printed.status == 0, running=running,
            hints=_hints(installed=installed, current=current),
        )  # fmt: skip

    def _boot_out(self) -> None:
        done = self._run(["launchctl", "bootout", self._target])
        # bootout returns before the job is gone, and a bootstrap meanwhile fails with "Input/output error".
        for _ in range(_BOOT_OUT_LOOKS):
            if self._print().status != 0:
                return
            self._pause(_BOOT_OUT_PAUSE)
        said = f": {done.output}" if done.output else ""
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"launchd was asked to let {self._target} go, and it is still there{said}. Try again, or log out and in.",
        )

    def _print(self) -> Outcome:
        return self._run(["launchctl", "print", self._target])


class Systemd:
    """The node as a unit of `systemd --user`."""

    def __init__(
        self, spec: ServiceSpec, run: Run, *, user: str, config_home: str = "", linger: Path = _LINGER
    ) -> None:
        self._spec = spec
        self._run = run
        self._user = user
        self._unit = systemd_unit(spec)
        self._linger = linger
        self.file = systemd_file(spec, config_home)

    def text(self) -> str:
        return systemd_text(self._spec)

    def install(self) -> ServiceState:
        if _write(self.file, self.text(), self._spec):
            _must(self._ctl("daemon-reload"), "systemctl --user daemon-reload")
        _must(self._ctl("enable", "--now", self._unit), "systemctl --user enable --now")
        return self.status()

    def remove(self) -> ServiceState:
        if self.file.exists():
            _must(self._ctl("disable", "--now", self._unit), "systemctl --user disable --now")
            self.file.unlink(missing_ok=True)
            _must(self._ctl("daemon-reload"), "systemctl --user daemon-reload")
        return self.status()

    def status(self) -> ServiceState:
        installed, current = _compare(self.file, self.text())
        enabled = self._ctl("is-enabled", self._unit)
        active = self._ctl("is-active", self._unit)
        hints = list(_hints(installed=installed, current=current))
        if installed and not (self._linger / self._user).exists():
            hints.append(
                "The service starts at your login and ends with your last one. To start it with the machine, and to "
                f"keep it after you log out, run: sudo loginctl enable-linger {self._user}"
            )
        return ServiceState(
            system=ServiceSystem.SYSTEMD, name=self._unit, file=self.file, installed=installed, current=current,
            loaded=enabled.status == 0, running=active.status == 0, hints=tuple(hints),
        )  # fmt: skip

    def _ctl(self, *words: str) -> Outcome:
        return self._run(["systemctl", "--user", "--no-pager", *words])


def _write(file: Path, text: str, spec: ServiceSpec) -> bool:
    # launchd does not make the folder of the log and then starts nothing.
    spec.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if file.exists() and file.read_text(encoding="utf-8", errors="replace") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)
    return True


def _compare(file: Path, text: str) -> tuple[bool, bool]:
    if not file.exists():
        return False, False
    return True, file.read_text(encoding="utf-8", errors="replace") == text


def _hints(*, installed: bool, current: bool) -> tuple[str, ...]:
    if installed and not current:
        return ("The file differs from what this version writes. Run: helio service install",)
    return ()


def _must(outcome: Outcome, what: str) -> None:
    if outcome.status != 0:
        said = outcome.output.splitlines()[-1] if outcome.output else "it said nothing"
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"`{what}` failed with status {outcome.status}: {said}. The service's file is written; a login session of "
            "your own (not su or sudo) is needed to start it. `helio up` works without any service.",
            {"status": outcome.status},
        )
