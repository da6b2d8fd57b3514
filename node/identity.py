"""The node's identity: a P-256 key pair of its own, its certificate, and how both give way to new ones.

Each pair of key and certificate is a generation in a folder that is never changed; one file, replaced by a rename,
says which is in use, so a crash leaves the old one or the new one whole. Former ones stay until they are forgotten:
peers that were away know this node by them, and take a new one only from the old. The first stands at the top, where
it was before there were others.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from node import certificates
from node.core import rotation, trust
from node.core.errors import ErrorCode, MeshError
from node.core.node_id import show
from node.core.rotation import Claim, Step
from node.platform.disk import flush_folder
from node.ports import Clock, Entropy
from node.vault import FILES_ALONE, Vault, pem_of, read_text, write_whole

_log = logging.getLogger(__name__)

_KEY_FILE: Final = "node.key"
_CERTIFICATE_FILE: Final = "node.crt"
_STEP_FILE: Final = "rotation.json"
_CURRENT_FILE: Final = "current"
_AUTHORITY_FILE: Final = "authority.pem"
_ASIDE: Final = "aside-"
_MOST_ASIDE: Final = 3
_CERTIFICATE_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_SERIAL_BYTES: Final = 20
_HALF_LIFE_US: Final = certificates.VALID_DAYS * 24 * 3_600 * 1_000_000 // 2

_is_number = re.compile(r"[1-9][0-9]{0,5}", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One generation: its key, its self-signed certificate (PEM), and the step by which it followed the one before.

    `in_keychain` is where the key is kept: there, or in a file.
    """

    key: ec.EllipticCurvePrivateKey
    certificate: str
    number: int = 1
    step: Step | None = None
    in_keychain: bool = False

    @property
    def spki(self) -> str:
        """What peers pin: the SHA-256 of the public key (DER SubjectPublicKeyInfo), 64 hex digits."""
        return certificates.spki_hash(self.key.public_key())

    @property
    def node_id(self) -> str:
        """The same hash as 52 lowercase base32 characters."""
        return node_id_of(self.key.public_key())

    @property
    def fingerprint(self) -> str:
        """The SHA-256 (hex) of the certificate's text."""
        return rotation.fingerprint(self.certificate)

    @property
    def key_pem(self) -> bytes:
        """The private key as TLS wants it: PKCS8, PEM, not encrypted."""
        return pem_of(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """The private CA of this node's port: its key, and its certificate (PEM)."""

    key: ec.EllipticCurvePrivateKey
    certificate: str

    def issue(self, certificate: str, *, now_us: int, entropy: Entropy) -> str:
        """A certificate (PEM) for the key in a peer's certificate."""
        serial = entropy(_SERIAL_BYTES)
        return certificates.issue(self.certificate, self.key, certificate, now_us=now_us, serial=serial)

    def issued(self, certificate: str) -> bool:
        """Whether that certificate is one of its own."""
        return certificates.is_issued_by(self.certificate, certificate)


class AuthorityFile:
    """Where the private CA is kept: one file beside the identity, 0600, whole or not there."""

    def __init__(self, folder: Path, *, clock: Clock, entropy: Entropy) -> None:
        self._path = folder / _AUTHORITY_FILE
        self._clock = clock
        self._entropy = entropy

    def load(self) -> Authority | None:
        """The one that is there; None when there is none that can be read, or it is past half its life or not valid."""
        text = read_text(self._path)
        begin = text.find(_CERTIFICATE_BEGIN)
        if begin < 0:
            return None
        try:
            key = serialization.load_pem_private_key(text[:begin].encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        certificate = text[begin:]
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not certificates.is_authority(
            certificate, key.public_key()
        ):
            _log.warning(
                "%s was damaged; peers prove themselves as before, and are issued new certificates", self._path
            )
            return None
        if not _is_fresh(certificate, self._clock.wall_us()):
            return None
        return Authority(key=key, certificate=certificate)

    def make(self) -> Authority:
        """A new one, which is the only one from now on: what another issued counts for nothing."""
        key = ec.generate_private_key(ec.SECP256R1())
        serial = self._entropy(_SERIAL_BYTES)
        certificate = certificates.make_authority(key, now_us=self._clock.wall_us(), serial=serial)
        write_whole(self._path, pem_of(key) + certificate.encode("ascii"))
        return Authority(key=key, certificate=certificate)


def node_id_of(key: ec.EllipticCurvePublicKey) -> str:
    """The node id that belongs to a public key."""
    return trust.node_id_of(certificates.spki_hash(key))


def load_or_create(folder: Path, *, now_us: int, entropy: Entropy, vault: Vault = FILES_ALONE) -> Identity:
    """The identity in use of those kept in `folder`, made on first use; all files are 0600, and whole or not there.

    A certificate past half its life, or not valid yet, gives way to a new one of the same key; one that is lost is made
    again. A key that is there and cannot be had is an error as of Vault.read, and nothing is changed.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = _current(folder)
    if number == 1 and not (folder / _KEY_FILE).exists():
        key = ec.generate_private_key(ec.SECP256R1())
        write_whole(folder / _KEY_FILE, vault.entrust(key, folder, entropy))
    me = _load(folder, number, now_us=now_us, entropy=entropy, vault=vault)
    if _is_fresh(me.certificate, now_us):
        return me
    stays = vault.like(in_keychain=me.in_keychain)
    return _succeed(folder, me, me.key, now_us=now_us, entropy=entropy, vault=stays)


def rotate(folder: Path, *, now_us: int, entropy: Entropy, keep: int, vault: Vault = FILES_ALONE) -> Identity:
    """A new key, in use from now on; the old one has signed for it and is one of the `keep` former ones that stay.

    Where new keys are not for the Keychain, the former ones leave it, too.
    """
    me = load_or_create(folder, now_us=now_us, entropy=entropy, vault=vault)
    key = ec.generate_private_key(ec.SECP256R1())
    new = _succeed(folder, me, key, now_us=now_us, entropy=entropy, vault=vault)
    forget_before(folder, new.number - keep, vault)
    if not vault.chosen:
        for former in range(max(1, new.number - keep), new.number):
            try:
                vault.take_out(_place(folder, former) / _KEY_FILE, folder)
            except MeshError as error:
                # The new key counts all the same; this is done again the next time.
                _log.warning("a former key stays in the Keychain: %s", error.message)
    return new


def kept(folder: Path, *, now_us: int, entropy: Entropy, vault: Vault = FILES_ALONE) -> tuple[Identity, ...]:
    """The generations that were not forgotten, oldest first, the one in use last; TAMPERED when they do not connect.

    Those before one that is damaged are left out with it. One that the Keychain does not give now is UNAVAILABLE.
    """
    found = [load_or_create(folder, now_us=now_us, entropy=entropy, vault=vault)]
    # Where a step or its certificate is lost, nobody can be led from before it to after it.
    while (step := found[0].step) is not None and step.certificate == found[0].certificate:
        place = _place(folder, number := found[0].number - 1)
        if not (place / _KEY_FILE).exists():
            break
        try:
            found.insert(0, _load(folder, number, now_us=now_us, entropy=entropy, vault=vault))
        except MeshError as error:
            if error.code is ErrorCode.UNAVAILABLE:
                raise
            # What is lost with it is the way from there to here, and nothing of the key in use.
            _log.warning(
                "a former key of this node, %s, cannot be used; peers that know none after it have to be paired again",
                place / _KEY_FILE,
            )
            break
    steps = [generation.step for generation in found[1:] if generation.step is not None]
    keys = certificates.CertificateKeys()
    rotation.check_chain(found[0].certificate, steps, last=found[-1].certificate, keys=keys)
    return tuple(found)


def forget_before(folder: Path, number: int, vault: Vault = FILES_ALONE) -> None:
    """Deletes the generations before that number, never the one in use: nobody can be led on from them any more."""
    for former in range(min(number, _current(folder)) - 1, 0, -1):
        place = _place(folder, former)
        try:
            vault.delete(place / _KEY_FILE, folder)
        except MeshError as error:
            _log.warning("%s", error.message)
            continue
        for name in (_CERTIFICATE_FILE, _STEP_FILE):
            (place / name).unlink(missing_ok=True)
        if former > 1 and place.exists():
            place.rmdir()
    flush_folder(folder)


def _is_fresh(certificate: str, now_us: int) -> bool:
    # One that is not valid yet was made while the clock was ahead, and no peer would take it for years.
    return certificates.begins_us(certificate) <= now_us <= certificates.expires_us(certificate) - _HALF_LIFE_US


def _succeed(
    folder: Path, old: Identity, key: ec.EllipticCurvePrivateKey, *, now_us: int, entropy: Entropy, vault: Vault
) -> Identity:
    """Writes the next generation, then puts it into use in one step."""
    entrusted = vault.entrust(key, folder, entropy)
    certificate = certificates.make(key, now_us=now_us, serial=entropy(_SERIAL_BYTES))
    before_us = rotation.read(old.step.statement).at_us if old.step is not None else 0
    claim = Claim(
        old=old.spki,
        new=certificates.spki_hash(key.public_key()),
        certificate=rotation.fingerprint(certificate),
        # Clocks go back; statements never do.
        at_us=max(now_us, before_us + 1),
    )
    statement = replace(claim, proof=certificates.sign(key, claim.unproven())).statement()
    step = Step(certificate=certificate, statement=statement, signature=certificates.sign(old.key, statement))
    if not (folder / _CURRENT_FILE).exists():
        # From here on folders with numbers stand there: without this file nobody could tell which of them counts.
        write_whole(folder / _CURRENT_FILE, f"{old.number}\n".encode("ascii"))
    place = _place(folder, old.number + 1)
    if place.exists():
        _set_aside(place, folder, vault)
    place.mkdir(mode=0o700)
    write_whole(place / _KEY_FILE, entrusted)
    write_whole(place / _CERTIFICATE_FILE, certificate.encode("ascii"))
    write_whole(place / _STEP_FILE, _step_text(step))
    flush_folder(folder)
    write_whole(folder / _CURRENT_FILE, f"{old.number + 1}\n".encode("ascii"))
    in_keychain = vault.holds(place / _KEY_FILE)
    return Identity(key=key, certificate=certificate, number=old.number + 1, step=step, in_keychain=in_keychain)


def _set_aside(place: Path, folder: Path, vault: Vault) -> None:
    """Makes room for a generation. What a crash left there was not in use; should it have been, it can be had again."""
    left = sorted(place.parent.glob(f"{_ASIDE}*"), key=lambda one: one.stat().st_ctime_ns, reverse=True)
    for old in left[_MOST_ASIDE - 1 :]:
        try:
            vault.delete(old / _KEY_FILE, folder)
        except MeshError as error:
            _log.warning("%s", error.message)
        shutil.rmtree(old)
    names = (f"{_ASIDE}{number}" for number in range(1, _MOST_ASIDE + 1))
    place.rename(next(to for name in names if not (to := place.with_name(name)).exists()))


def _current(folder: Path) -> int:
    path = folder / _CURRENT_FILE
    numbers = sorted(int(entry.name) for entry in folder.iterdir() if _is_number(entry.name))
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        text = "" if numbers else "1"
    except UnicodeDecodeError:
        text = ""
    if _is_number(text) is None:
        # The step is written last: whatever was cut short has none, and what has one the old key has signed for.
        whole = [number for number in numbers if (_place(folder, number) / _STEP_FILE).exists()]
        likely = max(whole, default=1)
        raise MeshError(
            ErrorCode.TAMPERED,
            f"{path} is missing or damaged: it says which of the node's keys is in use. Restore it from a backup. If "
            f"there is none, write {likely} there, and nothing else: that is the newest key which was finished.",
        )
    return int(text)


def _place(folder: Path, number: int) -> Path:
    return folder if number == 1 else folder / str(number)


def _load(folder: Path, number: int, *, now_us: int, entropy: Entropy, vault: Vault) -> Identity:
    place = _place(folder, number)
    key = _read_key(place / _KEY_FILE, folder, vault)
    step = _read_step(place / _STEP_FILE) if number > 1 else None
    path = place / _CERTIFICATE_FILE
    spki = certificates.spki_hash(key.public_key())
    certificate = read_text(path)
    if _spki(certificate) != spki and step is not None and _spki(step.certificate) == spki:
        certificate = step.certificate
        write_whole(path, certificate.encode("ascii"))
    elif _spki(certificate) != spki:
        if certificate:
            _log.warning("the certificate %s was damaged; peers that know it have to be paired again", path)
        certificate = certificates.make(key, now_us=now_us, serial=entropy(_SERIAL_BYTES))
        write_whole(path, certificate.encode("ascii"))
    in_keychain = vault.holds(place / _KEY_FILE)
    return Identity(key=key, certificate=certificate, number=number, step=step, in_keychain=in_keychain)


def _read_key(path: Path, whole: Path, vault: Vault) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(vault.read(path), password=None)
    except (FileNotFoundError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise MeshError(
            ErrorCode.TAMPERED,
            f"The node's key {path} cannot be read: it is missing, damaged or of another kind. Restore it from a "
            f"backup. Where there is none, move the folder {whole} away with all that is in it, and keep it: the node "
            "begins anew with another id, and every peer is paired again.",
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise MeshError(ErrorCode.TAMPERED, f"The node's key {path} is not a P-256 key; restore it from a backup.")
    return key


def _spki(certificate: str) -> str:
    """The pin of a certificate's key; nothing when it is not fit for a node."""
    try:
        return certificates.spki_hash(certificates.public_key(certificate))
    except MeshError:
        return ""


def _step_text(step: Step) -> bytes:
    fields = {"certificate": step.certificate, "statement": step.statement.hex(), "signature": step.signature.hex()}
    return json.dumps(fields, indent=1).encode("ascii")


def _read_step(path: Path) -> Step | None:
    """The step by which a generation followed the one before; None when it is lost."""
    try:
        fields = json.loads(read_text(path))
        step = Step(
            certificate=str(fields["certificate"]),
            statement=bytes.fromhex(fields["statement"]),
            signature=bytes.fromhex(fields["signature"]),
        )
        rotation.read(step.statement)
    except (ValueError, TypeError, KeyError, MeshError):
        _log.warning("the statement %s cannot be read; peers that know an older key have to be paired again", path)
        return None
    return step


class Signer:
    """This node's key, as far as pairing needs it. Implements ports_mesh.Signer."""

    def __init__(self, me: Identity) -> None:
        self._me = me
        self._keys = certificates.CertificateKeys()

    def sign(self, statement: bytes) -> bytes:
        """With this node's key."""
        return certificates.sign(self._me.key, statement)

    def signed(self, certificate: str, statement: bytes, signature: bytes) -> bool:
        """Whether the signature is of the key of a node's certificate; False for one that is unfit, too."""
        try:
            return self._keys.signed(certificate, statement, signature)
        except MeshError:
            return False


def shown_id(certificate: str) -> str:
    """The id of the node with that certificate as people read it; INVALID_ARGUMENT for one that no node has."""
    return show(node_id_of(certificates.public_key(certificate)))
