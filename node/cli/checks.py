"""What `helio doctor` looks at. Every check is told what it may know and gives one finding; none changes anything."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from node.cli.text import key_place, listed, plural
from node.cli.times import day
from node.core.errors import MeshError
from node.core.mesh import LinkState
from node.core.node_id import short
from node.core.views import StatusView
from node.core.views_mesh import IdentityView, MeshView, PeerView
from node.core.views_timeline import VerifyView
from node.core.views_work import AgentView
from node.platform.paths import HOME_VARIABLE, SOCKET_PATH_BYTES, check_private
from node.service import Outcome, ServiceState, ServiceSystem

LEAST_PYTHON = (3, 11)
LEAST_TMUX = (3, 2)
DISK_FAIL_BYTES = 64 * 2**20
DISK_WARN_BYTES = 2**30
# This version was written in 2026: a clock before that is wrong, and so would every row of the timeline be.
WRITTEN_US = 1_767_225_600_000_000
AHEAD_US = 5 * 60 * 1_000_000
CERTIFICATE_WARN_US = 60 * 24 * 3_600 * 1_000_000
_PEERS_SHOWN = 3
# In what `platform.local_network` and `core.links` say.
_LOCAL_NETWORK = "Local Network"
_NO_WAY = "has no way to"


class Level(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: what was found, and what to do about it unless it is ok."""

    check: str
    level: Level
    found: str
    remedy: str = ""


def python_version(version: tuple[int, int, int]) -> Finding:
    """Whether this Python is new enough."""
    found = ".".join(str(part) for part in version)
    if version[:2] >= LEAST_PYTHON:
        return Finding(check="python", level=Level.OK, found=found)
    return Finding(
        check="python", level=Level.FAIL, found=found, remedy="Install heliograph with Python 3.11 or newer."
    )


def tmux(answer: Outcome, platform: str) -> Finding:
    """Whether tmux is there and new enough, from what `tmux -V` came to."""
    install = "brew install tmux" if platform == "darwin" else "your package manager, for example: apt install tmux"
    if answer.status != 0:
        remedy = f"Sessions run in tmux. Install it with {install}"
        return Finding(check="tmux", level=Level.FAIL, found="not found on PATH", remedy=remedy)
    found = re.search(r"(\d+)\.(\d+)", answer.output)
    if found is None:
        # A build from source calls itself "master" or "openbsd-7.4"; those are newer than any release in use.
        return Finding(check="tmux", level=Level.OK, found=answer.output)
    if (int(found[1]), int(found[2])) < LEAST_TMUX and "openbsd" not in answer.output:
        remedy = f"Sessions need tmux 3.2 or newer. Install it with {install}"
        return Finding(check="tmux", level=Level.FAIL, found=answer.output, remedy=remedy)
    return Finding(check="tmux", level=Level.OK, found=answer.output)


def git(answer: Outcome) -> Finding:
    """Whether delegates can have worktrees, from what `git --version` came to."""
    if answer.status != 0:
        remedy = "Everything else works without it. Install git for delegates to work on branches of their own."
        return Finding(check="git", level=Level.WARN, found="not found on PATH: no worktrees", remedy=remedy)
    return Finding(check="git", level=Level.OK, found=answer.output.removeprefix("git version "))


def bubblewrap(answer: Outcome) -> Finding:
    """Whether sandboxes can be made, from what `bwrap --version` came to; nothing is wrong without it."""
    if answer.status != 0:
        found = "not found on PATH: no sandboxes. If you want some, install bubblewrap"
        return Finding(check="bubblewrap", level=Level.OK, found=found)
    return Finding(check="bubblewrap", level=Level.OK, found=answer.output.removeprefix("bubblewrap "))


def agents(views: Sequence[AgentView]) -> Finding:
    """Which agent CLIs the node finds; any program can run as a session, so none is no failure."""
    there = [f"{view.name} {view.version or ''}".rstrip() for view in views if view.path is not None]
    if not there:
        remedy = f"Install one of: {', '.join(view.name for view in views)}" if views else "See: helio agents"
        return Finding(check="agents", level=Level.WARN, found="none on the node's PATH", remedy=remedy)
    return Finding(check="agents", level=Level.OK, found=", ".join(there))


