"""`helio install`: of the person's own files only what is ours comes and goes, and a broken file is left alone."""

from __future__ import annotations

import json
import resource
import stat
import tomllib
from pathlib import Path

import pytest

from node import install
from node.core import json_text
from node.core.errors import ErrorCode, MeshError
from node.install import RECIPES, Plan, carry_out, plan_install, plan_uninstall

HELIO = ("/opt/my tools/bin/helio",)
CLIS = sorted(RECIPES)
# What a person's configuration may look like: their own order, indent, comments, line ends and neighbours of ours.
OWN = {
    "claude": {
        ".claude.json": '{\n\t"numStartups": 7,\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t},'
        '\n\t"z": "\\u00fc"\n}',
        ".claude/settings.json": '{\r\n  "hooks": {\r\n    "Stop": [\r\n'
        '      {"hooks": [{"type": "command", "command": "say done"}]}\r\n    ]\r\n  },\r\n  "env": {}\r\n}\r\n',
    },
    "codex": {
        ".codex/config.toml": '# mine\nmodel = "o"   # the best\n\n[mcp_servers.other]\ncommand = "x"\n'
        "[features]\na = true",
        ".codex/hooks.json": '{"hooks":{"Stop":[]}}',
    },
    "gemini": {".gemini/settings.json": '{\n    // my theme\n    "ui": {"theme": "Default",}, /* "hooks": {} */\n}\n'},
    "opencode": {".config/opencode/opencode.json": '{"$schema": "s", "mcp": {}, "theme": "x"}'},
    "qwen": {".qwen/settings.json": "{}"},
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def env(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), **more}


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def contents(home: Path) -> dict[str, str]:
    """Every file by its path, but for what was kept of others."""
    found = (path for path in home.rglob("*") if path.is_file() and not path.name.endswith(install.BACKUP_SUFFIX))
    return {str(path.relative_to(home)): path.read_bytes().decode() for path in found}


def run_install(cli: str, home: Path, helio: tuple[str, ...] = HELIO, **more: str) -> Plan:
    plan = plan_install(cli, helio=helio, env=env(home, **more))
    carry_out(plan)
    return plan


def run_uninstall(cli: str, home: Path, helio: tuple[str, ...] = HELIO, **more: str) -> Plan:
    plan = plan_uninstall(cli, helio=helio, env=env(home, **more))
    carry_out(plan)
    return plan


@pytest.mark.parametrize("cli", CLIS)
def test_installing_twice_is_installing_once_and_uninstalling_leaves_every_byte_as_it_was(cli: str, home: Path) -> None:
    write(home, OWN[cli])
    assert run_install(cli, home).changes
    installed = contents(home)
    assert installed.keys() >= OWN[cli].keys()
    assert all(installed[name] != text for name, text in OWN[cli].items())
    assert run_install(cli, home).changes == ()
    assert contents(home) == installed
    assert run_uninstall(cli, home).changes
    assert contents(home) == OWN[cli]
    assert not list(home.rglob(f"*{install.BACKUP_SUFFIX}"))
    assert run_uninstall(cli, home).changes == ()


@pytest.mark.parametrize("cli", CLIS)
def test_where_there_was_nothing_there_is_nothing_afterwards(cli: str, home: Path) -> None:
    plan = run_install(cli, home)
    assert all(stat.S_IMODE(change.path.stat().st_mode) == 0o600 for change in plan.changes)
    assert run_install(cli, home).changes == ()
    run_uninstall(cli, home)
    assert contents(home) == {}


@pytest.mark.parametrize("cli", CLIS)
def test_what_others_changed_since_stays(cli: str, home: Path) -> None:
    write(home, OWN[cli])
    run_install(cli, home)
    mine = {name: text.replace("\n", "  \n", 1) for name, text in contents(home).items() if name in OWN[cli]}
    write(home, mine)
    run_uninstall(cli, home)
    left = contents(home)
    assert left.keys() == OWN[cli].keys()
    for name, text in OWN[cli].items():
        assert "helio" not in left[name]
        if name.endswith(".toml"):
            assert tomllib.loads(left[name]) == tomllib.loads(text)
        else:
            assert _without_empties(json_text.parse(left[name])) == _without_empties(json_text.parse(text))


def _without_empties(value: json_text.Json) -> json_text.Json:
    if isinstance(value, list):
        return [_without_empties(item) for item in value]
    if isinstance(value, dict):
        inner = {key: _without_empties(item) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item not in ({}, [])}
    return value


