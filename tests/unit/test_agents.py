"""Adapters of agent CLIs: what they make of real screens, how they start agents, what they say of installed ones."""

from __future__ import annotations

import json
import re
import shlex
import stat
import tomllib
from pathlib import Path

import pytest

from node.agents import ADAPTERS, adapter_for, adapter_named, catalogue
from node.agents.adapter import Adapter, LaunchContext, Launched, version_in
from node.agents.private_files import write_private
from node.core.agent_state import HookEvent, Sign, Track, step
from node.core.errors import ErrorCode, MeshError
from node.core.model import AgentState
from node.core.prompt import PromptState, Screen, judge, stands

SCREENS = Path(__file__).parents[1] / "vectors" / "screens"
CLIS = tuple(adapter for adapter in ADAPTERS if adapter.startable and not adapter.bundled)
NOTICE = "[heliograph] A message waits for you. Call the read_inbox tool of heliograph now."
# A place that needs care in every kind of quoting.
HOME = '/home/ada/it\'s "here" \\ $HOME'
each_cli = pytest.mark.parametrize("adapter", CLIS, ids=lambda cli: cli.name)


def screen_of(path: Path) -> Screen:
    """A captured screen; its first line says what it is of and where the cursor was."""
    head, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    found = re.search(r"cursor=(\d+),(\d+) width=(\d+)$", head)
    assert found is not None
    column, row, width = map(int, found.groups())
    return Screen(lines=tuple(lines), cursor=(column, row), width=width)


def context(folder: Path, *, trusted: bool = False) -> LaunchContext:
    env = {"HOME": str(folder / "home"), "PATH": "/usr/bin", "HELIOGRAPH_HOME": HOME, "SECRET": "s3cret"}
    return LaunchContext(
        folder=folder / "private", cwd="/home/ada/a \"b\".c", helio=("/opt/my python", "-m", "node.entry"), env=env,
        session="abcdefgh234567ab", trusted=trusted,
    )  # fmt: skip


def codex_settings(words: tuple[str, ...]) -> dict[str, object]:
    """The words -c KEY=VALUE as the settings they make: every word by itself must be TOML."""
    settings: dict[str, object] = {}
    for flag, setting in zip(words[::2], words[1::2], strict=True):
        assert flag == "-c"
        key, _, value = setting.partition("=")
        settings[key] = tomllib.loads(f"value = {value}")["value"]
    return settings


# --- screens ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(SCREENS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_real_screen_is_read_as_what_it_is(path: Path) -> None:
    name, shown, *more = path.stem.split("-")
    screen = screen_of(path)
    profile = adapter_named(name).prompt
    assert judge(screen, profile) is PromptState(shown)
    assert (stands(screen, profile, NOTICE) or stands(screen, profile, f"{NOTICE} {NOTICE}")) is (more == ["notice"])


@each_cli
def test_there_are_screens_of_every_kind(adapter: Adapter) -> None:
    stems = {path.stem.removeprefix(f"{adapter.name}-") for path in SCREENS.glob(f"{adapter.name}-*.txt")}
    wanted = {
        "idle",
        "idle-after",
        "busy",
        "busy-queue",
        "dialog",
        "draft",
        "draft-blanks",
        "draft-lines",
        "draft-notice",
    }
    assert wanted <= stems


@each_cli
def test_no_screen_of_another_agent_looks_idle(adapter: Adapter) -> None:
    """A program that took the terminal over is not taken for the agent by its screen alone."""
    others = [path for path in SCREENS.glob("*.txt") if not path.stem.startswith(adapter.name)]
    fooled = {path.stem for path in others if judge(screen_of(path), adapter.prompt) is PromptState.IDLE}
    assert fooled == set()


# --- starting --------------------------------------------------------------------------------------------------------


