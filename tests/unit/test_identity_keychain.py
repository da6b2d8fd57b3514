"""The node's keys in the Keychain: where they go, what is left when it is locked or a crash comes, and the way back."""

from __future__ import annotations

import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from node import identity
from node.config import Config, IdentityConfig
from node.core.errors import ErrorCode
from node.identity import Identity
from node.parts import build
from node.platform.keychain import Keychain
from node.ports_timeline import RowFilter
from node.vault import FILES_ALONE, Vault
from tests.clock_twins import START_US, CountedEntropy
from tests.integration.mesh import refused, scenario
from tests.keychains import FileKeyring, KilledError, vault

YEAR_US = 365 * 24 * 3_600 * 1_000_000
ENTROPY = CountedEntropy()
NOT_A_KEY = b"This is not a key. The key of this node is in the macOS Keychain:\nservice: heliograph\naccount: "


@pytest.fixture
def keyring(tmp_path: Path) -> FileKeyring:
    return FileKeyring(tmp_path / "keychain")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "identity"


def load(folder: Path, keys: Vault, now_us: int = START_US) -> Identity:
    return identity.load_or_create(folder, now_us=now_us, entropy=ENTROPY, vault=keys)


def rotate(folder: Path, keys: Vault, keep: int = 8, now_us: int = START_US) -> Identity:
    return identity.rotate(folder, now_us=now_us, entropy=ENTROPY, keep=keep, vault=keys)


def kept(folder: Path, keys: Vault) -> list[Identity]:
    return list(identity.kept(folder, now_us=START_US, entropy=ENTROPY, vault=keys))


def names(line: list[Identity]) -> list[tuple[int, str, str, bool]]:
    return [(one.number, one.spki, one.certificate, one.in_keychain) for one in line]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def named(folder: Path) -> set[str]:
    """The accounts that files point to."""
    found = (path.read_bytes().partition(NOT_A_KEY)[2] for path in folder.rglob("node.key"))
    return {account.decode().strip() for account in found if account}


def test_a_new_key_is_in_the_keychain_alone(folder: Path, keyring: FileKeyring) -> None:
    me = load(folder, vault(keyring))
    assert me.in_keychain
    ((account, secret),) = keyring.items.items()
    assert secret.encode() == me.key_pem
    assert account.startswith(me.spki)
    assert files(folder)["node.key"] == NOT_A_KEY + account.encode() + b"\n"
    assert not [name for name, data in files(folder).items() if b"PRIVATE KEY" in data]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    for again in (vault(keyring), vault(keyring, chosen=False)):
        assert names([load(folder, again)]) == names([me])
    assert len(keyring.items) == 1


def test_two_homes_of_one_person_do_not_meet(tmp_path: Path, keyring: FileKeyring) -> None:
    one, other = (load(tmp_path / name, vault(keyring)) for name in ("a", "b"))
    assert names([load(tmp_path / "a", vault(keyring))]) == names([one])
    assert names([load(tmp_path / "b", vault(keyring))]) == names([other])
    assert len(keyring.items) == 2


def test_former_keys_stay_there_and_go_from_there_when_they_are_forgotten(folder: Path, keyring: FileKeyring) -> None:
    keys = vault(keyring)
    line = [load(folder, keys)]
    for _ in range(4):
        line.append(rotate(folder, keys, keep=2))
        assert names(kept(folder, keys)) == names(line[-3:])
        assert named(folder) == set(keyring.items)
    assert {account[:64] for account in keyring.items} == {one.spki for one in line[-3:]}
    assert all(one.in_keychain for one in line)


def test_a_renewed_certificate_keeps_its_key_there_when_the_old_one_is_forgotten(
    folder: Path, keyring: FileKeyring
) -> None:
    keys = vault(keyring)
    old = load(folder, keys)
    new = load(folder, keys, START_US + 6 * YEAR_US)
    assert (new.spki, new.number, new.in_keychain) == (old.spki, 2, True)
    assert len(keyring.items) == 2
    identity.forget_before(folder, 2, keys)
    assert named(folder) == set(keyring.items)
    assert names(kept(folder, keys)) != names([old])
    assert load(folder, keys, START_US + 6 * YEAR_US).spki == old.spki


