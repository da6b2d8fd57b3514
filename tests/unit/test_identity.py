"""The node's identity: its files, what is made again, how it gives way to another, and what a crash leaves of it."""

from __future__ import annotations

import base64
import hashlib
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from node import certificates, identity
from node.core import rotation
from node.core.errors import ErrorCode, MeshError
from node.core.rotation import check_chain
from node.identity import Authority, AuthorityFile, Identity
from tests.clock_twins import START_US, CountedEntropy, ManualClock
from tests.integration.mesh import refused

YEAR_US = 365 * 24 * 3_600 * 1_000_000
ENTROPY = CountedEntropy()
KEYS = certificates.CertificateKeys()


def load(folder: Path, now_us: int = START_US) -> Identity:
    return identity.load_or_create(folder, now_us=now_us, entropy=ENTROPY)


def rotate(folder: Path, now_us: int = START_US, keep: int = 8) -> Identity:
    return identity.rotate(folder, now_us=now_us, entropy=ENTROPY, keep=keep)


def kept(folder: Path, now_us: int = START_US) -> list[Identity]:
    return list(identity.kept(folder, now_us=now_us, entropy=ENTROPY))


def names(line: list[Identity]) -> list[tuple[int, str, str]]:
    return [(one.number, one.spki, one.certificate) for one in line]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_is_made_once_and_is_the_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "identity"
    me = load(folder)
    assert names([me]) == names([load(folder)])
    assert me.key_pem == load(folder).key_pem
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "node.key": 0o600, "node.crt": 0o600,
    }  # fmt: skip
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_id_is_the_hash_of_the_public_key(tmp_path: Path) -> None:
    me = load(tmp_path)
    spki = me.key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    digest = hashlib.sha256(spki).digest()
    assert me.spki == digest.hex() == KEYS.spki(me.certificate)
    assert base64.b32decode(me.node_id.upper() + "====") == digest
    assert me.node_id == identity.node_id_of(me.key.public_key())


def test_a_home_from_before_there_were_certificates_keeps_its_key(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "node.key").write_bytes(pem)
    me = load(tmp_path)
    assert (me.key_pem, me.number, me.step) == (pem, 1, None)
    assert KEYS.spki(me.certificate) == me.spki


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\xff\xfe\0", b"-----BEGIN CERTIFICATE-----\n"])
def test_a_lost_certificate_is_made_again_for_the_same_key(tmp_path: Path, damage: bytes) -> None:
    me = load(tmp_path)
    (tmp_path / "node.crt").write_bytes(damage)
    again = load(tmp_path)
    assert again.spki == me.spki == KEYS.spki(again.certificate)
    assert load(tmp_path).certificate == again.certificate != me.certificate


def test_the_certificate_of_another_key_is_not_used(tmp_path: Path) -> None:
    me, other = load(tmp_path / "a"), load(tmp_path / "b")
    (tmp_path / "a" / "node.crt").write_text(other.certificate)
    assert KEYS.spki(load(tmp_path / "a").certificate) == me.spki


def not_p256() -> bytes:
    return ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.mark.parametrize("damage", [b"", b"garbage", not_p256()])
def test_a_damaged_key_is_told_and_left_alone(tmp_path: Path, damage: bytes) -> None:
    load(tmp_path)
    (tmp_path / "node.key").write_bytes(damage)
    before = files(tmp_path)
    with pytest.raises(MeshError) as caught:
        load(tmp_path)
    assert caught.value.code is ErrorCode.TAMPERED
    assert f"{tmp_path / 'node.key'} cannot be read" in caught.value.message or "P-256" in caught.value.message
    assert "backup" in caught.value.message
    # Other keys may be in its folder.
    assert "delet" not in caught.value.message
    assert files(tmp_path) == before


@pytest.mark.parametrize("damage", [b"", b"garbage", not_p256()])
@pytest.mark.parametrize("former", [1, 2, 3])
def test_a_damaged_former_key_costs_the_past_and_not_the_present(
    tmp_path: Path, damage: bytes, former: int, caplog: pytest.LogCaptureFixture
) -> None:
    line = [load(tmp_path), *(rotate(tmp_path) for _ in range(3))]
    path = tmp_path / "node.key" if former == 1 else tmp_path / str(former) / "node.key"
    path.write_bytes(damage)
    before = files(tmp_path)
    assert names(kept(tmp_path)) == names(line[former:])
    assert str(path) in caplog.text
    assert "paired again" in caplog.text
    assert files(tmp_path) == before
    assert names(kept(tmp_path)) == names(line[former:])
    assert names([*line[former:], rotate(tmp_path)]) == names(kept(tmp_path))


