"""`helio install`: tells a person's own agent CLI of heliograph, in its own configuration, and takes it out again.

Planning reads and computes; only `carry_out` writes. What others wrote into the files stays byte for byte: entries are
put into the text (`core.json_text`), or stand in a marked block. When nobody changed a file since, uninstalling brings
back the very bytes that were there before.
"""

from __future__ import annotations

import difflib
import os
import shlex
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node.agents.adapter import SERVER, LaunchContext
from node.agents.claude import HOOKS as CLAUDE_HOOKS
from node.agents.codex import HOOKS as CODEX_HOOKS
from node.agents.gemini import HOOKS as GEMINI_HOOKS
from node.agents.opencode import OPENCODE
from node.agents.qwen import HOOKS as QWEN_HOOKS
from node.core.agent_state import HookTable
from node.core.errors import ErrorCode, MeshError
from node.core.json_text import Json
from node.install_text import Block, Document, Hooks, Whole
from node.platform.durability import flush

BACKUP_SUFFIX: Final = ".before-heliograph"
# The longest wait of a tool is ten minutes; Qwen Code calls again what it gave up on.
_TOOL_SECONDS: Final = 630
_HOOK_SECONDS: Final = 5
# What a shim needs to find its node and its session where a CLI passes nothing on by itself.
_PASSED_ON: Final = ("HELIOGRAPH_HOME", "HELIOGRAPH_SESSION")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One file of a CLI's configuration, and what belongs into it."""

    path: Path
    content: Document | Block | Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Where a CLI keeps what it knows, from the environment and the words that start this `helio`."""

    targets: Callable[[Mapping[str, str], tuple[str, ...]], tuple[Target, ...]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file as it is and as it would be; None where it is not there. `keep`: as it is, nothing of ours is in it."""

    path: Path
    before: str | None
    after: str | None
    keep: bool = False

    def diff(self) -> tuple[str, ...]:
        """The lines of a unified diff, unescaped."""
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        was, will = (os.devnull if text is None else str(self.path) for text in (self.before, self.after))
        return tuple(line.rstrip("\r\n") for line in difflib.unified_diff(old, new, was, will, n=2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would change for a CLI: nothing when `changes` is empty. `notes` are sentences for the person.

    `forgets`: what was kept of the files is of no use afterwards, for nothing of ours is left in them.
    """

    cli: str
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()
    forgets: bool = False


def plan_install(cli: str, *, helio: Sequence[str], env: Mapping[str, str]) -> Plan:
    """What makes `cli` know the shim and the hooks of the command `helio` (its words, from an absolute path on).

    WRONG_STATE when a file of the person's is broken, or has something else under our name; then nothing is planned.
    """
    recipe = RECIPES[cli]
    changes: list[FileChange] = []
    for target in recipe.targets(env, tuple(helio)):
        before = _read(target.path)
        with _blaming(target.path):
            after = target.content.put_into(before)
            keep = before is not None and target.content.take_from(before) == before
        if after != before:
            changes.append(FileChange(path=target.path, before=before, after=after, keep=keep))
    return Plan(cli=cli, changes=tuple(changes), notes=recipe.notes if changes else ())


def plan_uninstall(cli: str, *, helio: Sequence[str], env: Mapping[str, str]) -> Plan:
    """What takes out of the configuration of `cli` exactly what `plan_install` puts in; WRONG_STATE as there."""
    changes: list[FileChange] = []
    for target in RECIPES[cli].targets(env, tuple(helio)):
        before = _read(target.path)
        if before is None:
            continue
        with _blaming(target.path):
            after = target.content.take_from(before)
        if after == before:
            continue
        original = _read(backup_of(target.path))
        if _makes(target, original, before) or after is None:
            # Nobody changed the file since: what was there comes back whole, with what was empty in it.
            after = original
        changes.append(FileChange(path=target.path, before=before, after=after))
    return Plan(cli=cli, changes=tuple(changes), forgets=True)


def _makes(target: Target, original: str | None, now: str) -> bool:
    """Whether installing makes of `original` what is there now."""
    try:
        return target.content.put_into(original) == now
    except ValueError:
        return False


def carry_out(plan: Plan) -> None:
    """Write every change in one step each, keeping a copy of what was there; again after a failure is fine.

    WRONG_STATE when a file is no longer as it was when the plan was made; UNAVAILABLE when it cannot be written.
    """
    for change in plan.changes:
        if _read(change.path) != change.before:
            raise MeshError(
                ErrorCode.WRONG_STATE,
                f"{change.path} was changed by somebody else just now, perhaps by an agent that runs. It was left "
                "alone; run the command again.",
                {"path": str(change.path)},
            )
        try:
            _write(change)
            if plan.forgets:
                backup_of(change.path).unlink(missing_ok=True)
        except OSError as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"{change.path} could not be written: {error.strerror}. It is as it was; check the folder, then run "
                "the command again.",
                {"path": str(change.path)},
            ) from error


def backup_of(path: Path) -> Path:
    """Where the copy is kept of a file from before we came."""
    return path.with_name(path.name + BACKUP_SUFFIX)


def _write(change: FileChange) -> None:
    # Who links a file to where they keep all of theirs wants it changed there.
    path = change.path.resolve()
    if change.after is None:
        path.unlink()
        return
    mode = 0o600
    if change.before is not None:
        mode = stat.S_IMODE(path.stat().st_mode)
        if change.keep:
            _replace(backup_of(change.path), change.before, mode)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(path, change.after, mode)


def _replace(path: Path, text: str, mode: int) -> None:
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
            file.flush()
            flush(file.fileno())
        Path(fresh).replace(path)
    finally:
        # Gone already, unless something went wrong.
        Path(fresh).unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _broken(path, f"it is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise MeshError(
            ErrorCode.UNAVAILABLE, f"{path} cannot be read: {error.strerror}. Nothing was changed.", {"path": str(path)}
        ) from error


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """What is wrong with the text of a file, told with its path."""
    try:
        yield
    except ValueError as error:
        raise _broken(path, str(error)) from error


def _broken(path: Path, why: str) -> MeshError:
    return MeshError(
        ErrorCode.WRONG_STATE,
        f"{path} is not as its program writes it: {why}. Nothing was changed; put the file right, then run the command "
        "again.",
        {"path": str(path)},
    )


# --- where each CLI keeps its configuration ---------------------------------------------------------------------------


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _folder(env: Mapping[str, str], variable: str, usual: str) -> Path:
    return Path(env[variable]).expanduser() if env.get(variable) else _home(env) / usual


def _hooks(table: HookTable, client: str, helio: Sequence[str], **more: Json) -> Hooks:
    events = dict.fromkeys(event.partition(":")[0] for event in table.events)
    commands = {event: shlex.join([*helio, "hook", event, "--client", client]) for event in events}
    groups: dict[str, Json] = {
        event: {"hooks": [{"type": "command", "command": command, **more}]} for event, command in commands.items()
    }
    return Hooks(client=client, groups=groups)


def _server(helio: Sequence[str], **more: Json) -> dict[str, Json]:
    return {"command": helio[0], "args": [*helio[1:], "mcp"], **more}


def _claude(env: Mapping[str, str], helio: tuple[str, ...]) -> tuple[Target, ...]:
    own = _folder(env, "CLAUDE_CONFIG_DIR", ".claude")
    known = (own if env.get("CLAUDE_CONFIG_DIR") else _home(env)) / ".claude.json"
    server: Json = {"type": "stdio", **_server(helio), "alwaysLoad": True}
    hooks = _hooks(CLAUDE_HOOKS, "claude", helio, timeout=_HOOK_SECONDS)
    return (
        Target(path=known, content=Document(server=(("mcpServers", SERVER), server))),
        Target(path=own / "settings.json", content=Document(hooks=hooks)),
    )


def _codex(env: Mapping[str, str], helio: tuple[str, ...]) -> tuple[Target, ...]:
    own = _folder(env, "CODEX_HOME", ".codex")
    server = _server(helio, env_vars=list(_PASSED_ON), tool_timeout_sec=_TOOL_SECONDS)
    hooks = _hooks(CODEX_HOOKS, "codex", helio, timeout=_HOOK_SECONDS)
    return (
        Target(path=own / "config.toml", content=Block(table=("mcp_servers", SERVER), values=server, cli="codex")),
        Target(path=own / "hooks.json", content=Document(hooks=hooks)),
    )


def _like_gemini(own: Path, table: HookTable, client: str, helio: tuple[str, ...]) -> tuple[Target, ...]:
    server: Json = _server(helio, timeout=_TOOL_SECONDS * 1000)
    hooks = _hooks(table, client, helio, timeout=_HOOK_SECONDS * 1000)
    content = Document(server=(("mcpServers", SERVER), server), hooks=hooks)
    return (Target(path=own / "settings.json", content=content),)


def _gemini(env: Mapping[str, str], helio: tuple[str, ...]) -> tuple[Target, ...]:
    # The variable stands for the home, not for the folder in it.
    base = Path(env["GEMINI_CLI_HOME"]) if env.get("GEMINI_CLI_HOME") else _home(env)
    return _like_gemini(base / ".gemini", GEMINI_HOOKS, "gemini", helio)


def _qwen(env: Mapping[str, str], helio: tuple[str, ...]) -> tuple[Target, ...]:
    return _like_gemini(_folder(env, "QWEN_HOME", ".qwen"), QWEN_HOOKS, "qwen", helio)


def _opencode(env: Mapping[str, str], helio: tuple[str, ...]) -> tuple[Target, ...]:
    own = _folder(env, "XDG_CONFIG_HOME", ".config") / "opencode"
    # In the order in which opencode itself looks for the one to change.
    names = [own / name for name in ("opencode.jsonc", "opencode.json", "config.json")]
    server: Json = {
        "type": "local",
        "command": [*helio, "mcp"],
        "enabled": True,
        "timeout": _TOOL_SECONDS * 1000,
    }
    context = LaunchContext(folder=own, cwd=str(own), helio=helio, env={}, session="")
    ((name, plugin),) = OPENCODE.setup(context).files
    plugins = own / ("plugins" if (own / "plugins").is_dir() else "plugin")
    return (
        Target(
            path=next((path for path in names if path.exists()), names[0]),
            content=Document(server=(("mcp", SERVER), server)),
        ),
        Target(path=plugins / name, content=Whole(text=plugin, mark='"--client", "opencode"')),
    )


_RESTART: Final = "Sessions that run already see it after a restart."
RECIPES: Final[Mapping[str, Recipe]] = {
    "claude": Recipe(targets=_claude, notes=(_RESTART,)),
    "codex": Recipe(
        targets=_codex,
        notes=(
            "At its next start Codex asks to review the new hooks: choose to trust them.",
            "Start it as `codex --no-daemon`: of terminals that share a daemon, nobody can tell which one calls.",
            _RESTART,
        ),
    ),
    "gemini": Recipe(targets=_gemini, notes=(_RESTART,)),
    "opencode": Recipe(
        targets=_opencode,
        notes=("At its next start opencode loads what plugins need, for which it wants a network once.", _RESTART),
    ),
    "qwen": Recipe(targets=_qwen, notes=(_RESTART,)),
}