@pytest.mark.parametrize("cli", CLIS)
def test_a_helio_that_moved_is_found_again_and_replaced(cli: str, home: Path) -> None:
    write(home, OWN[cli])
    run_install(cli, home, ("/old/bin/helio",))
    run_install(cli, home)
    everything = "".join(contents(home).values())
    assert "/old/bin" not in everything
    assert "/opt/my tools/bin/helio" in everything
    fresh = home / "fresh"
    write(fresh, OWN[cli])
    run_install(cli, fresh)
    assert {name: text for name, text in contents(home).items() if not name.startswith("fresh")} == contents(fresh)
    run_uninstall(cli, home)
    assert {name: text for name, text in contents(home).items() if not name.startswith("fresh")} == OWN[cli]


def test_a_hook_of_an_event_that_is_no_longer_wanted_goes(home: Path) -> None:
    old = {"hooks": [{"type": "command", "command": "/old/helio hook Gone --client qwen"}]}
    write(home, {".qwen/settings.json": json.dumps({"hooks": {"Gone": [old], "Stop": [old, old]}})})
    run_install("qwen", home)
    hooks = json.loads((home / ".qwen/settings.json").read_text())["hooks"]
    assert "Gone" not in hooks
    assert len(hooks["Stop"]) == 1


def test_claude_gets_a_server_and_quoted_hooks_beside_what_there_is(home: Path) -> None:
    write(home, OWN["claude"])
    run_install("claude", home)
    known = json.loads((home / ".claude.json").read_text())
    assert known["mcpServers"]["other"] == {"command": "x"}
    assert known["mcpServers"]["heliograph"] == {
        "type": "stdio", "command": HELIO[0], "args": ["mcp"], "alwaysLoad": True,
    }  # fmt: skip
    theirs, ours = json.loads((home / ".claude/settings.json").read_text())["hooks"]["Stop"]
    assert theirs["hooks"][0]["command"] == "say done"
    assert ours["hooks"][0]["command"] == "'/opt/my tools/bin/helio' hook Stop --client claude"


def test_codex_gets_a_marked_table_behind_everything_else(home: Path) -> None:
    write(home, OWN["codex"])
    run_install("codex", home)
    text = (home / ".codex/config.toml").read_text()
    assert text.startswith(OWN["codex"][".codex/config.toml"] + "\n\n# >>> heliograph: ")
    assert text.endswith("# <<< heliograph\n")
    servers = tomllib.loads(text)["mcp_servers"]
    assert servers["heliograph"]["env_vars"] == ["HELIOGRAPH_HOME", "HELIOGRAPH_SESSION"]
    assert servers["other"] == {"command": "x"}
    # What a person adds behind our part stays, wherever our part goes.
    (home / ".codex/config.toml").write_text(text + '\n[tools]\nx = "y"\n')
    run_install("codex", home, ("/new/helio",))
    assert tomllib.loads((home / ".codex/config.toml").read_text())["tools"] == {"x": "y"}
    run_uninstall("codex", home)
    assert tomllib.loads((home / ".codex/config.toml").read_text()) == {
        **tomllib.loads(OWN["codex"][".codex/config.toml"]), "tools": {"x": "y"},
    }  # fmt: skip


def test_comments_stay_where_a_cli_allows_them(home: Path) -> None:
    write(home, OWN["gemini"])
    run_install("gemini", home)
    text = (home / ".gemini/settings.json").read_text()
    assert "    // my theme\n" in text
    assert '/* "hooks": {} */' in text
    assert json_text.parse(text)["mcpServers"]["heliograph"]["timeout"] == 630_000  # type: ignore[index, call-overload]


def test_the_plugin_for_opencode_starts_this_helio(home: Path) -> None:
    run_install("opencode", home)
    plugin = (home / ".config/opencode/plugin/heliograph.js").read_text()
    assert json.dumps(list(HELIO)) in plugin.replace(", ", ",").replace(",", ", ")
    config = json.loads((home / ".config/opencode/opencode.jsonc").read_text())
    assert config["mcp"]["heliograph"]["command"] == [*HELIO, "mcp"]


@pytest.mark.parametrize(
    ("cli", "variable", "file"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.jsonc"),
    ],
)
def test_a_configuration_kept_elsewhere_is_found(cli: str, variable: str, file: str, home: Path) -> None:
    elsewhere = home / "else where"
    run_install(cli, home, **{variable: str(elsewhere)})
    assert (elsewhere / file).exists()
    assert all(name.startswith("else where/") for name in contents(home))