def home_folder(home: Path) -> Finding:
    """Whether the node's folder is private, ours and writable."""
    if not os.path.lexists(home):
        return Finding(check="home", level=Level.OK, found=f"{home} is not there yet; `helio up` makes it")
    try:
        check_private(home)
    except MeshError as refusal:
        return Finding(
            check="home", level=Level.FAIL, found=refusal.message.split(", so this node")[0], remedy=_cure(home)
        )
    if not os.access(home, os.W_OK | os.X_OK):
        remedy = f"Run: chmod u+rwx '{home}'"
        return Finding(check="home", level=Level.FAIL, found=f"{home} cannot be written to", remedy=remedy)
    return Finding(check="home", level=Level.OK, found=f"{home} is private")


def _cure(folder: Path) -> str:
    try:
        found = folder.stat()
    except OSError:
        return f"Check the folders above it, or set {HOME_VARIABLE} to another place."
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not folder.is_symlink():
        return f"Run: chmod 700 '{folder}'"
    return f"Move it away, or set {HOME_VARIABLE} to a folder of your own."


def sockets(home: Path, run: Path | MeshError, longest: str) -> Finding:
    """Whether the folder of the sockets, as the node would use it, is private and its paths are short enough."""
    if isinstance(run, MeshError):
        return Finding(
            check="sockets", level=Level.FAIL, found=run.message, remedy=f"Or set {HOME_VARIABLE} elsewhere."
        )
    taken = len(os.fsencode(run / longest)) + 1
    if taken > SOCKET_PATH_BYTES:
        found = f"{run / longest} has {taken} bytes; a socket's path may have {SOCKET_PATH_BYTES}"
        remedy = f"Set {HOME_VARIABLE} to a folder with a shorter path."
        return Finding(check="sockets", level=Level.FAIL, found=found, remedy=remedy)
    moved = "" if run.parent == home else ", because the home's path is too long for sockets"
    found = f"{run} is private{moved} ({taken} of {SOCKET_PATH_BYTES} bytes)"
    return Finding(check="sockets", level=Level.OK, found=found)


def token_file(token: Path) -> Finding | None:
    """Whether nobody else can read the token of the local API; None while there is none."""
    try:
        mode = stat.S_IMODE(token.lstat().st_mode)
    except OSError:
        return None
    if mode & 0o077:
        remedy = f"Somebody else may have read it. Run: rm '{token}' && helio down && helio up"
        return Finding(check="token", level=Level.FAIL, found=f"{token} has mode {mode:04o}", remedy=remedy)
    return Finding(check="token", level=Level.OK, found="readable by you alone")


def disk_space(free_bytes: int) -> Finding:
    """Whether the timeline has room to grow."""
    found = f"{free_bytes / 2**30:.1f} GiB free"
    if free_bytes < DISK_FAIL_BYTES:
        remedy = "A message that cannot be logged is not relayed. Make room before you go on."
        return Finding(check="disk", level=Level.FAIL, found=found, remedy=remedy)
    if free_bytes < DISK_WARN_BYTES:
        return Finding(check="disk", level=Level.WARN, found=found, remedy="Make room: the timeline only grows.")
    return Finding(check="disk", level=Level.OK, found=found)


def clock(now_us: int, newest_us: int | None) -> Finding:
    """Whether the wall clock can be right: not before this version was written, not before the node's newest file."""
    remedy = "Set the clock (network time), then run: helio down && helio up"
    if now_us < WRITTEN_US:
        found = "the clock is before this version of heliograph was written"
        return Finding(check="clock", level=Level.FAIL, found=found, remedy=remedy)
    if newest_us is not None and newest_us > now_us + AHEAD_US:
        minutes = (newest_us - now_us) // 60_000_000
        found = f"the node last wrote at a time which is {minutes} minutes ahead of now"
        return Finding(check="clock", level=Level.WARN, found=found, remedy=remedy)
    return Finding(check="clock", level=Level.OK, found="plausible")


