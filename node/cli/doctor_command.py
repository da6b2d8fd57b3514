"""`helio doctor`: looks at everything the node needs, and says what to do about what is missing."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli import checks
from node.cli.checks import Finding, Level
from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Tone, plain, print_document
from node.cli.lifecycle import LOCK_NAME, lock_owner
from node.cli.options import json_option
from node.cli.service_command import own_service
from node.cli.text import fold, one_line
from node.core.errors import MeshError
from node.core.views import StatusView
from node.core.views_mesh import IdentityView, MeshView
from node.core.views_timeline import VerifyView
from node.platform import paths
from node.service import run_program
from node.version import VERSION

if TYPE_CHECKING:
    from node.local_client import LocalClient

_TONES = {Level.OK: Tone.GOOD, Level.WARN: Tone.WARN, Level.FAIL: Tone.BAD}
_NAME_COLUMNS = 14


@examples("helio doctor", "helio doctor --verify", "helio doctor --json")
@click.command("doctor", cls=ExampleCommand)
@click.option("--verify", is_flag=True, help="Also verify the whole timeline, which takes a while for a long one.")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, *, verify: bool, in_json: bool) -> None:
    """Check what the node needs: Python, tmux, git, folders, disk, clock, the node, agents, other machines, service.

    Changes nothing. Exit status 1 when a check fails.
    """
    console = Console.of_streams()
    found = examine(paths.home(), verify=verify, console=console)
    failed = any(finding.level is Level.FAIL for finding in found)
    if in_json:
        print_document({"ok": not failed, "checks": plain(found)})
    else:
        console.lines(finding_lines(found, console))
    ctx.exit(1 if failed else 0)


def examine(home: Path, *, verify: bool, console: Console) -> list[Finding]:
    """Every check's finding, in the order in which one would mend things."""
    found = [
        checks.python_version(sys.version_info[:3]),
        checks.tmux(run_program(["tmux", "-V"]), sys.platform),
        checks.git(run_program(["git", "--version"])),
        *([checks.bubblewrap(run_program(["bwrap", "--version"]))] if sys.platform == "linux" else []),
        checks.home_folder(home),
    ]
    if home.is_dir():
        found += _folders(home)
    found.append(checks.disk_space(shutil.disk_usage(_nearest_folder(home)).free))
    found.append(checks.clock(time.time_ns() // 1000, _newest_us(home)))
    of_node, answers = _node(home, verify=verify, console=console)
    found += of_node
    mesh: MeshView | None = None
    if answers:
        of_mesh, mesh = _mesh(home)
        found += of_mesh
    found.append(checks.service(own_service(home).status()))
    if note := checks.local_network(sys.platform, mesh):
        found.append(note)
    return found


def _folders(home: Path) -> list[Finding]:
    # Imports gRPC and the ports, as the checks of the node below do.
    from node import config
    from node.platform.paths import LOCAL_SOCKET, LOCAL_TOKEN

    run: Path | MeshError
    try:
        run = paths.run_dir(home)
    except MeshError as refusal:
        run = refusal
    found = [checks.sockets(home, run, LOCAL_SOCKET)]
    if isinstance(run, Path) and (token := checks.token_file(run / LOCAL_TOKEN)):
        found.append(token)
    try:
        config.load(home)
        found.append(Finding(check="settings", level=Level.OK, found="config.toml is fine, or absent"))
    except MeshError as refusal:
        remedy = "The node does not start before that is mended."
        found.append(Finding(check="settings", level=Level.FAIL, found=refusal.message, remedy=remedy))
    return found


def _node(home: Path, *, verify: bool, console: Console) -> tuple[list[Finding], bool]:
    """What is found of the node, and whether it answers."""
    answer: StatusView | MeshError
    try:
        answer = on_node(lambda node: node.status())
    except MeshError as error:
        answer = error
    owner = lock_owner(home)
    found = checks.node_answer(answer, VERSION, owner)
    answers = isinstance(answer, StatusView)
    if lock := checks.stale_lock(home / LOCK_NAME, answers=answers, owner=owner):
        found.append(lock)
    if answers:
        found += _agents()
    if verify and answers:
        found.append(_verified(console))
    return found, answers


def _mesh(home: Path) -> tuple[list[Finding], MeshView | None]:
    """What is found of the node among others, and how it stands there if it tells."""
    from node import config

    async def asked(node: LocalClient) -> tuple[IdentityView, MeshView]:
        return await node.identity(), await node.mesh()

    try:
        settings = config.load(home).mesh
    except MeshError:
        # Told above; the node runs with what the file held when it started.
        settings = config.MeshConfig()
    try:
        identity, mesh = on_node(asked)
    except MeshError as error:
        return [Finding(check="mesh", level=Level.WARN, found=error.message, remedy="See: helio peers")], None
    return [
        checks.certificate(identity, time.time_ns() // 1000),
        checks.own_key(identity),
        checks.mesh_port(mesh, listen=settings.listen),
        checks.discovery(mesh, wanted=settings.discovery, listen=settings.listen),
        *checks.peers(mesh.peers),
    ], mesh


def _agents() -> list[Finding]:
    try:
        return [checks.agents(on_node(lambda node: node.agents()))]
    except MeshError as error:
        return [Finding(check="agents", level=Level.WARN, found=error.message, remedy="See: helio agents")]


def _verified(console: Console) -> Finding:
    from node.cli.verify_command import verify

    try:
        last: VerifyView = on_node(lambda node: verify(node, console, quiet=False))
    except MeshError as error:
        return Finding(check="timeline", level=Level.FAIL, found=error.message, remedy="See: helio timeline verify")
    return checks.timeline(last)


def _nearest_folder(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _newest_us(home: Path) -> int | None:
    """When the node last wrote, by its files' times."""
    written = [home / name for name in ("node.db", "node.db-wal")]
    times = [file.stat().st_mtime_ns // 1000 for file in written if file.exists()]
    return max(times, default=None)


def finding_lines(found: list[Finding], console: Console) -> list[str]:
    """A line for each check, and below it what to do; then how it came out altogether."""
    lines: list[str] = []
    for finding in found:
        mark = console.tint(f"{finding.level.value:<4}", _TONES[finding.level])
        head, *rest = fold(one_line(finding.found), console.columns and console.columns - _NAME_COLUMNS - 7)
        lines.append(f"{mark}  {finding.check:<{_NAME_COLUMNS}} {head}")
        lines += [f"{'':<{_NAME_COLUMNS + 7}}{row}" for row in rest]
        if finding.remedy:
            lines += [f"{'':<{_NAME_COLUMNS + 7}}{console.strong(one_line(finding.remedy))}"]
    failed = sum(finding.level is Level.FAIL for finding in found)
    warned = sum(finding.level is Level.WARN for finding in found)
    lines.append("")
    lines.append(f"{failed} failed, {warned} to look at." if failed or warned else "All is well.")
    return lines
