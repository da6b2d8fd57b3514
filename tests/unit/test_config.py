"""What config.toml may say, and how it is told what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.config import Config, IdentityConfig, MeshConfig, ScreenConfig, load
from node.core.errors import ErrorCode
from tests.integration.mesh import refused


def settings(home: Path, text: str) -> Config:
    (home / "config.toml").write_text(text, encoding="utf-8")
    return load(home)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", MeshConfig()),
        ("[mesh]", MeshConfig()),
        (
            "[mesh]\nlisten = false\nport = 1\npairing_port = 65535",
            MeshConfig(listen=False, port=1, pairing_port=65_535),
        ),
        ('[mesh]\ninterfaces = ["en0"]\nannounce_name = true', MeshConfig(interfaces=("en0",), announce_name=True)),
        # Any free port twice is two ports.
        ("[mesh]\nport = 0\npairing_port = 0", MeshConfig(port=0, pairing_port=0)),
        # The one for peers stays closed.
        ("[mesh]\nlisten = false\nport = 4355", MeshConfig(listen=False, port=4_355)),
        ('[mesh]\nhost = "192.0.2.7"', MeshConfig(host="192.0.2.7")),
        ('[mesh]\nhost = "fd00::20"', MeshConfig(host="fd00::20")),
    ],
)
def test_what_is_under_mesh_stands_over_the_defaults(tmp_path: Path, text: str, expected: MeshConfig) -> None:
    assert settings(tmp_path, text).mesh == expected


def test_keys_go_into_the_keychain_unless_that_is_off(tmp_path: Path) -> None:
    assert settings(tmp_path, "[identity]") == settings(tmp_path, '[identity]\nkeychain = "auto"') == Config()
    told = settings(tmp_path, '[identity]\nkeychain = "off"\n[mesh]\nport = 1')
    assert (told.identity, told.mesh) == (IdentityConfig(keychain="off"), MeshConfig(port=1))


def test_messages_with_credentials_are_withheld_unless_they_are_to_be_redacted(tmp_path: Path) -> None:
    assert settings(tmp_path, "[screen]").screen == ScreenConfig(credentials="withhold") == Config().screen
    assert settings(tmp_path, '[screen]\ncredentials = "redact"').screen == ScreenConfig(credentials="redact")


def test_without_a_file_there_are_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mesh = 3", ("mesh is a section, not 3", "[mesh]")),
        ("limits = 3", ("limits is a section, not 3", "[limits]")),
        ("[[mesh]]\nport = 1", ("mesh is a section", "[mesh]")),
        ("other = 3", ("'other'", "identity, limits, mesh, screen")),
        ("[mesh]\nports = 3", ("'ports'", "pairing_port")),
        ('[mesh]\nport = "1"', ("port under [mesh] is a whole number, not '1'",)),
        ("[mesh]\nport = true", ("port under [mesh] is a whole number, not True",)),
        ("[mesh]\ndiscovery = 1", ("discovery under [mesh] is true or false, not 1",)),
        ("[mesh]\nhost = 1", ("host under [mesh] is a text, not 1",)),
        ('[mesh]\ninterfaces = "en0"', ("interfaces under [mesh] is a list of texts, not 'en0'",)),
        ("[mesh]\ninterfaces = [1]", ("interfaces under [mesh] is a list of texts, not [1]",)),
        ("[mesh]\nport = 65536", ("port under [mesh] is 0 to 65535, not 65536",)),
        ("[mesh]\nport = -1", ("port under [mesh] is 0 to 65535, not -1",)),
        ("[mesh]\npairing_port = 99999", ("pairing_port under [mesh] is 0 to 65535, not 99999",)),
        ("[mesh]\npairing_port = 4354", ("port and pairing_port under [mesh] are both 4354", "of them another")),
        ('[mesh]\nhost = "nonsense"', ("host under [mesh] is an IP address", "192.168.1.20", "not 'nonsense'")),
        ('[mesh]\nhost = "192.0.2.7:4354"', ("host under [mesh] is an IP address", "not '192.0.2.7:4354'")),
        ('[mesh]\nhost = "[fd00::20]"', ("host under [mesh] is an IP address",)),
        ("[limits]\nhops = true", ("limits are whole numbers, not hops = True",)),
        ("identity = 1", ("identity is a section, not 1", "[identity]")),
        ('[identity]\nkeychain = "on"', ('keychain under [identity] is "auto" or "off"', "not 'on'")),
        ("[identity]\nkeychain = true", ("keychain under [identity]", "not True")),
        ('[identity]\nkeychain = ["off"]', ("keychain under [identity]", "not ['off']")),
        ('[screen]\ncredentials = "off"', ('credentials under [screen] is "withhold" or "redact"', "not 'off'")),
        ('[identity]\nkeyring = "off"', ("'keyring' under [identity]", "the settings are: keychain.")),
        ("[mesh\n", ("is not valid TOML",)),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_what_to_write(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "config.toml", *words):
        settings(tmp_path, text)