def node_answer(answer: StatusView | MeshError, version: str, owner: int | None) -> list[Finding]:
    """Whether the node answers, is of this version and can log; `owner` is the process that holds its lock."""
    if isinstance(answer, MeshError):
        if owner is not None:
            found = f"process {owner} holds the node's lock but does not answer ({answer.message})"
            remedy = f"See log/node.log; then run: kill {owner}"
            return [Finding(check="node", level=Level.FAIL, found=found, remedy=remedy)]
        return [Finding(check="node", level=Level.WARN, found="not running", remedy="Start it with: helio up")]
    findings = [Finding(check="node", level=Level.OK, found=f"running as process {answer.pid}")]
    if answer.version != version:
        found = f"the node is version {answer.version}, this command {version}"
        remedy = "Run: helio down && helio up (sessions keep running)"
        findings.append(Finding(check="version", level=Level.WARN, found=found, remedy=remedy))
    if not answer.timeline_writable:
        found = "rows cannot be written, so messages are refused"
        remedy, *rest = answer.timeline_alarms or ("Check the disk and log/node.log.",)
        findings.append(Finding(check="timeline", level=Level.FAIL, found=found, remedy=remedy))
    else:
        rest = list(answer.timeline_alarms)
    findings += [Finding(check="timeline", level=Level.WARN, found=words) for words in rest]
    return findings


def stale_lock(lock: Path, *, answers: bool, owner: int | None) -> Finding | None:
    """What a lock file of a node that is gone means: nothing; None when it is in use or not there."""
    if answers or owner is not None or not lock.exists():
        return None
    return Finding(
        check="lock", level=Level.OK, found=f"{lock.name} is left of a node that ended; the next one takes it"
    )


def timeline(last: VerifyView) -> Finding:
    """Whether the timeline verifies, from the last word of a verification."""
    if last.result is None:
        found = f"the check ended after {last.rows} of {plural(last.total, 'row')}"
        return Finding(check="timeline", level=Level.FAIL, found=found, remedy="Run: helio timeline verify")
    if (problem := last.result.problem) is not None:
        found = f"row {problem.seq}: {problem.words} ({problem.code.value})"
        remedy = "Keep a copy of the node's folder as it is, and see: helio timeline verify"
        return Finding(check="timeline", level=Level.FAIL, found=found, remedy=remedy)
    return Finding(check="timeline", level=Level.OK, found=f"{plural(last.rows, 'row')} verified")


def certificate(identity: IdentityView, now_us: int) -> Finding:
    """Whether the node's certificate is good for a while yet."""
    until = day(identity.expires_us)
    # A node that starts renews a certificate that is past half its life; the key stays.
    renew = "Run: helio down && helio up, which renews it"
    if identity.expires_us <= now_us:
        found = f"its certificate ended on {until}, so no peer takes it"
        remedy = f"{renew}; then pair again with peers that refuse it"
        return Finding(check="identity", level=Level.FAIL, found=found, remedy=remedy)
    if identity.expires_us <= now_us + CERTIFICATE_WARN_US:
        found = f"its certificate ends on {until}"
        return Finding(check="identity", level=Level.WARN, found=found, remedy=renew)
    return Finding(check="identity", level=Level.OK, found=f"{short(identity.shown)}, certificate good until {until}")


def own_key(identity: IdentityView) -> Finding:
    """Where the node's key is kept."""
    return Finding(check="key", level=Level.OK, found=f"kept in {key_place(in_keychain=identity.in_keychain)}")


def mesh_port(mesh: MeshView, *, listen: bool) -> Finding:
    """Whether peers can dial this node; `listen` is what its settings say."""
    if mesh.port is not None:
        return Finding(check="mesh port", level=Level.OK, found=f"peers are served at port {mesh.port}")
    if not listen:
        found = "closed, as config.toml says: this node dials its peers, and they cannot dial it"
        return Finding(check="mesh port", level=Level.OK, found=found)
    found = mesh.why or "closed: the node is only starting, or its settings have changed since it started"
    remedy = "Peers cannot dial this node. Once that is mended, run: helio down && helio up"
    return Finding(check="mesh port", level=Level.WARN, found=found, remedy=remedy)