def test_a_key_in_a_file_stays_there_and_the_next_goes_to_the_keychain(folder: Path, keyring: FileKeyring) -> None:
    keys = vault(keyring)
    old = load(folder, FILES_ALONE)
    assert names([load(folder, keys)]) == names([old])
    later = START_US + 6 * YEAR_US
    renewed = load(folder, keys, later)
    assert (renewed.spki, renewed.number, renewed.in_keychain) == (old.spki, 2, False)
    assert keyring.items == {}
    new = rotate(folder, keys, now_us=later)
    line = identity.kept(folder, now_us=later, entropy=ENTROPY, vault=keys)
    assert [one.in_keychain for one in line] == [False, False, True]
    assert {account[:64] for account in keyring.items} == {new.spki}


def test_turned_off_all_keys_leave_it_at_the_next_rotation(folder: Path, keyring: FileKeyring) -> None:
    line = [load(folder, vault(keyring)), rotate(folder, vault(keyring))]
    off = vault(keyring, chosen=False)
    assert names(kept(folder, off)) == names(line)
    assert len(keyring.items) == 2
    new = rotate(folder, off)
    assert not new.in_keychain
    assert keyring.items == {}
    # A node that starts before anybody unlocks the Keychain has no need of it.
    keyring.locked = True
    found = kept(folder, off)
    assert [(one.spki, one.certificate) for one in found] == [(one.spki, one.certificate) for one in [*line, new]]
    assert [one.in_keychain for one in found] == [False] * 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o600}
    assert names([load(folder, FILES_ALONE)]) == names([new])


def test_a_locked_keychain_is_told_and_nothing_is_made_anew(folder: Path, keyring: FileKeyring) -> None:
    line = [load(folder, vault(keyring)), rotate(folder, vault(keyring))]
    before, items = files(folder), keyring.items
    keyring.locked = True
    for keys in (vault(keyring), vault(keyring, chosen=False)):
        for use in (load, rotate, kept):
            with refused(
                ErrorCode.UNAVAILABLE, "Access Denied", "Nothing was changed", "security unlock-keychain",
                'keychain = "off" under [identity] in config.toml', "helio id rotate",
            ):  # fmt: skip
                use(folder, keys)
    assert (files(folder), keyring.items) == (before, items)
    keyring.locked = False
    assert names(kept(folder, vault(keyring))) == names(line)


def test_a_former_key_that_is_denied_is_told_and_not_left_out(folder: Path, keyring: FileKeyring) -> None:
    old = load(folder, vault(keyring))
    new = rotate(folder, vault(keyring))
    keyring.denied = {account for account in keyring.items if account.startswith(old.spki)}
    assert names([load(folder, vault(keyring))]) == names([new])
    with refused(ErrorCode.UNAVAILABLE, "does not give it"):
        kept(folder, vault(keyring))


def test_a_keychain_that_takes_no_key_leaves_everything_as_it_was(folder: Path, keyring: FileKeyring) -> None:
    keyring.locked = True
    with refused(ErrorCode.UNAVAILABLE, "does not take a new key", "Nothing was changed", 'keychain = "off"'):
        load(folder, vault(keyring))
    assert files(folder) == {}
    old = load(folder, FILES_ALONE)
    before = files(folder)
    with refused(ErrorCode.UNAVAILABLE, "does not take a new key"):
        rotate(folder, vault(keyring))
    assert files(folder) == before
    # What does not have to go there needs it for nothing, a renewed certificate either.
    assert load(folder, vault(keyring), START_US + 6 * YEAR_US).spki == old.spki