@each_cli
def test_a_launch_passes_on_the_node_and_nothing_secret(adapter: Adapter, tmp_path: Path) -> None:
    launched = adapter.launch(context(tmp_path), ["--model", "x"])
    assert launched.argv[0] == adapter.command
    assert launched.argv[-2:] == ("--model", "x")
    everything = json.dumps([launched.argv, launched.env, launched.files])
    assert "s3cret" not in everything
    assert "node.entry" in everything
    assert "HELIOGRAPH_HOME" in everything
    for name, _ in (*launched.files, *launched.links):
        assert not Path(name).is_absolute()
        assert ".." not in Path(name).parts
    for name, text in launched.files:
        if name.endswith(".json"):
            json.loads(text)
        if name.endswith(".toml"):
            tomllib.loads(text)


@each_cli
def test_a_conversation_is_taken_up_by_its_id_and_no_other(adapter: Adapter, tmp_path: Path) -> None:
    launched = adapter.resume(context(tmp_path), "the-id")
    assert launched.conversation == "the-id"
    assert launched.argv[-1] == "the-id"
    assert not {"--continue", "-c", "--last", "latest"} & set(launched.argv[-2:])


@each_cli
def test_an_id_is_known_before_the_start_where_it_can_be_chosen(adapter: Adapter, tmp_path: Path) -> None:
    given = context(tmp_path)
    launched = adapter.launch(given)
    assert launched.conversation == (given.conversation if adapter.chosen_id else None)
    assert (given.conversation in launched.argv) is adapter.chosen_id
    assert context(tmp_path).conversation != given.conversation


@each_cli
def test_a_hook_is_one_command_of_a_shell(adapter: Adapter, tmp_path: Path) -> None:
    words = shlex.split(context(tmp_path).hook("Stop", adapter.name))
    assert words == [
        f"HELIOGRAPH_HOME={HOME}",
        "/opt/my python",
        "-m",
        "node.entry",
        "hook",
        "Stop",
        "--client",
        adapter.name,
    ]


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen"])
def test_every_event_of_the_table_has_its_hook(name: str, tmp_path: Path) -> None:
    adapter = adapter_named(name)
    files = dict(adapter.launch(context(tmp_path)).files)
    (hooks,) = [
        data["hooks"] for text in files.values() if text.startswith("{") and "hooks" in (data := json.loads(text))
    ]
    assert set(hooks) == {event.partition(":")[0] for event in adapter.hooks.events}
    assert {len(groups) for groups in hooks.values()} == {1}


@each_cli
def test_the_hooks_tell_a_turn_from_beginning_to_end(adapter: Adapter) -> None:
    prompt = {"gemini": "BeforeAgent", "opencode": "session.status"}.get(adapter.name, "UserPromptSubmit")
    end = {"gemini": "AfterAgent", "opencode": "session.status"}.get(adapter.name, "Stop")
    subtypes = ("busy", "idle") if adapter.name == "opencode" else ("", "")
    begun = step(Track(), HookEvent(name=prompt, subtype=subtypes[0]), adapter.hooks, 1)
    assert (begun.sign, begun.track.state) == (Sign.PROMPTED, AgentState.BUSY)
    ended = step(begun.track, HookEvent(name=end, subtype=subtypes[1]), adapter.hooks, 2)
    assert (ended.sign, ended.track.state) == (Sign.RESTED, AgentState.IDLE)


def test_claude_is_given_files_that_add_to_the_persons_own(tmp_path: Path) -> None:
    given = context(tmp_path)
    launched = adapter_named("claude").launch(given)
    assert launched.argv[1:3] == (f"--mcp-config={given.folder}/mcp.json", f"--settings={given.folder}/settings.json")
    files = {name: json.loads(text) for name, text in launched.files}
    assert files["settings.json"]["permissions"] == {"allow": ["mcp__heliograph"]}
    assert files["mcp.json"]["mcpServers"]["heliograph"]["env"] == {"HELIOGRAPH_HOME": HOME}