def test_rotation_leaves_a_new_id_and_a_statement_of_the_old_key(tmp_path: Path) -> None:
    old = load(tmp_path)
    new = rotate(tmp_path)
    assert new.node_id != old.node_id
    assert names([load(tmp_path)]) == names([new])
    assert new.step is not None
    claim = rotation.check(new.step, holder=old.certificate, after_us=0, keys=KEYS)
    assert (claim.old, claim.new, claim.at_us) == (old.spki, new.spki, START_US)
    assert (new.step.certificate, claim.certificate) == (new.certificate, new.fingerprint)
    assert names(kept(tmp_path)) == names([old, new])
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_several_rotations_are_one_chain_even_when_the_clock_goes_back(tmp_path: Path) -> None:
    line = [load(tmp_path), *(rotate(tmp_path, START_US - at * YEAR_US // 100) for at in range(4))]
    found = kept(tmp_path)
    assert names(found) == names(line)
    steps = [one.step for one in found if one.step is not None]
    assert len(check_chain(line[0].certificate, steps, last=line[-1].certificate, keys=KEYS)) == 4
    assert len(check_chain(line[2].certificate, steps[2:], last=line[-1].certificate, keys=KEYS)) == 2


def test_a_certificate_past_half_its_life_gives_way_to_one_of_the_same_key(tmp_path: Path) -> None:
    old = load(tmp_path)
    assert load(tmp_path, START_US + 4 * YEAR_US).certificate == old.certificate
    new = load(tmp_path, START_US + 6 * YEAR_US)
    assert new.spki == old.spki
    assert new.certificate != old.certificate
    assert certificates.expires_us(new.certificate) > certificates.expires_us(old.certificate)
    assert names([load(tmp_path, START_US + 6 * YEAR_US)]) == names([new])
    # Peers that hold the old one take no other, so it is still there, with the step that leads on from it.
    assert names(kept(tmp_path, START_US + 6 * YEAR_US)) == names([old, new])
    assert new.step is not None
    assert rotation.check(new.step, holder=old.certificate, after_us=0, keys=KEYS).renewal


def test_a_certificate_of_a_clock_that_was_far_ahead_gives_way_once_the_clock_is_right(tmp_path: Path) -> None:
    old = load(tmp_path)
    ahead = load(tmp_path, START_US + 20 * YEAR_US)
    assert ahead.certificate != old.certificate
    now = load(tmp_path)
    assert certificates.begins_us(now.certificate) <= START_US
    assert certificates.expires_us(now.certificate) == certificates.expires_us(old.certificate)
    assert names([load(tmp_path)]) == names([now])
    assert now.spki == old.spki
    # A peer that was told of the one in between is told of the next as of any other.
    assert names(kept(tmp_path)) == names([old, ahead, now])


def test_a_clock_that_is_a_week_behind_changes_no_certificate(tmp_path: Path) -> None:
    old = load(tmp_path)
    assert load(tmp_path, START_US - 7 * YEAR_US // 365).certificate == old.certificate
    assert load(tmp_path, START_US - 8 * YEAR_US // 365).certificate != old.certificate


def test_only_so_many_former_keys_stay(tmp_path: Path) -> None:
    line = [load(tmp_path), *(rotate(tmp_path, keep=2) for _ in range(4))]
    assert names(kept(tmp_path)) == names(line[-3:])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "4", "5", "current"]


def test_what_is_forgotten_is_gone_and_the_rest_goes_on(tmp_path: Path) -> None:
    line = [load(tmp_path), rotate(tmp_path), rotate(tmp_path)]
    identity.forget_before(tmp_path, 2)
    assert names(kept(tmp_path)) == names(line[1:])
    identity.forget_before(tmp_path, 99)
    assert names(kept(tmp_path)) == names(line[2:])
    assert names(kept(tmp_path)) != names([rotate(tmp_path)])


def test_the_first_key_is_not_made_again_where_it_was_forgotten(tmp_path: Path) -> None:
    rotate(tmp_path)
    identity.forget_before(tmp_path, 2)
    for text in (None, "", "0", "x", "-1", "1\n2"):
        (tmp_path / "current").unlink(missing_ok=True)
        if text is not None:
            (tmp_path / "current").write_text(text)
        with refused(ErrorCode.TAMPERED, "which of the node's keys"):
            load(tmp_path)
    (tmp_path / "current").write_text("3")
    with refused(ErrorCode.TAMPERED, "missing"):
        load(tmp_path)
    assert not (tmp_path / "node.key").exists()


def test_a_certificate_that_is_lost_after_a_rotation_is_found_in_the_step(tmp_path: Path) -> None:
    old, new = load(tmp_path), rotate(tmp_path)
    (tmp_path / "2" / "node.crt").unlink()
    assert names(kept(tmp_path)) == names([old, new])


def test_a_statement_that_is_lost_costs_the_past_and_not_the_present(tmp_path: Path) -> None:
    load(tmp_path)
    new, newest = rotate(tmp_path), rotate(tmp_path)
    for damage in ("", "[]", "{}", '{"certificate": 1, "statement": "zz", "signature": ""}'):
        (tmp_path / "2" / "rotation.json").write_text(damage)
        assert names(kept(tmp_path)) == names([new, newest])


def test_a_statement_that_was_changed_is_told(tmp_path: Path) -> None:
    load(tmp_path)
    rotate(tmp_path)
    path = tmp_path / "2" / "rotation.json"
    path.write_text(path.read_text().replace('"signature": "30', '"signature": "31'))
    with refused(ErrorCode.TAMPERED, "old key has not signed"):
        kept(tmp_path)


def test_whatever_a_crash_leaves_is_the_old_identity_or_the_new(tmp_path: Path) -> None:
    """The files of a rotation one by one in their order, each half written first."""
    whole = tmp_path / "whole"
    old = load(whole)
    before = files(whole)
    new = rotate(whole)
    after = files(whole)
    order = ["2/node.key", "2/node.crt", "2/rotation.json", "current"]
    assert sorted(set(after) - set(before)) == sorted(order)
    written = [("current", b"1\n"), *((name, after[name]) for name in order)]
    for number in range(2 * len(written) + 1):
        crashed = tmp_path / f"crashed {number}"
        crashed.mkdir()
        done = number // 2
        there = before | dict(written[:done])
        if number % 2:
            name, data = written[done]
            there[f"{name}.new"] = data[:1]
        for name, data in there.items():
            (crashed / name).parent.mkdir(exist_ok=True)
            (crashed / name).write_bytes(data)
        expected = [old, new] if done == len(written) else [old]
        assert names(kept(crashed)) == names(expected)
        assert names(kept(crashed)) == names(expected)
        again = rotate(crashed)
        assert names(kept(crashed)) == names([*expected, again])


@pytest.mark.parametrize("rotations", [1, 2])
def test_which_key_is_in_use_is_never_guessed_and_its_number_is_told(tmp_path: Path, rotations: int) -> None:
    line = [load(tmp_path), *(rotate(tmp_path) for _ in range(rotations))]
    (tmp_path / "current").unlink()
    before = files(tmp_path)
    for use in (load, rotate):
        with refused(ErrorCode.TAMPERED, "current is missing", f"write {rotations + 1} there"):
            use(tmp_path)
    assert files(tmp_path) == before
    (tmp_path / "current").write_text(f"{rotations + 1}\n")
    assert names(kept(tmp_path)) == names(line)


@pytest.mark.parametrize(("cut", "advised"), [((), 2), (("rotation.json",), 1), (("node.key", "rotation.json"), 1)])
def test_a_home_that_was_left_without_a_number_is_told_which_to_write(
    tmp_path: Path, cut: tuple[str, ...], advised: int
) -> None:
    """As a crash left them when the number was written last alone."""
    line = [load(tmp_path), rotate(tmp_path)]
    for name in ("current", *(f"2/{one}" for one in cut)):
        (tmp_path / name).unlink()
    with refused(ErrorCode.TAMPERED, f"write {advised} there"):
        load(tmp_path)
    (tmp_path / "current").write_text(f"{advised}")
    assert names(kept(tmp_path)) == names(line[:advised])
    new = rotate(tmp_path)
    assert names(kept(tmp_path)) == names([*line[:advised], new])


def test_what_stands_in_the_way_of_a_new_key_is_kept_aside_and_only_so_often(tmp_path: Path) -> None:
    load(tmp_path)
    lost: list[Identity] = []
    for _ in range(5):
        lost.append(rotate(tmp_path))
        # A wrong number: the key that is in use is no leftover.
        (tmp_path / "current").write_text("1")
    new = rotate(tmp_path)
    assert names([load(tmp_path)]) == names([new])
    aside = sorted(tmp_path.glob("aside-*"))
    assert [path.name for path in aside] == ["aside-1", "aside-2", "aside-3"]
    assert {(path / "node.key").read_bytes() for path in aside} == {one.key_pem for one in lost[-3:]}
    assert {stat.S_IMODE(path.stat().st_mode) for path in aside} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for one in aside for path in one.iterdir()} == {0o600}


ROTATES_FOR_EVER = """
import secrets, sys, pathlib
from node import identity
while True:
    now = identity.rotate(pathlib.Path(sys.argv[1]), now_us=1_750_000_000_000_000, entropy=secrets.token_bytes, keep=3)
    print(now.number, now.spki, flush=True)
"""


def test_a_node_that_is_killed_while_it_rotates_has_a_whole_identity(tmp_path: Path) -> None:
    folder, root = tmp_path / "identity", Path(__file__).parents[2]
    for life in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", ROTATES_FOR_EVER, str(folder)], stdout=subprocess.PIPE, text=True, cwd=root
        ) as process:
            assert process.stdout is not None
            for _ in range(3 + life):
                number, spki = process.stdout.readline().split()
            process.send_signal(signal.SIGKILL)
            told = [line.split() for line in process.stdout.read().splitlines()]
        number, spki = told[-1] if told else (number, spki)
        line = kept(folder)
        # Killed before the next one was in use, or after that and before it could be told.
        assert [one.spki for one in line if one.number == int(number)] == [spki]
        assert line[-1].number - int(number) in {0, 1}
        assert len(line) >= 3


def authority_file(folder: Path, skip_s: float = 0) -> AuthorityFile:
    clock = ManualClock()
    clock.advance(skip_s)
    return AuthorityFile(folder, clock=clock, entropy=ENTROPY)


def test_the_private_authority_is_made_once_and_is_the_owners_alone(tmp_path: Path) -> None:
    me = load(tmp_path)
    assert authority_file(tmp_path).load() is None
    made = authority_file(tmp_path).make()
    found = authority_file(tmp_path).load()
    assert found is not None
    assert (found.certificate, node_id(found)) == (made.certificate, node_id(made))
    assert stat.S_IMODE((tmp_path / "authority.pem").stat().st_mode) == 0o600
    issued = found.issue(me.certificate, now_us=START_US, entropy=ENTROPY)
    assert made.issued(issued)
    assert not authority_file(tmp_path).make().issued(issued)
    assert names([load(tmp_path)]) == names([me]), "the node itself is as it was"


def node_id(authority: Authority) -> str:
    return identity.node_id_of(authority.key.public_key())


def test_an_authority_that_is_damaged_or_old_is_none(tmp_path: Path) -> None:
    path, other = tmp_path / "authority.pem", tmp_path / "other"
    other.mkdir()
    authority_file(tmp_path).make()
    authority_file(other).make()
    good = path.read_text()
    begin = good.index("-----BEGIN CERTIFICATE")
    foreign = (other / "authority.pem").read_text()
    mixed = good[:begin] + foreign[foreign.index("-----BEGIN CERTIFICATE") :]
    cut = (good[:begin], good[begin:], good[: begin + 200])
    for bad in ("", *cut, mixed, good[:begin] + load(other).certificate, good + good[begin:], "\0" * 99):
        path.write_text(bad)
        assert authority_file(tmp_path).load() is None, bad
    path.write_text(good)
    assert authority_file(tmp_path, skip_s=4 * YEAR_US / 1e6).load() is not None
    assert authority_file(tmp_path, skip_s=6 * YEAR_US / 1e6).load() is None
    assert authority_file(tmp_path, skip_s=-6 * YEAR_US / 365e6).load() is not None
    assert authority_file(tmp_path, skip_s=-8 * YEAR_US / 365e6).load() is None