def test_an_item_that_is_gone_is_told_and_costs_no_more_when_it_was_of_a_former_key(
    folder: Path, keyring: FileKeyring, caplog: pytest.LogCaptureFixture
) -> None:
    keys = vault(keyring)
    old, new = load(folder, keys), rotate(folder, keys)
    (account,) = (one for one in keyring.items if one.startswith(old.spki))
    keyring.delete_password("heliograph", account)
    assert names(kept(folder, keys)) == names([new])
    assert "paired again" in caplog.text
    (account,) = keyring.items
    keyring.delete_password("heliograph", account)
    before = files(folder)
    with refused(ErrorCode.TAMPERED, "no such item", account, "backup", "keep it"):
        load(folder, keys)
    assert files(folder) == before


def test_without_the_library_the_node_says_what_it_needs(folder: Path, keyring: FileKeyring) -> None:
    load(folder, vault(keyring))
    before = files(folder)
    for use in (load, rotate, kept):
        with refused(ErrorCode.UNSUPPORTED, str(folder / "node.key"), "macOS", "pip install keyring"):
            use(folder, FILES_ALONE)
    assert files(folder) == before


def test_a_key_that_the_keychain_does_not_let_go_of_is_deleted_the_next_time(
    folder: Path, keyring: FileKeyring, caplog: pytest.LogCaptureFixture
) -> None:
    keys = vault(keyring)
    load(folder, keys)
    (account,) = keyring.items
    rotate(folder, keys)
    keyring.denied = {account}
    new = rotate(folder, keys, keep=0)
    assert "still in the macOS Keychain" in caplog.text
    assert account in keyring.items
    assert named(folder) == set(keyring.items)
    keyring.denied = set()
    newest = rotate(folder, keys, keep=0)
    assert {one[:64] for one in keyring.items} == {newest.spki} != {new.spki}


def test_a_copy_of_a_home_deletes_nothing_of_the_home_and_one_that_moved_goes_on(
    folder: Path, tmp_path: Path, keyring: FileKeyring
) -> None:
    keys, copy = vault(keyring), tmp_path / "copy"
    me = load(folder, keys)
    shutil.copytree(folder, copy)
    rotate(copy, keys, keep=0)
    rotate(copy, keys, keep=0)
    assert names([load(folder, keys)]) == names([me])
    folder.rename(tmp_path / "moved")
    assert names([load(tmp_path / "moved", keys)]) == names([me])


@pytest.mark.parametrize("chosen", [True, False], ids=["on", "off"])
def test_whatever_call_of_the_keychain_is_the_last_the_old_identity_is_there_or_the_new(
    tmp_path: Path, *, chosen: bool
) -> None:
    step = 0
    while True:
        step += 1
        home = tmp_path / str(step)
        home.mkdir()
        keyring = FileKeyring(home / "keychain")
        keys, folder = vault(keyring), home / "identity"
        line = [load(folder, keys), rotate(folder, keys), rotate(folder, keys)]
        keyring.calls, keyring.kill_at = 0, step / 2
        try:
            rotate(folder, vault(keyring, chosen=chosen), keep=1)
        except KilledError:
            keyring.kill_at = -1
        else:
            break
        found = kept(folder, keys)
        assert [one.spki for one in found[:3]][-2:] in ([line[1].spki, line[2].spki], [line[2].spki, found[-1].spki])
        for _ in range(2):
            new = rotate(folder, vault(keyring, chosen=chosen), keep=1)
        assert [one.number for one in kept(folder, keys)] == [new.number - 1, new.number]
        # Of all the keys that were ever used none is left behind.
        assert not [one for one in set(keyring.items) - named(folder) if one[:64] in {used.spki for used in line}]
        assert named(folder) <= set(keyring.items)
    assert step > 10


def test_a_first_start_that_is_cut_off_is_a_first_start(tmp_path: Path) -> None:
    for step in range(1, 5):
        home = tmp_path / str(step)
        home.mkdir()
        keyring = FileKeyring(home / "keychain")
        keyring.kill_at = step / 2
        with pytest.raises(KilledError):
            load(home / "identity", vault(keyring))
        assert files(home / "identity") == {}
        me = load(home / "identity", vault(keyring))
        assert names(kept(home / "identity", vault(keyring))) == names([me])