def test_codex_is_given_settings_which_toml_reads_as_meant(tmp_path: Path) -> None:
    adapter, given = adapter_named("codex"), context(tmp_path, trusted=True)
    settings = codex_settings(adapter.launch(given).argv[1:])
    assert settings["features.daemon_auto_start"] is False
    server = settings["mcp_servers.heliograph"]
    assert isinstance(server, dict)
    assert (server["command"], server["args"]) == ("/opt/my python", ["-m", "node.entry", "mcp"])
    assert server["env"] == {"HELIOGRAPH_HOME": HOME}
    assert settings["projects"] == {given.cwd: {"trust_level": "trusted"}}
    assert "projects" not in codex_settings(adapter.launch(context(tmp_path)).argv[1:])


def test_codex_trusts_the_hooks_of_this_session_and_no_others(tmp_path: Path) -> None:
    adapter = adapter_named("codex")
    settings = codex_settings(adapter.launch(context(tmp_path)).argv[1:])
    trusted = settings["hooks.state"]
    assert isinstance(trusted, dict)
    assert set(trusted) == {
        f"/<session-flags>/config.toml:{event}:0:0"
        for event in (
            "session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "permission_request", "stop",
            "interrupt", "session_end",
        )
    }  # fmt: skip
    # One hash for each: a hook that is not the one trusted here is asked about on Codex's own screen.
    assert len({entry["trusted_hash"] for entry in trusted.values()}) == len(trusted)
    assert not any("bypass" in word for word in adapter.launch(context(tmp_path)).argv)


def test_gemini_gets_a_home_in_which_all_is_the_persons_but_for_an_extension_and_a_policy(tmp_path: Path) -> None:
    own = tmp_path / "home" / ".gemini"
    for name in ("extensions/theirs", "extensions/heliograph", "commands", "policies"):
        (own / name).mkdir(parents=True)
    (own / "policies" / "theirs.toml").write_text("", encoding="utf-8")
    launched = adapter_named("gemini").launch(context(tmp_path))
    assert dict(launched.env) == {"GEMINI_CLI_HOME": str(tmp_path / "private")}
    links = dict(launched.links)
    for name in ("settings.json", "oauth_creds.json", "commands", "extensions/theirs", "policies/theirs.toml"):
        assert links[f".gemini/{name}"] == str(own / name)
    assert not {".gemini/extensions", ".gemini/policies", ".gemini/extensions/heliograph", ".gemini/tmp"} & set(links)
    (tmp_path / "other").mkdir()
    assert dict(adapter_named("gemini").launch(context(tmp_path / "other")).links)


def test_a_folder_is_trusted_by_word_of_a_person_only(tmp_path: Path) -> None:
    for name, variable in (("gemini", "GEMINI_CLI_TRUST_WORKSPACE"), ("qwen", "QWEN_CODE_TRUSTED_FOLDERS_PATH")):
        adapter = adapter_named(name)
        assert variable in dict(adapter.launch(context(tmp_path, trusted=True)).env)
        assert variable not in dict(adapter.launch(context(tmp_path)).env)


def test_opencode_is_given_a_plugin_and_rules_that_come_last(tmp_path: Path) -> None:
    launched = adapter_named("opencode").launch(context(tmp_path))
    content = json.loads(dict(launched.env)["OPENCODE_CONFIG_CONTENT"])
    assert content["permission"] == {"heliograph_*": "allow"}
    assert content["plugin"] == [(tmp_path / "private" / "heliograph.js").as_uri()]
    source = dict(launched.files)["heliograph.js"]
    assert json.dumps(["/opt/my python", "-m", "node.entry"]) in source
    assert "__" not in source


@each_cli
def test_a_question_is_never_taken_for_an_option(adapter: Adapter) -> None:
    argv = adapter.one_shot("--help me")
    assert argv[-2:] == ("--", "--help me") or argv[-1] == "--prompt=--help me"
    assert len(adapter.one_shot("x", read_only=False)) < len(argv)