@pytest.mark.parametrize(
    ("cli", "file", "text", "words"),
    [
        ("claude", ".claude.json", '{"a": 1', "line 1"),
        ("claude", ".claude.json", '{"a": 1}\n}', "line 2"),
        ("claude", ".claude.json", '{"a" 1}', "a colon"),
        ("claude", ".claude.json", '{"a": 1 "b": 2}', "a comma"),
        ("claude", ".claude.json", "[1]", "no JSON object"),
        ("claude", ".claude.json", '{"mcpServers": []}', "mcpServers is no object"),
        ("claude", ".claude.json", '{"mcpServers": {"heliograph": {"command": "other"}}}', "another MCP server"),
        ("claude", ".claude/settings.json", '{"hooks": {"Stop": {}}}', "hooks.Stop is no list"),
        ("claude", ".claude/settings.json", '{"hooks": 1}', "hooks is no object"),
        ("codex", ".codex/config.toml", "a = ", "no TOML"),
        ("codex", ".codex/config.toml", "mcp_servers = {}", "cannot be added"),
        ("codex", ".codex/config.toml", "mcp_servers = 1", "no table"),
        ("codex", ".codex/config.toml", '[mcp_servers.heliograph]\ncommand = "x"', "another MCP server"),
        ("opencode", ".config/opencode/plugin/heliograph.js", "export {}", "not ours"),
    ],
)
def test_a_broken_file_or_somebody_elses_is_named_and_nothing_is_written(
    cli: str, file: str, text: str, words: str, home: Path
) -> None:
    write(home, {file: text})
    with pytest.raises(MeshError, match=words) as refused:
        plan_install(cli, helio=HELIO, env=env(home))
    assert refused.value.code is ErrorCode.WRONG_STATE
    assert str(home / file) in refused.value.message
    assert contents(home) == {file: text}


def test_bytes_that_are_no_text_are_left_alone(home: Path) -> None:
    (home / ".claude.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(MeshError, match=r"UTF-8.*byte 7"):
        plan_install("claude", helio=HELIO, env=env(home))
    assert (home / ".claude.json").read_bytes() == b'{"a": "\xff"}'


@pytest.mark.parametrize("cli", CLIS)
def test_uninstalling_leaves_alone_what_only_looks_like_ours(cli: str, home: Path) -> None:
    files = {
        "claude": {".claude.json": '{"mcpServers": {"heliograph": {"command": "other", "args": []}}}'},
        "codex": {".codex/config.toml": '[mcp_servers.heliograph]\ncommand = "x"\n'},
        "gemini": {
            ".gemini/settings.json": '{"hooks": {"Stop": [{"hooks": [{"command": "x hook Stop --client y"}]}]}}'
        },
        "opencode": {".config/opencode/plugin/heliograph.js": "export {}"},
        "qwen": {
            ".qwen/settings.json": '{"hooks": {"Stop": [{"hooks": []}, '
            '{"hooks": [{"command": "/x/helio hook Stop --client gemini"}]}]}}'
        },
    }[cli]
    write(home, files)
    assert run_uninstall(cli, home).changes == ()
    assert contents(home) == files


def test_a_file_that_changed_since_it_was_planned_is_left_alone(home: Path) -> None:
    write(home, OWN["claude"])
    plan = plan_install("claude", helio=HELIO, env=env(home))
    write(home, {".claude.json": '{"numStartups": 8}'})
    with pytest.raises(MeshError, match="run the command again") as refused:
        carry_out(plan)
    assert refused.value.code is ErrorCode.WRONG_STATE
    assert (home / ".claude.json").read_text() == '{"numStartups": 8}'


def test_a_link_stays_a_link_and_the_mode_stays(home: Path) -> None:
    write(home, {"dotfiles/claude.json": '{"a": 1}'})
    (home / "dotfiles/claude.json").chmod(0o640)
    (home / ".claude.json").symlink_to(home / "dotfiles/claude.json")
    run_install("claude", home)
    assert (home / ".claude.json").is_symlink()
    assert "heliograph" in (home / "dotfiles/claude.json").read_text()
    assert stat.S_IMODE((home / "dotfiles/claude.json").stat().st_mode) == 0o640
    assert install.backup_of(home / ".claude.json").read_text() == '{"a": 1}'


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_changed(home: Path) -> None:
    write(home, OWN["qwen"])
    plan = plan_install("qwen", helio=HELIO, env=env(home))
    # Not by permissions, which mean nothing to root: no file of this process may have a byte.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(MeshError, match=r"could not be written") as refused:
            carry_out(plan)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.code is ErrorCode.UNAVAILABLE
    assert contents(home) == OWN["qwen"]


def test_a_change_is_told_as_a_diff(home: Path) -> None:
    write(home, {".qwen/settings.json": '{\n  "a": 1\n}\n'})
    (change,) = plan_install("qwen", helio=HELIO, env=env(home)).changes
    lines = change.diff()
    assert lines[:2] == (f"--- {change.path}", f"+++ {change.path}")
    assert '-  "a": 1' in lines
    assert '+  "a": 1,' in lines
    assert not [line for line in lines if line.endswith("\n")]