ROTATES_FOR_EVER = """
import secrets, sys, pathlib
from node import identity
from tests.keychains import FileKeyring, vault
folder, keyring = (pathlib.Path(one) for one in sys.argv[1:])
keys = vault(FileKeyring(keyring))
while True:
    now = identity.rotate(folder, now_us=1_750_000_000_000_000, entropy=secrets.token_bytes, keep=3, vault=keys)
    print(now.number, now.spki, flush=True)
"""


def test_a_node_that_is_killed_while_it_rotates_has_a_whole_identity(
    folder: Path, tmp_path: Path, keyring: FileKeyring
) -> None:
    used: set[str] = set()
    for life in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", ROTATES_FOR_EVER, str(folder), str(tmp_path / "keychain")],
            stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        ) as process:  # fmt: skip
            assert process.stdout is not None
            told = [process.stdout.readline().split() for _ in range(3 + life)]
            process.send_signal(signal.SIGKILL)
            told += [line.split() for line in process.stdout.read().splitlines()]
        used |= {spki for _, spki in told}
        number, spki = told[-1]
        line = kept(folder, vault(keyring))
        assert [one.spki for one in line if one.number == int(number)] == [spki]
        assert line[-1].number - int(number) in {0, 1}
        assert all(one.in_keychain for one in line)
    rotate(folder, vault(keyring), keep=0)
    assert named(folder) <= set(keyring.items)
    assert not [one for one in set(keyring.items) - named(folder) if one[:64] in used]


@scenario
async def test_a_node_lives_with_its_key_in_the_keychain(tmp_path: Path, keyring: FileKeyring) -> None:
    home, auto, off = tmp_path / "home", Config(), Config(identity=IdentityConfig(keychain="off"))

    def find() -> Keychain:
        return Keychain(keyring)

    async with build(home, auto, find_keychain=find) as parts:
        assert parts.mesh.identity().in_keychain
        first = parts.node_id
        new = await parts.mesh.rotate()
        assert new.in_keychain
    keyring.locked = True
    before = files(home)
    for settings in (auto, off):
        with refused(ErrorCode.UNAVAILABLE, "does not give it", "helio up"):
            async with build(home, settings, find_keychain=find):
                pytest.fail("it came up")
        with refused(ErrorCode.UNSUPPORTED, "pip install keyring"):
            async with build(home, settings):
                pytest.fail("it came up")
    assert files(home) == before
    keyring.locked = False
    async with build(home, off, find_keychain=find) as parts:
        assert parts.node_id == new.id
        rows = [row async for row in parts.audit.rows(RowFilter(engine="key", decision="rotated"), follow=False)]
        assert len(rows) == 1
        assert f'"from":{{"node":"{first}"}}'.encode() in rows[0].data
        assert not (await parts.mesh.rotate()).in_keychain
    keyring.locked = True
    async with build(home, off, find_keychain=find) as parts:
        assert not parts.mesh.identity().in_keychain
        rows = [row async for row in parts.audit.rows(RowFilter(engine="key", decision="rotated"), follow=False)]
        assert [b'"decision":"rotated"' in row.data for row in rows] == [True, True]


@scenario
async def test_a_rotation_that_cannot_read_the_past_changes_nothing(tmp_path: Path, keyring: FileKeyring) -> None:
    home = tmp_path / "home"
    async with build(home, Config(), find_keychain=lambda: Keychain(keyring)) as parts:
        first = set(keyring.items)
        await parts.mesh.rotate()
        keyring.denied = first
        before, items = files(home / "identity"), keyring.items
        with refused(ErrorCode.UNAVAILABLE, "does not give it"):
            await parts.mesh.rotate()
        assert (files(home / "identity"), keyring.items) == (before, items)


def test_an_aside_that_is_dropped_takes_its_item_along(folder: Path, keyring: FileKeyring) -> None:
    keys = vault(keyring)
    load(folder, keys)
    for _ in range(6):
        rotate(folder, keys)
        (folder / "current").write_text("1")
    assert len(list(folder.glob("aside-*"))) == 3
    assert named(folder) == set(keyring.items)
    assert len(keyring.items) == 5