def test_what_cannot_be_started_says_so(tmp_path: Path) -> None:
    generic = adapter_for(["/usr/bin/emacs"])
    for attempt in (lambda: generic.launch(context(tmp_path)), lambda: generic.one_shot("x")):
        with pytest.raises(MeshError) as refused:
            attempt()
        assert refused.value.code is ErrorCode.UNSUPPORTED


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["claude"], "claude"),
        (["/opt/bin/codex", "resume", "x"], "codex"),
        (["node", "/usr/lib/node_modules/.bin/gemini"], "gemini"),
        (["bash", "-lc", "qwen"], "qwen"),
        (["npx", "opencode"], "opencode"),
        (["vim", "claude.py"], "generic"),
    ],
)
def test_a_command_line_is_recognised(argv: list[str], name: str) -> None:
    assert adapter_for(argv).name == name


# --- private files ---------------------------------------------------------------------------------------------------


def test_private_files_are_private_and_written_anew(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    write_private(folder, Launched(argv=("x",), files=(("deep/one.json", "old"),), links=(("deep/two", "/nowhere"),)))
    write_private(folder, Launched(argv=("x",), files=(("deep/one.json", "new"),), links=(("deep/two", "/etc"),)))
    assert (folder / "deep" / "one.json").read_text(encoding="utf-8") == "new"
    assert (folder / "deep" / "two").readlink() == Path("/etc")
    assert stat.S_IMODE((folder / "deep" / "one.json").stat().st_mode) == 0o600
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "deep")} == {0o700}


def test_what_the_agent_put_in_place_of_a_link_stays(tmp_path: Path) -> None:
    launched = Launched(argv=("x",), links=(("projects.json", str(tmp_path / "theirs")),))
    write_private(tmp_path / "private", launched)
    (tmp_path / "private" / "projects.json").unlink()
    (tmp_path / "private" / "projects.json").write_text("the agent's", encoding="utf-8")
    write_private(tmp_path / "private", launched)
    assert (tmp_path / "private" / "projects.json").read_text(encoding="utf-8") == "the agent's"


def test_a_file_is_never_written_through_a_link_that_is_in_its_place(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs", encoding="utf-8")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "settings.json").symlink_to(theirs)
    write_private(tmp_path / "private", Launched(argv=("x",), files=(("settings.json", "ours"),)))
    assert theirs.read_text(encoding="utf-8") == "theirs"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(MeshError) as refused:
        write_private(tmp_path / "file" / "below", Launched(argv=("x",), files=(("a", ""),)))
    assert refused.value.code is ErrorCode.UNAVAILABLE
    assert str(tmp_path / "file") in refused.value.message


# --- what is installed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.332 (Claude Code)\n", (2, 1, 332)),
        ("WARNING: about v1\ncodex-cli 0.171.0\n", (0, 171, 0)),
        ("0.61.0\n", (0, 61, 0)),
        ("1.18.33-beta.1\n", (1, 18, 33)),
        ("10.0.0.1\n", None),
        ("unknown\n", None),
    ],
)
def test_a_version_is_read_from_what_programs_print(said: str, version: tuple[int, int, int] | None) -> None:
    assert version_in(said) == version


def test_the_catalogue_says_what_is_here_and_what_is_the_matter(tmp_path: Path) -> None:
    says = {
        "claude": "echo '2.1.332 (Claude Code)'",
        "codex": "echo codex-cli 0.99.1",
        "gemini": "echo 1.0.0",
        "qwen": "echo broken >&2; exit 3",
    }
    for name, line in says.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    found = {one.name: one for one in catalogue({"PATH": str(tmp_path)})}
    assert set(found) == {"claude", "codex", "gemini", "opencode", "qwen"}
    assert (found["claude"].version, found["claude"].works, found["claude"].why_not) == ("2.1.332", True, "")
    assert found["claude"].path == str(tmp_path / "claude")
    assert not any(found[name].works for name in ("codex", "gemini", "opencode", "qwen"))
    assert "0.99.1 is older than 0.171.0" in found["codex"].why_not
    assert "1.0.0 is newer than 0.61.0" in found["gemini"].why_not
    assert "not installed" in found["opencode"].why_not
    assert "exit 3" in found["qwen"].why_not
    assert "broken" in found["qwen"].why_not
