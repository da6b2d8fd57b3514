"""The homes of people who use the agent CLIs: logged in, first questions answered, nothing of heliograph in them.

Each puts the settings of one CLI below a home and gives the environment in which it talks with a fake model only. The
environment is made from nothing: a test must not inherit a key, an address or a session from whoever runs it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# MCP servers that the person has, by name: their command lines.
Servers = Mapping[str, Sequence[str]]
Home = Callable[[Path, Sequence[Path], str, Servers], dict[str, str]]

_KEY = "fake-key-0123456789abcdefghij"


def claude(home: Path, trusted: Sequence[Path], base: str, servers: Servers) -> dict[str, str]:
    """Claude Code."""
    _write(home / ".claude.json", {
        # Without these it calls its maker, or asks, before anything else.
        "hasCompletedOnboarding": True, "theme": "dark", "hasSeenAutoDefaultNudge": True,
        "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
        "projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in trusted},
        "mcpServers": {name: {"type": "stdio", "command": words[0], "args": list(words[1:]), "alwaysLoad": True}
                       for name, words in servers.items()},
    })  # fmt: skip
    # Its automatic mode asks its maker about every action.
    _write(home / ".claude" / "settings.json", {"permissions": {"defaultMode": "default"}})
    silent = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY",
              "DISABLE_ERROR_REPORTING")  # fmt: skip
    return _env(home, ANTHROPIC_BASE_URL=base, ANTHROPIC_API_KEY=_KEY, **dict.fromkeys(silent, "1"))


def codex(home: Path, trusted: Sequence[Path], base: str, servers: Servers) -> dict[str, str]:
    """Codex."""
    text = json.dumps
    lines = [
        'model = "fake-model"', 'model_provider = "fake"', "check_for_update_on_startup = false",
        "[model_providers.fake]", 'name = "fake"', f"base_url = {text(base + '/v1')}", 'wire_api = "responses"',
        'env_key = "FAKE_KEY"', "request_max_retries = 0", "stream_max_retries = 0",
        "[analytics]", "enabled = false", "[feedback]", "enabled = false",
        "[otel]", 'exporter = "none"', 'metrics_exporter = "none"',
    ]  # fmt: skip
    for folder in trusted:
        lines += [f"[projects.{text(str(folder))}]", 'trust_level = "trusted"']
    for name, words in servers.items():
        lines += [f"[mcp_servers.{name}]", f"command = {text(words[0])}", f"args = {text(list(words[1:]))}"]
        lines += ["required = true", 'default_tools_approval_mode = "prompt"']
    _write(home / ".codex" / "config.toml", "\n".join(lines) + "\n")
    return _env(home, FAKE_KEY="fake")


def gemini(home: Path, trusted: Sequence[Path], base: str, servers: Servers) -> dict[str, str]:
    """Gemini CLI."""
    _gemini_like(home / ".gemini", trusted, servers, {"model": {"name": "gemini-2.5-flash"}}, login="gemini-api-key")
    return _env(home, GEMINI_API_KEY="fake", GOOGLE_GEMINI_BASE_URL=base)


def qwen(home: Path, trusted: Sequence[Path], base: str, servers: Servers) -> dict[str, str]:
    """Qwen Code."""
    more = {"model": {"name": "fake-model"}, "memory": {"enableManagedAutoMemory": False}}
    _gemini_like(home / ".qwen", trusted, servers, more, login="openai")
    return _env(home, OPENAI_API_KEY="fake", OPENAI_BASE_URL=f"{base}/v1", OPENAI_MODEL="fake-model")


def _gemini_like(
    folder: Path, trusted: Sequence[Path], servers: Servers, more: Mapping[str, object], *, login: str
) -> None:
    _write(folder / "settings.json", {
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        "ui": {"theme": "Default", "hideTips": True, "hideBanner": True},
        "ide": {"enabled": False, "hasSeenNudge": True},
        "security": {"auth": {"selectedType": login}, "folderTrust": {"enabled": True}},
        "mcpServers": {name: {"command": words[0], "args": list(words[1:])} for name, words in servers.items()},
        **more,
    })  # fmt: skip
    _write(folder / "trustedFolders.json", {str(path): "TRUST_FOLDER" for path in trusted})


def opencode(home: Path, _trusted: Sequence[Path], base: str, servers: Servers) -> dict[str, str]:
    """opencode."""
    folder = home / ".config" / "opencode"
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": {"baseURL": f"{base}/v1", "apiKey": "fake"},
        "models": {"fake-model": {"name": "Fake", "tool_call": True, "limit": {"context": 200000, "output": 8000}}},
    }  # fmt: skip
    _write(folder / "opencode.json", {
        "autoupdate": False, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
        "provider": {"fake": provider}, "permission": {"*_*": "ask"},
        "mcp": {name: {"type": "local", "command": list(words), "enabled": True} for name, words in servers.items()},
    })  # fmt: skip
    # It fetches this package for whoever has a plugin, and waits over a minute for it where there is no network.
    (folder / "node_modules").mkdir(exist_ok=True)
    fetched = {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}
    _write(folder / "package-lock.json", {"name": "opencode", "lockfileVersion": 3, "packages": fetched})
    silent = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return _env(home, **{f"OPENCODE_DISABLE_{what}": "1" for what in silent})


HOMES: Mapping[str, Home] = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode, "qwen": qwen}
# How each names the tool of an MCP server to its model, as a pattern for a script. Qwen Code offers none of them before
# they were looked for, but takes the whole name.
TOOL_NAMES: Mapping[str, str] = {
    "claude": "mcp__{server}__{tool}",
    "codex": "mcp__{server}.{tool}",
    "gemini": "mcp_{server}_{tool}",
    "opencode": "{server}_{tool}",
    "qwen": "mcp__{server}__{tool}",
}


def _env(home: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {"TERM": "xterm-256color", "LANG": "C.UTF-8", **kept, "HOME": str(home), "DO_NOT_TRACK": "1", **more}


def _write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data, indent=2), encoding="utf-8")
