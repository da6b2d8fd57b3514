"""Names and paths that a node keeps or shows as they are: what reads like a credential must not become one of them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.redact import redact
from node.core.screen_credentials import Credential, credentials, without_credentials

# So many characters of a secret in a row are no coincidence.
_PIECE: Final = 6
# In the place of what is a secret by its name alone.
_NAMED: Final = "[redacted:value]"


def check_name(what: str, *texts: str) -> None:
    """WITHHELD when one of them holds what reads like a credential; its value is in no message."""
    if any(credentials(text) for text in texts):
        raise MeshError(
            ErrorCode.WITHHELD,
            f"The {what} holds what reads like a credential, and it would be kept and shown as it is; nothing was "
            "done. Choose another one, and replace the credential if others may have seen it.",
        )


def hashed(chosen: str) -> str:
    """What somebody chose to call a command, as it is kept."""
    return sha256(chosen.encode()).hexdigest()[:32]


def shown_command(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line as it is kept, to be looked at: without credentials, and without what a flag calls a secret."""
    shown: list[str] = []
    for word in argv:
        flag = shown[-1] if shown else ""
        if redact(f"{flag} {word}").text.startswith(f"{flag} {_NAMED}"):
            shown.append(_NAMED)
        else:
            named = redact(word).text
            shown.append(named if _NAMED in named else without_credentials(word))
    return tuple(shown)


def without_pieces(excerpt: str, text: str, secrets: tuple[Credential, ...]) -> str:
    """`excerpt`, cut from `text` or from what was read in it, without pieces of `secrets`, which are found in `text`.

    A cut may go through a secret, and what is left of it looks like one no more.
    """
    folded = excerpt.casefold()
    for one in secrets:
        value = text[one.start : one.end].casefold()
        pieces = {value[at : at + _PIECE] for at in range(len(value) - _PIECE + 1)}
        hit = [at for at in range(len(folded) - _PIECE + 1) if folded[at : at + _PIECE] in pieces]
        for start, end in reversed(_runs(hit)):
            if len(folded) == len(excerpt):
                excerpt = f"{excerpt[:start]}[redacted:{one.kind}]{excerpt[end:]}"
            else:
                # Offsets of the folded text are not those of this one.
                return f"[redacted:{one.kind}]"
        folded = excerpt.casefold()
    return excerpt


def _runs(starts: list[int]) -> list[tuple[int, int]]:
    """Where pieces that begin there lie, those that touch each other as one."""
    runs: list[tuple[int, int]] = []
    for start in starts:
        if runs and start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], start + _PIECE)
        else:
            runs.append((start, start + _PIECE))
    return runs
