"""`helio install` as a person meets it: the change first, then a question, then what was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from node.cli.install_commands import helio_words
from node.core.errors import ErrorCode
from node.errmap import MEANINGS


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's home, with a configuration of Qwen Code."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = tmp_path / ".qwen" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "env": "C:\\\\x \u202e"\n}\n', encoding="utf-8")
    return settings


def test_without_a_terminal_nothing_is_changed_unless_it_was_said_to_be(helio, person):
    before = person.read_text()
    result = helio("install", "qwen")
    assert result.exit_code == MEANINGS[ErrorCode.WRONG_STATE].exit
    assert f"+++ {person}" in result.stdout
    assert "--yes" in result.stderr
    assert person.read_text() == before


def test_what_would_change_is_shown_as_it_stands_in_the_file_but_for_what_hides(helio, person):
    shown = helio("install", "qwen", "--show").stdout
    assert '-  "env": "C:\\\\x \\u{202e}"' in shown.splitlines()
    assert shown.endswith("Nothing was changed.\n")
    assert "heliograph" not in person.read_text()


def test_installed_once_then_nothing_to_do_then_taken_out(helio, person):
    before = person.read_text()
    done = helio("install", "qwen", "--yes")
    assert done.exit_code == 0
    assert f"Wrote {person} (as it was: {person}.before-heliograph)" in done.stdout
    assert "heliograph" in person.read_text()
    again = helio("install", "qwen")
    assert (again.exit_code, again.stdout) == (0, "qwen knows heliograph already; there is nothing to do.\n")
    assert helio("uninstall", "qwen", "--yes").exit_code == 0
    assert person.read_text() == before
    assert "nothing to do" in helio("uninstall", "qwen").stdout


def test_for_scripts_it_is_one_document(helio, person):
    shown = json.loads(helio("install", "qwen", "--show", "--json").stdout)
    assert (shown["cli"], shown["applied"], shown["files"][0]["path"]) == ("qwen", False, str(person))
    done = json.loads(helio("install", "qwen", "--yes", "--json").stdout)
    assert done["applied"] is True
    assert any("mcpServers" in line for line in done["files"][0]["diff"])
    assert json.loads(helio("install", "qwen", "--json").stdout) == {
        "cli": "qwen", "applied": False, "files": [], "notes": [],
    }  # fmt: skip


def test_a_broken_file_is_named_and_left(helio, person):
    person.write_text("{", encoding="utf-8")
    result = helio("install", "qwen", "--yes")
    assert result.exit_code == MEANINGS[ErrorCode.WRONG_STATE].exit
    assert str(person) in result.stderr
    assert "Traceback" not in result.output
    assert person.read_text() == "{"


def test_the_own_script_is_preferred_by_the_path_it_was_called_by(tmp_path):
    script = tmp_path / "bin" / "helio"
    script.parent.mkdir()
    script.touch(mode=0o755)
    (tmp_path / "link").mkdir()
    link = tmp_path / "link" / "helio"
    link.symlink_to(script)
    assert helio_words(str(link), "/usr/bin/python3") == (str(link),)
    assert helio_words("/somewhere/pytest", str(script.with_name("python3"))) == (str(script),)
    words = helio_words("/somewhere/pytest", "/nowhere/python3")
    assert words[-4:][1:] == ("-P", "-m", "node.entry")
    assert words[0].startswith("/")