def discovery(mesh: MeshView, *, wanted: bool, listen: bool) -> Finding:
    """Whether nodes on the same network find each other; `wanted` and `listen` are what the settings say."""
    if not wanted:
        found = "off, as config.toml says: peers are dialled at the addresses on record"
        return Finding(check="discovery", level=Level.OK, found=found)
    # One text for both: it is about the port while that is closed and should not be.
    why = mesh.why if mesh.port is not None or not listen else ""
    over = listed(mesh.interfaces) if mesh.interfaces else "no interface yet"
    if mesh.discovery and not why:
        return Finding(check="discovery", level=Level.OK, found=f"on, over {over}")
    state = "on, but" if mesh.discovery else "off:"
    remedy = "Peers can be dialled by address all the same: helio peers address PEER ADDRESS"
    return Finding(check="discovery", level=Level.WARN, found=f"{state} {why or 'it has not begun'}", remedy=remedy)


def peers(views: Sequence[PeerView]) -> list[Finding]:
    """How many peers are linked, and those that refuse this node or that it refuses, with what to do."""
    if not views:
        return [Finding(check="peers", level=Level.OK, found="none yet; helio pair makes one")]
    up = sum(peer.link.state is LinkState.UP for peer in views)
    away = [peer.name for peer in views if peer.link.state in {LinkState.DOWN, LinkState.CONNECTING, LinkState.OFF}]
    names = [*away[:_PEERS_SHOWN], *(["others"] if len(away) > _PEERS_SHOWN else [])]
    counted = f"{up} of {len(views)} linked{f'; not reached: {listed(names)}' if names else ''}"
    found = [Finding(check="peers", level=Level.OK, found=counted)]
    refused = [peer for peer in views if peer.link.state is LinkState.REFUSED]
    found += [_refused(peer) for peer in refused[:_PEERS_SHOWN]]
    if (more := len(refused) - _PEERS_SHOWN) > 0:
        found.append(Finding(check="peer", level=Level.WARN, found=f"{more} more refused", remedy="See: helio peers"))
    return found


def _refused(peer: PeerView) -> Finding:
    name, why = peer.name, peer.link.why
    remedies = []
    if "unpaired" in why or "another key" in why:
        remedies.append(f"If it was unpaired or set up anew: helio peers unpair {name}, and pair again.")
    if "clock" in why:
        remedies.append("Compare the clocks of both machines (network time).")
    remedy = " ".join(remedies) or "See: helio peers, and helio doctor on the other machine"
    return Finding(
        check="peer", level=Level.WARN, found=f"{name} is refused: {why or 'no reason is known'}", remedy=remedy
    )


def local_network(platform: str, mesh: MeshView | None) -> Finding | None:
    """Whether macOS lets the node speak on its network, from what the node came upon; nothing to say elsewhere."""
    if platform != "darwin":
        return None
    if mesh is not None and _LOCAL_NETWORK in mesh.why:
        return Finding(
            check="local network", level=Level.WARN, found="macOS keeps the node from other machines on this network",
            remedy=mesh.why,
        )  # fmt: skip
    cut_off = [] if mesh is None else [peer for peer in mesh.peers if _NO_WAY in peer.link.why]
    if mesh is not None and mesh.discovery and not mesh.why and not cut_off:
        return Finding(check="local network", level=Level.OK, found="the node may use it")
    found = (
        "macOS may keep the node from other machines on this network. If peers are not found, allow it in "
        "System Settings > Privacy & Security > Local Network, and run: helio down && helio up"
    )
    return Finding(check="local network", level=Level.WARN if cut_off else Level.OK, found=found)


def service(state: ServiceState) -> Finding:
    """Whether the node is a service, and as this version writes it."""
    if not state.installed:
        found = "not installed: the node runs after `helio up` until this machine stops"
        return Finding(check="service", level=Level.OK, found=f"{found}. To start it at login: helio service install")
    if not state.current:
        return Finding(
            check="service", level=Level.WARN, found=f"{state.file} is not what this version writes",
            remedy="Run: helio service install",
        )  # fmt: skip
    keeper = "launchd" if state.system is ServiceSystem.LAUNCHD else "systemd"
    return Finding(check="service", level=Level.OK, found=f"{state.name}, kept by {keeper}")
