"""Secrets to be planted, each in one field: of kinds that are known by their looks, made up, and no two alike."""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path

from node.core.screen_credentials import credentials

_LETTERS = string.ascii_letters + string.digits
_CAPITALS = string.ascii_uppercase + string.digits


def _made(name: str, prefix: str, alphabet: str, length: int) -> str:
    """The first one of that name that the screen knows for what it is: it lets pass what looks like an example."""
    for nonce in count():
        digits = sha256(f"{name}/{nonce}".encode()).digest() + sha256(f"{nonce}/{name}".encode()).digest()
        made = prefix + "".join(alphabet[byte % len(alphabet)] for byte in digits)[:length]
        if credentials(made):
            return made
    raise AssertionError(name)


@dataclass(slots=True)
class Planter:
    """Makes secrets and remembers them by the field that each was planted in."""

    planted: dict[str, str] = field(default_factory=dict)

    def token(self, name: str) -> str:
        """One of 40 characters, for texts. Put together so that no scanner takes this file for a leak."""
        return self.planted.setdefault(name, _made(name, "gh" + "p_", _LETTERS, 36))

    def key(self, name: str) -> str:
        """One of 20 capitals and digits, which may be a name."""
        return self.planted.setdefault(name, _made(name, "AK" + "IA", _CAPITALS, 16))

    def found_in(self, data: bytes) -> list[str]:
        """The fields of whose secrets a beginning or an end is in `data`, as it is or in another case."""
        folded = data.lower()
        pieces = {
            name: (secret[4:16].lower().encode(), secret[-12:].lower().encode())
            for name, secret in self.planted.items()
        }
        return [name for name, both in pieces.items() if any(piece in folded for piece in both)]


def stored(folder: Path, *, but: Iterable[str] = ()) -> dict[str, bytes]:
    """All that lies in a folder, by its place there, but for what is below the folders named in `but`."""
    left_out = tuple(but)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.relative_to(folder).parts[0] not in left_out
    }


def leaks(planter: Planter, places: dict[str, bytes]) -> dict[str, list[str]]:
    """What is found where, names of files included; empty when all is well."""
    found = {where: planter.found_in(where.encode() + b"\n" + data) for where, data in places.items()}
    return {where: names for where, names in found.items() if names}
