"""Where log keys are kept, who may read them, and what is left of a former one."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from node import config, identity
from node.core.errors import ErrorCode
from node.core.log_key import LogKey
from node.core.timeline_check import ProblemCode
from node.identity import Identity, rotate
from node.log_keys import LogKeys
from node.parts import Parts, build, entropy
from node.platform import clocks, paths
from node.proofs import read_seen
from tests.clock_twins import START_US, CountedEntropy
from tests.integration.mesh import refused, scenario
from tests.keychains import FileKeyring, vault

ORIGIN = "local/node/1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "identity"


@pytest.fixture
def me(folder: Path) -> Identity:
    return identity.load_or_create(folder, now_us=START_US, entropy=entropy)


def ids(key: LogKey) -> frozenset[bytes]:
    return frozenset({bytes.fromhex(key.id_of(ORIGIN))})


@pytest.mark.parametrize("dual", [False, True])
def test_a_key_is_made_once_and_is_its_owners_alone(folder: Path, me: Identity, *, dual: bool) -> None:
    key = LogKeys(folder, me, entropy=entropy, dual=dual).signer().key
    assert LogKeys(folder, me, entropy=entropy, dual=dual).signer().key == key
    assert (key.second is not None) is dual
    files = sorted(folder.glob("log-*"))
    assert len(files) == (2 if dual else 1)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_the_keychain_has_it_where_the_node_s_key_is_there(folder: Path, me: Identity, tmp_path: Path) -> None:
    keyring = FileKeyring(tmp_path / "keychain")
    kept = vault(keyring)
    key = LogKeys(folder, me, entropy=CountedEntropy(), vault=kept, dual=True).signer().key
    assert all(b"PRIVATE KEY" not in path.read_bytes() for path in folder.glob("log-*"))
    assert len(keyring.items) == 2
    assert LogKeys(folder, me, entropy=entropy, vault=kept, dual=True).signer().key == key
    LogKeys(folder, me, entropy=entropy, vault=kept).forget_former()
    assert keyring.items == {}


def test_a_former_key_signs_once_more_and_is_deleted(folder: Path, me: Identity) -> None:
    old = LogKeys(folder, me, entropy=entropy).signer().key
    new = LogKeys(folder, me, entropy=entropy, dual=True)
    assert new.signer().key != old
    found = new.former(ids(old), ORIGIN)
    assert found is not None
    assert found.key == old
    assert new.former(ids(new.signer().key), ORIGIN) is None
    new.forget_former()
    assert new.former(ids(old), ORIGIN) is None
    assert LogKeys(folder, me, entropy=entropy, dual=True).signer().key == new.signer().key


def test_public_halves_stay_known(folder: Path, me: Identity) -> None:
    keys = LogKeys(folder, me, entropy=entropy, dual=True)
    assert keys.known() == ()
    for first in (3, 9, 9):
        keys.remember(ORIGIN, first, keys.signer().key)
    assert [(one.log, one.first, one.key) for one in LogKeys(folder, me, entropy=entropy).known()] == [
        (ORIGIN, 3, keys.signer().key), (ORIGIN, 9, keys.signer().key),
    ]  # fmt: skip
    (folder / "log-keys.json").write_text("[{")
    assert keys.known() == ()


def test_a_damaged_key_is_not_replaced_in_silence(folder: Path, me: Identity) -> None:
    LogKeys(folder, me, entropy=entropy).signer()
    (path,) = folder.glob("log-*.key")
    path.write_text("nonsense")
    with refused(ErrorCode.TAMPERED, str(path), "Restore it"):
        LogKeys(folder, me, entropy=entropy).signer()
    assert path.read_text() == "nonsense"
    assert LogKeys(folder, me, entropy=entropy, dual=True).former(ids(LogKey(public=bytes(32))), ORIGIN) is None


async def verdict(parts: Parts) -> tuple[bool, int, list[str]]:
    result = [progress.result async for progress in parts.proofs.verify()][-1]
    assert result is not None
    assert result.ok is (result.problem is None)
    return result.ok, result.covered, [one.how for one in result.keys]


@scenario
async def test_a_node_signs_through_a_rotation_and_a_second_signature(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    settings = config.Config()
    async with build(home, settings, find_keychain=lambda: None) as parts:
        await parts.checkpoints.sign()
        assert await verdict(parts) == (True, 1, ["log_key_began"])
    rotate(home / "identity", now_us=clocks.wall_us(), entropy=entropy, keep=4)
    async with build(home, settings, find_keychain=lambda: None) as parts:
        assert await verdict(parts) == (True, 1, ["log_key_began"]), "the node's key has changed, the log's is yet to"
        await parts.checkpoints.sign()
        assert await verdict(parts) == (True, 3, ["log_key_began", "log_key_followed"])
    dual = config.Config(timeline=config.TimelineConfig(second_signature="ml-dsa-44"))
    async with build(home, dual, find_keychain=lambda: None) as parts:
        await parts.checkpoints.sign()
        assert await verdict(parts) == (True, 4, ["log_key_began", "log_key_followed", "log_key_followed"])
    seen = read_seen((home / paths.SEEN_FILE).read_text())
    assert seen.size == 4
    (folder,) = (home / "identity").glob("log-*.key")
    folder.unlink()
    async with build(home, settings, find_keychain=lambda: None) as parts:
        await parts.checkpoints.sign()
        result = [progress.result async for progress in parts.proofs.verify()][-1]
        assert result is not None
        assert result.problem is not None
        assert result.problem.code is ProblemCode.KEY_UNPROVEN


def test_the_setting(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[timeline]\nsecond_signature = "ml-dsa-44"\n')
    assert config.load(tmp_path).timeline.second_signature == "ml-dsa-44"
    (tmp_path / "config.toml").write_text('[timeline]\nsecond_signature = "rsa"\n')
    with refused(ErrorCode.INVALID_ARGUMENT, '"none" or "ml-dsa-44"'):
        config.load(tmp_path)
    assert config.Config().timeline.second_signature == "none"
